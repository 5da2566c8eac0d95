#!/usr/bin/env bash
# Installs what the tests need and runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

require_rust
scripts/peers.sh
export PEERS_DIR="$PWD/peers"

if cargo nextest --version >/dev/null 2>&1; then
  step "Running every test with cargo-nextest (the first build takes some minutes)"
  cargo nextest run --workspace --locked --no-fail-fast
  step "Running the examples in the documentation"
  cargo test --workspace --locked --doc --quiet
else
  step "Running every test (the first build takes some minutes; cargo-nextest runs them faster: cargo install --locked cargo-nextest)"
  cargo test --workspace --locked --no-fail-fast
fi
step "All tests passed."
