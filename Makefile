PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# The versions that all tests ran on; pip install . takes the newest that pyproject.toml allows.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable

# A stamp file says for which extras the environment is up to date; it is older than pyproject.toml when it is not.
RUN_STAMP  := $(VENV)/.ready-to-run
TEST_STAMP := $(VENV)/.ready-to-test
SPARK_STAMP := $(VENV)/.ready-to-test-spark

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark lint bench constraints clean

help: ## Say what can be made.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUN_STAMP) ## Write the papers' example tables to ppdm-demo/ and run every method on them.
	@$(BIN)/ppdm demo --force

test: lint ## Do that, then run all tests.
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile

test-spark: $(SPARK_STAMP) ## Run the tests on Spark, which make test leaves out (needs Java 17).
	@command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" > /dev/null || \
	    { echo "Java is needed to test on Spark, and there is none. Install Java 17, or set JAVA_HOME." >&2; exit 1; }
	@$(BIN)/python -m pytest -m spark --numprocesses 2 --dist loadfile --no-loadscope-reorder tests

lint: $(TEST_STAMP) ## Check style, types, layers and what imports need.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --strict --no-error-summary ppdm_sql
	@broken=$$($(BIN)/lint-imports --no-cache) || { echo "$$broken"; exit 1; }
	@undeclared=$$($(BIN)/deptry --no-ansi ppdm_sql 2>&1) || { echo "$$undeclared"; exit 1; }

bench: $(TEST_STAMP) ## Run the benchmarks (minutes).
	@$(BIN)/python benchmarks/startup.py
	@$(BIN)/python benchmarks/adult.py
	@$(BIN)/python benchmarks/quality.py
	@$(BIN)/python benchmarks/utility.py
	@$(BIN)/python benchmarks/census.py
	@$(BIN)/python benchmarks/many_values.py
	@$(BIN)/python benchmarks/accuracy.py --levels 100 --seeds 1
	@$(BIN)/python benchmarks/suppress.py
	@$(BIN)/python benchmarks/generalize.py
	@$(BIN)/python benchmarks/swap.py
	@$(BIN)/python benchmarks/audit.py
	@$(BIN)/python benchmarks/risk.py
	@$(BIN)/python benchmarks/perturb.py
	@$(BIN)/python benchmarks/reconstruct.py
	@$(BIN)/python benchmarks/persons.py
	@$(BIN)/python benchmarks/integrate.py
	@$(BIN)/python benchmarks/scale.py

constraints: $(TEST_STAMP) ## Take the newest versions into constraints.txt; run the whole suite before you commit it.
	@$(BIN)/uv pip compile --quiet --upgrade --all-extras --no-annotate --no-header --output-file constraints.txt pyproject.toml

clean: ## Remove the environment, caches and the demo.
	rm -rf $(VENV) build dist ppdm-demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(RUN_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing ppdm-sql into $(VENV) ..." >&2
	@$(INSTALL) '.[report]'
	@touch $@

$(TEST_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing ppdm-sql and its test tools into $(VENV) ..." >&2
	@$(INSTALL) '.[test]'
	@touch $(RUN_STAMP) $@

$(SPARK_STAMP): $(TEST_STAMP)
	@echo "Installing Spark (490 MB) into $(VENV) ..." >&2
	@$(INSTALL) '.[test,test-spark]'
	@touch $(RUN_STAMP) $(TEST_STAMP) $@
