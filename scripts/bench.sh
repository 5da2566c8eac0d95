#!/usr/bin/env bash
# Measures the release binary beside nginx.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

require_rust
exec cargo xtask bench "$@"
