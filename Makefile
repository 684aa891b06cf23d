# Every target makes the environments it needs by itself; `make PYTHON=/path/to/python3` chooses the interpreter.
PYTHON ?=
export PYTHON
# Tools in the environments are found by name; nothing is installed outside this folder.
SYSTEM_PATH := $(PATH)
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.tools/sam/bin:$(PATH)
export SAM_CLI_TELEMETRY := 0
# sam validate asks for a region; no target calls AWS itself.
export AWS_DEFAULT_REGION := eu-central-1

LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header --upgrade

.DEFAULT_GOAL := help
.PHONY: help setup demo local local-logs test check lint types contracts build validate security coverage bench lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make the environments (.venv, .tools); does nothing when they are up to date
	@PATH='$(SYSTEM_PATH)' python3 infra/local/setup.py

demo: setup ## Deploy to the local stack and tell the whole story with real functions
	@python -m infra.local.demo

local: setup ## Run the local stack until Ctrl-C; what it holds is kept for the next time
	@python -m infra.local.serve

local-logs: setup ## Follow the functions' logs of `make local`
	@python -m infra.local.logs

test: setup ## Run all tests, those on the local stack included
	@python -m pytest --numprocesses=auto --dist=loadgroup --cov --cov-report= --cov-fail-under=0

check: lint types contracts build validate security coverage ## Everything that must pass before a change lands

lint: setup ## ruff: style and common mistakes
	@ruff check .
	@ruff format --check --quiet .

types: setup ## mypy, strict
	@mypy

contracts: setup ## import-linter: which part may import which
	@PYTHONPATH=. lint-imports

build: setup ## sam build, then import every built function
	@python -m infra.local.build

validate: setup ## sam validate and cfn-lint on the templates
	@sam validate --lint
	@cfn-lint template.yaml infra/observability.yaml infra/apprise_layer.yaml

security: setup ## Known vulnerabilities, secrets in files, weaknesses of the templates; makes two environments more
	@PATH='$(SYSTEM_PATH)' python3 infra/local/setup.py security checkov
	@python -m infra.security

# Silent when all is well, so that the tests' own summary stays the last thing said.
coverage: test ## Branch coverage of the last test run: 95 % in all, 100 % of the core
	@coverage report --format=total >/dev/null || { coverage report; exit 1; }
	@coverage report --format=total --include='*/core/*' --fail-under=100 >/dev/null || \
		{ coverage report --include='*/core/*' --fail-under=100; exit 1; }

faults: setup ## 2,000 notifications through the stack while everything fails, with three seeds; the tests have a small one
	@python -m tests.faults --seed 1 2 3

bench: setup ## Benchmarks; they measure and are no part of the tests
	@python -m tests.benchmarks.sweep
	@python -m tests.benchmarks.cold_start

# Locks hold for Python 3.11 to 3.13 on Linux and macOS. Needs uv, which nothing else here does:
# python3 -m venv /tmp/uv && /tmp/uv/bin/pip install uv && PATH=/tmp/uv/bin:$PATH make lock
lock: ## Renew requirements/*.txt and the layer's pins from requirements/*.in
	cd requirements && $(LOCK) layer.in -o ../layers/common/requirements.txt
	cd requirements && $(LOCK) apprise.in -o ../layers/apprise/requirements.txt
	cd requirements && for name in dev stack sam security checkov; do $(LOCK) $$name.in -o $$name.txt || exit 1; done

clean: ## Remove the environments and everything that was built
	rm -rf .venv .tools .aws-sam .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
