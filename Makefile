# Atoll's build. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --always --dirty --tags 2>/dev/null || echo development)
LDFLAGS := -s -w -X github.com/atoll-mcs/atoll/internal/kit/version.version=$(VERSION)
GO_BUILD := go build -ldflags '$(LDFLAGS)'
# The same for programs, tests and checks, so that each package is compiled once, whichever needs it, and wherever the clone is.
export CGO_ENABLED := 0
export GOFLAGS += -trimpath -buildvcs=false
TOOL := go tool -modfile=tools/go.mod
GENERATED := api/broker/v1alpha1/zz_generated.deepcopy.go api/about/v1beta1/zz_generated.deepcopy.go \
	api/networking/v1alpha1/zz_generated.deepcopy.go api/traffic/v1alpha1/zz_generated.deepcopy.go \
	deploy/crds/traffic.atoll.dev_trafficpolicies.yaml deploy/crds/networking.karmada.io_multiclusterservices.yaml \
	deploy/crds/about.k8s.io_clusterproperties.yaml \
	deploy/crds/broker.atoll.dev_exportedservices.yaml deploy/crds/broker.atoll.dev_memberclusters.yaml \
	deploy/crds/broker.atoll.dev_servicepolicies.yaml \
	$(wildcard charts/*/crds/*.yaml charts/*/templates/*.yaml docs/reference/*.md internal/console/assets/*)
# A test that waits for something that never comes must not wait for ever.
TEST_TIMEOUT ?= 30m

##@ The two commands to begin with

.PHONY: demo
demo: root build kube ## Start three clusters, export a Service in one and reach it from the others by name
	@scripts/demo

.PHONY: root
root:
	@[ "$$(id -u)" = 0 ] || { echo "the demo makes network namespaces, which needs root: run it as root"; exit 1; }

.PHONY: test
test: kube browser ## Everything that must pass (as root)
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
		$(MAKE) --no-print-directory -o build test-parts THEN="test-scenarios test-site-some" 2>&1 | tee "$$log" || \
		{ echo "== failed:"; grep -E -A5 '\.txtar:[0-9]+: [^0-9]' "$$log" | cut -c1-500 || true; grep -E '^ *--- FAIL|^FAIL.*/|^panic:|^[A-Za-z]*Error: ' "$$log"; exit 1; }

##@ Building

.PHONY: build
build: ## Build the programs into bin/
	@echo "== building Atoll $(VERSION)"
	@mkdir -p bin
	@$(GO_BUILD) -o bin/ ./cmd/...
	@ln -sf atoll bin/kubectl-atoll && ln -sf atoll bin/kubectl_complete-atoll

# What is released, in dist/: docs/contributing/release.md. The same commit gives the same bytes, so nothing in it may be of the machine
# or the moment.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1)
IMAGE_PLATFORMS ?= linux-amd64 linux-arm64
CLI_PLATFORMS ?= linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
RELEASE := go run -C tools ./release
RELEASE_FLAGS = --version $(VERSION) --revision $(shell git rev-parse HEAD 2>/dev/null) --epoch $(SOURCE_DATE_EPOCH) \
	--programs $(CURDIR)/dist/programs --source $(CURDIR) --out $(CURDIR)/dist
# for_each PLATFORMS PROGRAMS builds programs for platforms.
for_each = for p in $(1); do echo "== building for $$p"; mkdir -p dist/programs/$$p; \
	GOOS=$${p%-*} GOARCH=$${p\#*-} $(GO_BUILD) -o dist/programs/$$p/ $(2); done

.PHONY: images
images: ## Make container images, without Docker, and their bills of materials, in dist/
	@$(call for_each,$(IMAGE_PLATFORMS),./cmd/atoll-agent ./cmd/atoll-dns ./cmd/atoll-hub ./cmd/atoll-console)
	@$(RELEASE) images $(RELEASE_FLAGS)

.PHONY: push
push: images ## Push the images to your registry, with the credentials of docker login (REGISTRY=registry.example/atoll)
	@test -n "$(REGISTRY)" || { echo "name the registry: make push REGISTRY=registry.example/atoll"; exit 1; }
	@$(RELEASE) push $(RELEASE_FLAGS) --registry $(REGISTRY)

.PHONY: release
release: ## Make everything that a release needs in dist/: archives, images, charts, manifests, checksums (VERSION=v1.2.3 SIGNING_KEY=FILE)
	@rm -rf dist
	@$(MAKE) --no-print-directory images
	@$(MAKE) --no-print-directory packed

# The program atoll of a release knows the digests of the images, which have been made before.
DIGESTS = $(shell sed 's|.*/\(.*\):.*@|\1@|' dist/images/*.digest 2>/dev/null | paste -sd ,)
.PHONY: packed
packed: LDFLAGS += -X github.com/atoll-mcs/atoll/internal/kit/version.digests=$(DIGESTS)
packed: GO_BUILD = go build -ldflags '$(LDFLAGS)'
packed:
	@$(call for_each,$(CLI_PLATFORMS),./cmd/atoll)
	@$(RELEASE) archives $(RELEASE_FLAGS)
	@$(RELEASE) charts --helm "$$($(TOOL) -n helm)" $(RELEASE_FLAGS)
	@for what in broker hub; do go run -ldflags '$(LDFLAGS)' ./cmd/atoll render $$what --output-dir dist/manifests/$$what 2>/dev/null; done
	@go run -ldflags '$(LDFLAGS)' ./cmd/atoll render member --cluster-id any --output-dir dist/manifests/member 2>/dev/null
	@cd dist/manifests/member && rm member.yaml kustomization.yaml # which are one cluster's: see atoll render member
	@$(RELEASE) checksums $(RELEASE_FLAGS) $(if $(SIGNING_KEY),--signing-key $(abspath $(SIGNING_KEY)))

.PHONY: kube
kube: build host-programs ## Build the Kubernetes programs for the lab into the user's cache, once
	@bin/atoll lab programs >/dev/null

.PHONY: host-programs
host-programs: ## Install the Debian packages that the lab and its tests call, where they are missing
	@scripts/host-programs

.PHONY: generate
generate: console-modules ## Write the generated files anew
	@$(TOOL) controller-gen object crd:crdVersions=v1 paths=./api/... output:crd:dir=deploy/crds
	@go run ./charts/generate
	@go run ./docs/reference/generate
	@go -C tools run ./console

.PHONY: docs
docs: site-modules ## Serve the documentation as a site on http://127.0.0.1:8000
	@cd site && npx vitepress dev . --host 127.0.0.1 --port 8000

.PHONY: site
site: site-modules ## Build the documentation as a site in dist/site
	@cd site && npx vitepress build . >/dev/null

.PHONY: test-site
test-site: site browser ## Look at every page of the site in a browser (as root, to install Chromium where it is missing)
	@node site/test.mjs

.PHONY: test-site-some
test-site-some: site browser ## Look at pages with lists, tables, diagrams and pictures in a browser
	@echo "== pages of the site"
	@node site/test.mjs README.md how-to/install.md how-to/console.md explanation/protocol.md explanation/faults.md reference/checks.md

.PHONY: pictures
pictures: root kube build browser ## Record what docs/images shows as terminals, in a lab, and draw all pictures (as root)
	@scripts/transcripts && $(DRAW)
	@ATOLL_PICTURES=$(CURDIR)/docs/images $(ANEW) ./test/scenario -run 'TestScenarios/^console$$'
DRAW := go run -C tools ./pictures

.PHONY: plots
plots: root kube ## Measure for the plots of the documentation, for 12 minutes, and draw all pictures (as root)
	@go run ./test/bench --case export,endpoint,outages --results docs/images/sources/bench.json
	@$(DRAW)

.PHONY: site-modules console-modules
site-modules: npm
	@[ site/node_modules/.package-lock.json -nt site/package-lock.json ] || npm ci --prefix site --silent
console-modules: npm
	@[ $(CONSOLE)/node_modules/.package-lock.json -nt $(CONSOLE)/package-lock.json ] || npm ci --prefix $(CONSOLE) --silent
CONSOLE := internal/console/web

.PHONY: browser
browser: console-modules ## Install what tests of pages need, where it is missing: Chromium, Node and its driver (as root)
	@command -v chromium >/dev/null || { echo "== installing chromium"; apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

.PHONY: npm
npm:
	@command -v npm >/dev/null || { echo "== installing npm"; apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null; }

.PHONY: clean
clean: ## Remove what was built here; the user's cache of Kubernetes programs stays
	@rm -rf bin dist

##@ Checking

.PHONY: check
check: vet ## The quick loop, in a minute: format, vet, laws of the architecture, pages, and all tests that need no API server
	@echo "== short tests"
	@go test -vet=off -short ./... | { grep --line-buffered -v "no test files" || true; }

.PHONY: vet
vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted (run gofmt -w): $$unformatted"; exit 1; }
	@go vet ./...

.PHONY: lint
lint: vet ## Check format, generated files, modules, vet and staticcheck
	@echo "== lint"
	@before=$$(cat $(GENERATED) | sha256sum); $(MAKE) --no-print-directory generate; \
		test "$$before" = "$$(cat $(GENERATED) | sha256sum)" || { echo "generated files were not current: commit what make generate wrote"; exit 1; }
	@for module in . tools lab/kube/*/; do go -C $$module mod tidy -diff || { echo "$$module: run go mod tidy"; exit 1; }; done
	@$(TOOL) staticcheck ./...
	@go -C tools vet ./...

.PHONY: fuzz
fuzz: ## Fuzz what decides on others' records and EndpointSlices, each with a number of inputs (FUZZTIME=50000x)
	@for target in FuzzRecord FuzzSlice; do echo "== $$target, $(FUZZTIME)"; \
		go test -vet=off ./internal/mcs/validation -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME); done
# A number of inputs, not a time: before 1.27, Go may take the end of a time for a failure (https://go.dev/issue/75804).
FUZZTIME ?= 50000x

# Tests use the programs in bin; the analyzers run in lint. Tests of one package that run in parallel wait most of their time.
GO_TEST := ATOLL_PROGRAMS=$(CURDIR)/bin go test -vet=off -ldflags '-s -w' -parallel 8 -timeout $(TEST_TIMEOUT) $(COUNT)
# The go command remembers which tests have passed, unless COUNT=-count=1 is given. It does not know what programs depend on, nor the kernel: tests that
# start programs, or make namespaces and mounts, run each time. test/arch finds which these are.
ANEW := $(GO_TEST) -count=1
WITH_PROGRAMS := ./test/membership ./test/integration ./test/loadbalancer ./test/scenario ./test/charts ./cloudprovider/haproxy ./plugin/coredns ./hub \
	./lab ./lab/process ./lab/network ./lab/gateway ./lab/image ./lab/internal/mountinfo

.PHONY: test-parts
test-parts: build lint fuzz ## Tests of all packages, with real API servers, but no scenarios
	@echo "== tests with real API servers"
	@# What starts programs waits most of its time and runs beside all others: tests of membership and integration, in five labs, and some. When the others
	@# are done, so that the processors have nothing else to do, THEN is made beside what is left.
	@hub='Hub|MultiClusterService|Leader|Foreign'; join='Join|Leav'; failed=; running=; \
		$(ANEW) -run "$$hub" ./test/membership & running+=" $$!"; \
		$(ANEW) -run "$$join" -skip "$$hub" ./test/membership & running+=" $$!"; \
		$(ANEW) -skip "$$hub|$$join" ./test/membership & running+=" $$!"; \
		$(ANEW) -run '^Test[A-M]' ./test/integration & running+=" $$!"; \
		$(ANEW) -skip '^Test[A-M]' ./test/integration & running+=" $$!"; \
		$(ANEW) -p 1 $(filter-out ./test/membership ./test/integration ./test/scenario,$(WITH_PROGRAMS)) & running+=" $$!"; \
		$(GO_TEST) -p 2 $$(go list ./... | grep -vxFf <(go list $(WITH_PROGRAMS))) \
			| { grep --line-buffered -v "no test files" || true; } || failed=1; \
		$(if $(THEN),$(MAKE) --no-print-directory -o build $(THEN) || failed=1;) \
		for p in $$running; do wait $$p || failed=1; done; test -z "$$failed"
	@go -C tools test -count=1 ./...

.PHONY: test-scenarios
test-scenarios: build ## One form of each scenario that is not long, in real clusters, and a hostile member (as root)
	@echo "== scenarios in real clusters"
	@$(ANEW) -v ./test/scenario

.PHONY: nightly
nightly: export ATOLL_NIGHTLY := 1
nightly: kube browser ## What takes hours: all forms of scenarios, long fuzzing and convergence, chaos, the flood, older versions of Kubernetes, upgrade, clocks, Envoy Gateway, benchmarks (as root)
	@$(MAKE) --no-print-directory lint test-site fuzz FUZZTIME=3000000x
	@GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/atoll # what Linux alone has must not get into it
	@$(ANEW) -p 1 $$(go list ./... | grep -v /test/scenario)
	@$(ANEW) -v -timeout 3h ./test/scenario
	@$(MAKE) --no-print-directory test-kubernetes
	@go -C tools test -count=1 ./...
	@$(MAKE) --no-print-directory test-convergence FOR=30m SEED=$$(date +%s)
	@$(MAKE) --no-print-directory test-chaos FOR=1h SEED=$$(date +%s)
	@$(MAKE) --no-print-directory test-upgrade test-clock test-gateway
	@$(MAKE) --no-print-directory bench bench-dns bench-lb

FIRST_SCENARIOS := $(ANEW) -v -timeout 1h ./test/scenario -run 'TestScenarios/^(by-the-book|tutorials|two-exporters)$$'
STANDBY_SCENARIOS := $(ANEW) -v -timeout 1h ./test/scenario -run 'TestScenarios/^(drain|prefer|silence)$$'

KUBERNETES_VERSIONS := sed -n 's|^\tk8s.io/kubernetes ||p' lab/kube/*/go.mod

.PHONY: test-kubernetes
test-kubernetes: export ATOLL_NIGHTLY := 1
test-kubernetes: kube ## The first scenarios and an upgrade with each older version of Kubernetes and with all together, and with kube-proxy's mode iptables (as root)
	@for version in $$($(KUBERNETES_VERSIONS) | head -n -1); do \
		echo "== scenarios with Kubernetes $$version"; \
		export ATOLL_KUBERNETES=$$version; bin/atoll lab programs >/dev/null && $(FIRST_SCENARIOS) && scripts/test-upgrade || exit 1; done
	@echo "== scenarios with another version of Kubernetes in each cluster"
	@export ATOLL_KUBERNETES=$$($(KUBERNETES_VERSIONS) | paste -sd,); \
		$(FIRST_SCENARIOS) && scripts/test-upgrade b888b3ee # the first commit whose labs can do that
	@echo "== scenarios with kube-proxy in mode iptables"
	@ATOLL_PROXY_MODE=iptables $(FIRST_SCENARIOS)
	@ATOLL_PROXY_MODE=iptables $(STANDBY_SCENARIOS)

.PHONY: test-convergence
test-convergence: ## Break clustersets in memory at random for a while and look whether they become right (FOR=30m SEED=1)
	@go test -timeout 0 -v ./test/convergence -args -duration $(FOR) -seed $(SEED) | grep -v -e '^ *--- PASS' -e '^=== '
FOR ?= 5m
SEED ?= 1

.PHONY: test-chaos
test-chaos: kube ## Break a lab at random for a while under traffic: no request may be lost (FOR=1h SEED=1; as root)
	@$(ANEW) -timeout 0 -v ./test/scenario -run 'TestChaos$$' -args -chaos $(FOR) -seed $(SEED)

.PHONY: test-upgrade
test-upgrade: kube ## Upgrade a clusterset from an older commit, cluster by cluster, and back, under traffic (FROM=COMMIT; as root)
	@scripts/test-upgrade $(FROM)

.PHONY: test-clock
test-clock: kube ## Have the clocks of one cluster be wrong by an hour, and set, under traffic: two rows for docs/explanation/faults.md (as root)
	@scripts/test-clock

.PHONY: test-gateway
test-gateway: export ATOLL_NIGHTLY := 1
test-gateway: kube ## The controller of Envoy Gateway with a ServiceImport in a lab (as root)
	@cd test/gatewayapi && go mod tidy -diff && go vet . && $(ANEW) -v -timeout 1h .

##@ Measuring

.PHONY: faults
faults: kube ## Measure what faults cost clients, for some 20 minutes: the table of docs/explanation/faults.md on stdout (as root)
	@rm -f bin/faults.md; ATOLL_FORMS=all ATOLL_FIGURES=$(CURDIR)/bin/faults.md \
		go test -timeout 1h -v ./test/scenario -run 'TestScenarios/^faults$$' >&2
	@printf '| Fault | Requests | Lost | Time to converge |\n|---|---|---|---|\n'; cat bin/faults.md

.PHONY: bench
bench: ## Measure Atoll against floors of the same run: tables on stdout (BENCH="--help" tells what can be chosen)
	@$(MAKE) --no-print-directory build kube >&2
	@go run ./test/bench $(BENCH)

.PHONY: bench-dns
bench-dns: ## Measure atoll-dns beside stock CoreDNS in the same run (BENCH as above)
	@$(MAKE) --no-print-directory build kube host-programs >&2
	@go run ./test/bench --case dns $(BENCH)

.PHONY: bench-lb
bench-lb: ## Measure the load balancers beside direct connections in the same run (BENCH as above)
	@$(MAKE) --no-print-directory host-programs >&2
	@go run ./test/bench --case lb $(BENCH)

.PHONY: help
help: ## Show this
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
