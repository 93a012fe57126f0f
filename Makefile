# What a newcomer types: `make run`, `make test`. Everything else is for those who change something.
CARGO ?= cargo
OUT ?= out
TOPOLOGIES = topologies/incast-8to1.yaml topologies/uplink.yaml
CRN = $(CARGO) run --locked --quiet -p crn --
FIGURES = target/figures

.PHONY: help run test bench loom soak bmv2-tests differential lint docs generate check-generated figures headline neon p4 tofino clean

help:
	@echo "make run              the incast and the uplink experiment, with and without reports, into $(OUT)/"
	@echo "make test             all tests that need nothing but Rust; those for absent targets are listed as absent"
	@echo "make bmv2-tests       the packet tests on every target that is installed, one list"
	@echo "make differential     100,000 random packets through BMv2 and softswitch at once (minutes; as root)"
	@echo "make bench            speed of the controller at scale, of RDCC's receiver, of the codes beside ISA-L, and of softswitch beside BMv2"
	@echo "make headline         completion times over a long path that loses packets: plain RoCEv2, fixed FEC, CREM"
	@echo "make neon             the codes' tests on Arm's instructions, in an emulator"
	@echo "make soak             10^8 packets through softswitch without a single allocation; 10^8 steps of RDCC's machines;"
	@echo "                      an hour of crn up: memory and descriptors flat, counters consistent (as root)"
	@echo "make lint             format and clippy, warnings are errors"
	@echo "make docs             the crates' documentation, warnings are errors"
	@echo "make p4               compile the P4 program (needs p4c) into p4/bmv2/build"
	@echo "make tofino           compile the Tofino program for both chips (needs p4c's Tofino back end) into p4/tofino/build"
	@echo "make generate         rewrite generated files: constants, schema, conformance lists, the README's figures and pictures"
	@echo "make check-generated  fail when a generated file is stale"

run:
	$(CARGO) run --locked --release -p crn -- sim $(TOPOLOGIES) --out $(OUT)

test:
	$(CARGO) test --locked --workspace

bmv2-tests:
	$(CARGO) test --locked -p bmv2-tests --no-fail-fast

# 10^5 random packets and as many bursts as the tests have, through the real switch and softswitch at once (as root).
differential:
	$(CARGO) run --locked -p bmv2-tests --bin differential -- --rounds 100000 crn
	$(CARGO) run --locked -p bmv2-tests --bin differential -- --rounds 100 crn-bursts

# Every order of threads at the counts of admission, in a target directory of its own: other flags build everything anew.
loom:
	RUSTFLAGS="--cfg admission_loom" $(CARGO) test --locked --release -p admission --lib --target-dir target/loom loom

# The codes' tests on Arm's instructions, emulated: needs Debian's qemu-user, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, and
# `rustup target add aarch64-unknown-linux-gnu`.
neon:
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		$(CARGO) test --locked -p crem --lib --test code --target aarch64-unknown-linux-gnu --target-dir target/neon

bench:
	$(CARGO) run --locked --release -p controller --example scale
	$(CARGO) run --locked --release -p rdcc --example control_rate
	$(CARGO) bench --locked -p admission
	$(CARGO) run --locked --release -p admission --features enabled --example least
	$(CARGO) run --locked --release -p agent --example bulk
	$(CARGO) run --locked --release -p crem --example isal
	$(CARGO) run --locked --release -p softswitch --example bench
	$(CARGO) run --locked --release -p bmv2-tests --bin speed

soak:
	ALLOCATION_PACKETS=100000000 $(CARGO) test --locked --release -p softswitch --test allocations
	RDCC_SOAK_STEPS=100000000 $(CARGO) test --locked --release -p rdcc --test hostile -- --nocapture
	SOAK_SECONDS=3600 $(CARGO) test --locked --workspace --test up -- a_long_run --nocapture

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

P4_CONSTANTS = $(CARGO) run --locked --quiet -p p4runtime --bin p4-constants -- \
	--p4info p4/bmv2/build/crn.p4info.txtpb --include p4/include --out controlplane/controller/src/pipeline/generated.rs

# What `make run` prints, without the line that says where the files are, and its pictures.
figures:
	@mkdir -p $(FIGURES)
	$(CRN) sim $(TOPOLOGIES) --out $(FIGURES) | grep -v '^Pictures' | sed 's/ *$$//' > $(FIGURES)/run.txt

# Completion times over 20 ms and 0.1 % loss: plain RoCEv2, fixed FEC, CREM. Virtual time, minutes of the processor's.
HEADLINE = $(CARGO) run --locked --quiet -p crem --example completion -- --headline

headline:
	@mkdir -p $(FIGURES)
	$(HEADLINE) $(FIGURES)/crem-20ms.svg
	cp $(FIGURES)/crem-20ms.svg docs/pictures/crem-20ms.svg

# The states of a path as docs/admission.md draws them, from the transition table.
STATE_DIAGRAM = $(CARGO) run --locked --quiet -p admission --features enabled --example state_diagram -- docs/admission.md

README_BLOCK = awk '/^<!-- end -->/ { inside = 0 } inside && !/^```/ { print } /^<!-- output of make run -->/ { inside = 1 }' README.md

generate: figures
	$(P4_CONSTANTS)
	$(CRN) schema > topologies/topology.schema.json
	$(CARGO) run --locked --quiet -p conformance
	$(CARGO) run --locked --quiet -p admission-c --example header
	$(STATE_DIAGRAM)
	cp $(FIGURES)/incast-8to1/queue.svg docs/pictures/incast-8to1.svg
	cp $(FIGURES)/uplink/queue.svg docs/pictures/uplink.svg
	awk -v file=$(FIGURES)/run.txt '/^<!-- end -->/ { inside = 0 } !inside { print } \
		/^<!-- output of make run -->/ { inside = 1; print "```text"; while ((getline line < file) > 0) print line; print "```" }' \
		README.md > $(FIGURES)/README.md
	cp $(FIGURES)/README.md README.md

check-generated: figures
	$(MAKE) --no-print-directory -C p4 check
	$(P4_CONSTANTS) --check
	$(CRN) schema | cmp - topologies/topology.schema.json
	$(CARGO) run --locked --quiet -p conformance -- --check
	$(CARGO) run --locked --quiet -p admission-c --example header -- --check
	$(STATE_DIAGRAM) --check
	cmp $(FIGURES)/incast-8to1/queue.svg docs/pictures/incast-8to1.svg
	cmp $(FIGURES)/uplink/queue.svg docs/pictures/uplink.svg
	$(README_BLOCK) | cmp - $(FIGURES)/run.txt

p4:
	$(MAKE) --no-print-directory -C p4

tofino:
	$(MAKE) --no-print-directory -C p4 tofino

clean:
	$(CARGO) clean
	rm -rf $(OUT)
