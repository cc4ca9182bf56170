# Every verb below needs nothing but Python >= 3.11, Java 17 or 21, and make: it brings the rest.
# Tests of the catalog and of DAGs start a PostgreSQL besides: on Debian, package postgresql-15.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
JARS := .state/jars
S3_SERVER := .state/moto
SITE_MAKER := .state/mkdocs
AUDITOR := .state/audit
TRINO := .state/trino
CONNECT := .state/connect
MYSQL := .state/mysql
REST := .state/rest
CODE := $(wildcard include dags jobs)
DOCTESTED := $(wildcard $(addprefix include/tidemark/,model spec gate schema jars/java.py)) include/reference/pages.py
CASES ?= tests/corpus/cases
# Before there is an environment, checks run on the Python that will make it.
ANY_PYTHON = $(firstword $(wildcard $(BIN)/python) $(PYTHON))

# Each process has a Spark session and a broker of its own; the one that is done takes over tests.
SIDE_BY_SIDE := --numprocesses 2 --dist worksteal
# As above, but tests of one file stay together, so that Airflow and its topics are made once.
BY_FILE := --numprocesses 2 --dist loadfile
# Runs of an Airflow of their own: of the longer half of the tests.
OWN_AIRFLOW := tests/e2e/stack/test_canaries.py tests/e2e/stack/test_late_runs.py
# A kind of test that nobody wrote yet says so; one that exists must hold tests, or pytest fails.
pytest = if [ -d tests/$(1) ]; then $(BIN)/python -m pytest tests/$(1) $(2) $(ARGS); \
	else echo "there are no tests in tests/$(1) yet"; fi

.PHONY: help
help: ## list these verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: python java $(INSTALLED) ## create .venv, fetch and verify the jars, archive their classes
	@$(BIN)/python -m tidemark.jars fetch $(JARS)
	@$(BIN)/python -m embedded.archive $(JARS)

.PHONY: fmt
fmt: $(INSTALLED) ## format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix $(CODE) tests
	@$(BIN)/ruff format $(CODE) tests

.PHONY: tables
tables: $(INSTALLED) ## write the generated tables of the docs, from the code
	@$(BIN)/python -m reference docs

.PHONY: docs
docs: $(SITE_MAKER)/installed ## the site of docs/ in .state/site; a broken link or anchor fails it
	@NO_MKDOCS_2_WARNING=1 $(SITE_MAKER)/bin/mkdocs build --strict \
		--config-file include/reference/mkdocs.yml >$(SITE_MAKER)/build.log 2>&1 \
		|| { cat $(SITE_MAKER)/build.log >&2; exit 1; }

.PHONY: browser
browser:
	@test -x /usr/bin/chromedriver || { echo \
		"tidemark needs a browser for this: apt-get install chromium chromium-driver" >&2; exit 1; }

.PHONY: screenshots
screenshots: ARGS = --pictures docs/images
screenshots: test-browser ## make test-browser, whose pictures go to docs/

.PHONY: lint
lint: $(INSTALLED) ## style, format, types, and who may import whom
	@$(BIN)/ruff check $(CODE) tests
	@$(BIN)/ruff format --check $(CODE) tests
	@$(BIN)/mypy $(CODE) tests
	@$(BIN)/lint-imports --no-logo

.PHONY: check
check: $(INSTALLED) ## the inner loop: style, format, imports, and unit tests without the simulator
	@$(BIN)/ruff check $(CODE) tests
	@$(BIN)/ruff format --check $(CODE) tests
	@$(BIN)/lint-imports --no-logo
	@$(call pytest,unit,$(SIDE_BY_SIDE) --ignore tests/unit/simulate)

.PHONY: test
test: lint docs test-unit test-catalog test-spark test-dags test-wheel test-smoke test-e2e test-cluster ## lint, docs, tests of every part and the stack

.PHONY: test-unit
test-unit: $(INSTALLED) ## tests without a JVM, in seconds
	@$(call pytest,unit,$(SIDE_BY_SIDE) --doctest-modules $(DOCTESTED))

.PHONY: test-catalog
test-catalog: $(INSTALLED) $(REST)/installed ## connections to a catalog that break, on PostgreSQL and by REST; needs PostgreSQL
	@$(call pytest,catalog,$(SIDE_BY_SIDE))

.PHONY: test-spark
test-spark: setup ## tests on a Spark session and real Iceberg tables
	@$(call pytest,spark,$(SIDE_BY_SIDE))

.PHONY: test-dags
test-dags: setup ## tests of what Airflow parses
	@$(call pytest,dags)

.PHONY: test-wheel
test-wheel: setup ## the built wheel in an environment of its own: DAGs, commands, one cut by Airflow
	@$(call pytest,wheel)

.PHONY: test-e2e
test-e2e: setup ## the stack: Airflow, broker, commands, runs that die, bad input
	@$(call pytest,e2e/stack,$(BY_FILE) $(OWN_AIRFLOW:%=--ignore %))

.PHONY: test-browser
test-browser: browser setup $(SITE_MAKER)/installed ## the page in headless Chromium, on the running stack; needs Debian's chromium-driver
	@$(call pytest,browser)

.PHONY: test-cluster
test-cluster: setup $(S3_SERVER)/installed ## as root: whole cuts on Spark workers that share no disk
	@$(call pytest,cluster)

.PHONY: test-trino
test-trino: setup $(S3_SERVER)/installed $(TRINO)/installed ## Trino on our tables: TRINO_JAVA_HOME=home of Java 24 or newer
	@$(call pytest,trino)

SEEDS ?= 20
.PHONY: test-mariadb
test-mariadb: setup ## random DDL on a MariaDB server, compared with what it selects: SEEDS=20
	@$(call pytest,mariadb,-s --seeds $(SEEDS))

.PHONY: live
live: SEEDS = 2
live: setup $(CONNECT)/installed $(MYSQL)/installed ## random work on PostgreSQL, MariaDB and MySQL through Debezium, compared with what they select: SEEDS=2
	@$(call pytest,live,-s --seeds $(SEEDS))

.PHONY: test-smoke
test-smoke: setup $(REST)/installed ## scenarios, at least one of each kind
	@$(call pytest,e2e/scenarios,$(SIDE_BY_SIDE) -m smoke)

.PHONY: scenarios
scenarios: setup $(REST)/installed ## whole cuts of all that a source may do, but those of `make test-smoke`; secrets in traces of runs, mails of late ones
	@$(call pytest,e2e/scenarios,$(OWN_AIRFLOW) $(SIDE_BY_SIDE) -m "not smoke")

.PHONY: histories
histories: setup $(REST)/installed ## random histories through whole cuts and merges, SEEDS=20 of each kind, or ARGS="--seed 7"; `make test` and `make scenarios` have one
	@$(call pytest,e2e/scenarios,$(SIDE_BY_SIDE) -k random_histories --seeds $(SEEDS))
	@$(call pytest,spark/lake,$(SIDE_BY_SIDE) -k random_histories --seeds $(SEEDS))

values: export VALUES ?= 10000
values: export VALUES_SEED ?= 1
.PHONY: values
values: setup ## random values of each column type, from the record to the table: VALUES=10000 VALUES_SEED=1
	@$(call pytest,spark/properties,$(SIDE_BY_SIDE))

N ?= 20000
.PHONY: simulate
simulate: $(INSTALLED) ## search N histories for one that breaks a promise: N=20000 ARGS="--seed 1"
	@$(BIN)/python -m tests.simulate --histories $(N) $(ARGS)

SECONDS ?= 60
.PHONY: fuzz
fuzz: $(INSTALLED) ## random foreign text against what reads it: SECONDS=60 for each of ARGS="ddl types.."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --only-binary :all: --group fuzz
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(ARGS)

.PHONY: audit
audit: $(AUDITOR)/installed ## advisories on the locked Python packages; one that cannot be looked up fails it as well
	@$(AUDITOR)/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off \
		--requirement requirements.txt $(ARGS)

.PHONY: sbom
sbom: $(AUDITOR)/installed ## the bill of materials of packages and jars, CycloneDX in .state/sbom.json
	@$(AUDITOR)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--of JSON --output-file .state/sbom.json $(BIN)/python
	@$(BIN)/python -m reference.sbom .state/sbom.json

.PHONY: corpus
corpus: setup ## recorded topics against the rows that must come out: CASES="DIR..." ARGS="..."
	@$(BIN)/python -m tests.corpus $(CASES) $(ARGS)

.PHONY: bench
bench: setup ## measure, JSON out
	@$(BIN)/python -m tests.bench $(ARGS)

.PHONY: demo
demo: setup ## sample sources through the whole stack to Iceberg tables, compared at the end
	@$(BIN)/python -m embedded.demo

.PHONY: up
up: setup ## start the embedded stack and leave it running
	@$(BIN)/python -m embedded.stack up

.PHONY: down
down: setup ## stop what `make up` started
	@$(BIN)/python -m embedded.stack down

.PHONY: clean
clean: ## stop the stack; remove the environment, jars, and all state
	@if [ -e $(INSTALLED) ]; then $(BIN)/python -m embedded.stack down; fi
	@rm -rf .venv .state .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.PHONY: python
python:
	@$(ANY_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo \
		"tidemark needs Python 3.11 or newer, and $(PYTHON) is not; name one: make PYTHON=..." >&2; \
		exit 1; }

.PHONY: java
java: python
	@PYTHONPATH=include $(ANY_PYTHON) -B -m tidemark.jars.java

$(INSTALLED): requirements.txt pyproject.toml | python
	@$(PYTHON) -m venv .venv || { echo \
		"tidemark needs Python's venv; Debian and Ubuntu have it in python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		"$$(grep -o '^uv==[^ ]*' requirements.txt)"
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python requirements.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

$(SITE_MAKER)/installed: include/reference/requirements.txt | $(INSTALLED)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SITE_MAKER)
	@$(BIN)/uv pip sync --quiet --python $(SITE_MAKER)/bin/python $<
	@touch $@

$(AUDITOR)/installed: include/reference/audit/requirements.txt | $(INSTALLED)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(AUDITOR)
	@$(BIN)/uv pip sync --quiet --python $(AUDITOR)/bin/python $<
	@touch $@

$(TRINO)/installed: tests/trino/ivy.xml tests/trino/sha256 | $(INSTALLED)
	@rm -rf $(TRINO)
	@mkdir -p $(TRINO)/server
	@java -jar .venv/lib/python*/site-packages/pyspark/jars/ivy-*.jar -ivy $< \
		-cache $(TRINO)/cache -types tar.gz zip -retrieve "$(TRINO)/[artifact].[ext]" \
		>$(TRINO)/ivy.log || { tail -n 20 $(TRINO)/ivy.log >&2; exit 1; }
	@cd $(TRINO) && sha256sum --check --quiet $(CURDIR)/tests/trino/sha256
	@tar --extract --strip-components 1 --directory $(TRINO)/server --file $(TRINO)/trino-server-core.tar.gz
	@$(BIN)/python -m zipfile --extract $(TRINO)/trino-iceberg.zip $(TRINO)/server/plugin
	@rm -r $(TRINO)/cache $(TRINO)/ivy.log $(TRINO)/*.tar.gz $(TRINO)/*.zip
	@touch $@

$(CONNECT)/installed: tests/live/ivy.xml tests/live/sha256 | $(INSTALLED)
	@rm -rf $(CONNECT)
	@mkdir -p $(CONNECT)
	@for set in worker debezium; do java -jar .venv/lib/python*/site-packages/pyspark/jars/ivy-*.jar \
		-ivy $< -confs $$set -cache $(CONNECT)/cache -types jar bundle \
		-retrieve "$(CONNECT)/$$set/[artifact]-[revision].[ext]" \
		>$(CONNECT)/ivy.log || { tail -n 20 $(CONNECT)/ivy.log >&2; exit 1; }; done
	@cd $(CONNECT) && sha256sum --check --quiet $(CURDIR)/tests/live/sha256
	@rm -r $(CONNECT)/cache $(CONNECT)/ivy.log
	@touch $@

$(MYSQL)/installed: tests/live/install_mysql.sh
	@rm -rf $(MYSQL)
	@$< $(MYSQL)
	@touch $@

$(REST)/installed: tests/rest/ivy.xml tests/rest/sha256 | $(INSTALLED)
	@rm -rf $(REST)
	@mkdir -p $(REST)
	@java -jar .venv/lib/python*/site-packages/pyspark/jars/ivy-*.jar -ivy $< \
		-cache $(REST)/cache -types jar bundle \
		-retrieve "$(REST)/[artifact]-[revision](-[classifier]).[ext]" \
		>$(REST)/ivy.log || { tail -n 20 $(REST)/ivy.log >&2; exit 1; }
	@cd $(REST) && sha256sum --check --quiet $(CURDIR)/tests/rest/sha256
	@rm -r $(REST)/cache $(REST)/ivy.log
	@touch $@

$(S3_SERVER)/installed: tests/cluster/requirements.txt | $(INSTALLED)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(S3_SERVER)
	@$(BIN)/uv pip sync --quiet --python $(S3_SERVER)/bin/python $<
	@touch $@
