// SPDX-License-Identifier: GPL-2.0-or-later
/* Exits of a function, its callers, and the plan made of both. */
#include "tests/unit/placement_fixture.h"

static struct fixture fx;
static struct place exits[8];
static uint32_t flags;

#define START(name) fixture_init(&fx, name##_begin, name##_end)

static int find_exits(size_t max)
{
	enum place_why why;
	int n =
	    place_exits(fx.placer ? fx.placer : fixture_start(&fx), BASE, exits, max, &flags, &why);

	if (n < 0)
		fail_msg("exits: %s", place_why_text(why));
	for (int i = 0; i < n; i++) {
		assert_int_equal(exits[i].kind, PLACE_EXIT);
		assert_int_equal(exits[i].role, SITE_EXIT);
		assert_int_equal(exits[i].args, 0);
	}
	return n;
}

static void check_exit(const struct place *e, uint64_t vaddr, uint64_t ideal, enum site_class cls,
		       int64_t cfa, bool ret_valid)
{
	assert_int_equal(e->vaddr, vaddr);
	assert_int_equal(e->ideal, ideal);
	assert_int_equal(e->cls, cls);
	assert_int_equal(e->cfa, cfa);
	assert_int_equal(e->ret_valid, ret_valid);
}

/* ---- exits ---- */

CODE(e1,
     "push %rbx\n test %edi, %edi\n je 1f\n pop %rbx\n e1_a: ret\n 1: pop %rbx\n e1_b: rep ret");
LABEL(e1_a);
LABEL(e1_b);
static void test_exits_stepped(void **state)
{
	START(e1);
	assert_int_equal(find_exits(8), 2);
	check_exit(&exits[0], AT(e1, e1_a), AT(e1, e1_a), SITE_STEPPED, 8, true);
	check_exit(&exits[1], AT(e1, e1_b), AT(e1, e1_b), SITE_STEPPED, 8, true);
	assert_int_equal(flags, EXITS_STEPPED);
	/* room for one only */
	assert_int_equal(find_exits(1), 1);
	assert_int_equal(flags, EXITS_STEPPED | EXITS_INCOMPLETE);
	fixture_end(&fx);
	fx.policy.no_stepped = true;
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags, EXITS_INCOMPLETE);
	fixture_end(&fx);
}

CODE(e2,
     "push %rbx\n push %rbp\n mov %rdi, %rax\n e2_nop: nop\n add $0, %rsp\n pop %rbp\n pop %rbx\n"
     "e2_ret: ret");
LABEL(e2_nop);
LABEL(e2_ret);
static void test_exits_emulated(void **state)
{
	START(e2);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e2, e2_nop), AT(e2, e2_ret), SITE_EMULATED, 24, true);
	assert_int_equal(exits[0].skipped, 4);
	assert_int_equal(flags, 0);
	fixture_end(&fx);
}

CODE(e3, "push %rbx\n e3_nop: nop\n xor %eax, %eax\n pop %rbx\n e3_ret: ret");
LABEL(e3_nop);
LABEL(e3_ret);
static void test_exits_before_result(void **state)
{
	START(e3);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e3, e3_nop), AT(e3, e3_ret), SITE_EMULATED, 16, false);
	fixture_end(&fx);
}

#define PROTECTED(name)                                                                            \
	"push %rbx\n sub $0x10, %rsp\n mov 8(%rsp), %rdx\n" #name                                  \
	"_jcc: jne 1f\n add $0x10, %rsp\n pop %rbx\n" #name "_ret: ret\n 1: call " #name "_end\n"

CODE(e4, PROTECTED(e4));
LABEL(e4_jcc);
LABEL(e4_ret);
static void test_exits_dead_end(void **state)
{
	START(e4);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e4, e4_jcc), AT(e4, e4_ret), SITE_EMULATED, 0x20, true);
	fixture_end(&fx);
}

CODE(e5, PROTECTED(e5) "nop\n jmp e5_begin");
LABEL(e5_jcc);
LABEL(e5_ret);
static void test_exits_not_dead_end(void **state)
{
	START(e5);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e5, e5_ret), AT(e5, e5_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
	/* unless the name of the callee says so */
	fixture_name_add(&fx, BASE + fx.bytes.size, "__stack_chk_fail@plt");
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e5, e5_jcc), AT(e5, e5_ret), SITE_EMULATED, 0x20, true);
	fixture_end(&fx);
}

CODE(e6, PROTECTED(e6) "ud2");
LABEL(e6_jcc);
LABEL(e6_ret);
/* The entry is no exit, though it is emulated and every return comes after it. */
CODE(s1, "s1_f: mov %rdi, %rax\n nop\n s1_ret: ret");
CODE(s2, "push %rbx\n pop %rbx\n s2_ret: ret");
CODE(s3, "ret");
CODE(s4, "push %rbx\n push %rbp\n pop %rbp\n pop %rbx\n s4_ret: ret");
LABEL(s4_ret);
LABEL(s1_ret);
LABEL(s2_ret);
static void test_exits_not_at_entry(void **state)
{
	START(s1);
	assert_int_equal(fixture_entry(&fx).vaddr, BASE + 3);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(s1, s1_ret), AT(s1, s1_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
	START(s2);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(s2, s2_ret), AT(s2, s2_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
	START(s4); /* nor is the rest of the prologue */
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(s4, s4_ret), AT(s4, s4_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
	START(s3);
	assert_int_equal(fixture_entry(&fx).vaddr, BASE);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags, EXITS_INCOMPLETE);
	fixture_end(&fx);
}

static void test_exits_trap(void **state)
{
	START(e6);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e6, e6_jcc), AT(e6, e6_ret), SITE_EMULATED, 0x20, true);
	fixture_end(&fx);
}

CODE(e7, "push %rbx\n test %edi, %edi\n je 1f\n inc %edi\n nop\n 1: pop %rbx\n e7_ret: ret");
LABEL(e7_ret);
static void test_exits_join(void **state)
{
	START(e7);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e7, e7_ret), AT(e7, e7_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
}

CODE(e8, "push %rbx\n call e8_end\n pop %rbx\n e8_ret: ret\n nop\n syscall\n e8_ret2: ret\n"
	 "nop\n leave\n e8_ret3: ret $8");
LABEL(e8_ret);
LABEL(e8_ret2);
LABEL(e8_ret3);
static void test_exits_not_before_work(void **state)
{
	START(e8);
	assert_int_equal(find_exits(8), 3);
	check_exit(&exits[0], AT(e8, e8_ret), AT(e8, e8_ret), SITE_STEPPED, 8, true);
	check_exit(&exits[1], AT(e8, e8_ret2), AT(e8, e8_ret2), SITE_STEPPED, 8, true);
	check_exit(&exits[2], AT(e8, e8_ret3), AT(e8, e8_ret3), SITE_STEPPED, 8, true);
	fixture_end(&fx);
}

CODE(e9, "push %rbx\n e9_nop: nop\n pop %rbx\n e9_ret: ret");
LABEL(e9_nop);
LABEL(e9_ret);
static void test_exits_against_cfi(void **state)
{
	START(e9);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, BASE + 1, CODE_CFA_SP, 32);
	fixture_rule(&fx, AT(e9, e9_ret), CODE_CFA_SP, 8);
	assert_int_equal(find_exits(8), 1);
	check_exit(&exits[0], AT(e9, e9_ret), AT(e9, e9_ret), SITE_STEPPED, 8, true);
	fixture_end(&fx);
	/* a ret that is no return: something else was pushed for it */
	fx.rules[2].cfa.offset = 40;
	assert_int_equal(find_exits(8), 0);
	assert_true(flags & EXITS_INCOMPLETE);
	fixture_end(&fx);
}

CODE(t1, "t1_f: push %rbx\n pop %rbx\n jmp t1_g\n t1_g: xor %eax, %eax\n ret");
CODE(t2, "t2_f: test %edi, %edi\n jne t2_g\n ret\n t2_g: ret");
CODE(t3, "t3_f: test %edi, %edi\n t3_g: ret");
CODE(t4, "t4_f: mov (%rdi), %rax\n jmp *8(%rax)");
CODE(t5, "t5_f: sub $8, %rsp\n jmp *t5_f(%rip)");
CODE(t6, "t6_f: push %rbx\n call t6_end\n nop");
CODE(t7, "t7_f: push %rbx\n ud2");
CODE(t8, "t8_f: push %rbx\n 1: jmp 1b");
LABEL(t1_g);
LABEL(t2_g);
LABEL(t3_g);
static void test_exits_by_jump(void **state)
{
	const uint32_t jumps = EXITS_TAIL_CALLS | EXITS_NO_RETURN;

	START(t1);
	fixture_split(&fx, AT(t1, t1_g), CODE_PART_SYMBOL);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags & jumps, EXITS_TAIL_CALLS);
	fixture_end(&fx);
	START(t2);
	fixture_split(&fx, AT(t2, t2_g), CODE_PART_SYMBOL);
	assert_int_equal(find_exits(8), 1);
	assert_int_equal(flags & jumps, EXITS_TAIL_CALLS);
	fixture_end(&fx);
	START(t3); /* runs on into the next function */
	fixture_split(&fx, AT(t3, t3_g), CODE_PART_SYMBOL);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags & jumps, EXITS_TAIL_CALLS);
	fixture_end(&fx);
	START(t4); /* the frame is as at the start: it can only leave */
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags & jumps, EXITS_TAIL_CALLS);
	assert_false(flags & EXITS_UNRESOLVED);
	fixture_end(&fx);
	START(t5); /* through the GOT */
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags & jumps, EXITS_TAIL_CALLS);
	fixture_end(&fx);
}

static void test_exits_none(void **state)
{
	START(t6);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags, EXITS_NO_RETURN);
	fixture_end(&fx);
	START(t7);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags, EXITS_NO_RETURN);
	fixture_end(&fx);
	START(t8);
	assert_int_equal(find_exits(8), 0);
	assert_int_equal(flags, EXITS_NO_RETURN);
	fixture_end(&fx);
}

CODE(u1, "push %rbx\n je 1f\n .byte 0x06\n 1: pop %rbx\n u1_ret: ret");
LABEL(u1_ret);
static void test_exits_undecodable(void **state)
{
	START(u1);
	/* decoding goes on where a branch leads */
	assert_int_equal(find_exits(8), 1);
	assert_int_equal(exits[0].vaddr, AT(u1, u1_ret));
	assert_true(flags & EXITS_UNDECODABLE);
	fixture_end(&fx);
}

/* A function, another one, and the first one's split-off part, which jumps back. */
CODE(p1, "push %rbx\n test %edi, %edi\n jne p1_cold\n p1_back: pop %rbx\n p1_ret: ret\n"
	 "p1_other: ret\n"
	 "p1_cold: call p1_other\n test %eax, %eax\n je p1_back\n pop %rbx\n p1_ret2: ret");
LABEL(p1_ret);
LABEL(p1_other);
LABEL(p1_cold);
LABEL(p1_ret2);
static void check_cold(void)
{
	struct place r;

	assert_int_equal(find_exits(8), 2);
	assert_int_equal(exits[0].vaddr, AT(p1, p1_ret));
	assert_int_equal(exits[1].vaddr, AT(p1, p1_ret2));
	assert_false(flags & EXITS_TAIL_CALLS);
	r = fixture_return(&fx, AT(p1, p1_cold) + 5);
	assert_int_equal(r.vaddr, AT(p1, p1_cold) + 7);
	assert_int_equal(fixture_no_entry(&fx, AT(p1, p1_cold)), PLACE_PART);
	fixture_end(&fx);
}

static void test_exits_cold_part(void **state)
{
	START(p1);
	fixture_split(&fx, AT(p1, p1_other), CODE_PART_SYMBOL);
	fixture_split(&fx, AT(p1, p1_cold), CODE_PART_COLD)->parent = BASE;
	check_cold();
	/* stripped: known by its frame */
	START(p1);
	fixture_split(&fx, AT(p1, p1_other), CODE_PART_FDE);
	fixture_split(&fx, AT(p1, p1_cold), CODE_PART_FDE);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, BASE + 1, CODE_CFA_SP, 16);
	fixture_rule(&fx, AT(p1, p1_ret), CODE_CFA_SP, 8);
	fixture_rule(&fx, AT(p1, p1_cold), CODE_CFA_SP, 16);
	fixture_rule(&fx, AT(p1, p1_ret2), CODE_CFA_SP, 8);
	check_cold();
	/* so certainly that a number which looks like its address does not matter */
	fx.pointers[fx.nr_pointers++] = AT(p1, p1_cold);
	check_cold();
}

/* Split off without a frame: known by nobody else entering it. */
CODE(p2, "p2_f: test %edi, %edi\n .byte 0x0f, 0x85\n .long p2_cold - . - 4\n ret\n"
	 "p2_other: call p2_f\n ret\n p2_cold: inc %eax\n p2_ret2: ret");
LABEL(p2_other);
LABEL(p2_cold);
LABEL(p2_ret2);
static void test_exits_leaf_part(void **state)
{
	START(p2);
	fixture_split(&fx, AT(p2, p2_other), CODE_PART_FDE);
	fixture_split(&fx, AT(p2, p2_cold), CODE_PART_FDE);
	assert_int_equal(find_exits(8), 2);
	assert_int_equal(exits[1].vaddr, AT(p2, p2_ret2));
	assert_false(flags & EXITS_TAIL_CALLS);
	fixture_end(&fx);
	/* somebody holds its address: a function that is called last */
	fx.pointers[fx.nr_pointers++] = AT(p2, p2_cold);
	assert_int_equal(find_exits(8), 1);
	assert_true(flags & EXITS_TAIL_CALLS);
	/* and its own flow is not that of its caller */
	assert_int_equal(fixture_return(&fx, AT(p2, p2_other) + 5).vaddr, AT(p2, p2_other) + 5);
	fixture_end(&fx);
}

/* ---- callers ---- */

CODE(w,
     "w_f: push %rbx\n pop %rbx\n ret\n"
     "w_a: push %rbx\n w_call1: call w_f\n test %eax, %eax\n je 1f\n 1: w_call2: call w_f\n nop\n"
     "pop %rbx\n ret\n"
     "w_b: .byte 0x48, 0xb8, 0xe8\n .long w_f - . - 4\n .byte 0, 0, 0\n"
     "w_call3: .byte 0x67\n call w_f\n nop\n ret");
LABEL(w_a);
LABEL(w_b);
LABEL(w_call1);
LABEL(w_call2);
LABEL(w_call3);
static void start_w(void)
{
	START(w);
	fixture_split(&fx, AT(w, w_a), CODE_PART_SYMBOL);
	fixture_split(&fx, AT(w, w_b), CODE_PART_SYMBOL);
}

static void test_callers(void **state)
{
	struct caller callers[8];
	struct placer *p;
	uint32_t f;

	start_w();
	p = fixture_start(&fx);
	assert_int_equal(callers_find(p, BASE, callers, 8, &f), 3);
	assert_int_equal(f, 0);
	assert_int_equal(callers[0].call, AT(w, w_call1));
	assert_int_equal(callers[0].ret, AT(w, w_call1) + 5);
	assert_int_equal(callers[1].call, AT(w, w_call2));
	assert_int_equal(callers[2].call, AT(w, w_call3));
	assert_int_equal(callers[2].ret, AT(w, w_call3) + 6);
	callers[1].call = 0;
	assert_int_equal(callers_find(p, BASE, callers, 1, &f), 3);
	assert_int_equal(callers[1].call, 0);
	assert_int_equal(callers_find(p, AT(w, w_a), callers, 8, &f), 0);
	assert_int_equal(callers_find(p, BASE + 1, callers, 8, &f), -ENOENT);
	assert_int_equal(callers_find(p, 0x99, callers, 8, &f), -ENOENT);
	fixture_end(&fx);
}

/* The second byte of a call looks like a call of something else. */
CODE(y, "y_f: push %rbx\n pop %rbx\n ret\n y_g: .byte 0xe8, 0xe8\n"
	".byte (y_f - . - 4) & 0xff, 0xff, 0xff\n .byte 0xff, 0xc0\n ret");
LABEL(y_g);
static void test_callers_in_call(void **state)
{
	struct caller callers[2];
	uint32_t f;

	START(y);
	fixture_split(&fx, AT(y, y_g), CODE_PART_SYMBOL);
	assert_int_equal(callers_find(fixture_start(&fx), BASE, callers, 2, &f), 0);
	fixture_end(&fx);
}

static uint32_t flags_of(uint64_t function)
{
	struct caller callers[8];
	uint32_t f = 0;

	assert_true(callers_find(fixture_start(&fx), function, callers, 8, &f) >= 0);
	fixture_end(&fx);
	return f;
}

CODE(k1, "k1_f: ret\n k1_g: lea k1_f(%rip), %rax\n ret");
CODE(k2, "k2_f: ret\n k2_g: .byte 0xb8\n .long 0x401000\n ret");
CODE(k3, "k3_f: ret\n k3_g: xor %eax, %eax\n .byte 0xe9\n .long k3_f - . - 4");
CODE(k4, "k4_f: ret\n k4_g: je k4_f\n ret");
CODE(k5, "k5_f: inc %eax\n k5_g: ret");
CODE(k6, "k6_f: call k6_end\n k6_g: ret");
CODE(k7, "k7_f: ret\n nop\n k7_g: ret");
LABEL(k1_g);
LABEL(k2_g);
LABEL(k3_g);
LABEL(k4_g);
LABEL(k5_g);
LABEL(k6_g);
LABEL(k7_g);
static void test_caller_flags(void **state)
{
	START(k1);
	fixture_split(&fx, AT(k1, k1_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(BASE), CALLERS_ADDRESS_TAKEN);
	assert_int_equal(flags_of(AT(k1, k1_g)), 0);
	fx.parts[1].flags |= CODE_PART_EXPORTED | CODE_PART_IFUNC;
	assert_int_equal(flags_of(AT(k1, k1_g)), CALLERS_IFUNC);
	fx.src.shared = true;
	assert_int_equal(flags_of(AT(k1, k1_g)), CALLERS_IFUNC | CALLERS_EXPORTED);
	fx.pointers[fx.nr_pointers++] = AT(k1, k1_g);
	assert_true(flags_of(AT(k1, k1_g)) & CALLERS_ADDRESS_TAKEN);
	START(k2);
	fixture_split(&fx, AT(k2, k2_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(BASE), 0);
	fx.src.fixed = true;
	assert_int_equal(flags_of(BASE), CALLERS_ADDRESS_TAKEN);
	START(k3);
	fixture_split(&fx, AT(k3, k3_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(BASE), CALLERS_TAIL_JUMPS);
	START(k4);
	fixture_split(&fx, AT(k4, k4_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(BASE), CALLERS_TAIL_JUMPS);
	START(k5);
	fixture_split(&fx, AT(k5, k5_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(AT(k5, k5_g)), CALLERS_FALLS_IN);
	START(k6); /* a call at the end does not come back */
	fixture_split(&fx, AT(k6, k6_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(AT(k6, k6_g)), 0);
	START(k7); /* padding */
	fixture_split(&fx, AT(k7, k7_g), CODE_PART_SYMBOL);
	assert_int_equal(flags_of(AT(k7, k7_g)), 0);
}

/* ---- plans ---- */

static void test_plan_callers(void **state)
{
	struct plan plan;

	start_w();
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_CALLERS);
	assert_int_equal(plan.price, PLAN_EMULATED);
	assert_int_equal(plan.why, PLACE_OK);
	assert_false(plan.needs_learning);
	assert_int_equal(plan.nr_callers, 3);
	assert_int_equal(plan.nr_returns, 3);
	assert_int_equal(plan.nr_exits, 0);
	assert_int_equal(plan.returns[0].ideal, AT(w, w_call1) + 5);
	assert_string_equal(plan.text, "entry at +0 (pushq %rbx, emulated); ends at the return "
				       "addresses of 3 callers (emulated)");
	plan_release(&plan);
	assert_null(plan.returns);
	fixture_end(&fx);
	/* more callers than it may take */
	fx.policy.max_sites = 2;
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_EXITS);
	assert_true(plan.needs_learning);
	assert_int_equal(plan.nr_callers, 3);
	assert_int_equal(plan.nr_returns, 2);
	assert_int_equal(plan.price, PLAN_ENDS_STEPPED);
	plan_release(&plan);
	fixture_end(&fx);
}

/* A leaf without a branch: only a step could see its entry; two calls, the second with an emulated
 * end. */
CODE(leafy, "lea 1(%rdi), %eax\n leafy_ret: ret\n"
	    "leafy_user: push %rbx\n leafy_c1: call leafy_begin\n mov %eax, %ebx\n leafy_c2: call "
	    "leafy_begin\n nop\n"
	    "add %ebx, %eax\n pop %rbx\n ret");
LABEL(leafy_ret);
LABEL(leafy_user);
LABEL(leafy_c1);
LABEL(leafy_c2);
static void start_leafy(void)
{
	START(leafy);
	fixture_split(&fx, AT(leafy, leafy_user), CODE_PART_SYMBOL);
}

static void test_plan_at_calls(void **state)
{
	struct plan plan;

	start_leafy();
	assert_int_equal(plan_function_at_calls(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_CALLERS);
	assert_false(plan.needs_learning);
	assert_int_equal(plan.nr_calls, 2);
	assert_int_equal(plan.nr_returns, 2);
	assert_int_equal(plan.nr_exits, 0);
	assert_int_equal(plan.calls[0].role, SITE_CALL);
	assert_int_equal(plan.calls[0].cls, SITE_EMULATED);
	assert_int_equal(plan.calls[0].vaddr, AT(leafy, leafy_c1));
	assert_int_equal(plan.calls[0].cfa, 0);
	assert_int_equal(plan.calls[0].length, 5);
	assert_int_equal(plan.returns[0].ideal, AT(leafy, leafy_c1) + 5);
	/* its first emulated instruction is the next call: there two activations would meet */
	assert_int_equal(plan.returns[0].vaddr, AT(leafy, leafy_c1) + 5);
	assert_int_equal(plan.returns[0].cls, SITE_STEPPED);
	assert_int_equal(plan.calls[1].vaddr, AT(leafy, leafy_c2));
	assert_int_equal(plan.returns[1].cls, SITE_EMULATED);
	plan_release(&plan);
	assert_null(plan.calls);
	/* who else may call it is not known: at its entry */
	fx.pointers[fx.nr_pointers++] = BASE;
	fixture_end(&fx);
	assert_int_equal(plan_function_at_calls(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.nr_calls, 0);
	assert_int_equal(plan.entry.cls, SITE_STEPPED);
	plan_release(&plan);
	fixture_end(&fx);
	/* an emulated entry is as cheap, wherever the calls come from */
	start_w();
	assert_int_equal(plan_function_at_calls(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.nr_calls, 0);
	assert_int_equal(plan.entry.cls, SITE_EMULATED);
	plan_release(&plan);
	fixture_end(&fx);
}

static void test_plan_exits(void **state)
{
	struct plan plan;

	start_w();
	fx.pointers[fx.nr_pointers++] = BASE;
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_EXITS);
	assert_int_equal(plan.price, PLAN_ENDS_STEPPED);
	assert_int_equal(plan.caller_flags, CALLERS_ADDRESS_TAKEN);
	assert_true(plan.needs_learning);
	assert_int_equal(plan.nr_exits, 1);
	assert_int_equal(plan.nr_returns, 3);
	assert_string_equal(plan.text, "entry at +0 (pushq %rbx, emulated); ends at 1 exit "
				       "(single-stepped) until its callers are discovered");
	plan_release(&plan);
	fixture_end(&fx);
	/* emulated exits need no callers */
	START(e4);
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_EXITS);
	assert_int_equal(plan.price, PLAN_EMULATED);
	assert_false(plan.needs_learning);
	assert_int_equal(plan.nr_returns, 0);
	assert_string_equal(plan.text,
			    "entry at +0 (pushq %rbx, emulated); ends at 1 exit (emulated)");
	plan_release(&plan);
	fixture_end(&fx);
}

static void test_plan_discovered(void **state)
{
	struct plan plan;

	START(t1);
	fixture_split(&fx, AT(t1, t1_g), CODE_PART_SYMBOL);
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_DISCOVERED);
	assert_int_equal(plan.price, PLAN_EMULATED);
	assert_true(plan.needs_learning);
	assert_int_equal(plan.nr_exits + plan.nr_returns, 0);
	assert_non_null(strstr(plan.text, "leaves by tail calls"));
	plan_release(&plan);
	/* its callee's only way in is that jump */
	assert_int_equal(plan_function(fx.placer, AT(t1, t1_g), &plan), 0);
	assert_int_equal(plan.strategy, PLAN_EXITS);
	assert_int_equal(plan.price, PLAN_BOTH_STEPPED);
	assert_int_equal(plan.nr_returns, 0);
	assert_int_equal(plan.caller_flags, CALLERS_TAIL_JUMPS);
	assert_true(plan.needs_learning);
	plan_release(&plan);
	fixture_end(&fx);
	START(t6);
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_DISCOVERED);
	assert_non_null(strstr(plan.text, "no exit of its own"));
	plan_release(&plan);
	fixture_end(&fx);
}

/* A call from which nobody returns needs no end; one that has none cannot be timed by callers. */
CODE(n1,
     "n1_f: push %rbx\n pop %rbx\n ret\n n1_g: test %edi, %edi\n je 1f\n call n1_f\n nop\n ret\n"
     "1: call n1_f\n n1_h: ret");
CODE(n2, "n2_f: push %rbx\n pop %rbx\n ret\n n2_g: call n2_f\n rep stosb\n ret");
LABEL(n1_g);
LABEL(n1_h);
LABEL(n2_g);
static void test_plan_calls_without_end(void **state)
{
	struct plan plan;

	START(n1);
	fixture_split(&fx, AT(n1, n1_g), CODE_PART_SYMBOL);
	fixture_split(&fx, AT(n1, n1_h), CODE_PART_SYMBOL);
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_CALLERS);
	assert_int_equal(plan.nr_callers, 2);
	assert_int_equal(plan.nr_returns, 1);
	assert_string_equal(plan.text, "entry at +0 (pushq %rbx, emulated); ends at the return "
				       "address of 1 caller (emulated)");
	plan_release(&plan);
	fixture_end(&fx);
	START(n2);
	fixture_split(&fx, AT(n2, n2_g), CODE_PART_SYMBOL);
	assert_int_equal(plan_function(fixture_start(&fx), BASE, &plan), 0);
	assert_int_equal(plan.strategy, PLAN_EXITS);
	assert_int_equal(plan.nr_callers, 1);
	assert_int_equal(plan.nr_returns, 0);
	plan_release(&plan);
	fixture_end(&fx);
}

static void test_plan_declined(void **state)
{
	struct plan plan;

	START(t1);
	fx.policy.no_stepped = true;
	assert_int_equal(plan_function(fixture_start(&fx), BASE + 1, &plan), -ENOTSUP);
	assert_int_equal(plan.why, PLACE_NO_START);
	assert_string_equal(plan.text, place_why_text(PLACE_NO_START));
	plan_release(&plan);
	assert_int_equal(plan_function(fx.placer, 0x10, &plan), -ENOTSUP);
	assert_int_equal(plan.why, PLACE_NO_CODE);
	plan_release(&plan);
	fixture_end(&fx);
}

static void test_plan_words(void **state)
{
	for (int i = 0; i < PLAN_PRICES; i++)
		assert_true(strlen(plan_price_text((enum plan_price)i)) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exits_stepped),
	    cmocka_unit_test(test_exits_emulated),
	    cmocka_unit_test(test_exits_before_result),
	    cmocka_unit_test(test_exits_dead_end),
	    cmocka_unit_test(test_exits_not_dead_end),
	    cmocka_unit_test(test_exits_trap),
	    cmocka_unit_test(test_exits_not_at_entry),
	    cmocka_unit_test(test_exits_join),
	    cmocka_unit_test(test_exits_not_before_work),
	    cmocka_unit_test(test_exits_against_cfi),
	    cmocka_unit_test(test_exits_by_jump),
	    cmocka_unit_test(test_exits_none),
	    cmocka_unit_test(test_exits_undecodable),
	    cmocka_unit_test(test_exits_cold_part),
	    cmocka_unit_test(test_exits_leaf_part),
	    cmocka_unit_test(test_callers),
	    cmocka_unit_test(test_callers_in_call),
	    cmocka_unit_test(test_caller_flags),
	    cmocka_unit_test(test_plan_callers),
	    cmocka_unit_test(test_plan_at_calls),
	    cmocka_unit_test(test_plan_exits),
	    cmocka_unit_test(test_plan_discovered),
	    cmocka_unit_test(test_plan_calls_without_end),
	    cmocka_unit_test(test_plan_declined),
	    cmocka_unit_test(test_plan_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
