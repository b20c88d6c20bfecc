// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tui/report/sanitise.h"

static void expect(const char *in, size_t n, const char *want)
{
	struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(sanitise_append(&b, in, n), 0);
	assert_non_null(b.data);
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
	buf_release(&b);
}

#define EXPECT(in, want) expect(in, sizeof(in) - 1, want)

static void test_plain(void **state)
{
	EXPECT("", "");
	EXPECT("read", "read");
	EXPECT("a\\b \"c\" ~", "a\\b \"c\" ~");
	EXPECT("Größe 中文 😀 e\xcc\x81", "Größe 中文 😀 e\xcc\x81");
	EXPECT("\xf4\x8f\xbf\xbd", "\xf4\x8f\xbf\xbd"); /* U+10FFFD */
}

static void test_controls(void **state)
{
	EXPECT("\x1b[2J", "\\x1b[2J");
	EXPECT("a\0b", "a\\x00b");
	EXPECT("a\nb\tc\r", "a\\x0ab\\x09c\\x0d");
	EXPECT("\x7f", "\\x7f");
	EXPECT("\xc2\x9b"
	       "31m",
	       "\\xc2\\x9b31m");
	EXPECT("\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
	EXPECT("\x9b"
	       "31m",
	       "\\x9b31m");
}

static void test_invalid(void **state)
{
	EXPECT("\xff\xfe", "\\xff\\xfe");
	EXPECT("\xc0\xaf", "\\xc0\\xaf");		    /* overlong / */
	EXPECT("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");	    /* overlong */
	EXPECT("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"); /* overlong */
	EXPECT("\xed\xa0\x80", "\\xed\\xa0\\x80");	    /* surrogate */
	EXPECT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
	EXPECT("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
	EXPECT("\xe4\xb8", "\\xe4\\xb8");      /* cut */
	EXPECT("\xe4\xb8x", "\\xe4\\xb8x");    /* broken off */
	EXPECT("\xe4\xe4\xb8\xad", "\\xe4中"); /* resynchronises */
	EXPECT("\xe4\x1b", "\\xe4\\x1b");      /* an escape cannot hide as a continuation */
}

static void test_deceptive(void **state)
{
	EXPECT("a\u202e"
	       "b",
	       "a\\u202eb");
	EXPECT("\u2066\u2069\u200e\u200f\u061c", "\\u2066\\u2069\\u200e\\u200f\\u061c");
	EXPECT("\u2028\u2029", "\\u2028\\u2029");
	EXPECT("\u200b\ufeff", "\\u200b\\ufeff");
	EXPECT("\U000e0041", "\\U000e0041");
	EXPECT("\uffff\U0010ffff", "\\uffff\\U0010ffff");
	/* their neighbours stay */
	EXPECT("\u2010\u2027\u202f\u2070", "\u2010\u2027\u202f\u2070");
}

/* Every pair of bytes: safe, valid UTF-8, unchanged by a second pass, within the stated growth. */
static void test_every_pair(void **state)
{
	unsigned int a, b, len;
	struct buf once, twice;
	uint32_t cp;
	size_t i;
	char in[2];

	buf_init(&once, 64);
	buf_init(&twice, 64);
	for (a = 0; a < 256; a++) {
		for (b = 0; b < 256; b++) {
			in[0] = (char)a;
			in[1] = (char)b;
			buf_reset(&once);
			buf_reset(&twice);
			assert_int_equal(sanitise_append(&once, in, 2), 0);
			assert_true(once.len <= 2 * SANITISE_MAX_GROWTH);
			for (i = 0; i < once.len; i += len) {
				len = utf8_decode(once.data + i, once.len - i, &cp);
				assert_true(len > 0);
				assert_true(cp >= 0x20 && cp != 0x7f && (cp < 0x80 || cp > 0x9f));
			}
			assert_int_equal(sanitise_append(&twice, once.data, once.len), 0);
			assert_string_equal(once.data, twice.data);
		}
	}
	buf_release(&once);
	buf_release(&twice);
}

static void test_every_code_point(void **state)
{
	uint32_t cp, back, i;
	unsigned int n;
	char s[5];

	for (cp = 0x80; cp <= 0x10ffff; cp++) {
		n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
		for (i = n - 1, back = cp; i > 0; i--, back >>= 6)
			s[i] = (char)(0x80 | (back & 0x3f));
		s[0] = (char)((0xf0 << (4 - n)) | back);
		if (cp >= 0xd800 && cp <= 0xdfff) {
			assert_int_equal(utf8_decode(s, n, &back), 0);
			continue;
		}
		assert_int_equal(utf8_decode(s, n, &back), n);
		assert_int_equal(back, cp);
		assert_int_equal(utf8_decode(s, n - 1, &back), 0);
	}
}

static void test_full_buffer(void **state)
{
	struct buf b;

	buf_init(&b, 6);
	assert_int_equal(buf_puts(&b, "ab"), 0);
	assert_int_equal(sanitise_append(&b, "c\x1b", 2), -E2BIG);
	assert_string_equal(b.data, "ab");
	assert_int_equal(b.len, 2);
	buf_release(&b);
}

static void test_fixed_array(void **state)
{
	char out[8];

	assert_string_equal(sanitise(out, sizeof(out), "abcdefg"), "abcdefg");
	assert_string_equal(sanitise(out, sizeof(out), "abcdefgh"), "abcdefg");
	assert_string_equal(sanitise(out, sizeof(out), "ab\x1b\x1b"), "ab\\x1b");
	assert_string_equal(sanitise(out, sizeof(out), "abcde中"), "abcde");
	assert_string_equal(sanitise(out, 1, "abc"), "");
	assert_string_equal(sanitise(out, sizeof(out), ""), "");
}

static void test_columns(void **state)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_int_equal(text_columns(""), 0);
	assert_int_equal(text_columns("abc"), 3);
	assert_int_equal(text_columns("中文"), 4);
	assert_int_equal(text_columns("e\xcc\x81"), 1);
	assert_int_equal(text_fit("abc", 2), 2);
	assert_int_equal(text_fit("中文", 3), 3);
	assert_int_equal(text_fit("中文", 4), 6);
	assert_int_equal(text_fit("中文", 0), 0);
	assert_int_equal(text_fit("e\xcc\x81x", 1), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_plain),	cmocka_unit_test(test_controls),
	    cmocka_unit_test(test_invalid),	cmocka_unit_test(test_deceptive),
	    cmocka_unit_test(test_every_pair),	cmocka_unit_test(test_every_code_point),
	    cmocka_unit_test(test_full_buffer), cmocka_unit_test(test_fixed_array),
	    cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
