# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make demo     install what is missing, build, open peaktop on a bundled target
#   make check    install what is missing, build, run every test
#   make, make man, make install, make deb, make static, make asan, make fuzz, make bench
#
# V=1 shows the commands. PREFIX and DESTDIR are honoured by install.

VERSION := 0.1.0
RELEASED := 2026-11-22
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
# Ubuntu's /usr/sbin/bpftool only looks for one of the running kernel.
BPFTOOL ?= $(firstword $(wildcard /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
B ?= build
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla
CFLAGS ?= -O2 -g
LDFLAGS ?= -Wl,-z,relro,-z,now
# Sanitisers name lines and no variables: -g1. To optimise the tests themselves takes longer than they then save, but for two that compute for long.
ifdef ASAN
B := build/asan
UNIT_CFLAGS = $(if $(filter %/test_descent_random %/test_descent_replay,$@),,-O0)
CFLAGS := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
	-Wno-error=format-truncation -Wno-error=maybe-uninitialized
endif
ifdef FUZZ
B := build/fuzz
CC := $(CLANG)
# An empty array is NULL, and NULL + 0 is nothing to stop for (gcc's sanitiser thinks so too).
CFLAGS := -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	-fno-sanitize=pointer-overflow \
	-Wno-error -Wno-unknown-warning-option
endif
FLAGS := -std=gnu11 $(WARN) -D_GNU_SOURCE -DPEAKTOP_VERSION='"$(VERSION)"' -I. -I$(B) \
	-include analysis/base/prelude.h -fstack-protector-strong -MMD -MP $(CFLAGS) $(EXTRA_CFLAGS)
LIBS := -lbpf -ldw -lelf -lcapstone -lncursesw -lpanelw -ltinfo -ljansson -lzstd -lseccomp -liberty -llzma -lm -lpthread

FOLDERS := $(addprefix analysis/,base session latency module code unwind parser descent walk waits) \
	collect collect/process $(addprefix tui/,engine parser session report screen views cli)
src = $(wildcard $(1)/*.c)
lib = $(B)/lib$(subst /,-,$(1)).a
LIBRARIES := $(foreach d,$(FOLDERS),$(if $(call src,$(d)),$(call lib,$(d))))
SKELETONS := $(B)/peaktop.skel.h

.PHONY: all check demo install static asan fuzz bench clean deps unit integration
.SECONDARY:
all: $(B)/peaktop man

# The build alone installs nothing.
ifeq ($(or $(MAKECMDGOALS),all),all)
MISSING := $(foreach t,$(CC) $(CLANG) $(BPFTOOL),$(if $(shell command -v $(firstword $(t)) 2>/dev/null),,$(firstword $(t))))
ifneq ($(strip $(MISSING)),)
$(error not installed: $(strip $(MISSING)); "make deps-build" installs what building needs, "make deps" what testing does, too)
endif
endif

$(B)/peaktop: $(B)/tui/main.o $(LIBRARIES)
	@echo "  LD      $@"
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $(B)/tui/main.o -Wl,--start-group $(LIBRARIES) -Wl,--end-group $(LIBS)

define library
$(call lib,$(1)): $(patsubst %.c,$(B)/%.o,$(call src,$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach d,$(FOLDERS),$(if $(call src,$(d)),$(eval $(call library,$(d)))))

$(patsubst %.c,$(B)/%.o,$(wildcard collect/*.c)): | $(SKELETONS)
$(B)/analysis/base/syscall_names.o: | $(B)/syscall_names.inc
$(B)/syscall_names.inc:
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd_64.h>' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' >$@
$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(FLAGS) -c -o $@ $<

$(B)/bpf/%.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Werror -D__TARGET_ARCH_x86 -I. -c -o $@ $<
# calls.o is the first because it defines the maps: the linker of libbpf 1.1 does not find them otherwise.
$(B)/peaktop.bpf.o: $(B)/bpf/calls.o $(patsubst bpf/%.bpf.c,$(B)/bpf/%.o,$(filter-out bpf/calls.bpf.c,$(wildcard bpf/*.bpf.c)))
	$(Q)$(BPFTOOL) gen object $@ $^
$(B)/peaktop.skel.h: $(B)/peaktop.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name peaktop_bpf >$@.tmp && mv $@.tmp $@

# Unit tests: every tests/unit/test_*.c is one cmocka program linked with all pure libraries.
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
$(B)/unit/%: tests/unit/%.c $(B)/tests/unit/choose.o $(filter-out $(B)/libcollect.a,$(LIBRARIES))
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(FLAGS) $(UNIT_CFLAGS) -o $@ $< $(B)/tests/unit/choose.o -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka $(LIBS)

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
-include docs/rules.mk
-include tests/rules.mk
