// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/json_put.h"

#include <string.h>

#include "analysis/base/buf.h"
#include "tui/report/sanitise.h"

enum { NAME_BYTES = 4096 };

json_t *json_text(const char *s, size_t most)
{
	json_t *json = NULL;
	struct buf b;

	buf_init(&b, most * SANITISE_MAX_GROWTH + 64);
	if (!sanitise_append(&b, s, strnlen(s, most)))
		json = json_stringn(b.data ? b.data : "", b.len);
	buf_release(&b);
	return json;
}

json_t *json_u64(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

void json_put(json_t *o, const char *key, json_t *value, bool *failed)
{
	if (json_object_set_new(o, key, value))
		*failed = true;
}

void json_put_u64(json_t *o, const char *key, uint64_t v, bool *failed)
{
	json_put(o, key, json_u64(v), failed);
}

void json_put_text(json_t *o, const char *key, const char *s, bool *failed)
{
	if (s && s[0])
		json_put(o, key, json_text(s, NAME_BYTES), failed);
}
