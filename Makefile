# Everything a contributor or the CI runs, from the root of the checkout.
# `make` alone prints the list of targets.

# Pinned versions: the one place to change them.
GO_TOOLCHAIN     := go1.27.3
GOLANGCI_VERSION := v2.15.0
GOFUMPT_VERSION  := v0.12.0
VULN_VERSION     := v1.9.0

# Knobs: make demo ARGS="-json", make test TESTFLAGS="-run Batch -v", make fuzz FUZZTIME=1m, make soak SOAK=30m, make figures FIGURES='^F2[01]'. ETL_QUICK is the small run of `make examples`.
ARGS      ?=
TESTFLAGS ?=
FUZZTIME  ?= 10s
SOAK      ?= 30s
POINTS    ?= 10000
SCHEDULES ?= 2000
FIGURES   ?=
ETL_QUICK ?= -json -src "$$($(GO) env GOROOT)/src/net"
GO        ?= go

# The three modules, bound together by go.work so that one command covers them all.
MODULES  := . examples benchmarks
PACKAGES := ./... ./examples/... ./benchmarks/...

# The packages that promise to need nothing but the standard library and backoff, and what the adapter for JetStream may need beside
# them: the client, and what that needs. No server, no metrics.
CORE        := ./stage ./flow ./flow/admission ./flow/checkpoint ./flow/sizing ./broker ./broker/memory ./broker/brokertest
NATS_CLIENT := github\.com/nats-io/(nats\.go|nkeys|nuid)|github\.com/klauspost/compress|golang\.org/x/(crypto|sys)

# The code needs Go 1.27. An older go command is told to fetch the pinned toolchain, also where its own
# configuration says GOTOOLCHAIN=local; one that is new enough is left alone.
GO_IS_OLD := $(shell minor=$$(GOTOOLCHAIN=local $(GO) env GOVERSION 2>/dev/null | sed -n 's/^.*go1\.\([0-9][0-9]*\).*$$/\1/p'); \
	[ "$${minor:-27}" -lt 27 ] && echo yes)
ifeq ($(GO_IS_OLD),yes)
export GOTOOLCHAIN := $(GO_TOOLCHAIN)
endif

# The directory carries the version, so that a changed pin installs anew.
GOLANGCI := .bin/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GOFUMPT  := .bin/gofumpt-$(GOFUMPT_VERSION)/gofumpt

# The race detector needs cgo, and so a C compiler. Where it can't be built the tests run without it and say so.
# `go version` comes first, so that fetching a toolchain is seen and its failure is not taken for a missing compiler.
RACE = $(GO) version >&2 || exit 1; \
	race=-race; why=$$($(GO) build -race runtime/cgo 2>&1) || { race=; printf '%s\n' "$$why" '' \
	'*** WARNING: NO RACE DETECTOR. It needs cgo and a C compiler, such as gcc, on this machine.' \
	'*** The tests run WITHOUT -race and can miss data races.' '' >&2; }

.DEFAULT_GOAL := help
.PHONY: help demo test race-long cover fuzz soak figures mutants bench experiments check fmt fmt-check vet lint imports vuln examples tidy tools

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## run the ETL example; flags for it go into ARGS="..."
	@$(GO) run ./examples/etl $(ARGS)

test: ## run all tests of all modules, with the race detector where there is a C compiler
	@$(RACE); $(GO) test $$race -shuffle=on $(TESTFLAGS) $(PACKAGES)

race-long: ## run all tests twice, on one and on four CPUs
	@$(RACE); $(GO) test $$race -shuffle=on -count=2 -cpu=1,4 $(TESTFLAGS) $(PACKAGES)

cover: ## write coverage.out and coverage.html for the root module, print the total
	@$(GO) test -coverpkg=./... -coverprofile=coverage.out $(TESTFLAGS) ./...
	@$(GO) tool cover -html=coverage.out -o coverage.html
	@$(GO) tool cover -func=coverage.out | tail -n 1

fuzz: ## run each fuzz target for FUZZTIME (10s)
	@GO='$(GO)' .ci/fuzz $(FUZZTIME)

soak: ## run random graphs for SOAK (30s), then POINTS (10000) random cancellations and SCHEDULES (2000) of faults
	@$(RACE); $(GO) test $$race ./flow -run '^TestSoak$$' -count=1 -v -timeout 0 -soak $(SOAK)
	@$(GO) test ./flow -run '^(TestCancelPoints|TestMemoryIsFlatForAnyNumberOfKeys)$$' -count=1 -v -timeout 0 -cancelpoints $(POINTS) -soak $(SOAK)
	@$(GO) test ./broker -run '^TestFaultSchedules$$' -count=1 -v -timeout 0 -faultschedules $(SCHEDULES)

figures: ## run each command of docs/reliability.md, or of the rows that match FIGURES
	@GO='$(GO)' FIGURES='$(FIGURES)' .ci/figures

mutants: ## break the engine on purpose and see that the tests find it
	@.ci/mutants

bench: ## compare with a direct loop, channels and other libraries; flags go into ARGS="..."
	@$(GO) run ./benchmarks/cmd/bench $(ARGS)

experiments: ## compare textbook queues in virtual time with their formulas; FULL=1 for the long runs, flags go into ARGS
	@$(GO) run ./examples/experiments $(ARGS)

check: fmt-check vet lint imports test examples ## everything CI checks

fmt: $(GOFUMPT) ## format the code
	@$(GOFUMPT) -w .

fmt-check: $(GOFUMPT) ## list the files that gofmt or gofumpt would change
	@out=$$("$$($(GO) env GOROOT)/bin/gofmt" -l . && $(GOFUMPT) -l .) && test -z "$$out" || \
	{ echo 'not formatted, or not Go; make fmt repairs the former:'; echo "$$out" | sort -u; exit 1; } >&2

vet: ## run go vet
	@$(GO) vet $(PACKAGES)

lint: $(GOLANGCI) ## run golangci-lint as .golangci.yml says
	@$(GOLANGCI) run $(PACKAGES)

imports: ## check that the packages stay free of modules that they need not
	@GO='$(GO)' .ci/imports $(CORE)
	@GO='$(GO)' ALSO='$(NATS_CLIENT)' .ci/imports ./broker/jetstream

vuln: ## look for known vulnerabilities, where the database can be reached
	@GO='$(GO)' .ci/vuln $(VULN_VERSION)

examples: ## run the quick examples for real
	@printf "1\n2\nthree\n4\n" | $(GO) run ./examples/quickstart
	@$(GO) run ./examples/graph
	@$(GO) run ./examples/enrich
	@$(GO) run ./examples/crawler
	@$(GO) run ./examples/deadletter "$${TMPDIR:-/tmp}/rejected.jsonl"
	@$(GO) run ./examples/ticker
	@$(GO) run ./examples/mergelogs examples/mergelogs/testdata/web.log examples/mergelogs/testdata/db.log
	@$(GO) run ./examples/tenants
	@$(GO) run ./examples/consume
	@$(GO) run ./examples/etl $(ETL_QUICK)

tidy: ## tidy the modules and the workspace
	@for m in $(MODULES); do $(GO) -C $$m mod tidy || exit 1; done
	@$(GO) work sync

tools: $(GOLANGCI) $(GOFUMPT) ## install the pinned tools into .bin/

$(GOLANGCI):
	GOBIN='$(CURDIR)/$(@D)' $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GOFUMPT):
	GOBIN='$(CURDIR)/$(@D)' $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
