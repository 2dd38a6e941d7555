# SPDX-License-Identifier: Apache-2.0 OR MIT
# Developer commands. Each target calls one tool; stamps in .venv keep repeated calls quick.

.DEFAULT_GOAL := help
SHELL := /bin/bash
# Non-login shells often lack cargo's folder.
export PATH := $(PATH):$(HOME)/.cargo/bin
# This repository has a Python environment of its own; one that the caller has activated is not used.
export VIRTUAL_ENV := $(CURDIR)/.venv
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH
# pytest rewrites assertions, which takes most of the time to collect the tests, and keeps the result as bytecode.
unexport PYTHONDONTWRITEBYTECODE
export PIP_QUIET := 1

VENV := .venv/bin
# Processes of `make test`: three more than processors, since tests of MPI wait for time limits.
TEST_PROCESSES ?= $(shell expr $$(nproc) + 3)
# Sizes of `make nightly`, and smaller ones for QUICK=1: cases per property, programs per transport of moped/mpi, of the
# chip without and with time, seconds per fuzz target, programs of `mpi conform` per number of ranks and per cell of
# `--matrix`, minutes of random operations on engines, random programs of libfabric, programs of `mpi conform` on the
# integrations and their time limit, turns of the measurements of both.
size = $(if $(QUICK),$(2),$(1))
CASES ?= $(call size,20000,1000)
GUEST_PROGRAMS ?= $(call size,10000,300)
CHIP_PROGRAMS ?= $(call size,10000,100)
CHIP_TIMED_PROGRAMS ?= $(call size,300,10)
FUZZ_SECONDS ?= $(call size,3600,30)
OPERATIONS_MINUTES ?= $(call size,100,1)
CONFORM_PROGRAMS ?= $(call size,10000,300)
MATRIX_PROGRAMS ?= $(call size,1000,40)
LIBFABRIC_PROGRAMS ?= $(call size,300,100)
LIBFABRIC_CONFORM_PROGRAMS ?= $(call size,1000,200)
OPENMPI_PROGRAMS ?= $(call size,10000,100)
# Of each of the nine runs on Open MPI with mbmatch, and of each number of ranks on libfabric.
OPENMPI_BUDGET ?= $(call size,4m,1m)
LIBFABRIC_BUDGET ?= $(call size,5m,2m)
TURNS ?= $(call size,20,1)
SIZE_NAMES := CASES GUEST_PROGRAMS CHIP_PROGRAMS CHIP_TIMED_PROGRAMS FUZZ_SECONDS OPERATIONS_MINUTES CONFORM_PROGRAMS \
  MATRIX_PROGRAMS LIBFABRIC_PROGRAMS LIBFABRIC_CONFORM_PROGRAMS OPENMPI_PROGRAMS OPENMPI_BUDGET LIBFABRIC_BUDGET TURNS QUICK
# Current MPIs of the Python registry, which `make nightly` measures beside the system's.
MPIS := openmpi mpich
# Without make's jobserver: cargo has its own, and rustdoc and the make that tests call warn when they cannot reach this.
ALONE := env --unset=MAKEFLAGS --unset=MFLAGS
CARGO := $(ALONE) cargo
PYTEST = $(VENV)/pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --durations 10
# Sources of the compiled module.
RUST := Cargo.toml Cargo.lock $(shell find matching processor moped netproc match_unit mbmatch/src mbmatch/mbmatch.c mbmatch/mbmatch.h mbmatch/build.rs mpi engines workbench spec studies -type f -not -name '*.md' -not -path '*/build/*')

.PHONY: help setup run test check python-checks python-tests abuse faults rust-format rust-lints rust-checked rust-build rust-tests recorder bench nightly dist bless gen guest clean fuzz-corpus

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: .venv/native.stamp recorder ## build everything; leaves the command at .venv/bin/matchbench

run: setup ## the main job: what the shipped traces cost on one preset of each engine
	$(VENV)/matchbench compare traces/*.tar.xz
	# The slowest simulation, beside other processors, on the trace with the fewest messages: some ten seconds.
	$(VENV)/matchbench compare traces/tasks-16.tar.xz --engine list_mt --engine list_ooo --engine moped --engine netproc

test: ## every check and test; ends with the ten slowest of Rust and of Python
	$(MAKE) .venv/lints.stamp
	# Two jobs: cargo, and everything else.
	$(MAKE) --jobs 2 rust-checked rust-format python-checks target/python recorder .venv/charts.stamp .venv/browser.stamp
	$(MAKE) --jobs 2 rust-tests python-tests
	# The ten slowest test programs of Rust; those of Python stand above.
	@awk '/^ +(Running|Doc-tests) / { name = $$0 } / finished in / { print $$NF, name }' target/rust-tests.log | sort -rn | head

check: python-checks rust-format rust-lints ## formatting, lints, types, guards, licences, generated files
	$(VENV)/python xtask/licences.py
	$(CARGO) xtask gen --check
	$(CARGO) xtask guard

python-checks: .venv/packages.stamp
	$(VENV)/ruff format --check
	$(VENV)/ruff check
	$(VENV)/mypy

# TESTS selects some: make python-tests TESTS="tests/test_cli.py -k status"
python-tests: rust-build target/python recorder
	$(ALONE) PYTHONPATH=$(CURDIR)/target/python PATH="$(CURDIR)/target/python/bin:$$PATH" $(PYTEST) $(TESTS)

# Kinds select some: make abuse KINDS="files --only /dev/zero", make faults KINDS=runner_faults
ABUSE := $(ALONE) PYTHONPATH=$(CURDIR)/target/python $(VENV)/python -m tests.abuse
abuse: rust-build target/python recorder ## attack every option of every command: what, expected, found
	$(ABUSE) $(or $(KINDS),code files outputs values)

faults: rust-build target/python recorder ## let each call of the system fail in commands, in the recorder, in the runner of `mpi conform`
	$(ABUSE) $(or $(KINDS),faults recorder_faults runner_faults)

rust-format: .venv/lints.stamp
	$(CARGO) fmt --check

rust-lints: .venv/lints.stamp
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	# Fails if fuzz/Cargo.lock is out of date: a run of the fuzz targets would change it.
	$(CARGO) metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null

rust-checked: rust-lints
	$(MAKE) rust-build

# One call for test programs, examples and the module of Python: the features of dependencies depend on what is selected.
rust-build:
	$(CARGO) build --quiet --workspace --lib --bins --examples --tests

# These include the guards and the check of generated files. The log has a line for each test.
rust-tests:
	$(ALONE) MATCHBENCH_PARAMETERS=$(CURDIR)/target/debug/examples/parameters cargo test --workspace > target/rust-tests.log 2>&1 || \
	  { tail -n 200 target/rust-tests.log; false; }

# The Python package with the module that `rust-build` builds: links to the sources and to the module.
target/python: $(wildcard python/matchbench/*) .venv/packages.stamp
	rm -rf $@
	mkdir -p $@/matchbench $@/bin
	ln -s $(filter-out %.so %/__pycache__,$(wildcard $(CURDIR)/python/matchbench/*)) $@/matchbench
	ln -s $(CURDIR)/target/debug/lib_native.so $@/matchbench/_native.abi3.so
	printf '#!%s\nimport sys\nfrom matchbench.__main__ import main\nif __name__ == "__main__":\n    sys.exit(main())\n' $(CURDIR)/$(VENV)/python > $@/bin/matchbench
	chmod +x $@/bin/matchbench

recorder: .venv/tools.stamp
	$(MAKE) -C recorder

bench: setup .venv/mpi.stamp ## speed: criterion, mbmatch beside other libraries, the recorder, whole commands
	# An engine as a shared library: its calls are measured beside those of the same engine built in.
	cargo build --quiet --release --package mb-own --examples
	cargo bench --workspace --exclude mb-py --benches
	$(MAKE) -C mbmatch bench BUILD=$(CURDIR)/out/bench/mbmatch
	$(VENV)/python benches/commands.py
	$(MAKE) -C recorder bench

# Parts of `make nightly`; each is a target nightly-PART. Property tests are divided by folder, fuzzing by target.
PROPERTIES := engines match_unit matching mbmatch moped mpi netproc processor workbench
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/corpus/*.txt)))
PRODUCTS := match_unit mbmatch moped mpi netproc processor recorder
PARTS ?= $(PROPERTIES:%=properties-%) $(PRODUCTS:%=alone-%) ignored operations mbmatch fuzz-mbmatch $(FUZZ_TARGETS:%=fuzz-%) \
  advisories python dist reproduce guest-mpi chip-conform chip-runs sweep mpi-tests mpi-bench mpi-conform mpi-matrix libfabric openmpi
MPICC := mpicc.openmpi mpicc.mpich $(MPIS:%=.venv/mpis/%/bin/mpicc)

nightly: ## the parts of PARTS: long property runs, sanitizers, fuzzing, every MPI measured (QUICK=1: small sizes)
	SIZES="$(foreach name,$(SIZE_NAMES),$(name)=$($(name)))" xtask/nightly.sh $(PARTS)

# Open MPI runs as root only with these variables.
nightly-%: export OMPI_ALLOW_RUN_AS_ROOT := 1
nightly-%: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
nightly-%: export PATH := $(PATH):$(CURDIR)/.venv/bin

# Without link-time optimization: there are many test programs, and linking one with it takes as long as linking the command.
nightly-properties-% nightly-ignored: export CARGO_PROFILE_RELEASE_LTO := off

# The crates in folders.
crates = $(filter-out mb-py,$(shell find $(1) -name Cargo.toml -not -path '*/build/*' | xargs grep -hm1 '^name = ' | cut -d'"' -f2))

nightly-properties-%: .venv/native.stamp .venv/packages.stamp .venv/guest.stamp
	PROPTEST_CASES=$(CASES) cargo test --release $(addprefix --package ,$(call crates,$*))

# A product in a copy of its folder and of the layers below it.
nightly-alone-%: .venv/packages.stamp .venv/guest.stamp
	xtask/alone.sh $*

# Tests that are too long for every change.
nightly-ignored: .venv/native.stamp .venv/packages.stamp .venv/guest.stamp
	cargo test --release --workspace --exclude mb-py -- --ignored

# Random operations on every engine, judged by the oracle, until each has 10^9 or 24 hours of processor time in
# out/operations.txt; the next call continues.
nightly-operations: .venv/tools.stamp
	mkdir -p out
	cargo run --release --quiet --package mb-catalog --example operations -- --minutes $(OPERATIONS_MINUTES)

# mbmatch: 10^9 random operations, sequences of 8 operations, and its tests on an emulated processor.
nightly-mbmatch: .venv/aarch64.stamp
	$(MAKE) -C mbmatch check LONG=1 BUILD=$(CURDIR)/out/mbmatch
	$(MAKE) -C mbmatch check CC=aarch64-linux-gnu-gcc EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu" SANITIZE= BUILD=$(CURDIR)/out/mbmatch-aarch64

nightly-fuzz-mbmatch: .venv/fuzzer.stamp
	$(MAKE) -C mbmatch fuzz SECONDS=$(FUZZ_SECONDS) BUILD=$(CURDIR)/out/mbmatch

# From the kept corpus on, with what earlier runs found; fails at a find.
nightly-fuzz-%: .venv/sanitizers.stamp .venv/readers.stamp
	$(VENV)/python fuzz/fuzz.py run $* $(FUZZ_SECONDS)

# The kept corpus anew, of it and of what fuzzing found: make fuzz-corpus FUZZ_TARGETS=study
fuzz-corpus: .venv/sanitizers.stamp .venv/readers.stamp
	for target in $(FUZZ_TARGETS); do $(VENV)/python fuzz/fuzz.py merge $$target || exit; done

# Known defects of crates, where the database can be reached; else the next call tries again. Exceptions are in deny.toml,
# each with a date.
ADVISORIES := https://github.com/rustsec/advisory-db
nightly-advisories: .venv/tools.stamp
	if ! timeout 60 git ls-remote --quiet $(ADVISORIES) HEAD > /dev/null 2>&1; then \
	  printf '%s\n' "advisories: nothing is checked, $(ADVISORIES) cannot be reached" "to be continued"; \
	else \
	  command -v cargo-deny > /dev/null || cargo install --locked --quiet --root .venv cargo-deny && cargo deny check advisories; \
	fi

# `make test` runs the tests of Python on an unoptimized module, this part on the module that users install.
nightly-python: setup .venv/packages.stamp .venv/guest.stamp
	MATCHBENCH_FULL=1 $(PYTEST)

# The wheel that users get, installed; a second build in another folder is equal.
nightly-dist: setup dist .venv/mpi.stamp
	MATCHBENCH_WHEEL=$$(echo dist/*.whl) $(VENV)/pytest tests/test_wheel.py
	packaging/twice.sh

# The claims of crowley2000, with runs of full length.
nightly-reproduce: setup .venv/packages.stamp
	MATCHBENCH_LONG=1 $(VENV)/pytest --durations 10 -k crowley2000 tests/test_reproduce.py

# The MPI library of the simulated chip, on each transport and with small tables, and the programs on 16 ranks.
nightly-guest-mpi: setup .venv/packages.stamp .venv/guest.stamp
	MATCHBENCH_GUEST_MPI_PROGRAMS=$(GUEST_PROGRAMS) MATCHBENCH_GUEST_MPI_SEED=$$(date +%Y%m%d) MATCHBENCH_GUEST_RANKS=16 \
	  $(PYTEST) tests/test_guest_mpi.py tests/test_guest_programs.py

# The same library on the chip, without time, and fewer programs with time. Messages of 64 KiB are left out: most of their cost is that of filling
# buffers. On the same day, the same command continues an interrupted run.
nightly-chip-conform: setup .venv/packages.stamp .venv/guest.stamp
	MATCHBENCH=$(CURDIR)/$(VENV)/matchbench $(VENV)/matchbench mpi conform --matrix moped/mpi/tests/chip.toml --mpicc moped/mpi/mpicc-chip --without long \
	  --programs $(CHIP_PROGRAMS) --ranks 3 --seed $$(date +%Y%m%d) --budget 20m -o out/mpi-conform/chip-$$(date +%Y%m%d) -- moped/mpi/mpirun-chip
	MATCHBENCH=$(CURDIR)/$(VENV)/matchbench $(VENV)/matchbench mpi conform --matrix moped/mpi/tests/chip.toml --mpicc moped/mpi/mpicc-chip --without long \
	  --programs $(CHIP_TIMED_PROGRAMS) --ranks 3 --seed $$(date +%Y%m%d) --budget 4m -o out/mpi-conform/chip-timed-$$(date +%Y%m%d) -- moped/mpi/mpirun-chip --mode timing

# The runs behind gu2011's claims: those that are missing or whose program has changed, begun in the first 50 minutes;
# the next call continues. Then the cheapest are repeated.
nightly-chip-runs: setup .venv/packages.stamp .venv/guest.stamp
	$(VENV)/python studies/gu2011_figures/measure.py --minutes 50
	$(VENV)/python studies/gu2011_figures/measure.py --check --only small

# Sweeps with an optimizer, and on a Slurm of this host; curves of sizes against replays with many sizes.
nightly-sweep: setup .venv/packages.stamp .venv/slurm.stamp
	MATCHBENCH_SLURM=1 $(if $(QUICK),,MATCHBENCH_SIZES=all) $(VENV)/pytest --durations 10 tests/test_sizing.py tests/test_sweep.py tests/test_sweep_slurm.py

nightly-mpi-tests: setup .venv/packages.stamp .venv/mpis.stamp
	MATCHBENCH_LONG=1 $(if $(QUICK),,MATCHBENCH_BUSY_RANKS=1) MATCHBENCH_MPI_PREFIXES=$(subst $() $(),:,$(MPIS:%=$(CURDIR)/.venv/mpis/%)) \
	  $(PYTEST) --dist worksteal tests/test_mpi_bench_real.py tests/test_mpi_conform.py examples/mpi/tests

# The other parts of MPI continue with the next compiler when one fails.
nightly-mpi-bench: setup .venv/mpis.stamp
	failed=0; for mpicc in $(MPICC); do \
	  $(VENV)/matchbench mpi bench --force $(if $(QUICK),--quick) --mpicc $$mpicc -o out/mpi-bench/$${mpicc//\//-} || failed=1; \
	done; exit $$failed

# MPICH 4.0.2 is known to fail with MPI_PROC_NULL, most with messages that do not fit, and both families with a newer
# feature (docs/mpi-conform.md).
nightly-mpi-conform: setup .venv/mpis.stamp
	failed=0; for mpicc in $(MPICC); do \
	  case $$mpicc in *mpich*) known="--without isendrecv --without shared-threads";; *) known="--without partitioned";; esac; \
	  for ranks in 2 3 4; do \
	    $(VENV)/matchbench mpi conform --force --without null --without truncation $$known --mpicc $$mpicc --programs $(CONFORM_PROGRAMS) --ranks $$ranks \
	      --seed $$(date +%Y%m%d) -o out/mpi-conform/$${mpicc//\//-}-$$ranks || failed=1; \
	  done; \
	done; exit $$failed

# Some transports are known to fail: status 1 is a result.
nightly-mpi-matrix: setup .venv/mpis.stamp
	failed=0; for mpicc in $(MPICC); do \
	  case $$mpicc in *openmpi*) matrix=open-mpi;; *) matrix=mpich;; esac; \
	  $(VENV)/matchbench mpi conform --force --matrix $$matrix --without null --without truncation --mpicc $$mpicc --programs $(MATRIX_PROGRAMS) --budget 1m \
	    -o out/mpi-conform/matrix-$${mpicc//\//-} || [ $$? = 1 ] || failed=1; \
	done; exit $$failed

# libfabric from the distribution's source package, unmodified and on mbmatch. The first build takes ten minutes.
nightly-libfabric: setup .venv/libfabric.stamp
	integrations/libfabric/build.sh
	MPICC=$(CURDIR)/.venv/mpis/mpich-4.3/bin/mpicc PROGRAMS=$(LIBFABRIC_PROGRAMS) CONFORM_PROGRAMS=$(LIBFABRIC_CONFORM_PROGRAMS) \
	  BUDGET=$(LIBFABRIC_BUDGET) RUNS=$(TURNS) integrations/libfabric/check.sh

# Open MPI on mbmatch, built from the source package of the distribution, beside the unmodified library. The same command
# continues an interrupted check.
nightly-openmpi: setup .venv/mpi.stamp
	integrations/openmpi/build.sh
	PROGRAMS=$(OPENMPI_PROGRAMS) BUDGET=$(OPENMPI_BUDGET) ROUNDS=$(TURNS) integrations/openmpi/check.sh

# The wheel is built from the source distribution, which has the commit that is checked out; both are equal whenever and
# wherever it is built. The Rust module is linked for glibc 2.28 by zig; the recorder needs no newer one wherever it is built.
DIST := target/dist
dist: .venv/packages.stamp .venv/dist.stamp ## the wheel and the source distribution of this commit, in dist/
	rm -rf dist $(DIST)/source
	mkdir -p dist $(DIST)/source
	$(VENV)/uv build --quiet --sdist --no-build-isolation --python $(VENV)/python --out-dir dist
	# The files are new: cargo compares times.
	tar --extract --touch --strip-components 1 --file dist/*.tar.gz --directory $(DIST)/source
	cd $(DIST)/source && CARGO_TARGET_DIR=$(CURDIR)/$(DIST)/cargo SOURCE_DATE_EPOCH=$$(git -C $(CURDIR) log -1 --format=%ct) \
	  MATURIN_PEP517_ARGS="--zig --compatibility manylinux_2_28" PATH="$(CURDIR)/$(VENV):$$PATH" \
	  $(CURDIR)/$(VENV)/uv build --quiet --wheel --no-build-isolation --python $(CURDIR)/$(VENV)/python --out-dir $(CURDIR)/dist
	rm -rf $(DIST)/source
	ls -l dist

bless: setup .venv/packages.stamp ## rewrite expected output from what the code does now; read the difference
	MATCHBENCH_BLESS=1 $(VENV)/pytest tests
	MATCHBENCH_BLESS=1 cargo test --quiet --package mb-asm --test filetests
	MATCHBENCH_BLESS=1 cargo test --quiet --package mb-reproduce --test reproduce

gen: setup ## rewrite every generated file
	cargo xtask gen
	# The programs of the fuzzer are a workspace of their own, with a lock file of their own.
	cargo metadata --quiet --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	$(VENV)/python -m matchbench.compare.results_page --write

guest: .venv/guest.stamp ## cross-compile what the simulated processors run
	$(MAKE) -C processor/firmware
	$(MAKE) -C moped
	$(MAKE) -C netproc

clean: ## remove everything that was built or downloaded
	$(MAKE) -C recorder clean
	cargo clean
	rm -rf .venv out dist

.venv/tools.stamp: xtask/setup.sh
	xtask/setup.sh tools
	mkdir -p .venv
	touch $@

# Python 3.11 or later, in an environment of its own.
.venv/python.stamp: xtask/setup.sh | .venv/tools.stamp
	xtask/setup.sh python
	touch $@

.venv/native.stamp: .venv/python.stamp pyproject.toml $(RUST) | .venv/packages.stamp .venv/charts.stamp
	$(VENV)/maturin develop --release --quiet
	touch $@

# Bundles the chart library into the user's cache, so that the first comparison, and several tests at the same time, need
# not: it takes longer than a small comparison.
.venv/charts.stamp: python/matchbench/display/chart_library.py | .venv/packages.stamp
	PYTHONPATH=$(CURDIR)/python $(VENV)/python -c 'from matchbench.display import chart_library; chart_library.script()'
	touch $@

# What the package needs, and its tests: as Cargo.lock does for Rust, the versions that were tested (xtask/lock.sh).
# Python compiles what is imported; to compile everything takes half of the time.
.venv/packages.stamp: python/requirements.txt | .venv/python.stamp
	xtask/setup.sh packages
	touch $@

.venv/mpi.stamp: xtask/setup.sh | .venv/tools.stamp
	xtask/setup.sh mpi
	touch $@

.venv/mpis.stamp: xtask/setup.sh | .venv/python.stamp
	xtask/setup.sh mpis
	touch $@

# One after the other, because apt does not run twice at the same time.
.venv/guest.stamp: xtask/setup.sh | .venv/mpi.stamp
	xtask/setup.sh guest
	touch $@

.venv/browser.stamp: xtask/setup.sh | .venv/guest.stamp
	xtask/setup.sh browser
	touch $@

.venv/sanitizers.stamp: xtask/setup.sh | .venv/python.stamp
	xtask/setup.sh sanitizers
	touch $@

.venv/dist.stamp: xtask/setup.sh python/dist.txt | .venv/packages.stamp
	xtask/setup.sh dist
	touch $@

.venv/readers.stamp: xtask/setup.sh python/fuzz.txt | .venv/native.stamp
	xtask/setup.sh readers
	touch $@

.venv/aarch64.stamp: xtask/setup.sh | .venv/python.stamp
	xtask/setup.sh aarch64
	touch $@

# After the other one, because apt does not run twice at a time.
.venv/fuzzer.stamp: xtask/setup.sh | .venv/aarch64.stamp
	xtask/setup.sh fuzzer
	touch $@

# After the other one, because apt does not run twice at a time.
.venv/slurm.stamp: xtask/setup.sh python/cluster.txt | .venv/packages.stamp .venv/guest.stamp
	xtask/setup.sh slurm
	xtask/setup.sh cluster
	touch $@

# After the other one, because apt does not run twice at a time.
.venv/libfabric.stamp: xtask/setup.sh | .venv/guest.stamp
	xtask/setup.sh libfabric
	touch $@

.venv/lints.stamp: xtask/setup.sh | .venv/tools.stamp
	xtask/setup.sh lints
	touch $@
