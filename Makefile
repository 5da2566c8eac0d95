# Everything starts here: `make help` lists it. Needs a Unix shell, Rust, and for the tests Node and Python.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test lint bench peers clean-demo

# Where `make run` listens.
LISTEN ?= 127.0.0.1:8080

help: ## Lists the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Builds the gateway and starts it with a demonstration (LISTEN=127.0.0.1:8080); Ctrl-C ends it
	@LISTEN=$(LISTEN) scripts/run.sh

test: ## Installs what the tests need, once, and runs every test
	@scripts/test.sh

lint: ## Checks formatting, lints and, where cargo-deny is installed, dependencies
	@scripts/lint.sh

bench: ## Measures the gateway beside plain nginx and writes docs/benchmarks.md (about six minutes)
	@scripts/bench.sh

peers: ## Installs the MCP servers and clients that the tests put around the gateway
	@scripts/peers.sh

clean-demo: ## Forgets what the demonstration stored
	rm -rf data/demo
