# Two commands do everything on a fresh machine with Rust, Python 3.11 and make:
#   make demo   builds the package and runs the main job on real data
#   make test   every test, real servers included, after the checks that need no other build

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
LOWEST := .cache/lowest
# Tests and lints share the compiled dependencies of the package: see tests/profile.toml.
TESTED := --release --config tests/profile.toml --locked --workspace --all-features
RUST_SOURCES = $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: all setup build demo test lint lint-rust lint-docs lint-portable lint-python lint-crates downloads test-rust test-python test-lowest test-connector spark test-spark test-servers fuzz soak soak-files bench docs docs-serve versitygw clean
.DELETE_ON_ERROR:

all: build

setup: $(STAMP)

$(STAMP): requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	@# Crates are downloaded meanwhile. Where that fails, the build says so.
	cargo fetch --quiet --locked & $(BIN)/pip install --quiet --requirement requirements-dev.lock; installed=$$?; \
	  wait; exit $$installed
	touch $@

# The environment has one package: as users have it, or as the tests have it, with assertions and compiled in less time.
MATURIN := VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet --features workspace-dependencies
# A path, in place of an import hook that would cost each start of Python 20 ms.
INSTALL_BENCH := $(BIN)/pip install --quiet --no-deps --config-settings editable_mode=compat --editable bench

build: $(VENV)/.built

$(VENV)/.built: $(STAMP) $(RUST_SOURCES)
	$(MATURIN)
	$(INSTALL_BENCH)
	rm -f $(VENV)/.tested
	touch $@

$(VENV)/.tested: $(STAMP) $(RUST_SOURCES)
	$(MATURIN) --config tests/profile.toml
	$(INSTALL_BENCH)
	rm -f $(VENV)/.built
	touch $@

demo: build
	$(BIN)/lakerace demo

# What the tests need is downloaded while the crates compile. The Rust tests run beside the Python tests, and are printed after them.
test:
	@mkdir -p .cache && { $(MAKE) --no-print-directory downloads > .cache/downloads.log 2>&1 & downloads=$$!; \
	  $(MAKE) --no-print-directory lint-rust; lint=$$?; \
	  wait $$downloads; downloads=$$?; cat .cache/downloads.log; exit $$((lint | downloads)); }
	$(MAKE) --no-print-directory lint-python lint-crates
	@mkdir -p .cache && { $(MAKE) --no-print-directory test-rust > .cache/test-rust.log 2>&1 & rust=$$!; \
	  $(MAKE) --no-print-directory test-python; python=$$?; \
	  wait $$rust; rust=$$?; cat .cache/test-rust.log; exit $$((rust | python)); }
	$(MAKE) --no-print-directory test-lowest test-connector
	$(BIN)/python tests/python/summary.py

lint: lint-rust lint-docs lint-python lint-crates

# Clippy, by tests/profile.toml: it compiles what the tests run.
lint-rust:
	cargo fmt --all --check
	cargo test $(TESTED) --all-targets --no-run --quiet

# The pages of rustdoc. They need all dependencies checked a second time, so `make test` leaves them out.
lint-docs:
	RUSTDOCFLAGS=-Dwarnings cargo doc $(TESTED) --no-deps --quiet

# What macOS compiles, checked on Linux: `cargo test` on macOS does the same.
lint-portable:
	tests/portable/check

# Licences, versions that stand side by side, manifests; files that use one another; words.
lint-crates: $(STAMP)
	$(BIN)/python tests/crates.py
	$(BIN)/python tests/circles.py
	$(BIN)/python tests/flags.py
	$(BIN)/python tests/static_locks.py
	$(BIN)/python tests/vocabulary.py

lint-python: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Servers, Sparks and the oldest libraries: a part that is absent is downloaded by the tests that need it.
downloads: $(STAMP) $(LOWEST)/.stamp
	$(BIN)/python tests/downloads.py

# The tests start and stop their own S3 server: versitygw where `make versitygw` has built it,
# else the SeaweedFS that the lock file brings. LAKERACE_TEST_S3_ENDPOINT names another one.
# Azurite is fetched by npm on first use, and needs Node 18; a server of Google Cloud Storage is in tests/servers.
# Elasticsearch is fetched on first use, and needs a JDK 17; LAKERACE_TEST_ELASTICSEARCH names another one.
test-rust: $(VENV)/.tested
	$(BIN)/python tests/rust.py --workspace --quiet

test-python: $(VENV)/.tested
	$(BIN)/pytest tests/python --numprocesses 2 --dist loadfile

# The oldest versions that pyproject.toml promises to work with: what goes in and out of them.
$(LOWEST)/.stamp: tests/lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --requirement tests/lowest.txt
	touch $@

test-lowest: $(VENV)/.tested $(LOWEST)/.stamp
	$(BIN)/python tests/lowest.py $(LOWEST) tests/python/test_round_trip.py tests/python/test_interop.py tests/python/test_api.py

# The Spark connector: one jar, with the native library of this machine. Needs a JDK 17; PySpark 3.5.8 brings the jars to compile against.
spark: setup
	$(BIN)/python spark/build.py

# The Spark connector: all tests on Spark 3.5.8, and those that Spark's own changes reach on 4.1.4 and 4.3.0. Needs a JDK 17, and
# downloads about 1.5 GB the first time.
test-connector: $(VENV)/.tested
	$(BIN)/python tests/spark_connector/run.py

# All tests of the connector on all Sparks, and whether Spark reads the ORC files and the change data feeds that we write, in an
# environment of the bench.
test-spark: $(VENV)/.tested
	LAKERACE_SPARK_TESTS=all $(BIN)/python tests/spark_connector/run.py
	$(BIN)/pytest tests/spark

# The tests of databases against further servers: Elasticsearch 7, and, with a JDK 25, Elasticsearch 9 and OpenSearch 3.
test-servers: $(VENV)/.tested
	for server in elasticsearch-7 elasticsearch-9 opensearch-3; do \
	  LAKERACE_TEST_ELASTICSEARCH_SERVER=$$server $(BIN)/python tests/rust.py --workspace --test elasticsearch || exit 1; done

# A minute for each parser; see fuzz/README.md for what it needs.
fuzz:
	for target in parquet orc csv avro excel filter schema_text commit_marker log_entry deletion_vector; do fuzz/run $$target 60 || exit 1; done

# The fuzzers of tests/python/fuzz, SOAK_SECONDS each (60 by default); SOAK_SEED runs the cases of an earlier time again.
soak: build
	$(BIN)/python tests/python/fuzz/soak.py

# A thousand writers of a store of small files that are killed, and a content of 3 GB.
soak-files: build
	LAKERACE_CRASH_ROUNDS=1000 LAKERACE_LONG_MEGABYTES=3000 $(BIN)/pytest tests/python/test_files.py -k "killed or never_held"

# The site of the documents, in .cache/site. A link that leads nowhere is an error. `make docs-serve` shows it in a browser.
DOCS := .cache/docs
$(DOCS)/.stamp: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --requirement requirements-docs.lock
	touch $@

docs: build $(DOCS)/.stamp
	PATH=$(CURDIR)/$(DOCS)/bin:$$PATH NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict

docs-serve: docs
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory .cache/site 8000

# The S3 server of the benches. Needs Go.
versitygw: .cache/bin/versitygw

.cache/bin/versitygw:
	GOBIN=$(CURDIR)/.cache/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

bench: build
	$(BIN)/lakerace bench run scan write
	$(BIN)/lakerace bench report

clean:
	rm -rf target $(VENV) .cache
