// SPDX-License-Identifier: GPL-2.0-or-later
/* The answers of --when: a part of a ring in a session of its own, so that later records do not
 * overwrite it, and what the courier does with them. */
#include <sys/stat.h>
#include <unistd.h>

#include "tui/engine/front_state.h"

#define ASIDE_BYTES (256ull << 20)

/* The name of the next such session: one that does not exist, or that of the oldest one. */
static int name_next(const char *of, char *path, size_t n)
{
	struct timespec oldest = {0};
	unsigned int chosen = 0;
	struct stat st;

	for (unsigned int i = 1; i <= FRONT_ASIDES; i++) {
		if (snprintf(path, n, "%s.when-%u", of, i) >= (int)n)
			return -ENAMETOOLONG;
		if (lstat(path, &st)) {
			chosen = i;
			break;
		}
		if (chosen &&
		    (st.st_mtim.tv_sec > oldest.tv_sec ||
		     (st.st_mtim.tv_sec == oldest.tv_sec && st.st_mtim.tv_nsec >= oldest.tv_nsec)))
			continue;
		chosen = i;
		oldest = st.st_mtim;
	}
	snprintf(path, n, "%s.when-%u", of, chosen);
	return 0;
}

static int copy(struct front *f, uint64_t from_ns)
{
	struct session_reader *r;
	const struct record *rec;
	char why[512];
	int err = session_reader_open(&r, f->options->output, why, sizeof(why));

	if (err)
		return err;
	session_reader_seek(r, from_ns);
	while ((err = session_reader_next(r, &rec)) == 1) {
		err = session_writer_append(f->stream.aside, rec);
		if (err)
			break;
	}
	session_reader_close(r);
	return err;
}

int front_aside_begin(struct front *f, uint64_t from_ns, char *path, size_t n)
{
	int err = name_next(f->options->output, path, n);

	if (!err)
		err = session_writer_create_again(&f->stream.aside, path);
	if (err)
		return err;
	session_writer_set_maximum(f->stream.aside, ASIDE_BYTES);
	f->stream.aside_error = copy(f, from_ns);
	if (!f->stream.aside_error)
		return 0;
	err = f->stream.aside_error;
	front_aside_end(f);
	unlink(path);
	return err;
}

void aside_append(struct front *f, const struct record *rec)
{
	if (f->stream.aside && !f->stream.aside_error)
		f->stream.aside_error = session_writer_append(f->stream.aside, rec);
}

void front_announce(struct front *f, const char *line, const char *answer, size_t n)
{
	courier_line(f->courier, line);
	courier_run(f->courier, answer, n);
}

void front_announce_end(struct front *f)
{
	courier_finish(f->courier);
}

int front_aside_end(struct front *f)
{
	int err = f->stream.aside ? session_writer_close(f->stream.aside) : 0;

	f->stream.aside = NULL;
	err = f->stream.aside_error ?: err;
	f->stream.aside_error = 0;
	return err;
}
