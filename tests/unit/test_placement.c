// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a call is seen to begin: the rules for entries. */
#include "tests/unit/placement_fixture.h"

static struct fixture fx;

#define START(name) fixture_init(&fx, name##_begin, name##_end)

/* ---- entries ---- */

CODE(push, "push %rbp\n mov %rsp, %rbp\n pop %rbp\n ret");
static void test_entry_push(void **state)
{
	struct place e;

	START(push);
	e = fixture_entry(&fx);
	CHECK(e, BASE, SITE_EMULATED, 8, 0);
	assert_int_equal(e.args, 0x3f);
	assert_int_equal(e.length, 1);
	assert_int_equal(e.flags, 0);
	assert_string_equal(e.text, "pushq %rbp");
	assert_false(e.ret_valid);
	fixture_end(&fx);
}

CODE(endbr, "endbr64\n push %r12\n pop %r12\n ret");
static void test_entry_endbr(void **state)
{
	START(endbr);
	CHECK(fixture_entry(&fx), BASE + 4, SITE_EMULATED, 8, 1);
	fixture_end(&fx);
}

CODE(sub, "sub $0x18, %rsp\n mov %rdi, %rax\n mov %rax, %rsi\n xor %ecx, %ecx\n test %rdi, %rdi\n"
	  "sub_place: je 1f\n 1: add $0x18, %rsp\n ret");
LABEL(sub_place);
static void test_entry_tracks_stack_and_arguments(void **state)
{
	struct place e;

	START(sub);
	e = fixture_entry(&fx);
	CHECK(e, AT(sub, sub_place), SITE_EMULATED, 0x20, 5);
	assert_int_equal(e.args, 0x3f & ~(1 << 1 | 1 << 3)); /* rsi and rcx are gone */
	fixture_end(&fx);
}

CODE(pushimm, "push $0\n mov %rdi, %rax\n push %rbx\n pop %rbx\n pop %rcx\n ret");
static void test_entry_after_stepped_push(void **state)
{
	START(pushimm);
	CHECK(fixture_entry(&fx), BASE + 5, SITE_EMULATED, 16, 2);
	fixture_end(&fx);
}

CODE(leaf, "lea (%rdi,%rsi), %rax\n ret");
static void test_entry_stepped(void **state)
{
	START(leaf);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	fx.policy.no_stepped = true;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_STEPPED_ONLY);
	fixture_end(&fx);
}

CODE(ret, "rep ret");
CODE(bndret, "bnd ret");
static void test_entry_of_only_ret(void **state)
{
	START(ret);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	START(bndret);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(far, ".rept 9\n inc %rax\n .endr\n far_push: push %rbx\n pop %rbx\n ret");
LABEL(far_push);
static void test_entry_reach(void **state)
{
	START(far);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	fx.policy.max_skip = 9;
	CHECK(fixture_entry(&fx), AT(far, far_push), SITE_EMULATED, 8, 9);
	fixture_end(&fx);
}

CODE(loop, "xor %eax, %eax\n 1: inc %eax\n cmp %edi, %eax\n jne 1b\n ret");
static void test_entry_not_in_loop(void **state)
{
	START(loop);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(self, "test %edi, %edi\n je 1f\n dec %edi\n jmp self_begin\n 1: ret");
static void test_entry_repeats(void **state)
{
	struct place e;

	START(self);
	e = fixture_entry(&fx);
	CHECK(e, BASE + 2, SITE_EMULATED, 8, 1);
	assert_int_equal(e.flags, PLACE_REPEATS);
	fixture_end(&fx);
}

/* A recursive call is a new activation, not a repetition. */
CODE(recursive, "push %rbx\n call recursive_begin\n pop %rbx\n ret");
static void test_entry_recursive_call(void **state)
{
	START(recursive);
	assert_int_equal(fixture_entry(&fx).flags, 0);
	fixture_end(&fx);
}

/* Go: the stack may have to grow first, and the function begins again on another one. */
CODE(
    go,
    "cmp 0x10(%r14), %rsp\n go_jbe: jbe 1f\n go_push: push %rbp\n mov %rsp, %rbp\n pop %rbp\n ret\n"
    "1: mov %rax, 8(%rsp)\n call go_end\n mov 8(%rsp), %rax\n jmp go_begin");
LABEL(go_jbe);
LABEL(go_push);
CODE(gosub, "lea -0x100(%rsp), %r12\n cmp 0x10(%r14), %r12\n gosub_jbe: jbe 1f\n sub $0x180, %rsp\n"
	    "add $0x180, %rsp\n ret\n 1: call gosub_end\n jmp gosub_begin");
LABEL(gosub_jbe);
static void test_entry_go(void **state)
{
	struct place e;

	START(go);
	e = fixture_entry(&fx);
	CHECK(e, AT(go, go_push), SITE_EMULATED, 8, 2);
	assert_int_equal(e.flags, 0);
	fixture_end(&fx);
	/* a stepped place behind the check is not worth it */
	START(gosub);
	e = fixture_entry(&fx);
	CHECK(e, AT(gosub, gosub_jbe), SITE_EMULATED, 8, 2);
	assert_int_equal(e.flags, PLACE_REPEATS);
	fixture_end(&fx);
}

/* The same shape, but it is the function's own loop: its time would be lost. */
CODE(again, "cmp 0x10(%r13), %rsp\n again_jbe: jbe 1f\n push %rbp\n pop %rbp\n ret\n"
	    "1: call again_end\n jmp again_begin");
LABEL(again_jbe);
static void test_entry_own_loop(void **state)
{
	struct place e;

	START(again);
	e = fixture_entry(&fx);
	CHECK(e, AT(again, again_jbe), SITE_EMULATED, 8, 1);
	assert_int_equal(e.flags, PLACE_REPEATS);
	fixture_end(&fx);
}

CODE(back, "endbr64\n back_again: test %edi, %edi\n je 1f\n dec %edi\n jmp back_again\n 1: ret");
static void test_entry_jump_back_after_endbr(void **state)
{
	START(back);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(syscall, "mov $39, %eax\n syscall\n cmp $-4095, %rax\n jae 1f\n ret\n 1: ret");
CODE(string, "mov %rdx, %rcx\n rep movsb\n test %eax, %eax\n je 1f\n 1: ret");
static void test_entry_before_work(void **state)
{
	START(syscall);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	START(string);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(repfirst, "rep stosb\n ret");
static void test_entry_refused(void **state)
{
	START(repfirst);
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_REFUSED_INSN);
	fixture_end(&fx);
}

CODE(lock, "lock incl (%rdi)\n mov %rdi, %rax\n ret");
static void test_entry_behind_refused(void **state)
{
	START(lock);
	CHECK(fixture_entry(&fx), BASE + 3, SITE_STEPPED, 8, 1);
	fixture_end(&fx);
}

CODE(nop5, "mov %rdi, -8(%rsp)\n .byte 0x0f, 0x1f, 0x44, 0, 0\n mov -8(%rsp), %rax\n ret");
static void test_entry_never_on_nop5(void **state)
{
	START(nop5);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	fx.policy.allow_nop5 = true;
	CHECK(fixture_entry(&fx), BASE + 5, SITE_EMULATED, 8, 1);
	fixture_end(&fx);
}

CODE(nop4, "mov %rdi, %rax\n .byte 0x0f, 0x1f, 0x40, 0\n ret");
static void test_entry_on_nop(void **state)
{
	START(nop4);
	CHECK(fixture_entry(&fx), BASE + 3, SITE_EMULATED, 8, 1);
	fixture_end(&fx);
	fx.policy.long_nops_stepped = true;
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(xchg, ".byte 0x41, 0x90\n ret");
static void test_entry_never_on_false_nop(void **state)
{
	START(xchg);
	CHECK(fixture_entry(&fx), BASE + 2, SITE_STEPPED, 8, 1);
	fixture_end(&fx);
}

CODE(align, "mov %rdi, %rax\n and $-32, %rsp\n push %rbx\n pop %rbx\n leave\n ret");
static void test_entry_loses_track(void **state)
{
	START(align);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(lies, "sub $8, %rsp\n test %edi, %edi\n je 1f\n 1: add $8, %rsp\n ret");
static void test_entry_against_cfi(void **state)
{
	START(lies);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, BASE + 4, CODE_CFA_SP, 24); /* decoding says 16 */
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	fx.rules[1].cfa.offset = 16;
	CHECK(fixture_entry(&fx), BASE + 6, SITE_EMULATED, 16, 2);
	fixture_end(&fx);
	/* in terms of another register: nothing to compare */
	fx.rules[1].cfa = (struct code_cfa){.kind = CODE_CFA_OTHER};
	CHECK(fixture_entry(&fx), BASE + 6, SITE_EMULATED, 16, 2);
	fixture_end(&fx);
}

static void test_entry_rseq(void **state)
{
	START(push);
	fx.rseq = (struct code_range){BASE, BASE + 4};
	fx.src.nr_rseq = 1;
	CHECK(fixture_entry(&fx), BASE + 4, SITE_STEPPED, 16, 2);
	fixture_end(&fx);
	fx.rseq.end = BASE + 100;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_RSEQ);
	fixture_end(&fx);
}

static void test_entry_of_nothing(void **state)
{
	START(sub);
	assert_int_equal(fixture_no_entry(&fx, 0x1000), PLACE_NO_CODE);
	assert_int_equal(fixture_no_entry(&fx, BASE + 1), PLACE_NOT_BOUNDARY);
	assert_int_equal(fixture_no_entry(&fx, BASE + 4), PLACE_NO_START);
	fixture_end(&fx);
	/* bytes that belong to no function */
	START(sub);
	fx.parts[0].start += 4;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_NO_START);
	fixture_end(&fx);
	START(sub);
	fx.parts[0].flags |= CODE_PART_PLT;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_PLT);
	fixture_end(&fx);
	START(sub);
	fx.parts[0].flags |= CODE_PART_COLD;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_PART);
	fixture_end(&fx);
	START(sub);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 64);
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_NO_FRAME);
	fx.parts[0].flags = CODE_PART_FDE;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_PART);
	fixture_end(&fx);
	START(sub);
	fixture_rule(&fx, BASE, CODE_CFA_OTHER, 0);
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_NO_FRAME);
	fixture_end(&fx);
}

CODE(bad, ".byte 0x06, 0x06, 0x06");
static void test_entry_undecodable(void **state)
{
	START(bad);
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_UNDECODABLE);
	fixture_end(&fx);
}

CODE(callfirst, "call 1f\n ret\n 1: ret");
static void test_entry_on_call(void **state)
{
	START(callfirst);
	CHECK(fixture_entry(&fx), BASE, SITE_EMULATED, 8, 0);
	fixture_end(&fx);
	fx.policy.shadow_stack = true;
	assert_int_equal(fixture_no_entry(&fx, BASE), PLACE_SHADOW_STACK);
	fixture_end(&fx);
}

/* The trick of old lock code: a branch past the prefix of the next instruction. */
CODE(trick, "mov %rdi, %rax\n trick_mid: .byte 0x66\n nop\n test %eax, %eax\n jne trick_mid + 1\n"
	    "ret");
static void test_entry_jump_into_instruction(void **state)
{
	START(trick);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(foreign, "mov %rdi, %rax\n foreign_in: test %rax, %rax\n je 1f\n 1: ret\n"
	      "foreign_other: xor %eax, %eax\n .byte 0xe9\n .long foreign_in - . - 4");
LABEL(foreign_in);
LABEL(foreign_other);
static void test_entry_foreign_jump(void **state)
{
	START(foreign);
	fixture_split(&fx, AT(foreign, foreign_other), CODE_PART_SYMBOL);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

/* The same bytes as a long jump, but inside of an instruction: mov $0x....e9, %rax. */
CODE(pseudo,
     "mov %rdi, %rax\n pseudo_in: test %rax, %rax\n pseudo_place: je 1f\n 1: ret\n"
     "pseudo_other: .byte 0x48, 0xb8, 0xe9\n .long pseudo_in - . - 4\n .byte 0, 0, 0\n ret");
LABEL(pseudo_other);
LABEL(pseudo_place);
static void test_entry_bytes_like_a_jump(void **state)
{
	START(pseudo);
	fixture_split(&fx, AT(pseudo, pseudo_other), CODE_PART_SYMBOL);
	CHECK(fixture_entry(&fx), AT(pseudo, pseudo_place), SITE_EMULATED, 8, 2);
	fixture_end(&fx);
}

CODE(near, "mov %rdi, %rax\n near_in: test %rax, %rax\n je 1f\n 1: ret\n"
	   "near_other: jmp near_in");
LABEL(near_other);
static void test_entry_short_jump_from_neighbour(void **state)
{
	START(near);
	fixture_split(&fx, AT(near, near_other), CODE_PART_SYMBOL);
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(before, "before_other: test %edi, %edi\n je before_in\n ret\n before_f: mov %rdi, %rax\n"
	     "before_in: test %rax, %rax\n je 1f\n 1: ret");
LABEL(before_f);
static void test_entry_short_jump_from_above(void **state)
{
	struct place place;
	enum place_why why;

	START(before);
	fixture_split(&fx, AT(before, before_f), CODE_PART_SYMBOL);
	assert_int_equal(place_entry(fixture_start(&fx), AT(before, before_f), &place, &why), 0);
	CHECK(place, AT(before, before_f), SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

/* lea TABLE(%rip), %rdx: the table is at BASE + 0x10000. */
CODE(table, "table_start: mov %rdi, %rax\n table_case: test %rax, %rax\n table_je: je 1f\n"
	    "lea table_begin + 0x10000(%rip), %rdx\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n"
	    "jmp *%rax\n 1: ret");
LABEL(table_case);
LABEL(table_je);
static void test_entry_jump_table(void **state)
{
	struct place exits[4];
	enum place_why why;
	int32_t entry;
	uint32_t flags;

	START(table);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fx.data_vaddr = BASE + 0x10000;
	fx.data_size = sizeof(entry);
	entry = (int32_t)(AT(table, table_case) - fx.data_vaddr);
	memcpy(fx.data, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	assert_int_equal(place_exits(fx.placer, BASE, exits, 4, &flags, &why), 1);
	assert_true(flags & EXITS_JUMP_TABLES);
	assert_false(flags & (EXITS_TAIL_CALLS | EXITS_UNRESOLVED));
	fixture_end(&fx);
	/* to the branch itself: it may run again */
	entry = (int32_t)(AT(table, table_je) - fx.data_vaddr);
	memcpy(fx.data, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	/* behind it: no harm */
	entry = (int32_t)(AT(table, table_je) + 2 - fx.data_vaddr);
	memcpy(fx.data, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), AT(table, table_je), SITE_EMULATED, 8, 2);
	fixture_end(&fx);
	/* into an instruction: other data */
	entry = (int32_t)(AT(table, table_case) + 1 - fx.data_vaddr);
	memcpy(fx.data, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), AT(table, table_je), SITE_EMULATED, 8, 2);
	fixture_end(&fx);
}

/* Many entries, more than one piece, of addresses. */
CODE(abs, "mov %rdi, %rax\n abs_case: test %rax, %rax\n je 1f\n jmp *0x411000(,%rax,8)\n 1: ret");
LABEL(abs_case);
static void test_entry_absolute_table(void **state)
{
	uint64_t entry = AT(abs, abs_case) + 3, last;

	START(abs);
	fx.data_vaddr = BASE + 0x10000;
	fx.data_size = sizeof(fx.data);
	for (size_t i = 0; i < sizeof(fx.data); i += 8)
		memcpy(fx.data + i, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
	entry += 2;
	for (size_t i = 0; i < sizeof(fx.data); i += 8)
		memcpy(fx.data + i, &entry, sizeof(entry));
	CHECK(fixture_entry(&fx), AT(abs, abs_case) + 3, SITE_EMULATED, 8, 2);
	fixture_end(&fx);
	last = AT(abs, abs_case);
	memcpy(fx.data + sizeof(fx.data) - 8, &last, sizeof(last));
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(goto_, "sub $8, %rsp\n goto__body: test %rdi, %rdi\n goto__je: je 1f\n goto__jmp: jmp *%rdi\n"
	    "1: add $8, %rsp\n goto__ret: ret");
LABEL(goto__je);
LABEL(goto__body);
static void test_entry_computed_goto(void **state)
{
	START(goto_);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, AT(goto_, goto__body), CODE_CFA_SP, 16);
	/* the jump may come back to anything where the frame is the same */
	CHECK(fixture_entry(&fx), BASE, SITE_STEPPED, 8, 0);
	fixture_end(&fx);
}

CODE(prologue, "push %rbx\n sub $0x10, %rsp\n prologue_body: jmp *%rdi");
LABEL(prologue_body);
static void test_entry_before_frame_of_goto(void **state)
{
	struct place exits[2];
	enum place_why why;
	uint32_t flags;

	START(prologue);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, BASE + 1, CODE_CFA_SP, 16);
	fixture_rule(&fx, AT(prologue, prologue_body), CODE_CFA_SP, 32);
	CHECK(fixture_entry(&fx), BASE, SITE_EMULATED, 8, 0);
	assert_int_equal(place_exits(fx.placer, BASE, exits, 2, &flags, &why), 0);
	assert_true(flags & EXITS_UNRESOLVED);
	assert_false(flags & EXITS_TAIL_CALLS);
	fixture_end(&fx);
}

static void test_words(void **state)
{
	for (int i = 0; i < PLACE_WHY_MAX; i++) {
		const char *text = place_why_text((enum place_why)i);

		assert_non_null(text);
		assert_in_range(strlen(text), 5, 80);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(text, place_why_text((enum place_why)k));
	}
	assert_non_null(place_why_text(PLACE_WHY_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_entry_push),
	    cmocka_unit_test(test_entry_endbr),
	    cmocka_unit_test(test_entry_tracks_stack_and_arguments),
	    cmocka_unit_test(test_entry_after_stepped_push),
	    cmocka_unit_test(test_entry_stepped),
	    cmocka_unit_test(test_entry_of_only_ret),
	    cmocka_unit_test(test_entry_reach),
	    cmocka_unit_test(test_entry_not_in_loop),
	    cmocka_unit_test(test_entry_repeats),
	    cmocka_unit_test(test_entry_recursive_call),
	    cmocka_unit_test(test_entry_go),
	    cmocka_unit_test(test_entry_own_loop),
	    cmocka_unit_test(test_entry_jump_back_after_endbr),
	    cmocka_unit_test(test_entry_before_work),
	    cmocka_unit_test(test_entry_refused),
	    cmocka_unit_test(test_entry_behind_refused),
	    cmocka_unit_test(test_entry_never_on_nop5),
	    cmocka_unit_test(test_entry_on_nop),
	    cmocka_unit_test(test_entry_never_on_false_nop),
	    cmocka_unit_test(test_entry_loses_track),
	    cmocka_unit_test(test_entry_against_cfi),
	    cmocka_unit_test(test_entry_rseq),
	    cmocka_unit_test(test_entry_of_nothing),
	    cmocka_unit_test(test_entry_undecodable),
	    cmocka_unit_test(test_entry_on_call),
	    cmocka_unit_test(test_entry_jump_into_instruction),
	    cmocka_unit_test(test_entry_foreign_jump),
	    cmocka_unit_test(test_entry_bytes_like_a_jump),
	    cmocka_unit_test(test_entry_short_jump_from_neighbour),
	    cmocka_unit_test(test_entry_short_jump_from_above),
	    cmocka_unit_test(test_entry_jump_table),
	    cmocka_unit_test(test_entry_absolute_table),
	    cmocka_unit_test(test_entry_computed_goto),
	    cmocka_unit_test(test_entry_before_frame_of_goto),
	    cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
