# SPDX-License-Identifier: GPL-2.0-or-later
#
# Targets that need more than "compile this file". Included by tests/rules.mk.

TFLAGS_ifunc := -Wno-attributes
TLIBS_dlopen := -ldl
TFLAGS_returned := -fcf-protection=full
$(T)/plt $(T)/plt-now: $(T)/plugin.so

$(T)/plugin.so: tests/targets/plugin.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -shared -fPIC -Wl,-soname,plugin.so -o $@ $<
TLIBS_reload := -ldl
$(T)/reload: $(T)/reload_plugin-a.so $(T)/reload_plugin-b.so
$(T)/reload_plugin-b.so: RELOAD_FLAGS = -DVERSION_B
$(T)/reload_plugin-a.so $(T)/reload_plugin-b.so: tests/targets/reload_plugin.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) $(RELOAD_FLAGS) -shared -fPIC -o $@ $<
TARGETS += $(T)/reload_plugin-a.so $(T)/reload_plugin-b.so
TARGETS := $(filter-out $(T)/reload_plugin,$(TARGETS))
$(T)/plt: tests/targets/plt.c
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -o $@ $< $(T)/plugin.so -Wl,-z,lazy -Wl,-rpath,'$$ORIGIN'
$(T)/plt-now: tests/targets/plt.c
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -o $@ $< $(T)/plugin.so -fno-plt -Wl,-z,now -Wl,-rpath,'$$ORIGIN'
# Two libraries with one name: the program is bound to the first.
$(T)/libcopies-second.so: COPIES_SECOND = 1
$(T)/libcopies-first.so $(T)/libcopies-second.so: tests/targets/copies_library.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -DSECOND=$(or $(COPIES_SECOND),0) -shared -fPIC -Wl,-soname,$(@F) -o $@ $<
$(T)/copies: $(T)/libcopies-first.so $(T)/libcopies-second.so
TLIBS_copies := $(T)/libcopies-first.so -Wl,--no-as-needed $(T)/libcopies-second.so -Wl,-rpath,'$$ORIGIN'
TARGETS += $(T)/libcopies-first.so $(T)/libcopies-second.so
TARGETS := $(filter-out $(T)/copies_library,$(TARGETS))
# Two more builds of one program: all functions lie elsewhere; a function has another name.
$(T)/rebuilt/descend_chain: REBUILT_FLAGS = -DREBUILT
$(T)/renamed/descend_chain: REBUILT_FLAGS = -DREBUILT -Dlink3=renamed3
$(T)/rebuilt/descend_chain $(T)/renamed/descend_chain: tests/targets/descend_chain.c tests/targets/chain.h
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) $(REBUILT_FLAGS) -o $@ $<
TARGETS += $(T)/rebuilt/descend_chain $(T)/renamed/descend_chain

# simple.c in many builds
SIMPLE := nopie static static-pie O0 O3 fp cf clang
$(T)/simple-nopie: SIMPLE_FLAGS = -no-pie -fno-pie
$(T)/simple-static: SIMPLE_FLAGS = -static
$(T)/simple-static-pie: SIMPLE_FLAGS = -static-pie -fPIE
$(T)/simple-O0: SIMPLE_FLAGS = -O0
$(T)/simple-O3: SIMPLE_FLAGS = -O3 -march=x86-64-v2
$(T)/simple-fp: SIMPLE_FLAGS = -fno-omit-frame-pointer
$(T)/simple-cf: SIMPLE_FLAGS = -fcf-protection=full
$(T)/simple-clang: CC = $(CLANG)
$(SIMPLE:%=$(T)/simple-%): tests/targets/simple.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) $(SIMPLE_FLAGS) -o $@ $<
$(T)/dispatch-protected: tests/targets/dispatch.c
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -fstack-protector-all -o $@ $<
TARGETS += $(T)/dispatch-protected
# Without symbols; with them in a file of their own, found by .gnu_debuglink, by build id, or inside.
$(T)/simple-stripped: $(T)/simple
	$(Q)strip -o $@ $<
$(T)/simple-debuglink: $(T)/simple
	@mkdir -p $(T)/.debug
	$(Q)objcopy --only-keep-debug $< $(T)/.debug/simple-debuglink.debug
	$(Q)strip -o $@ $<
	$(Q)cd $(T) && objcopy --add-gnu-debuglink=.debug/simple-debuglink.debug $(@F)
$(T)/simple-minidebug: $(T)/simple
	$(Q)nm $< --format=posix --defined-only | awk '$$2 ~ /[Tt]/ { print $$1 }' >$@.keep
	$(Q)objcopy --only-keep-debug $< $@.debug
	$(Q)objcopy -S --remove-section .comment --keep-symbols=$@.keep $@.debug $@.mini && xz -f $@.mini
	$(Q)strip -o $@ $< && objcopy --add-section .gnu_debugdata=$@.mini.xz $@ && rm -f $@.mini.xz $@.debug $@.keep
TARGETS += $(T)/plugin.so $(T)/plt-now $(SIMPLE:%=$(T)/simple-%) \
	$(T)/simple-stripped $(T)/simple-debuglink $(T)/simple-minidebug

# Symbols by the hundred thousand, and by the million.
define many_symbols
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)awk -v n=$(1) 'BEGIN { print ".text"; for (i = 0; i < n; i++) \
		printf ".globl many_%d\n.type many_%d,@function\nmany_%d: push %%rbp\npop %%rbp\nret\n.size many_%d,4\n", i, i, i, i; \
		print ".section .note.GNU-stack,\"\",@progbits" }' | as -o $@.o -
	$(Q)printf 'extern void many_77(void); int usleep(unsigned); int main(void) { for (;;) { many_77(); usleep(1000); } }' | \
		$(CC) -O2 -c -x c -o $@.main.o - && $(CC) -o $@ $@.main.o $@.o && rm -f $@.o $@.main.o
endef
$(T)/many_symbols: tests/targets/rules.mk
	$(call many_symbols,100000)
$(T)/million_symbols: tests/targets/rules.mk
	$(call many_symbols,1000000)
TARGETS += $(T)/many_symbols $(T)/million_symbols

$(T)/elf32: tests/targets/elf32.s
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)as --32 -o $@.o $< && ld -m elf_i386 -o $@ $@.o && rm -f $@.o
TARGETS += $(T)/elf32

ifneq ($(shell command -v go),)
$(T)/gotarget: tests/targets/go/main.go
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)GOFLAGS=-mod=mod GO111MODULE=off GOCACHE=$(abspath $(T))/.gocache go build -o $@ ./tests/targets/go
$(T)/gopark: tests/targets/gopark/main.go
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)GOFLAGS=-mod=mod GO111MODULE=off GOCACHE=$(abspath $(T))/.gocache go build -o $@ ./tests/targets/gopark
TARGETS += $(T)/gotarget $(T)/gopark
endif

# A C library whose system calls have no call frame information.
ifneq ($(shell command -v musl-gcc),)
$(T)/culprit_sleep-musl: tests/targets/culprit_sleep.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)musl-gcc -std=gnu11 -O2 -Wall -D_GNU_SOURCE -Itests/targets -static -o $@ $< -lpthread -lm
TARGETS += $(T)/culprit_sleep-musl
endif
# A known culprit each (culprit.h), in as many kinds of builds as there are.
TFLAGS_culprit_depth := -O3 -fcf-protection=full
TFLAGS_culprit_loop_max := -O0
TFLAGS_culprit_loop_owner := -O1 -fno-omit-frame-pointer
TFLAGS_culprit_loop_100k := -O2 -fcf-protection=none
TFLAGS_culprit_doubling := -O3 -fno-omit-frame-pointer
TFLAGS_culprit_commonest := -O0 -fcf-protection=full
TFLAGS_culprit_slowest := -O1 -fcf-protection=full
TFLAGS_culprit_permille := -O3 -fcf-protection=none
TFLAGS_culprit_reentry := -O2 -no-pie -fno-pie
TFLAGS_culprit_mutual := -O1 -static
TFLAGS_culprit_tail := -O2 -fcf-protection=full
TFLAGS_culprit_ifunc := -O2 -Wno-attributes
TFLAGS_culprit_shared := -O2 -static-pie -fPIE
TFLAGS_culprit_outside := -O3 -fcf-protection=full -fno-omit-frame-pointer
TFLAGS_culprit_throw := -O2 -fcf-protection=full
TFLAGS_culprit_inlined := -O3
TFLAGS_culprit_two_causes := -O0 -fno-omit-frame-pointer
TFLAGS_culprit_two_peaks := -Os
TFLAGS_culprit_siblings := -O2 -no-pie -fno-pie -fcf-protection=none
TFLAGS_culprit_virtual := -O1
TFLAGS_culprit_sleep := -O0 -static
TFLAGS_culprit_pipe := -O3 -fcf-protection=full
TFLAGS_culprit_mutex := -O2 -static
TFLAGS_culprit_rwlock := -O1 -fno-omit-frame-pointer
TFLAGS_culprit_faults := -O2 -fcf-protection=none
TFLAGS_culprit_preempt := -O3 -fno-omit-frame-pointer
$(T)/libculprit.so: tests/targets/culprit_library.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -shared -fPIC -Wl,-soname,libculprit.so -o $@ $<
$(T)/culprit_plt: $(T)/libculprit.so
TLIBS_culprit_plt := $(T)/libculprit.so -Wl,-z,lazy -Wl,-rpath,'$$ORIGIN'
# The symbols are kept beside it, for the test alone: nothing refers to that file.
$(T)/culprit_stripped: tests/targets/culprit_stripped.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -static -Wl,--build-id=none -o $@.symbols $< && strip -o $@ $@.symbols
TARGETS += $(T)/libculprit.so

TFLAGS_culprit_code := -O3
TFLAGS_culprit_coroutine := -std=c++20 -Wno-volatile
TFLAGS_culprit_cold := -ffunction-sections -Wl,--gc-sections
TFLAGS_culprit_openmp := -fopenmp
TLIBS_culprit_late := -ldl
$(T)/libcallback.so: tests/targets/culprit_callback_library.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -O3 -fomit-frame-pointer -fvisibility=hidden -shared -fPIC -Wl,-soname,libcallback.so -s -o $@ $<
$(T)/culprit_late $(T)/made_memory: $(T)/libcallback.so
TLIBS_made_memory := -ldl
$(T)/culprit_lto: tests/targets/culprit_lto.c tests/targets/culprit_lto_part.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -flto=1 -ffunction-sections -c -o $@.part.o $(word 2,$^)
	$(Q)$(CC) $(TFLAGS) -flto=1 -ffunction-sections -o $@ $< $@.part.o && rm -f $@.part.o
$(T)/culprit_plt-noplt: tests/targets/culprit_plt.c $(T)/libculprit.so
	@echo "  TARGET  $@"
	$(Q)$(CC) $(TFLAGS) -fno-plt -o $@ $< $(T)/libculprit.so -Wl,-z,now -Wl,-rpath,'$$ORIGIN'
TARGETS += $(T)/libcallback.so $(T)/culprit_plt-noplt
TARGETS := $(filter-out $(T)/culprit_callback_library $(T)/culprit_lto_part,$(TARGETS))

# The same programs from another compiler.
CULPRITS_CLANG := depth loop_max inlined mutex
CULPRITS_CLANG_CC := virtual throw coroutine
$(T)/culprit_depth-clang: CLANG_FLAGS = -O3 -fomit-frame-pointer -fcf-protection=full
$(T)/culprit_loop_max-clang: CLANG_FLAGS = -O2
$(T)/culprit_inlined-clang: CLANG_FLAGS = -O2
$(T)/culprit_mutex-clang: CLANG_FLAGS = -O2 -no-pie -fno-pie
$(CULPRITS_CLANG:%=$(T)/culprit_%-clang): $(T)/culprit_%-clang: tests/targets/culprit_%.c
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CLANG) $(TFLAGS) $(CLANG_FLAGS) -o $@ $< $(TLIBS_culprit_$*) -lpthread
$(CULPRITS_CLANG_CC:%=$(T)/culprit_%-clang): $(T)/culprit_%-clang: tests/targets/culprit_%.cc
	@mkdir -p $(@D)
	@echo "  TARGET  $@"
	$(Q)$(CLANG)++ -std=c++$(if $(filter coroutine,$*),20 -Wno-deprecated-volatile,17) -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -Itests/targets -MMD -MP -o $@ $< -lpthread
TARGETS += $(patsubst %,$(T)/culprit_%-clang,$(CULPRITS_CLANG) $(CULPRITS_CLANG_CC))
