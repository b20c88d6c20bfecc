// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/json_put.h"

#include <math.h>

#include "analysis/base/buf.h"
#include "tui/report/sanitise.h"

static bool failed; /* since the last json_write() */

void json_fail(void)
{
	failed = true;
}

json_t *json_text(const char *s, size_t most)
{
	json_t *json = NULL;
	SCOPED_BUF(b, most * SANITISE_MAX_GROWTH + 64);

	if (!sanitise_append(&b, s, strnlen(s, most)))
		json = json_stringn(b.data ? b.data : "", b.len);
	return json;
}

json_t *json_u64(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

json_t *json_share(double v)
{
	return json_real(isfinite(v) ? round(fmin(fmax(v, 0), 1) * 1e9) / 1e9 : 0);
}

json_t *json_address(uint64_t address)
{
	return json_sprintf("0x%" PRIx64, address);
}

json_t *json_known(uint64_t v)
{
	return json_if(v, json_u64(v));
}

json_t *json_finite(double v)
{
	return json_if(isfinite(v), json_real(v));
}

json_t *json_given(const char *s)
{
	return json_if(s && s[0], json_text(s, JSON_MAX_TEXT));
}

json_t *json_flag(bool is)
{
	return json_if(is, json_true());
}

json_t *json_unless_empty(json_t *array)
{
	if (json_array_size(array))
		return array;
	json_decref(array);
	return json_null();
}

void json_put(json_t *o, const char *key, json_t *value)
{
	if (!json_is_null(value) && json_object_set_new(o, key, value))
		json_fail();
}

json_t *json_put_all(json_t *o, const struct json_member *members)
{
	for (; members->key; members++)
		json_put(o, members->key, members->value);
	return o;
}

void json_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		json_fail();
}

int json_write(json_t *json, enum json_end end, FILE *f)
{
	char *s = failed ? NULL : json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
	size_t len = s ? strlen(s) - (end == JSON_OPEN) : 0;
	int err = 0;

	failed = false;
	json_decref(json);
	if (!s)
		return -ENOMEM;
	errno = EIO;
	if (fwrite(s, 1, len, f) != len)
		err = -errno;
	free(s);
	return err || end != JSON_LINE ? err : json_write_end(f);
}

int json_write_text(FILE *f, const char *s)
{
	errno = EIO;
	return fputs(s, f) < 0 ? -errno : 0;
}

int json_write_end(FILE *f)
{
	errno = EIO;
	return fputc('\n', f) == EOF || fflush(f) || ferror(f) ? -errno : 0;
}
