# The front door: `make help` lists what there is. CMake with the presets of CMakePresets.json does the work.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
ASAN_LOG = build/asan-ubsan/Testing/Temporary/LastTest.log
CXX_FILES = git ls-files -co --exclude-standard '*.h' '*.cpp' | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done
# The shadow memory of ThreadSanitizer collides with some randomised address layouts.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)

# A first build is faster by a fifth with all sources of a layer as one (docs/adr/0017-unity-builds.md), so that is how
# folders are configured from here. `cmake --preset release` by hand makes batches, in which a change rebuilds less.
WHOLE_LAYERS := -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
# Configures `release`, without tests, unless that has been done in some way.
configured_somehow = test -f build/release/build.ninja || \
  cmake --preset release -DKERNBENCH_BUILD_TESTS=OFF $(WHOLE_LAYERS)
# $(call configured,PRESET,VARIABLE): configures PRESET unless that has been done with VARIABLE=ON.
define configured
test -f build/$(1)/build.ninja && grep -q '^$(2):BOOL=ON$$' build/$(1)/CMakeCache.txt || cmake --preset $(1) -D$(2)=ON \
  $$(test -f build/$(1)/build.ninja || echo '$(if $(filter release,$(1)),$(WHOLE_LAYERS))')
endef

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build run test test-full
build: ## the program: build/release/bin/kernbench
	@tools/setup build
	@$(configured_somehow)
	@cmake --build --preset release -j $(JOBS) --target kernbench

run: build ## build, then a tensor-parallel feed-forward network on two simulated SIPs
	build/release/bin/kernbench run tp_mlp -t ahbm-2sip

test: ## the test suite (all but the slow tests)
	@tools/setup build test
	@$(call configured,release,KERNBENCH_BUILD_TESTS)
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

test-full: ## slow tests and checks, planted defects, sanitizers, five minutes of fuzzing and the credibility run too
	@$(MAKE) test
	@ctest --preset release-slow -j $(JOBS)
	@$(MAKE) defects
	@$(MAKE) asan
	@$(MAKE) tsan
	@$(MAKE) fuzz
	@$(MAKE) credibility
	@$(MAKE) tidy-all

.PHONY: defects credibility asan tsan fuzz oracle bench costs check-install
defects: ## plant defects: does a test catch each? (a build of the tests, then some six seconds each)
	@tools/setup build test
	@tools/planted_defects

credibility: ## does a better machine ever make a program slower? every machine, program and resource (a minute)
	@tools/setup build bench
	@$(call configured,release,KERNBENCH_BUILD_PERF)
	@cmake --build --preset release -j $(JOBS) --target credibility
	@build/release/bin/credibility --all --jobs $(JOBS)

asan: ## the suite under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build test asan
	@$(call configured,asan-ubsan,KERNBENCH_BUILD_TESTS)
	@cmake --build --preset asan-ubsan -j $(JOBS)
	@ctest --preset asan-ubsan -j $(JOBS)
	@echo "not under sanitizers: $$(grep -c '^not under sanitizers: ' $(ASAN_LOG)) tests, which say why in $(ASAN_LOG)"

tsan: ## the tests of what has threads (label tsan) under ThreadSanitizer
	@tools/setup build test asan
	@$(call configured,tsan,KERNBENCH_BUILD_TESTS)
	@cmake --build --preset tsan -j $(JOBS)
	@$(FIXED_LAYOUT) ctest --preset tsan -j $(JOBS)

fuzz: ## each fuzzer for FUZZ_SECONDS (300)
	@tools/setup build test fuzz
	@$(call configured,fuzz,KERNBENCH_BUILD_FUZZERS)
	@tools/fuzz $(FUZZ_SECONDS)

oracle: ## install libtorch and PyTorch, against which some tests then compare
	@tools/setup oracle

bench: ## KernBench's own speed, as ratios to other programs
	@tools/setup build bench
	@$(call configured,release,KERNBENCH_BUILD_PERF)
	@cmake --build --preset release -j $(JOBS) --target kernbench perf/all
	@perf/run build/release

costs: ## instructions of a message, a load, a launch: has one grown against the committed counts?
	@tools/setup build costs
	@$(call configured,release,KERNBENCH_BUILD_PERF)
	@cmake --build --preset release -j $(JOBS) --target costs
	@perf/costs/compare build/release --check

check-install: ## does an installed KernBench serve another project?
	@tools/setup build test
	@$(call configured,release,KERNBENCH_BUILD_TESTS)
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release-slow -R '^install\.'

.PHONY: lint check-format tidy tidy-all check-headers check-layers check-adrs format
format: ## rewrite the C++ files in the project's style
	@tools/setup lint
	@$(CXX_FILES) | xargs -r clang-format-19 -i

lint: check-format check-layers check-adrs check-headers tidy-all ## all static checks

check-format: ## is every C++ file in the project's style?
	@tools/setup lint
	@$(CXX_FILES) | xargs -r clang-format-19 --dry-run --Werror

tidy: ## clang-tidy over src/ and benches/
	@tools/setup build lint
	@cmake --preset tidy >/dev/null
	@tools/tidy build/tidy $(JOBS)

tidy-all: ## the same with its slow checks
	@tools/setup build lint
	@cmake --preset tidy >/dev/null
	@tools/tidy --all build/tidy $(JOBS)

check-headers: ## does every header compile alone?
	@tools/setup build lint
	@tools/verify_headers

check-layers: ## does every file include only from its own layer and those below?
	@tools/setup test
	@tools/verify_layers

check-adrs: ## do the ADRs and their Korean mirrors agree?
	@tools/setup test
	@tools/verify_adr_lang_pairs

.PHONY: install clean
PREFIX ?= /usr/local
install: ## the program, libraries, headers and topologies under PREFIX (/usr/local)
	@tools/setup build
	@$(configured_somehow)
	@cmake --build --preset release -j $(JOBS) --target installable
	@cmake --install build/release --prefix "$$(realpath -m -- "$(PREFIX)")"

clean: ## remove everything that was built
	rm -rf build
