// SPDX-License-Identifier: GPL-2.0-or-later
/* Return places, call sites, and planning of whatever bytes there are. */
#include "tests/unit/placement_fixture.h"

static struct fixture fx;

#define START(name) fixture_init(&fx, name##_begin, name##_end)

/* ---- returns ---- */

CODE(r1, "call r1_end\n r1_ret: mov %rax, %rbx\n test %eax, %eax\n r1_place: je 1f\n 1: ret");
LABEL(r1_ret);
LABEL(r1_place);
static void test_return_branch(void **state)
{
	struct place r;

	START(r1);
	r = fixture_return(&fx, AT(r1, r1_ret));
	CHECK(r, AT(r1, r1_place), SITE_EMULATED, 0, 2);
	assert_true(r.ret_valid);
	assert_int_equal(r.ret_reg, 0);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.args, 0);
	fixture_end(&fx);
}

CODE(r2, "call r2_end\n r2_ret: add $0x10, %rsp\n xor %eax, %eax\n r2_place: push %rbx\n ret");
LABEL(r2_ret);
LABEL(r2_place);
static void test_return_tracks_stack(void **state)
{
	struct place r;

	START(r2);
	r = fixture_return(&fx, AT(r2, r2_ret));
	CHECK(r, AT(r2, r2_place), SITE_EMULATED, -0x10, 2);
	assert_false(r.ret_valid);
	fixture_end(&fx);
}

CODE(r3, "call r3_end\n r3_ret: pop %rcx\n ret");
LABEL(r3_ret);
static void test_return_stepped(void **state)
{
	START(r3);
	CHECK(fixture_return(&fx, AT(r3, r3_ret)), AT(r3, r3_ret), SITE_STEPPED, 0, 0);
	fixture_end(&fx);
	fx.policy.no_stepped = true;
	assert_int_equal(fixture_no_return(&fx, AT(r3, r3_ret)), PLACE_STEPPED_ONLY);
	fixture_end(&fx);
}

CODE(r4, "test %edi, %edi\n je 1f\n call r4_end\n r4_ret: mov %rax, %rbx\n 1: r4_join:\n"
	 "test %ebx, %ebx\n r4_place: je 2f\n 2: ret");
LABEL(r4_ret);
LABEL(r4_place);
static void test_return_join(void **state)
{
	struct place r;

	START(r4);
	r = fixture_return(&fx, AT(r4, r4_ret));
	CHECK(r, AT(r4, r4_place), SITE_EMULATED, 0, 2);
	assert_int_equal(r.flags, PLACE_JOINED);
	fixture_end(&fx);
	/* where exceptions can land, the join may be passed after one */
	fx.parts[0].flags |= CODE_PART_LSDA;
	r = fixture_return(&fx, AT(r4, r4_ret));
	CHECK(r, AT(r4, r4_ret), SITE_STEPPED, 0, 0);
	assert_int_equal(r.flags, 0);
	fixture_end(&fx);
	fx.parts[0].flags &= ~(uint32_t)CODE_PART_LSDA;
	fixture_name_add(&fx, BASE + fx.bytes.size, "_setjmp@plt");
	CHECK(fixture_return(&fx, AT(r4, r4_ret)), AT(r4, r4_ret), SITE_STEPPED, 0, 0);
	fixture_end(&fx);
	fx.names[0].name = "mysetjmp";
	CHECK(fixture_return(&fx, AT(r4, r4_ret)), AT(r4, r4_place), SITE_EMULATED, 0, 2);
	fixture_end(&fx);
}

/* A probe in the loop would be hit in each turn. */
CODE(turns, "call turns_end\n turns_ret: mov %rax, %rbx\n 1: dec %ebx\n jne 1b\n ret");
LABEL(turns_ret);
static void test_return_before_loop(void **state)
{
	START(turns);
	CHECK(fixture_return(&fx, AT(turns, turns_ret)), AT(turns, turns_ret), SITE_STEPPED, 0, 0);
	fixture_end(&fx);
	/* there is no other place */
	fx.policy.no_stepped = true;
	assert_int_equal(fixture_return(&fx, AT(turns, turns_ret)).cls, SITE_EMULATED);
	fixture_end(&fx);
}

CODE(r5, "call r5_end\n r5_ret: test %eax, %eax\n je 1f\n jmp r5_ret\n 1: ret");
LABEL(r5_ret);
static void test_return_address_is_target(void **state)
{
	struct place r;

	START(r5);
	r = fixture_return(&fx, AT(r5, r5_ret));
	assert_int_equal(r.vaddr, AT(r5, r5_ret) + 2);
	assert_int_equal(r.flags, 0);
	fixture_end(&fx);
	fx.parts[0].flags |= CODE_PART_LSDA;
	r = fixture_return(&fx, AT(r5, r5_ret));
	assert_int_equal(r.vaddr, AT(r5, r5_ret) + 2);
	assert_int_equal(r.flags, PLACE_FALSE_RETURN);
	fixture_end(&fx);
}

CODE(r6, "push %rbx\n call r6_end\n r6_next: push %rbp\n pop %rbp\n ret");
LABEL(r6_next);
static void test_return_of_noreturn(void **state)
{
	START(r6);
	fixture_split(&fx, AT(r6, r6_next), CODE_PART_SYMBOL);
	assert_int_equal(fixture_no_return(&fx, AT(r6, r6_next)), PLACE_NO_RETURN);
	assert_int_equal(fixture_no_return(&fx, BASE + fx.bytes.size), PLACE_NO_CODE);
	assert_int_equal(fixture_no_return(&fx, AT(r6, r6_next) - 1), PLACE_NOT_BOUNDARY);
	fixture_end(&fx);
}

/* After a call that does not return, another block with another frame follows. */
CODE(r7, "sub $8, %rsp\n call r7_end\n r7_ret: mov %rax, %rbx\n r7_block: test %eax, %eax\n je 1f\n"
	 "1: ret");
LABEL(r7_ret);
LABEL(r7_block);
static void test_return_into_other_block(void **state)
{
	START(r7);
	fixture_rule(&fx, BASE, CODE_CFA_SP, 8);
	fixture_rule(&fx, BASE + 4, CODE_CFA_SP, 16);
	fixture_rule(&fx, AT(r7, r7_block), CODE_CFA_SP, 8);
	CHECK(fixture_return(&fx, AT(r7, r7_ret)), AT(r7, r7_ret), SITE_STEPPED, 0, 0);
	fixture_end(&fx);
	fx.rules[2].from = AT(r7, r7_ret) + 1;
	fx.policy.no_stepped = true;
	assert_int_equal(fixture_no_return(&fx, AT(r7, r7_ret)), PLACE_NO_RETURN);
	fixture_end(&fx);
}

CODE(r8, "call r8_end\n r8_ret: mov %eax, %edi\n call r8_end\n ret");
LABEL(r8_ret);
static void test_return_on_next_call(void **state)
{
	START(r8);
	CHECK(fixture_return(&fx, AT(r8, r8_ret)), AT(r8, r8_ret) + 2, SITE_EMULATED, 0, 1);
	fixture_end(&fx);
	fx.policy.shadow_stack = true;
	CHECK(fixture_return(&fx, AT(r8, r8_ret)), AT(r8, r8_ret), SITE_STEPPED, 0, 0);
	fixture_end(&fx);
}

/* ---- call sites ---- */

CODE(c1, "push %rbx\n c1_call: call c1_end\n c1_ret: test %eax, %eax\n je 1f\n 1: pop %rbx\n"
	 "c1_ind: call *8(%rax)\n c1_ret2: ret\n c1_tail: jmp c1_end");
LABEL(c1_call);
LABEL(c1_ret);
LABEL(c1_ind);
LABEL(c1_ret2);
LABEL(c1_tail);
static void test_call_site_pair(void **state)
{
	struct place start, end;
	enum place_why why;
	struct placer *p;

	START(c1);
	p = fixture_start(&fx);
	assert_int_equal(place_call_site(p, AT(c1, c1_call), &start, &end, &why), 0);
	CHECK(start, AT(c1, c1_call), SITE_EMULATED, 0, 0);
	assert_int_equal(start.kind, PLACE_CALL);
	assert_int_equal(start.role, SITE_CALL);
	assert_int_equal(start.args, 0x3f);
	CHECK(end, AT(c1, c1_ret) + 2, SITE_EMULATED, 0, 1);
	assert_int_equal(place_call_site(p, AT(c1, c1_ind), &start, &end, &why), 0);
	CHECK(start, AT(c1, c1_ind), SITE_STEPPED, 0, 0);
	CHECK(end, AT(c1, c1_ret2), SITE_STEPPED, 0, 0);
	assert_int_equal(place_call_site(p, BASE, &start, &end, &why), -ENOTSUP);
	assert_int_equal(why, PLACE_NOT_CALL);
	assert_int_equal(place_call_site(p, AT(c1, c1_tail), &start, &end, &why), -ENOTSUP);
	assert_int_equal(why, PLACE_NOT_CALL);
	assert_int_equal(place_call_site(p, AT(c1, c1_call) + 1, &start, &end, &why), -ENOTSUP);
	assert_int_equal(why, PLACE_NOT_BOUNDARY);
	fixture_end(&fx);
	fx.policy.shadow_stack = true;
	assert_int_equal(place_call_site(fixture_start(&fx), AT(c1, c1_call), &start, &end, &why),
			 -ENOTSUP);
	assert_int_equal(why, PLACE_SHADOW_STACK);
	fixture_end(&fx);
}

CODE(c2, "call c2_f\n call c2_plt\n call *%rdi\n call *16(%r12,%rax,8)\n"
	 "c2_gotcall: call *c2_begin + 0x10000(%rip)\n test %eax, %eax\n jne 1f\n 1: je c2_f\n"
	 "c2_jmp: jmp c2_f\n c2_f: ret\n c2_plt: jmp *c2_begin + 0x10008(%rip)\n nop");
LABEL(c2_f);
LABEL(c2_plt);
LABEL(c2_jmp);
LABEL(c2_gotcall);
static void test_call_sites_of_function(void **state)
{
	struct call_site sites[8];
	enum place_why why;

	START(c2);
	fixture_split(&fx, AT(c2, c2_f), CODE_PART_SYMBOL | CODE_PART_FDE);
	fixture_split(&fx, AT(c2, c2_plt), CODE_PART_PLT);
	fixture_name_add(&fx, AT(c2, c2_plt), "write@plt");
	fixture_name_add(&fx, BASE + 0x10000, "free");
	assert_int_equal(function_call_sites(fixture_start(&fx), BASE, sites, 8, &why), 7);
	assert_int_equal(sites[0].kind, CALL_DIRECT);
	assert_int_equal(sites[0].vaddr, BASE);
	assert_int_equal(sites[0].ret, BASE + 5);
	assert_int_equal(sites[0].target, AT(c2, c2_f));
	assert_int_equal(sites[1].kind, CALL_PLT);
	assert_string_equal(sites[1].name, "write@plt");
	/* through the stub's pointer, seen from the call */
	assert_int_equal(sites[1].operand.kind, OPERAND_SLOT);
	assert_int_equal(sites[1].operand.base, OPERAND_IP);
	assert_int_equal(sites[1].vaddr + (uint64_t)sites[1].operand.disp, BASE + 0x10008);
	assert_int_equal(sites[2].kind, CALL_INDIRECT);
	assert_int_equal(sites[2].operand.kind, OPERAND_REGISTER);
	assert_int_equal(sites[2].operand.base, 14); /* rdi */
	assert_int_equal(sites[3].kind, CALL_INDIRECT);
	assert_int_equal(sites[3].operand.kind, OPERAND_MEMORY);
	assert_int_equal(sites[3].operand.base, 3);   /* r12 */
	assert_int_equal(sites[3].operand.index, 10); /* rax */
	assert_int_equal(sites[3].operand.scale, 8);
	assert_int_equal(sites[3].operand.disp, 16);
	assert_int_equal(sites[4].operand.base, OPERAND_IP);
	assert_int_equal(sites[4].vaddr + (uint64_t)sites[4].operand.disp, BASE + 0x10000);
	assert_int_equal(sites[4].vaddr, AT(c2, c2_gotcall));
	assert_string_equal(sites[4].name, "free");
	assert_int_equal(sites[5].kind, CALL_TAIL);
	assert_int_equal(sites[5].ret, 0);
	assert_int_equal(sites[6].kind, CALL_TAIL);
	assert_int_equal(sites[6].vaddr, AT(c2, c2_jmp));
	assert_int_equal(sites[6].target, AT(c2, c2_f));
	/* fewer written than there are */
	memset(sites, 0, sizeof(sites));
	assert_int_equal(function_call_sites(fx.placer, BASE, sites, 2, &why), 7);
	assert_int_equal(sites[2].vaddr, 0);
	fixture_end(&fx);
}

/* ---- whatever the bytes are ---- */

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Bytes that are often meaningful: opcodes of branches, pushes, tables. */
static uint8_t random_byte(uint64_t *x)
{
	static const uint8_t common[] = {0x55, 0x50, 0x53, 0x5b, 0xc3, 0xe8, 0xe9, 0xeb,
					 0x74, 0x75, 0x0f, 0x84, 0x1f, 0x00, 0x00, 0xff,
					 0x8d, 0x05, 0x48, 0x41, 0x90, 0x66, 0xf3, 0x83,
					 0xec, 0x08, 0xc4, 0x24, 0xe0, 0x63};
	uint64_t r = random_next(x);

	return r & 1 ? common[(r >> 8) % sizeof(common)] : (uint8_t)(r >> 16);
}

static void check_place(const struct place *place)
{
	const struct code_part *part = code_part_at(&fx.src, place->vaddr);

	assert_non_null(part);
	assert_true(place->vaddr + place->length <= part->end);
	assert_int_equal(place->offset, OFFSET + (place->vaddr - BASE));
	assert_true(place->cls == SITE_EMULATED || place->cls == SITE_STEPPED);
	assert_true(place->skipped <= 8);
	assert_true(strlen(place->text) < sizeof(place->text));
}

static void test_random_code(void **state)
{
	const char *given = getenv("PEAKTOP_SEED");
	uint64_t x = (given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL)) | 1;
	uint64_t planned = 0;

	print_message("seed %llu\n", (unsigned long long)x);
	for (int round = 0; round < 3000; round++) {
		size_t size = 16 + random_next(&x) % 400;
		uint8_t *code = malloc(size); /* so that reading on is seen */

		assert_non_null(code);
		for (size_t i = 0; i < size; i++)
			code[i] = random_byte(&x);
		fixture_init(&fx, code, code + size);
		fx.data_vaddr = BASE + random_next(&x) % 1000;
		fx.data_size = sizeof(fx.data);
		for (size_t i = 0; i < sizeof(fx.data); i++)
			fx.data[i] = random_next(&x) & 1 ? 0 : random_byte(&x);
		for (uint64_t at = BASE; fx.src.nr_parts < FIXTURE_PARTS;) {
			at += 1 + random_next(&x) % 100;
			if (at >= BASE + size)
				break;
			fixture_split(&fx, at, (uint32_t)(random_next(&x) % 128) & ~4u)->parent =
			    random_next(&x) & 1 ? BASE : at;
			fixture_rule(&fx, at, (enum code_cfa_kind)(random_next(&x) % 3),
				     (int64_t)(8 * (random_next(&x) % 4)));
		}
		fixture_start(&fx);
		for (size_t i = 0; i < fx.src.nr_parts; i++) {
			struct place place, end;
			enum place_why why;
			struct plan plan;

			if (!plan_function(fx.placer, fx.parts[i].start, &plan)) {
				planned++;
				check_place(&plan.entry);
				for (size_t k = 0; k < plan.nr_exits; k++)
					check_place(&plan.exits[k]);
				for (size_t k = 0; k < plan.nr_returns; k++)
					check_place(&plan.returns[k]);
			}
			plan_release(&plan);
			for (uint64_t at = fx.parts[i].start; at < fx.parts[i].end; at += 7) {
				if (!place_return(fx.placer, at, &place, &why))
					check_place(&place);
				if (!place_call_site(fx.placer, at, &place, &end, &why)) {
					check_place(&place);
					check_place(&end);
				}
			}
		}
		fixture_end(&fx);
		free(code);
	}
	assert_true(planned > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_return_branch),
	    cmocka_unit_test(test_return_tracks_stack),
	    cmocka_unit_test(test_return_stepped),
	    cmocka_unit_test(test_return_join),
	    cmocka_unit_test(test_return_before_loop),
	    cmocka_unit_test(test_return_address_is_target),
	    cmocka_unit_test(test_return_of_noreturn),
	    cmocka_unit_test(test_return_into_other_block),
	    cmocka_unit_test(test_return_on_next_call),
	    cmocka_unit_test(test_call_site_pair),
	    cmocka_unit_test(test_call_sites_of_function),
	    cmocka_unit_test(test_random_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
