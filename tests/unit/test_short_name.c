// SPDX-License-Identifier: GPL-2.0-or-later
/* Names without parameters: brackets in template arguments, lambdas, operators; what is cut off or
 * no C++. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tui/report/output_descend.h"

static void test_names(void **state)
{
	static const char *const names[][2] = {
	    {"main", "main"},
	    {"serve(int, char const*)", "serve"},
	    {"Store::get(std::string const&) const", "Store::get"},
	    {"handle[abi:cxx11](int)", "handle[abi:cxx11]"},
	    {"f(int) [clone .cold]", "f"},
	    {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
	    {"a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f"},
	    {"std::function<int (int)>::operator()(int) const",
	     "std::function<int (int)>::operator()"},
	    {"Server::Server()::{lambda(int)#2}::operator()(int) const",
	     "Server::Server()::{lambda(int)#2}::operator()"},
	    {"std::_Function_handler<int (int), "
	     "Server::Server()::{lambda(int)#2}>::_M_invoke(std::_Any_data const&, int&&)",
	     "std::_Function_handler<...>::_M_invoke"},
	    {"f(int)::local::g()", "f(int)::local::g"},
	    {"f(std::unique_ptr<int>*, bool*)::{lambda()#1}::_FUN()", "f(...)::{lambda()#1}::_FUN"},
	    {"main.(*ServerWithAVeryLongName).serve", "main.(*ServerWithAVeryLongName).serve"},
	    {"std::operator<< <char>(std::ostream&, char)", "std::operator<< <char>"},
	    {"A::operator<(A const&) const", "A::operator<"},
	    {"A::operator->() const", "A::operator->"},
	    {"A::operator bool() const", "A::operator bool"},
	    {"my_operator(int)", "my_operator"},
	    {"operators::f(int)", "operators::f"},
	    {"void sort<std::pair<int, int>*>(std::pair<int, int>*)",
	     "void sort<std::pair<int, int>*>"},
	    {"main.(*Server).serve", "main.(*Server).serve"},
	    {"<demo::Server as demo::handler::Handler>::handle",
	     "<demo::Server as demo::handler::Handler>::handle"},
	    {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
	     "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
	    {"Store::get(std::basic_string<char, std", "Store::get"},
	    {"vector<int, std::alloc", "vector<int, std::alloc"},
	    {"f<(a > b)>(int)", "f<(a > b)>"},
	    {"", ""},
	    {"(", "("},
	    {")>}", ")>}"},
	};
	struct buf b;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		buf_init(&b, 1 << 12);
		report_short_name(&b, names[i][0]);
		assert_string_equal(b.data ? b.data : "", names[i][1]);
		buf_release(&b);
	}
}

/* Brackets without end, deeper than anything is. */
static void test_deep(void **state)
{
	char name[4096];
	struct buf b;

	memset(name, '<', sizeof(name));
	name[0] = 'f';
	name[sizeof(name) - 1] = 0;
	buf_init(&b, 1 << 14);
	report_short_name(&b, name);
	assert_string_equal(b.data, name);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
