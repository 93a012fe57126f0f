# What a newcomer types: `make run`, `make test`. Everything else is for those who change something.
CARGO ?= cargo
OUT ?= out

.PHONY: help run test lint docs generate check-generated p4 clean

help:
	@echo "make run              the incast and the uplink experiment, with and without reports, into $(OUT)/"
	@echo "make test             all tests that need nothing but Rust; those for absent targets are listed as absent"
	@echo "make lint             format and clippy, warnings are errors"
	@echo "make docs             the crates' documentation, warnings are errors"
	@echo "make p4               compile the P4 program (needs p4c) into p4/bmv2/build"
	@echo "make generate         rewrite generated files: constants from the P4 program, the topology schema"
	@echo "make check-generated  fail when a generated file is stale"

run:
	$(CARGO) run --locked --release -p crn -- sim topologies/incast-8to1.yaml topologies/uplink.yaml --out $(OUT)

test:
	$(CARGO) test --locked --workspace

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

P4_CONSTANTS = $(CARGO) run --locked --quiet -p p4runtime --bin p4-constants -- \
	--p4info p4/bmv2/build/crn.p4info.txtpb --include p4/include --out controlplane/controller/src/pipeline/generated.rs

generate:
	$(P4_CONSTANTS)
	$(CARGO) run --locked --quiet -p crn -- schema > topologies/topology.schema.json

check-generated:
	$(MAKE) --no-print-directory -C p4 check
	$(P4_CONSTANTS) --check
	$(CARGO) run --locked --quiet -p crn -- schema | cmp - topologies/topology.schema.json

p4:
	$(MAKE) --no-print-directory -C p4

clean:
	$(CARGO) clean
	rm -rf $(OUT)
