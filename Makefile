# tc: one Makefile, non-recursive. `make help` lists the targets.
ifeq ($(origin CC),default)
CC      := gcc
endif
VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
OPT     ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wno-missing-field-initializers
BASEFLAGS := -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -pthread -Ilib -I. -I$(BUILD)/gen -D_GNU_SOURCE $(SAN) $(EXTRA)

LIBS    := -lyaml -lsodium -lzstd -lz -lpng -ljpeg -ldl -lm -lpthread

ISAS    := $(shell awk '!/^\#/ && NF {print $$1}' lib/isa.tab)
isa_flags = $(shell awk -F'\t' '$$1=="$(1)" {print $$2}' lib/isa.tab)

LIB_C   := $(filter-out %.isa.c,$(sort $(wildcard lib/*/*.c)))
LIB_ISA := $(sort $(wildcard lib/*/*.isa.c))
GEN_C   := $(BUILD)/gen/op_families.c $(BUILD)/gen/embed.c
LIB_O   := $(LIB_C:%.c=$(BUILD)/obj/%.o) $(foreach i,$(ISAS),$(LIB_ISA:%.isa.c=$(BUILD)/obj/%.$(i).o)) $(GEN_C:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
CMD_O   := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard cmd/*.c)))
TOOLS   := $(patsubst %/main.c,%,$(sort $(wildcard tc-*/main.c)))
UNIT_C  := $(sort $(wildcard tests/unit/*/*.c))
UNITS   := $(UNIT_C:tests/unit/%.c=$(BUILD)/unit/%)
OP_C    := $(sort $(wildcard lib/op/*.c))
EMBED   := $(sort $(wildcard lib/capture/torch/*.py lib/capture/torch/*/*.py))

all: $(BUILD)/libtc.a $(CMD_O) $(TOOLS:%=$(BUILD)/bin/%)

# Rows of isa.tab as a C table, for base/cpu.h.
$(BUILD)/gen/isa_rows.h: lib/isa.tab
	@mkdir -p $(@D)
	@awk -F'\t' 'BEGIN {printf "#define TC_ISA_ROWS(X)"} !/^#/ && NF {printf " X(%s, \"%s\")", $$1, $$2} END {print ""}' $< > $@
$(BUILD)/gen/version.h: Makefile
	@mkdir -p $(@D)
	@echo '#define TC_VERSION "$(VERSION)"' > $@
HEADERS := $(BUILD)/gen/isa_rows.h $(BUILD)/gen/version.h

# Families of operators: every lib/op/NAME.c that defines tc_ops_NAME.
$(BUILD)/gen/op_families.c: $(OP_C) Makefile
	@mkdir -p $(@D)
	@fams=$$(grep -lE '^const tc_op tc_ops_[a-z0-9_]+\[\]' $(OP_C) /dev/null | sed 's|.*/||; s|\.c$$||'); \
	{ echo '#include "op/op.h"'; for f in $$fams; do echo "extern const tc_op tc_ops_$$f[];"; done; \
	  echo 'extern const tc_op *const tc_op_families[];'; echo 'const tc_op *const tc_op_families[] = {'; for f in $$fams; do echo "    tc_ops_$$f,"; done; echo '    NULL};'; } > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp && touch $@ || mv $@.tmp $@

# Sources in the model language that are part of the library: names relative to lib/capture/torch, bytes as they are.
$(BUILD)/gen/embed.c: $(EMBED) Makefile
	@mkdir -p $(@D)
	@{ echo '#include <stddef.h>'; echo 'typedef struct { const char *name; const char *text; size_t len; } tc_embedded;'; echo 'extern const tc_embedded tc_embedded_sources[];'; \
	   i=0; for f in $(EMBED); do echo "static const char src$$i[] = {"; od -An -v -tu1 $$f | sed 's/  */,/g; s/^,//; s/$$/,/'; echo "0};"; i=$$((i+1)); done; \
	   echo 'const tc_embedded tc_embedded_sources[] = {'; i=0; for f in $(EMBED); do echo "    {\"$${f#lib/capture/torch/}\", src$$i, sizeof src$$i - 1},"; i=$$((i+1)); done; echo '    {NULL, NULL, 0}};'; } > $@

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c | $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -w -MMD -MP -c $< -o $@
$(BUILD)/obj/%.o: %.c | $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -MMD -MP -c $< -o $@
define isa_rule
$(BUILD)/obj/%.$(1).o: %.isa.c lib/isa.tab | $(HEADERS)
	@mkdir -p $$(@D)
	$(CC) $(BASEFLAGS) -O3 $(call isa_flags,$(1)) -DTC_ISA=$(1) -DTC_ISA_$(1)=1 -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

$(BUILD)/obj/lib/op/aten.o: lib/op/aten_schemas.txt

$(BUILD)/libtc.a: $(LIB_O)
	@rm -f $@
	ar rcsD $@ $(LIB_O)

define tool_rule
$(BUILD)/bin/$(1): $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard $(1)/*.c))) $(CMD_O) $(BUILD)/libtc.a
	@mkdir -p $$(@D)
	$(CC) $(BASEFLAGS) $(LDFLAGS) -o $$@ $$^ $(LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

$(BUILD)/unit/%: tests/unit/%.c $(CMD_O) $(BUILD)/libtc.a
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -Itests -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(CMD_O) $(BUILD)/libtc.a -lcmocka $(LIBS)
units: $(UNITS)

clean:
	rm -rf $(BUILD)

.PHONY: all units clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
