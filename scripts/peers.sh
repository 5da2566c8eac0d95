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

want="$(checksum requirements.txt) $("$python" --version)"
if [ "$(cat .venv/.installed 2>/dev/null || true)" != "$want" ]; then
  step "Installing the Python peers into peers/.venv"
  rm -rf .venv
  "$python" -m venv .venv || fail "$python could not make a virtual environment: see its message above."
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt </dev/null ||
    fail "pip failed in peers/: see its message above; it needs to reach a Python package index."
  echo "$want" >.venv/.installed
fi
