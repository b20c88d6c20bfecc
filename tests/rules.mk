# SPDX-License-Identifier: GPL-2.0-or-later
#
# Included at the end of the top Makefile: tests, targets, demo, fuzzers, benches.

MAKE_ALL = $(MAKE) --no-print-directory -j$(or $(JOBS),$(shell nproc))
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: deps deps-build targets lint guest check-fast answers judge soak
deps:
	$(Q)tests/deps.sh build test
deps-build:
	$(Q)tests/deps.sh build

check: deps
	@tests/run
check-fast:
	@tests/run lint unit answers
unit lint integration guest answers:
	@tests/run $@
# How often the answers about running programs are right; JUDGE_N asks each so many times.
judge: deps
	@$(MAKE_ALL) all targets
	@$(SUDO) env B=$(B) JUDGE_N=$(or $(JUDGE_N),3) PYTHONDONTWRITEBYTECODE=1 python3 tests/integration/judge.py $(JUDGE)
# 10,000 times attached to hostile programs and detached: SOAK_CYCLES, SOAK_SECONDS, SOAK_SEED, SOAK_SESSION, SOAK_WORKERS (tests/integration/soak.py).
soak: deps
	@$(MAKE_ALL) all targets
	@$(SUDO) env B=$(B) $(foreach v,CYCLES SECONDS SEED SESSION WORKERS,$(if $(SOAK_$v),SOAK_$v=$(SOAK_$v))) PYTHONDONTWRITEBYTECODE=1 \
		python3 tests/integration/soak.py
asan:
	@tests/run asan
fuzz:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) PEAKTOP_WAITS_RECORDS=100000000 tests/run fuzz unit

# Fuzzers: every tests/fuzz/fuzz_*.c has LLVMFuzzerTestOneInput; built with FUZZ=1. Of some folders they reach a few files only:
# the others need not be compiled. If the linker misses a function, its file belongs here.
FUZZED_FILES := analysis/waits/hints analysis/waits/kinds analysis/waits/sleep_kind analysis/walk/class tui/cli/command_line tui/cli/config tui/cli/kernel_set \
	tui/cli/op_spec tui/cli/option_table tui/cli/ring_spec tui/cli/time_spec tui/cli/when_spec tui/report/sanitise tui/report/words tui/views/op_rows
FUZZED := $(FUZZED_FILES:%=$(B)/%.o) $(filter-out $(foreach d,collect analysis/descent analysis/waits analysis/walk tui/engine tui/cli \
	tui/report tui/views,$(call lib,$(d))),$(LIBRARIES))
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZED)
	@mkdir -p $(@D)
	@echo "  FUZZ    $@"
	$(Q)$(CC) $(FLAGS) -fsanitize=fuzzer -o $@ $< -Wl,--start-group $(FUZZED) -Wl,--end-group $(LIBS)

# --- targets: small programs with known answers (tests/targets/target.h)
T := $(B)/targets
TFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-Itests/targets -MMD -MP
TARGET_C := $(filter-out tests/targets/plugin.c tests/targets/culprit_library.c,$(wildcard tests/targets/*.c))
TARGETS := $(TARGET_C:tests/targets/%.c=$(T)/%) $(patsubst tests/targets/%.cc,$(T)/%,$(wildcard tests/targets/*.cc))
-include tests/targets/rules.mk
targets: $(TARGETS)

$(T)/%: tests/targets/%.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) $(TFLAGS_$*) -o $@ $< $(TLIBS_$*) -lpthread -lm
$(T)/%: tests/targets/%.cc
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -Itests/targets -MMD -MP $(TFLAGS_$*) -o $@ $< -lpthread

# --- programs for a guest, with all libraries of peaktop
$(B)/guest/%: tests/guest/%.c $(LIBRARIES)
	@mkdir -p $(@D)
	@echo "  GUEST   $@"
	$(Q)$(CC) $(FLAGS) -o $@ $< -Wl,--start-group $(LIBRARIES) -Wl,--end-group $(LIBS)

# --- static
.PHONY: static bench
# One file to copy to a host. What stays dynamic is what glibc loads by itself: name services (user names
# and conversions; without them numbers are shown). Terminal descriptions are the host's own.
static:
	$(Q)tests/deps.sh build static
	@$(MAKE_ALL) $(B)/peaktop-static
$(B)/peaktop-static: $(B)/tui/main.o $(LIBRARIES)
	@echo "  LD      $@"
	$(Q)$(CC) -static $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $(B)/tui/main.o -Wl,--start-group $(LIBRARIES) \
		-Wl,--end-group $(LIBS) -lncursesw -ltinfo -llzma -lbz2 -lz 2>$@.log || { cat $@.log >&2; exit 1; }
	@strip $@
	@echo "$@: `stat -c %s $@` bytes, statically linked; at run time it loads, where they are used and there:"
	@sed -n "s/.*Using '\([a-z_0-9]*\)' in statically linked.*/  \1: the host's shared libraries of glibc's own version/p" $@.log | sort -u

# --- demo: a program with four peaks and the live screen on it
demo: deps-build
	@$(MAKE_ALL) all $(T)/demo
	@tests/demo.sh $(B) $(SUDO)

# --- bench: costs, beside other tools
$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	@echo "  BENCH   $@"
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -Wno-unused-parameter -Wno-unused-function -MMD -MP -o $@ $< -lpthread
# These need the pure libraries and the screen.
$(B)/bench/coverage $(B)/bench/screen_bytes $(B)/bench/waits_rate: $(B)/bench/%: tests/bench/%.c $(filter-out $(B)/libcollect.a,$(LIBRARIES))
	@mkdir -p $(@D)
	@echo "  BENCH   $@"
	$(Q)$(CC) $(FLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)
bench:
	$(Q)tests/deps.sh build bench
	@$(MAKE_ALL) all $(T)/demo $(T)/rates $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
	@$(SUDO) env B=$(B) PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/bench.py; a=$$?; \
	$(SUDO) env B=$(B) PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/budget.py || a=$$?; \
	$(B)/bench/waits_rate || a=$$?; \
	$(SUDO) env B=$(B) PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/waits.py || a=$$?; \
	$(SUDO) env B=$(B) PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/descend.py && exit $$a

# --- tools of the tests
$(B)/tools/%: tests/tools/%.c $(filter-out $(B)/libcollect.a,$(LIBRARIES))
	@mkdir -p $(@D)
	@echo "  TOOL    $@"
	$(Q)$(CC) $(FLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)
targets: $(B)/tools/dump
# This one starts a collector.
$(B)/tools/hostile_front: tests/tools/hostile_front.c $(LIBRARIES)
	@mkdir -p $(@D)
	@echo "  TOOL    $@"
	$(Q)$(CC) $(FLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)
targets: $(B)/tools/hostile_front
