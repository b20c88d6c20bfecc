// SPDX-License-Identifier: GPL-2.0-or-later
/* The configuration as bytes. What is taken must be printed as a file that says the same. */
#include "tests/fuzz/fuzz.h"

#include "tui/cli/config.h"
#include "tui/screen/keys.h"

static bool take(struct config *c, const char *text, size_t n)
{
	char error[2048] = "";
	int err;

	keys_reset();
	config_init(c);
	err = config_parse(c, text, n, error, sizeof(error));
	if (!err)
		err = config_apply(c, error, sizeof(error));
	must(!err || !strncmp(error, "line ", 5));
	must(!strchr(error, '\n') && !strchr(error, '\x1b'));
	return !err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c;
	struct buf first, second;

	if (!take(&c, (const char *)data, size))
		return 0;
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	must(!config_dump(&c, &first));
	must(take(&c, first.data, first.len));
	must(!config_dump(&c, &second));
	must(first.len == second.len && !memcmp(first.data, second.data, first.len));
	buf_release(&first);
	buf_release(&second);
	return 0;
}
