# Sourced by the other scripts: says what is missing on this machine, and what to do about it.

fail() {
  echo "error: $*" >&2
  exit 1
}

step() {
  echo "==> $*"
}

has() {
  command -v "$1" >/dev/null 2>&1
}

require_rust() {
  has cargo || fail "Rust is missing: install it from https://rustup.rs, open a new shell and try again."
  has cc || has gcc || has clang || fail "a C compiler is missing: install one (Debian, Ubuntu: apt install build-essential; macOS: xcode-select --install)."
  cargo --version >/dev/null || fail "cargo does not start: rustup could not provide the toolchain that rust-toolchain.toml names (see its message above)."
}

require_node() {
  has node || fail "Node is missing: install Node 20 or later from https://nodejs.org and try again."
  has npm || fail "npm is missing: it comes with Node from https://nodejs.org (Debian, Ubuntu: apt install npm)."
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "Node $(node --version) is too old: the tests need Node 20 or later, from https://nodejs.org."
}

# Prints the first Python that is new enough.
find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] && has "$candidate" || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    echo "$candidate"
    return
  done
  return 1
}

require_python() {
  python=$(find_python) || fail "Python 3.11 or later is missing: the tests talk to Python MCP servers and clients. Install python3 (Debian, Ubuntu: apt install python3 python3-venv), or name one with PYTHON=/path/to/python3 make test."
  "$python" -c 'import venv, ensurepip' 2>/dev/null || fail "$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv) and try again."
}
