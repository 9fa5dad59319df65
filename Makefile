# Every target sets up what it needs in .venv by itself; a fresh machine needs Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 8000
UV := $(shell command -v uv 2>/dev/null)
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check) -c constraints.txt

# What reads and checks schemas of tools and agents: no branch of it may go untested.
SCHEMAS = */agents/_tools/_arguments.py,*/agents/_tools/_signature.py,*/agents/_tools/_docstring.py,*/agents/_validation.py,*/agents/_agent/_checks.py,*/_mcp/_schema.py

# One worker process for each core. The tests of a file stay together: some share what is dear to make. The files keep
# their order, or those with few tests would come last, which are slow: a worker would be left alone with them.
SPREAD = -n auto --dist loadfile --no-loadscope-reorder

.PHONY: demo serve assistant test test-fast package check format clean

demo: $(VENV)/demo-installed ## audit this environment, be killed in the middle, and go on
	PYTHONPATH=examples $(BIN)/python -m dependency_audit $(ARGS)

serve: $(VENV)/serve-installed $(if $(STAGEPOST_MODEL),$(VENV)/llm-installed) ## chat with a supervisor in the browser; make serve PORT=8001, STAGEPOST_MODEL=openai/gpt-5-mini
	@PYTHONPATH=examples $(BIN)/python -m supervisor_service --port $(PORT) $(ARGS)

assistant: $(VENV)/assistant-installed $(VENV)/serve-installed $(if $(STAGEPOST_MODEL),$(VENV)/llm-installed) ## a timesheet assistant whose answers are checked, in the browser
	@PYTHONPATH=examples $(BIN)/python -m timesheet_assistant.web --port $(PORT) $(ARGS)

test: $(VENV)/test-installed ## the tests, spread over the cores; make test ARGS='-m long' for their long forms
	$(BIN)/python -m pytest -q $(SPREAD) $(ARGS)

test-fast: $(VENV)/test-installed ## a part of each layer's tests, in a minute: no processes, no litellm, one event loop
	$(BIN)/python -m pytest -q --fast $(SPREAD) $(ARGS)

package: $(VENV)/test-installed ## the wheel and the sdist: built, installed in clean environments, and tried
	$(BIN)/python -m pytest -q -m long tests/test_packaging.py $(ARGS)

check: $(VENV)/dev-installed ## format, lint, types, import contracts, tests under branch coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -q $(SPREAD) --cov --cov-report=
	$(BIN)/coverage report --include='hub/*,checkpoint/*,$(SCHEMAS)' --skip-covered --fail-under=100
	$(BIN)/coverage report --include='agents/*,service/*' --skip-covered --fail-under=95
	$(BIN)/coverage report --skip-covered --fail-under=95

format: $(VENV)/dev-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) audit-report chats timesheets .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "stagepost needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/%-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[$*]'
	@touch $@
