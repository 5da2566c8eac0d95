#!/usr/bin/env bash
# Builds the gateway and the demonstration, starts both, and ends both on Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/require.sh

listen=${LISTEN:-127.0.0.1:8080}
data=data/demo
target=${CARGO_TARGET_DIR:-target}
gateway_pid=

# A connection that is accepted means that somebody listens.
answers() {
  (exec 3<>"/dev/tcp/${listen%:*}/${listen##*:}") 2>/dev/null
}

ready() {
  (
    exec 3<>"/dev/tcp/${listen%:*}/${listen##*:}" || exit 1
    printf 'GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$listen" >&3
    IFS= read -r -t 2 line <&3 && [[ $line == *" 200 "* ]]
  ) 2>/dev/null
}

stop() {
  trap - EXIT INT TERM
  if [ -n "$gateway_pid" ] && kill -0 "$gateway_pid" 2>/dev/null; then
    echo
    step "Stopping the gateway"
    kill -TERM "$gateway_pid" 2>/dev/null || true
    wait "$gateway_pid" 2>/dev/null || true
  fi
}

require_rust
! answers || fail "something already listens on $listen: stop it, or choose another address with make run LISTEN=127.0.0.1:9090"

step "Building the gateway and the demonstration (release; the first build takes some minutes)"
# In one go: built apart, they would want their libraries with other features and build them twice.
cargo build --release --locked --package gateway --bin switchyard --package testkit --bin demo

trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step "Starting the gateway on http://$listen with its data in ./$data"
mkdir -p "$data"
chmod 700 "$data"
# In a process group of its own: Ctrl-C reaches it once, through `stop`, and not a second time, which would cut off what runs.
set -m
# Nothing of the demonstration leaves the machine, so it does not fetch the model of the search either.
SWITCHYARD_SEARCH__DOWNLOAD=false "$target/release/switchyard" serve --listen "$listen" --data-dir "$data" </dev/null &
gateway_pid=$!
set +m

for _ in $(seq 150); do
  ready && break
  kill -0 "$gateway_pid" 2>/dev/null || fail "the gateway ended at once: see its message above."
  sleep 0.1
done
ready || fail "the gateway was not ready within 15 seconds: see its messages above."

step "Starting the example servers and the demonstration (Ctrl-C ends everything)"
"$target/release/demo" --gateway "http://$listen" --token-file "$data/admin.token"
