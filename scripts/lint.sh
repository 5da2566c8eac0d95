#!/usr/bin/env bash
# Checks formatting, lints and dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

require_rust
step "Formatting"
cargo fmt --all --check || fail "the code is not formatted: run cargo fmt --all"
step "Lints"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
if cargo deny --version >/dev/null 2>&1; then
  step "Dependencies"
  cargo deny --log-level error check
else
  step "Dependencies: skipped, cargo-deny is not installed (cargo install --locked cargo-deny)"
fi
