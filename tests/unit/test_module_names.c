// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/module/module_names.h"

static void demangles(const char *symbol, enum name_form form, const char *expected)
{
	char text[NAME_MAX_TEXT];

	assert_true(name_demangle(symbol, form, text));
	assert_string_equal(text, expected);
}

static void test_demangle_cxx(void **state)
{
	demangles("_Z3fooi", NAME_FULL, "foo(int)");
	demangles("_Z3fooi", NAME_SHORT, "foo");
	demangles("_ZN2ns3barIiEEvT_", NAME_FULL, "ns::bar<int>(int)");
	demangles("_ZN2ns3barIiEEvT_", NAME_SHORT, "ns::bar<int>");
	demangles("_ZN2ns3barIiEEvT_", NAME_RETURNING, "void ns::bar<int>(int)");
	demangles("_ZN12_GLOBAL__N_13fooEv", NAME_FULL, "(anonymous namespace)::foo()");
	demangles("_ZNK3Foo3getEv", NAME_FULL, "Foo::get() const");
	demangles("_ZN3FooC1Ev", NAME_FULL, "Foo::Foo()");
	demangles("_ZN3FooD0Ev", NAME_FULL, "Foo::~Foo()");
	demangles("_ZNSs6appendEPKc", NAME_FULL, "std::string::append(char const*)");
	demangles("_ZZ4mainENKUlvE_clEv", NAME_FULL, "main::{lambda()#1}::operator()() const");
	demangles("_Z3fooi.isra.0", NAME_SHORT, "foo");
}

static void test_demangle_rust(void **state)
{
	demangles("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", NAME_FULL,
		  "core::fmt::Formatter::pad");
	demangles("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  NAME_FULL, "<Test + 'static as foo::Bar<Test>>::bar");
	demangles("_RNvC6_123foo3bar", NAME_FULL, "123foo::bar");
	demangles("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
		  NAME_FULL, "<std::path::PathBuf>::new");
}

static void test_not_mangled(void **state)
{
	static const char *const names[] = {"",
					    "_",
					    "_Z",
					    "_R",
					    "main",
					    "_Zfoo",
					    "_ZN",
					    "_ZNE",
					    "_Rust",
					    "Z3foov",
					    "_Z99999999999999999999foo"};
	char text[NAME_MAX_TEXT];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(name_demangle(names[i], NAME_FULL, text));
		assert_string_equal(text, "");
	}
}

/* Each substitution doubles what is printed: 2^60 characters if nobody stops it. */
static void test_demangle_bomb(void **state)
{
	char symbol[2048], text[NAME_MAX_TEXT];
	size_t n = 0, i;

	n += (size_t)snprintf(symbol, sizeof(symbol), "_Z1f1AIiiE");
	for (i = 0; i < 60; i++) {
		const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t s = i; /* number of the last substitution, roughly */
		char ref[8];

		if (s < 36)
			snprintf(ref, sizeof(ref), "S%c_", digits[s]);
		else
			snprintf(ref, sizeof(ref), "S%c%c_", digits[s / 36], digits[s % 36]);
		n += (size_t)snprintf(symbol + n, sizeof(symbol) - n, "S_I%s%sE", ref, ref);
	}
	assert_false(name_demangle(symbol, NAME_FULL, text));
	assert_string_equal(text, "");
}

static void test_demangle_deep(void **state)
{
	char *symbol = malloc(NAME_MAX_TEXT), text[NAME_MAX_TEXT];
	size_t i;

	memcpy(symbol, "_Z1f", 4);
	for (i = 4; i < NAME_MAX_TEXT - 2; i++)
		symbol[i] = 'P'; /* pointers to pointers */
	symbol[NAME_MAX_TEXT - 2] = 'i';
	symbol[NAME_MAX_TEXT - 1] = 0;
	name_demangle(symbol, NAME_FULL, text); /* any answer, no crash */
	for (i = 4; i < NAME_MAX_TEXT - 2; i++)
		symbol[i] = i % 2 ? '_' : 'N';
	name_demangle(symbol, NAME_FULL, text);
	memset(symbol, 'a', NAME_MAX_TEXT - 1);
	memcpy(symbol, "_Z", 2);
	assert_false(name_demangle(symbol, NAME_FULL, text));
	free(symbol);
}

static void test_base_length(void **state)
{
	static const struct {
		const char *symbol;
		size_t len;
	} cases[] = {
	    {"foo", 3},
	    {"foo.isra.0", 3},
	    {"foo.constprop.12", 3},
	    {"foo.part.0", 3},
	    {"foo.isra.0.constprop.1", 3},
	    {"foo.cold", 3},
	    {"foo.lto_priv.0", 3},
	    {"foo.llvm.123456789", 3},
	    {"foo.localalias", 3},
	    {"foo.1234", 3},
	    {"foo.bar", 7},
	    {"foo.", 4},
	    {".isra.0", 5},
	    {"", 0},
	    {"foo.avx2", 8},
	    {"_ZN3a.b3fooE", 12},
	    {"1.2", 1},
	    {"v1", 2},
	    {"foo.isra", 3},
	    {"12345", 5},
	    {".5", 2},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(name_base_length(cases[i].symbol), cases[i].len);
}

static void test_part(void **state)
{
	size_t len;

	assert_true(name_is_part("foo.cold", &len));
	assert_int_equal(len, 3);
	assert_true(name_is_part("foo.cold.7", &len));
	assert_int_equal(len, 3);
	assert_true(name_is_part("foo.isra.0.cold", &len));
	assert_int_equal(len, 10);
	assert_true(name_is_part("foo.__part.1", &len));
	assert_int_equal(len, 3);
	assert_false(name_is_part("foo.part.0", &len));
	assert_false(name_is_part("foo", &len));
	assert_false(name_is_part("foo.colder", &len));
	assert_false(name_is_part(".cold", &len));
	assert_false(name_is_part("cold", &len));
	assert_false(name_is_part("", &len));
}

static void test_deleting_destructor(void **state)
{
	assert_true(name_is_deleting_destructor("_ZN3FooD0Ev"));
	assert_false(name_is_deleting_destructor("_ZN3FooD1Ev"));
	assert_false(name_is_deleting_destructor("_Z2D0Ev"));
	assert_false(name_is_deleting_destructor("D0E"));
}

static void test_same(void **state)
{
	assert_true(name_same("foo(int, char)", "foo(int,char)"));
	assert_true(name_same("a<b<c> >::f", "a<b<c>>::f"));
	assert_true(name_same(" foo ", "foo"));
	assert_true(name_same("f[abi:cxx11](int)", "f(int)"));
	assert_true(name_same("unsigned  long", "unsigned long"));
	assert_true(name_same("char const *", "char const*"));
	assert_false(name_same("unsignedlong", "unsigned long"));
	assert_false(name_same("foo", "foo()"));
	assert_false(name_same("foo", "fo"));
	assert_false(name_same("foo", "Foo"));
	assert_true(name_same("", ""));
	assert_true(name_same("f[abi:", "f[abi:"));
}

static void witness(const char *text, bool whole, const char *expected)
{
	size_t len;
	const char *w = name_witness(text, whole, &len);

	if (!expected) {
		assert_null(w);
		assert_int_equal(len, 0);
		return;
	}
	assert_non_null(w);
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(w, expected, len);
}

static void test_witness(void **state)
{
	witness("ns::Container::insert(int)", true, "Container");
	witness("operator new(unsigned long)", true, NULL);
	witness("std::string::append", true, "append");
	witness("(anonymous namespace)::go()", true, "go");
	witness("f<12345>", true, "f");
	witness("str", true, NULL);
	witness("uns", false, NULL);	 /* the beginning of "unsigned" */
	witness("amespac", false, NULL); /* its middle */
	witness("uns", true, "uns");
	witness("", false, NULL);
	witness("::", false, NULL);
	witness("Zebra", false, "Zebra");
}

static void last_part(const char *name, const char *expected)
{
	size_t len;
	const char *p = name_last_part(name, &len);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(p, expected, len);
}

static void test_last_part(void **state)
{
	last_part("main", "main");
	last_part("ns::f(int)", "f");
	last_part("a::b<c::d>::f<int>(g::h)", "f");
	last_part("(anonymous namespace)::f(int)", "f");
	last_part("a::(anonymous namespace)::f", "f");
	last_part("a::operator<(b::c)", "operator<");
	last_part("a::operator()(b::c) const", "operator()");
	last_part("operator new(unsigned long)", "operator new");
	last_part("a::operatorFoo(int)", "operatorFoo");
	last_part("<a::B as c::D>::f", "f");
	last_part("", "");
	last_part("::", "");
	last_part("a::{lambda(b::c)#1}::operator()(int) const", "operator()");
	last_part(">>::x", "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_demangle_cxx),  cmocka_unit_test(test_demangle_rust),
	    cmocka_unit_test(test_not_mangled),	  cmocka_unit_test(test_demangle_bomb),
	    cmocka_unit_test(test_demangle_deep), cmocka_unit_test(test_base_length),
	    cmocka_unit_test(test_part),	  cmocka_unit_test(test_deleting_destructor),
	    cmocka_unit_test(test_same),	  cmocka_unit_test(test_witness),
	    cmocka_unit_test(test_last_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
