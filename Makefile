# tc: one Makefile, non-recursive. `make help` lists the targets.
ifeq ($(origin CC),default)
CC      := gcc
endif
VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
# -g1: functions and lines for stack traces. With the places of variables (make OPT="-O2 -g") five files took 10.1 s to compile for 8.6.
OPT     ?= -O2 -g1
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Werror=implicit-function-declaration -Wno-missing-field-initializers $(if $(findstring clang,$(CC)),-Wno-pass-failed)
BASEFLAGS := -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -pthread -Ilib -I. -I$(BUILD)/gen -D_GNU_SOURCE -ffile-prefix-map=$(CURDIR)/= $(SAN) $(EXTRA)

LIBS    := -Wl,--as-needed -Wl,--gc-sections -lyaml -lsodium -lz -ldl -lm -lpthread

ISAS    := $(shell awk -F'\t' '!/^\#/ && NF && NF < 3 {print $$1}' lib/isa.tab)
isa_flags = $(shell awk -F'\t' '$$1=="$(1)" {print $$2}' lib/isa.tab)

LIB_C   := $(filter-out %.isa.c,$(sort $(wildcard lib/*/*.c)))
LIB_ISA := $(sort $(wildcard lib/*/*.isa.c))
GEN_C   := $(BUILD)/gen/op_families.c $(BUILD)/gen/embed_sources.c $(BUILD)/gen/embed_onnx_write.c $(BUILD)/gen/aten_generated.c $(BUILD)/gen/troubles.c $(BUILD)/gen/paste.c
LIB_O   := $(LIB_C:%.c=$(BUILD)/obj/%.o) $(foreach i,$(ISAS),$(LIB_ISA:%.isa.c=$(BUILD)/obj/%.$(i).o)) $(GEN_C:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
CMD_O   := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard cmd/*.c)))
TOOLS   := $(patsubst %/main.c,%,$(sort $(wildcard tc-*/main.c)))
UNIT_C  := $(sort $(wildcard tests/unit/*/*.c))
UNITS   := $(UNIT_C:tests/unit/%.c=$(BUILD)/unit/%)
OP_C    := $(sort $(wildcard lib/op/*.c))
EMBED_onnx_write := $(sort $(wildcard lib/onnx/onnx_write*.py))
EMBED_sources := $(filter-out $(EMBED_onnx_write),$(sort $(shell find lib/capture/torch lib/capture/std lib/onnx -name "*.py")))

all: $(BUILD)/libtc.a $(CMD_O) $(TOOLS:%=$(BUILD)/bin/%)

# Rows of isa.tab as a C table, for base/cpu.h.
$(BUILD)/gen/isa_rows.h: lib/isa.tab
	@mkdir -p $(@D)
	@awk -F'\t' 'BEGIN {printf "#define TC_ISA_ROWS(X)"} !/^#/ && NF && NF < 3 {printf " X(%s, \"%s\")", $$1, $$2} END {print ""}' $< > $@
	@awk -F'\t' 'BEGIN {printf "#define TC_ISA_TILES(X)"} !/^#/ && NF == 3 {printf " X(%s, %s, \"%s\")", $$1, $$3, $$2} END {print ""}' $< >> $@
$(BUILD)/gen/version.h: Makefile
	@mkdir -p $(@D)
	@echo '#define TC_VERSION "$(VERSION)"' > $@
HEADERS := $(BUILD)/gen/isa_rows.h $(BUILD)/gen/version.h

# Families of operators: every lib/op/NAME.c that defines tc_ops_NAME. The folder changes when a file goes.
$(BUILD)/gen/op_families.c: $(OP_C) lib/op Makefile
	@mkdir -p $(@D)
	@fams=$$(grep -lE '^const tc_op tc_ops_[a-z0-9_]+\[\]' $(OP_C) /dev/null | sed 's|.*/||; s|\.c$$||'); \
	{ echo '#include "op/op.h"'; for f in $$fams; do echo "extern const tc_op tc_ops_$$f[];"; done; \
	  echo 'extern const tc_op *const tc_op_families[];'; echo 'const tc_op *const tc_op_families[] = {'; for f in $$fams; do echo "    tc_ops_$$f,"; done; echo '    NULL};'; } > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp && touch $@ || mv $@.tmp $@

# Texts that are part of the library (lib/base/embedded.h): $(call packed,COMMAND,I) writes what COMMAND prints as array I, gzipped, and its length.
packed = n=$$($(1) | wc -c); echo "static const unsigned char packed$(2)[] = {"; $(1) | gzip -9n | od -An -v -tu1 | sed 's/  */,/g; s/^,//; s/$$/,/'; echo "}; enum { len$(2) = $$n };"
# Sources in the model language: names relative to lib/capture/torch, lines of comments empty. Those that write ONNX are apart: few programs have them.
$(BUILD)/gen/embed_sources.c $(BUILD)/gen/embed_onnx_write.c: $(BUILD)/gen/embed_%.c: $(EMBED_sources) $(EMBED_onnx_write) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "base/embedded.h"'; i=0; for f in $(EMBED_$*); do $(call packed,sed 's/^ *\#.*//' $$f,$$i); i=$$((i+1)); done; \
	   echo 'const tc_embedded tc_embedded_$*[] = {'; i=0; \
	   for f in $(EMBED_$*); do echo "    {\"$${f#lib/capture/torch/}\", packed$$i, sizeof packed$$i, len$$i},"; i=$$((i+1)); done; echo '    {0}};'; } > $@.tmp && mv $@.tmp $@
# Out forms of operators that PyTorch's build makes (op/aten.c); second lines of errors (cmd/troubles.c).
$(BUILD)/gen/aten_generated.c: lib/op/aten_generated.txt
$(BUILD)/gen/troubles.c: cmd/troubles.txt
$(BUILD)/gen/aten_generated.c $(BUILD)/gen/troubles.c: Makefile
	@mkdir -p $(@D)
	@{ echo '#include "base/embedded.h"'; $(call packed,cat $(filter %.txt,$^),0); echo 'const tc_embedded tc_$(basename $(@F)) = {"$(notdir $(filter %.txt,$^))", packed0, sizeof packed0, len0};'; } > $@.tmp && mv $@.tmp $@
# What emitted C is pasted from: codegen/prelude.h with the scalar functions, preprocessed (system headers left out); tc_abi.h; filter.h.
PASTE   := lib/tc_ops.h lib/codegen/prelude.h lib/codegen/prelude_rows.h $(sort $(wildcard lib/codegen/ckernels*.h)) lib/codegen/tc_abi.h lib/codegen/filter.h $(sort $(wildcard lib/kernel/scalar*.h)) lib/kernel/tree.h lib/kernel/order.h lib/kernel/ranks.h lib/base/comm.h
PRELUDE  = $(CC) -E -P -nostdinc -isystem $(BUILD)/gen/none -Ilib -DTC_ABI_H -DTC_VB=TC_VB lib/codegen/prelude.h
$(BUILD)/gen/paste.c: $(PASTE) Makefile
	@mkdir -p $(BUILD)/gen/none && for h in stdint stddef stdbool math string; do : > $(BUILD)/gen/none/$$h.h; done
	@{ echo '#include "codegen/paste.h"'; $(call packed,$(PRELUDE),0); $(call packed,cat lib/codegen/tc_abi.h,1); $(call packed,cat lib/codegen/filter.h,2); $(call packed,sed -E ':a;s:/\*([^*]|\*+[^*/])*\*+/::g;/\/\*/{N;ba}' lib/tc_ops.h | sed '/^ *$$/d',3); \
	   i=0; for t in prelude abi filter ops; do echo "const tc_embedded tc_$${t}_text = {\"$$t\", packed$$i, sizeof packed$$i, len$$i};"; i=$$((i+1)); done; } > $@.tmp && mv $@.tmp $@

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c | $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -w -MMD -MP -c $< -o $@
# What runs once for a model (rules of operators and gradients, passes, the model language, what writes code, what reads and writes files, training's
# bookkeeping, options and reports of programs) is compiled for size: 300 KB a program; what runs for each node of a graph or each line of a model is
# not: HOT keeps 13 % of the instructions of reading 10,000 nodes and 5 % of an export.
COLD    := cmd/% tc-compile/% tc-export/% tc-ckpt/% lib/runtime/to_c% $(patsubst %,lib/runtime/%,extension estimate tune tuning variants)
$(foreach d,op onnx grad codegen file capture train ckpt pass sym loop,$(BUILD)/obj/lib/$d/%.o) $(patsubst %,$(BUILD)/obj/%.o,$(COLD)): private BASEFLAGS := $(patsubst -O2,-Os,$(BASEFLAGS))
HOT     := $(patsubst %,capture/%,call dict eval exec lexer object parse_expr) op/call op/registry op/verify file/pt2_nodes file/pt2_args
$(patsubst %,$(BUILD)/obj/lib/%.o,$(HOT)): private BASEFLAGS := $(BASEFLAGS)
$(BUILD)/obj/%.o: %.c | $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -MMD -MP -c $< -o $@
# -O3 where loops are few and hot; files of many short loops (conversions, integers, doubles) are vectorised and not unrolled: half a megabyte a program.
COMPACT   := block_cast block_fused block_one block_int block_f64 attention_f64 reduce_int reduce_f64 conv_f64 gemm_f64
VECTORISE := -ftree-vectorize $(if $(findstring clang,$(CC)),,-fvect-cost-model=dynamic)
# Doubles and complex numbers of a CPU without AVX2: 150 KB a program for what few will wait for.
SMALL     := block_complex block_f64 conv_f64
# Loops of 24 bytes: half of them would lie across two lines of 64, which takes AMD's processors twice as long.
ALIGNED   := block_f32 block_one block_fused reduce_f32
define isa_rule
$(BUILD)/obj/%.$(1).o: %.isa.c lib/isa.tab | $(HEADERS)
	@mkdir -p $$(@D)
	$(CC) $(BASEFLAGS) $(if $(filter portable,$(1)),$$(if $$(filter $(SMALL),$$(*F)),-Os,-O2),$$(if $$(filter $(COMPACT),$$(*F)),-O2 $(VECTORISE),-O3)) $(if $(filter avx2,$(1)),$$(if $$(filter $(ALIGNED),$$(*F)),-falign-loops=32)) -fno-trapping-math $(call isa_flags,$(1)) -DTC_ISA=$(1) -DTC_ISA_$(1)=1 -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

$(BUILD)/obj/lib/op/aten.o: lib/op/aten_schemas.txt

$(BUILD)/libtc.a: $(LIB_O)
	@rm -f $@
	ar rcsD $@ $(LIB_O)

# Packed relative relocations (DT_RELR: glibc 2.36, binutils 2.38) take a tenth of the bytes; an older linker warns and leaves them.
RELR    := -Wl,-z,pack-relative-relocs

define tool_rule
$(BUILD)/bin/$(1): $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard $(1)/*.c))) $(CMD_O) $(BUILD)/libtc.a
	@mkdir -p $$(@D)
	$(CC) $(BASEFLAGS) $(LDFLAGS) $(RELR) -o $$@ $$^ $(LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# A test may name further libraries in a line "LIBS: -lmpfr".
$(BUILD)/unit/%: tests/unit/%.c $(CMD_O) $(BUILD)/libtc.a
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -Itests -MMD -MP -MF $@.d $(LDFLAGS) $(RELR) -o $@ $< $(CMD_O) $(BUILD)/libtc.a -lcmocka $(LIBS) $$(sed -n 's/.*LIBS: \(.*[a-z0-9]\).*/\1/p' $<)
units: $(UNITS)

# Other programs of the tests (drivers): tests/drivers/NAME.c -> BUILD/drivers/NAME.
DRIVERS := $(patsubst tests/drivers/%.c,$(BUILD)/drivers/%,$(sort $(wildcard tests/drivers/*.c)))
$(BUILD)/drivers/%: tests/drivers/%.c $(CMD_O) $(BUILD)/libtc.a
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -Itests -MMD -MP -MF $@.d $(LDFLAGS) $(RELR) -o $@ $< $(CMD_O) $(BUILD)/libtc.a $(LIBS)
drivers: $(DRIVERS)

# The MPI shim is the only object that includes mpi.h; it is opened under a launcher only. Without mpicc, or with MPI=no, there is none.
MPICC   ?= mpicc
MPI     ?= yes
SHIM    := $(if $(filter-out no,$(MPI)),$(if $(shell command -v $(MPICC) 2>/dev/null),$(BUILD)/bin/tc-mpi.so))
$(BUILD)/bin/tc-mpi.so: $(sort $(wildcard lib/dist/shim/*.c lib/dist/shim/*.h))
	@mkdir -p $(@D)
	$(MPICC) $(BASEFLAGS) -shared -o $@ $(filter %.c,$^)
all: $(SHIM)

# The reference LAPACK and BLAS, linked by path so that no alternative takes their place, only what is called; opened by the first operator
# that needs it (lib/kernel/lapack.c).
LAPACK_A ?= $(firstword $(foreach d,/usr/lib/$(shell $(CC) -print-multiarch 2>/dev/null) /usr/lib,$(wildcard $(d)/lapack/liblapack.a)))
BLAS_A   ?= $(subst lapack,blas,$(LAPACK_A))
LAPACK  := $(BUILD)/bin/tc-lapack.so
$(LAPACK): $(sort $(wildcard lib/kernel/shim/*.[ch])) $(LAPACK_A) $(BLAS_A)
	@mkdir -p $(@D)
	@[ -n "$(LAPACK_A)" ] || { echo "liblapack.a is not there: make deps" >&2; exit 1; }
	$(CC) $(filter-out $(SAN),$(BASEFLAGS)) -shared -Wl,--exclude-libs,ALL -o $@ $(filter %.c,$^) $(LAPACK_A) $(BLAS_A) -lm
all: $(LAPACK)
# OpenBLAS of one thread behind the same table, for --numerics=fast; without the package there is none, and the reference serves.
OPENBLAS_SO ?= $(wildcard $(patsubst %/lapack/,%/openblas-serial/libopenblas.so,$(dir $(LAPACK_A))))
OPENBLAS := $(if $(OPENBLAS_SO),$(BUILD)/bin/tc-openblas.so)
$(BUILD)/bin/tc-openblas.so: lib/kernel/shim/lapack.c lib/kernel/shim/tc_lapack.h
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SAN),$(BASEFLAGS)) -DTC_OPENBLAS -shared -o $@ $< $(OPENBLAS_SO) -Wl,-rpath,$(dir $(OPENBLAS_SO)) -lm
all: $(OPENBLAS)

# libpng and libjpeg-turbo, opened by the first image (lib/kernel/image.c).
IMAGE   := $(BUILD)/bin/tc-image.so
$(IMAGE): $(sort $(wildcard lib/kernel/image/*.[ch]))
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(LDFLAGS) -shared -o $@ $(filter %.c,$^) -lpng -ljpeg
all: $(IMAGE)
# MPFR, which tc-bench --accuracy measures against; without its header there is none.
MPFR_H  ?= $(firstword $(wildcard /usr/include/mpfr.h /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)/mpfr.h))
MPFR    := $(if $(MPFR_H),$(BUILD)/bin/tc-mpfr.so)
$(BUILD)/bin/tc-mpfr.so: tc-bench/reference/reference.c tc-bench/reference/tc_reference.h
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(LDFLAGS) -shared -o $@ $< -lmpfr -lgmp
all: $(MPFR)

# ---- what people ask for ----
ORACLE ?= ../shared/oracle
check: deps             ## the fast tests; last line "N passed, N failed"
	@$(MAKE) --no-print-directory -s -j$(JOBS) all units drivers
	@tests/run $(BUILD) $(T)
check-slow: deps        ## the tests of seconds each: faults at every call, memory as it grows, measuring, packages
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@TEST_TAGS=slow tests/run $(BUILD) $(T)
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

check-man: deps         ## the examples of every man page, run and compared
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@tests/run $(BUILD) man/

demo: deps              ## the pipelines of the README on the data in tc-train/examples
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@cd tc-train/examples && PATH="$(abspath $(BUILD))/bin:$$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 $(MAKE) --no-print-directory demo

conformance:            ## PyTorch's answers (ORACLE=DIR); last line "N passed, N failed, N not yet"
	@$(MAKE) --no-print-directory -s -j$(JOBS) all drivers
	@tests/conformance $(BUILD) "$(ORACLE)" $(if $(V),-v)

MODELS ?= ../shared/models
check-bits:             ## the same bits by every executor, compiler, number of threads, instruction set (ORACLE=, MODELS=, CASE=); minutes
	@$(MAKE) --no-print-directory -s -j$(JOBS) all units
	@tests/check-bits $(BUILD) "$(ORACLE)/pt2" "$(MODELS)" $(CASE)

peer-check: all         ## on a machine with PyTorch: tc's files load there and give equal outputs
	@tests/peer-check $(BUILD)

bench: all              ## the figures of tests/bench/RESULTS.md
	@tests/bench/run $(BUILD)

lint:                   ## layers, lengths, banned names, exports, formatting, man pages
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@tests/lint $(BUILD)

asan:                   ## the fast tests under ASan and UBSan
	@TC_NO_DEPS=1 ASAN_OPTIONS=detect_leaks=1 $(MAKE) --no-print-directory BUILD=build-asan OPT="-O1 -g1" SAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" check
tsan:                   ## the threaded tests (pool, captures, loader, library) under TSan
	@TC_NO_DEPS=1 $(MAKE) --no-print-directory BUILD=build-tsan OPT="-O1 -g" SAN="-fsanitize=thread" T=pool check
	@tests/run build-tsan capture/threads
	@tests/run build-tsan loader
	@tests/run build-tsan api/api
cover:                  ## lines reached by the fast tests, by folder
	@TC_NO_DEPS=1 $(MAKE) --no-print-directory BUILD=build-cover OPT="-O0 -g" SAN="--coverage" check
	@tests/cover build-cover

cover-readers: all      ## lines of each reader that the seeds of its fuzz targets reach; under 80 % fails
	@tests/fuzz/cover $(BUILD) "$(BASEFLAGS)" "$(LIBS)"
fuzz:                   ## every fuzz target for its share of FUZZ_TIME=60 seconds
	@$(MAKE) --no-print-directory -s -j$(JOBS) CC=clang-14 BUILD=build-fuzz OPT="-O1 -g" SAN="-fsanitize=address,undefined,fuzzer-no-link" build-fuzz/libtc.a build-fuzz/bin/tc-image.so
	@tests/fuzz/run build-fuzz "$(BASEFLAGS)" "$(LIBS)"

# Debian packages: what building, checking and the demo need; LINT_PKGS besides for lint and fuzz.
PKGS := gcc libc6-dev liblapack-dev libblas-dev libopenblas-serial-dev libyaml-dev libsodium-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev libopenmpi-dev openmpi-bin libcmocka-dev libmpfr-dev bats mandoc
LINT_PKGS := clang-14 clang-format-14 libclang-rt-14-dev
deps:                   ## installs the missing packages (as root, on Debian; TC_NO_DEPS=1: never)
	@[ -z "$(DESTDIR)$(DEB_BUILD_OPTIONS)$(TC_NO_DEPS)" ] && command -v dpkg-query >/dev/null || exit 0; \
	missing=; for p in $(PKGS); do dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || missing="$$missing $$p"; done; \
	[ -n "$$missing" ] || exit 0; line="apt-get install -y --no-install-recommends$$missing"; \
	if [ "$$(id -u)" != 0 ]; then echo "these packages are missing; as root: $$line" >&2; exit 1; fi; \
	echo "$$line"; export DEBIAN_FRONTEND=noninteractive; $$line || { apt-get update && $$line; }
lint-deps:
	@$(MAKE) --no-print-directory PKGS="$(LINT_PKGS)" deps

# What is installed: one object in which only tc_ names are global.
$(BUILD)/install/libtc.a: $(BUILD)/libtc.a
	@mkdir -p $(@D)
	ld -r --whole-archive $< -o $(@D)/libtc.o
	objcopy -w --keep-global-symbol='tc_*' $(@D)/libtc.o
	@rm -f $@
	ar rcsD $@ $(@D)/libtc.o

# tc-ops(7) is written from the operator table.
$(BUILD)/gen/ops-page: man/tc-ops.c $(BUILD)/libtc.a
	$(CC) $(BASEFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(BUILD)/libtc.a $(LIBS)
$(BUILD)/gen/tc-ops.7: $(BUILD)/gen/ops-page
	@$< > $@.tmp && mv $@.tmp $@
# tc-troubleshooting(7): what programs print below an error.
$(BUILD)/gen/tc-troubleshooting.7: man/troubleshooting.awk cmd/troubles.txt
	@mkdir -p $(@D)
	@awk -f $^ > $@.tmp && mv $@.tmp $@
PAGES   := $(wildcard man/*.[1-9]) $(BUILD)/gen/tc-ops.7 $(BUILD)/gen/tc-troubleshooting.7

install: all $(BUILD)/install/libtc.a $(PAGES) ## programs, library, header, pages and completions under DESTDIR PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(TOOLS:%=$(BUILD)/bin/%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/install/libtc.a $(SHIM) $(LAPACK) $(OPENBLAS) $(IMAGE) $(MPFR) $(DESTDIR)$(PREFIX)/lib
	install -m 644 lib/tc.h lib/tc_ops.h $(DESTDIR)$(PREFIX)/include
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' tc.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/tc.pc
	for t in $(TOOLS); do $(BUILD)/bin/$$t --help=bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$t; done
	for p in $(PAGES); do s=$${p##*.}; install -D -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$$s/$${p##*/}; done
uninstall:
	rm -f $(TOOLS:%=$(DESTDIR)$(PREFIX)/bin/%) $(TOOLS:%=$(DESTDIR)$(PREFIX)/share/bash-completion/completions/%)
	rm -f $(DESTDIR)$(PREFIX)/lib/libtc.a $(addprefix $(DESTDIR)$(PREFIX)/lib/,tc-mpi.so tc-lapack.so tc-openblas.so tc-image.so tc-mpfr.so) $(DESTDIR)$(PREFIX)/include/tc.h $(DESTDIR)$(PREFIX)/include/tc_ops.h $(DESTDIR)$(PREFIX)/lib/pkgconfig/tc.pc
	for p in $(notdir $(PAGES)); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
# A Debian package of what is installed, stripped; it depends on the packages of the libraries that were linked, and of the C library on the
# version whose symbols, or packed relocations (2.36), are used. What is opened only where it is there is recommended.
DEB     := $(BUILD)/tc-tools_$(VERSION)_$(shell dpkg --print-architecture 2>/dev/null).deb
ROOT    := $(abspath $(BUILD))/deb
MULTIARCH = $(shell $(CC) -print-multiarch 2>/dev/null)
OPENED  := $(notdir $(SHIM) $(OPENBLAS) $(MPFR))
owners   = $$(objdump -p $(1) | awk '$$1 == "NEEDED" {print $$2}' | sort -u | while read -r so; do dpkg-query -S "*/$(MULTIARCH)/$$so" 2>/dev/null || dpkg-query -S "*/$(MULTIARCH)/*/$$so"; done | sed 's/[:,].*//' | sort -u | grep -vx libc6)
deb:                    ## a Debian package, build/tc-tools_VERSION_ARCH.deb
	@rm -rf $(ROOT)
	@$(MAKE) --no-print-directory -s install TC_NO_DEPS=1 DESTDIR=$(ROOT) PREFIX=/usr
	@cd $(ROOT)/usr && strip bin/* lib/*.so && strip -g lib/libtc.a && gzip -9n share/man/*/* && install -d $(ROOT)/DEBIAN && \
	libc=$$(objdump -p bin/* lib/*.so | sed -n 's/.* GLIBC_\([0-9.]*\)$$/\1/p; s/.* GLIBC_ABI_DT_RELR$$/2.36/p' | sort -Vu | tail -n 1); \
	{ printf 'Package: tc-tools\nVersion: %s\nArchitecture: %s\nSection: science\nPriority: optional\n' $(VERSION) $$(dpkg --print-architecture); \
	  printf 'Maintainer: %s\nInstalled-Size: %s\n' "$(MAINTAINER)" $$(du -sk . | cut -f1); \
	  printf 'Depends: libc6 (>= %s)%s\n' "$$libc" "$$(printf ', %s' $(call owners,bin/* $(filter-out $(OPENED:%=lib/%),$(addprefix lib/,$(notdir $(LAPACK) $(IMAGE))))))"; \
	  printf 'Recommends: gcc | clang, libc6-dev%s\n' "$$(printf ', %s' $(call owners,$(OPENED:%=lib/%)))"; \
	  printf 'Description: PyTorch 2 as Unix filters\n Train, export, compile, run, measure and consolidate neural networks from the shell.\n'; } > $(ROOT)/DEBIAN/control
	@dpkg-deb --root-owner-group --build -Zgzip -z$(DEB_LEVEL) $(ROOT) $(DEB)
	@cd $(ROOT)/usr && stat -c '%8s %n' bin/* lib/*.* $(abspath $(DEB))
	@rm -r $(ROOT)
MAINTAINER ?= tc <tc@localhost>
DEB_LEVEL ?= 6
tarball:                ## the sources of the commit, build/tc-VERSION.tar.gz
	@mkdir -p $(BUILD) && git archive --prefix=tc-$(VERSION)/ -o $(BUILD)/tc-$(VERSION).tar.gz HEAD && stat -c '%8s %n' $(BUILD)/tc-$(VERSION).tar.gz
clean:                  ## removes everything that was built
	rm -rf build build-*
help:                   ## this list
	@awk -F'##' '/^[a-z-]+:.*##/ {split($$1, a, ":"); printf "  %-12s%s\n", a[1], $$2}' Makefile

.PHONY: all units drivers check check-slow check-man demo conformance check-bits peer-check bench lint asan tsan cover cover-readers fuzz deps lint-deps install uninstall deb tarball clean help
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
