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

static json_t *json_u64(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

void json_put(json_t *o, const char *key, json_t *value)
{
	if (json_object_set_new(o, key, value))
		json_fail();
}

void json_put_u64(json_t *o, const char *key, uint64_t v)
{
	json_put(o, key, json_u64(v));
}

void json_put_share(json_t *o, const char *key, double v)
{
	json_put(o, key, json_real(isfinite(v) ? round(fmin(fmax(v, 0), 1) * 1e9) / 1e9 : 0));
}

void json_put_address(json_t *o, uint64_t address)
{
	json_put(o, "address", json_sprintf("0x%" PRIx64, address));
}

void json_put_text(json_t *o, const char *key, const char *s)
{
	if (s && s[0])
		json_put(o, key, json_text(s, JSON_MAX_TEXT));
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
