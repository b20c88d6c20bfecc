// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/debug_path.h"

enum { MAX_BUILD_ID = 128, MAX_LINK = 255 };

static int fits(int length, size_t n)
{
	return length < 0 || (size_t)length >= n ? -EINVAL : length;
}

int debug_path_of_build_id(const char *build_id, char *out, size_t n)
{
	size_t digits = strlen(build_id);

	if (digits < 3 || digits > MAX_BUILD_ID || strspn(build_id, "0123456789abcdef") != digits)
		return -EINVAL;
	return fits(snprintf(out, n, ".build-id/%.2s/%s.debug", build_id, build_id + 2), n);
}

static bool has_parent_component(const char *path)
{
	for (const char *p = strstr(path, "/.."); p; p = strstr(p + 1, "/..")) {
		if (p[3] == '/' || !p[3])
			return true;
	}
	return false;
}

int debug_path_of_link(const char *module_path, const char *link, char *out, size_t n)
{
	const char *slash = strrchr(module_path, '/');

	if (module_path[0] != '/' || has_parent_component(module_path))
		return -EINVAL;
	if (!link[0] || link[0] == '.' || strchr(link, '/') || strlen(link) > MAX_LINK)
		return -EINVAL;
	/* a module in "/" has no folder to prepend */
	if (slash == module_path)
		return fits(snprintf(out, n, "%s", link), n);
	return fits(
	    snprintf(out, n, "%.*s/%s", (int)(slash - module_path - 1), module_path + 1, link), n);
}
