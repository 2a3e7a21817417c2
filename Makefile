# make run    set up (first time only), serve the page on this machine, with a worker beside it
# make test   set up what tests need and run them all
# make test-servers SERVER=http://127.0.0.1:8311/v1  compare a server that holds the bundled model (named "target")
# make bench  print speed and memory, measured side by side in one run
# make simulate  try the statistics on made-up audits whose truth is known (minutes)
# make tidy   format the code

PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-servers bench simulate tidy

run: $(VENV)/installed
	@$(BIN)/python -m auditlib fetch || echo "The page starts all the same; there you can choose another model."
	@echo "Pretraining Audit: http://127.0.0.1:$(PORT)"
# Both in the background, as a shell hears of Ctrl-C and of its own end only while it waits. The worker ends with the
# page, however that ends: should this shell be killed, it sees so by itself.
	@$(BIN)/streamlit run app.py --server.address 127.0.0.1 --server.port $(PORT) & page=$$!; \
	  $(BIN)/python -m auditlib worker --beside $$page & worker=$$!; \
	  trap 'kill $$page 2>/dev/null' INT TERM HUP; \
	  wait $$page; ended=$$?; \
	  kill $$page $$worker 2>/dev/null; wait; \
	  exit $$(( ended > 128 ? 0 : ended ))

test: $(VENV)/installed-dev
	@$(BIN)/python -m auditlib fetch
	@$(BIN)/python tests/get_browser.py
	@$(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder

test-servers: $(VENV)/installed-dev
	@$(BIN)/python -m auditlib fetch
	@AUDIT_TEST_SERVER=$(SERVER) $(BIN)/python -m pytest -s -m servers tests/models/test_real_server.py

bench: $(VENV)/installed-dev
	@$(BIN)/python -m auditlib fetch
	@$(BIN)/python -m benchmarks.scoring
	@$(BIN)/python -m benchmarks.generation
	@$(BIN)/python -m benchmarks.evidence
	@$(BIN)/python -m benchmarks.prefix
	@$(BIN)/python -m benchmarks.books
	@$(BIN)/python -m benchmarks.jobs

simulate: $(VENV)/installed-dev
	@$(BIN)/python -m benchmarks.simulate
	@$(BIN)/python -m benchmarks.simulate_books

tidy: $(VENV)/installed-dev
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make run PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: requirements.txt constraints.txt | $(VENV)/bin/python
	@echo "Installing the pinned requirements (a few minutes the first time) …"
	@$(PIP) install -r requirements.txt \
	  || { echo "The requirements could not be installed: see that a package index is in reach, then try again."; exit 1; }
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt requirements.txt constraints.txt | $(VENV)/bin/python
	@echo "Installing what tests need …"
	@$(PIP) install -r requirements-dev.txt \
	  || { echo "The requirements could not be installed: see that a package index is in reach, then try again."; exit 1; }
	@touch $@ $(VENV)/installed
