#!/usr/bin/env bash
# Installs the MCP servers and clients of peers/, at the locked versions, unless they are there already.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

checksum() {
  cksum "$@"
}

require_node
require_python
cd peers

want=$(checksum package-lock.json)
if [ "$(cat node_modules/.installed 2>/dev/null || true)" != "$want" ]; then
  step "Installing the Node peers into peers/node_modules"
  npm ci --no-audit --no-fund --ignore-scripts --loglevel=error </dev/null ||
    fail "npm ci failed in peers/: see its message above; it needs to reach an npm registry."
  echo "$want" >node_modules/.installed
fi

# Makes a virtual environment at $1 with what $2 locks.
environment() {
  local want
  want="$(checksum "$2") $("$python" --version)"
  [ "$(cat "$1/.installed" 2>/dev/null || true)" != "$want" ] || return 0
  step "Installing the Python peers into peers/$1"
  rm -rf "$1"
  "$python" -m venv "$1" || fail "$python could not make a virtual environment: see its message above."
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$2" </dev/null ||
    fail "pip failed in peers/: see its message above; it needs to reach a Python package index."
  echo "$want" >"$1/.installed"
}

environment .venv requirements.txt
environment .venv-1 requirements-1.txt

../scripts/model.sh
