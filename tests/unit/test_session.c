// SPDX-License-Identifier: GPL-2.0-or-later
/* Session files: what is written is read again; limits, full disks, and which files are replaced.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/session_create.h"
#include "tests/unit/small_session.h"

static void test_round_trip(void **state)
{
	const struct container_index *index;
	struct session_reader *r;
	struct stat st;
	uint64_t elapsed;
	uint32_t i;

	write_session(501, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 501);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_rewind(r);
	assert_int_equal(read_all(r), 501);
	index = session_reader_index(r);
	assert_non_null(index);
	assert_int_equal(index->records, 501);
	assert_int_equal(index->elapsed_ns, 500000);
	assert_int_equal(session_reader_elapsed_ns(r, &elapsed), 0);
	assert_int_equal(elapsed, 500000);
	assert_true(index->nr_marks > 100);
	for (i = 1; i < index->nr_marks; i++)
		assert_true(index->marks[i].offset > index->marks[i - 1].offset);
	session_reader_close(r);
}

/* Every mark of the index points at the frame that it speaks of. */
static void test_index_offsets(void **state)
{
	const struct container_index *index;
	const struct record *rec;
	struct session_reader *r;
	uint64_t before;
	uint32_t mark = 0;

	write_session(101, 1);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	index = session_reader_index(r);
	for (;;) {
		before = session_reader_offset(r);
		if (session_reader_next(r, &rec) != 1)
			break;
		if (rec->type != REC_TICK && rec->type != REC_MARK)
			continue;
		assert_true(mark < index->nr_marks);
		assert_int_equal(index->marks[mark].offset, before);
		assert_int_equal(index->marks[mark].kind,
				 rec->type == REC_TICK ? MARK_SLICE : MARK_SESSION);
		if (rec->type == REC_MARK)
			assert_string_equal(index->marks[mark].label, "mark");
		mark++;
	}
	assert_int_equal(mark, index->nr_marks);
	session_reader_close(r);
}

static void test_index_of_a_long_session_is_bounded(void **state)
{
	struct container_indexer *ix = container_indexer_new();
	const struct container_index *index;
	struct record tick = {.type = REC_TICK}, mark = {.type = REC_MARK};
	uint32_t i;

	mark.mark.label = "m";
	for (i = 0; i < 300000; i++) {
		tick.tick.end_ns = i * 10;
		assert_int_equal(container_indexer_add(ix, &tick, 24 + i * 100), 0);
		if (i % 100 == 0)
			assert_int_equal(container_indexer_add(ix, &mark, 24 + i * 100 + 50), 0);
	}
	index = container_indexer_index(ix);
	assert_int_equal(index->slices, 300000);
	assert_in_range(index->nr_marks, 1024 + 512, CONTAINER_MAX_MARKS);
	for (i = 1; i < index->nr_marks; i++)
		assert_true(index->marks[i].offset > index->marks[i - 1].offset);
	container_indexer_free(ix);
}

static void test_live_only_records_stay_out(void **state)
{
	struct record learned = {.type = REC_NEW_RETURN}, request = {.type = REQ_ARM};
	struct session_writer *w;
	struct session_reader *r;

	assert_int_equal(session_create(&w, path), 0);
	append(w, 0, 3);
	assert_int_equal(session_writer_append(w, &learned), 0);
	assert_int_equal(session_writer_append(w, &request), 0);
	append(w, 3, 5);
	assert_int_equal(session_writer_records(w), 5);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 5);
	session_reader_close(r);
}

static void test_not_closed(void **state)
{
	struct session_reader *r;
	uint64_t elapsed;

	write_session(21, 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_null(session_reader_index(r));
	assert_int_equal(session_reader_elapsed_ns(r, &elapsed), 0);
	assert_int_equal(elapsed, 20000);
	assert_int_equal(read_all(r), 21);
	assert_non_null(strstr(session_reader_damage(r), "not closed"));
	assert_non_null(strstr(session_reader_damage(r), "21 records"));
	session_reader_close(r);
}

static void test_size_limit(void **state)
{
	struct session_writer *w;
	struct session_reader *r;
	struct record rec;
	unsigned int n = 0;
	int err;

	assert_int_equal(session_create(&w, path), 0);
	session_writer_set_maximum(w, 2000);
	do {
		rec = record_number(n);
		err = session_writer_append(w, &rec);
		n += !err;
	} while (!err && n < 1000);
	assert_int_equal(err, -EFBIG);
	assert_true(session_writer_bytes(w) <= 2000);
	assert_int_equal(session_writer_append(w, &rec), -EFBIG);
	assert_int_equal(session_writer_close(w), -EFBIG);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), n);
	assert_string_equal(session_reader_damage(r), ""); /* closed all the same */
	session_reader_close(r);
}

/* The disk fills up in the middle of a frame: all before it stays readable. */
static void test_disk_full(void **state)
{
	struct rlimit was, limit;
	struct session_writer *w;
	struct session_reader *r;
	struct record rec;
	unsigned int n = 0;
	rlim_t size;
	int err;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	for (size = 1000; size < 1060; size++) {
		assert_int_equal(session_create(&w, path), 0);
		limit = (struct rlimit){size, was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		n = 0;
		do {
			rec = record_number(n);
			err = session_writer_append(w, &rec);
			n += !err;
		} while (!err && n < 1000);
		assert_true(err == -EFBIG || err == -ENOSPC);
		assert_int_equal(session_writer_close(w), err);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
		assert_int_equal(read_all(r), n);
		session_reader_close(r);
	}
}

static void test_what_is_replaced(void **state)
{
	struct session_writer *w, *second;
	struct session_reader *r;

	/* An older session and an empty file may be replaced ... */
	write_session(50, 1);
	write_session(5, 1);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 5);
	session_reader_close(r);
	store("", 0);
	write_session(5, 1);
	/* ... not one that is being written, nor anything else. */
	assert_int_equal(session_create(&w, path), 0);
	assert_int_equal(session_create(&second, path), -EBUSY);
	assert_int_equal(session_writer_save_as(w, path), -EBUSY);
	assert_int_equal(session_writer_close(w), 0);
	store("a letter\n", 9);
	assert_int_equal(session_create(&w, path), -EEXIST);
	assert_int_equal(session_create(&w, "/dev/null"), -EINVAL);
	assert_int_equal(session_create(&w, folder), -EISDIR);
	assert_int_equal(session_create(&w, "/nonexistent/x"), -ENOENT);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(session_create(&w, path), -EINVAL);
}

/* The only other name in the folder than that of `path`; "": none. */
static const char *other_name(void)
{
	static char name[256];
	DIR *d = opendir(folder);
	struct dirent *e;

	name[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' && strncmp(e->d_name, ".peaktop-", 9))
			continue;
		if (!strcmp(e->d_name, strrchr(path, '/') + 1))
			continue;
		assert_string_equal(name, "");
		snprintf(name, sizeof(name), "%s", e->d_name);
	}
	closedir(d);
	return name;
}

static void assert_records(int n)
{
	struct session_reader *r;

	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), n);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
}

/* An older session keeps its place until the one that replaces it is whole, even if the writer is
 * killed. */
static void test_provisional(void **state)
{
	struct session_writer *w;
	struct session_reader *r;
	bool kept = false;
	char left[512];
	int status;

	unlink(other);
	write_session(50, 1);
	do {
		assert_int_equal(session_writer_create_provisional(&w, path, true), 0);
		append(w, 0, 10);
		assert_true(session_writer_older_stays(w));
		assert_records(50);
		if (kept)
			session_writer_keep(w);
		assert_records(50);
		assert_int_equal(session_writer_close(w), 0);
		assert_records(kept ? 10 : 50);
		assert_string_equal(other_name(), "");
		kept = !kept;
	} while (kept);
	/* a file that is not replaced has its name at once */
	unlink(path);
	assert_int_equal(session_writer_create_provisional(&w, path, false), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(session_writer_older_stays(w));
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(access(path, F_OK), -1);
	write_session(50, 1);
	assert_int_equal(session_writer_create_provisional(&w, path, false), -EEXIST);
	if (!fork()) {
		if (session_writer_create_provisional(&w, path, true))
			_exit(1);
		append(w, 0, 10);
		session_writer_keep(w);
		raise(SIGKILL);
	}
	assert_true(wait(&status) > 0 && WIFSIGNALED(status));
	assert_records(50);
	snprintf(left, sizeof(left), "%s/%s", folder, other_name());
	assert_int_equal(unlink(left), 0);
	/* one that is kept from now on has its name even if the writer is killed */
	if (!fork()) {
		if (session_writer_create_provisional(&w, path, true) || session_writer_keep_now(w))
			_exit(1);
		append(w, 0, 10);
		raise(SIGKILL);
	}
	assert_true(wait(&status) > 0 && WIFSIGNALED(status));
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	session_reader_close(r);
	assert_string_equal(other_name(), "");
	store("a letter\n", 9);
	assert_int_equal(session_writer_create_provisional(&w, path, true), -EEXIST);
	assert_string_equal(other_name(), "");
	unlink(path);
}

enum { NOBODY = 65534 };

/* Replace the session by one of `nr` records, now or when it is closed; without `nr` keep it. */
static int replace_session(unsigned int nr, bool now)
{
	struct session_writer *w;
	int err = session_writer_create_provisional(&w, path, true);

	if (err)
		return err;
	append(w, 0, nr / 2);
	if (nr && now)
		err = session_writer_keep_now(w);
	else if (nr)
		session_writer_keep(w);
	append(w, nr / 2, nr);
	return err ? session_writer_close(w), err : session_writer_close(w);
}

/* A folder in which no file can be created or renamed; the session in it may be written. */
static void test_fixed_folder(void **state)
{
	static const unsigned int nr[] = {0, 10, 70};
	struct stat before, after;
	int status;

	write_session(50, 1);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(chmod(path, 0666), 0);
	for (unsigned int i = 0; i < 6; i++) {
		if (!fork())
			_exit((!geteuid() && setuid(NOBODY)) || replace_session(nr[i / 2], i % 2));
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_records(nr[i / 2] ? nr[i / 2] : 50);
		assert_string_equal(other_name(), "");
	}
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	/* a file that may not be written is refused */
	assert_int_equal(chmod(path, 0444), 0);
	if (!fork())
		_exit((!geteuid() && setuid(NOBODY)) || replace_session(10, true) != -EACCES);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_records(70);
}

/* Another user's session in a folder in which each may only rename its own. */
static void test_sticky_folder(void **state)
{
	int status;

	if (geteuid())
		skip();
	write_session(50, 1);
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(chmod(path, 0666), 0);
	for (unsigned int i = 0; i < 2; i++) {
		if (!fork())
			_exit(setuid(NOBODY) || replace_session(10 + 60 * i, i));
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_records(10 + 60 * i);
		assert_string_equal(other_name(), "");
	}
}

/* A symbolic link stays one; what it points to is replaced. */
static void test_link_to_a_session(void **state)
{
	struct session_writer *w;
	struct stat st;

	write_session(50, 1);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("other", path), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(replace_session(10 + i, i), 0);
		assert_records(10 + i);
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
	}
	assert_int_equal(session_writer_spool(&w, folder), 0);
	append(w, 0, 20);
	assert_int_equal(session_writer_save_as(w, path), 0);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	assert_records(20);
}

static void test_save_as(void **state)
{
	struct session_writer *w;
	struct session_reader *r;
	struct stat st;

	assert_int_equal(session_writer_spool(&w, folder), 0);
	append(w, 0, 10);
	assert_int_equal(session_writer_save_as(w, path), 0);
	/* What was saved is whole; the writer goes on. */
	append(w, 10, 20);
	assert_int_equal(session_writer_save_as(w, other), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	assert_int_equal(session_reader_open(&r, other, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 20);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	/* Over an older one; not over anything else. */
	assert_int_equal(session_writer_save_as(w, path), 0);
	store("a letter\n", 9);
	assert_int_equal(session_writer_save_as(w, path), -EEXIST);
	assert_int_equal(session_writer_save_as(w, "/nonexistent/x"), -ENOENT);
	assert_int_equal(session_writer_close(w), 0);
}

static void test_relative_path(void **state)
{
	char was[4096];
	struct session_writer *w;
	struct session_reader *r;

	assert_non_null(getcwd(was, sizeof(was)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(session_writer_spool(&w, "."), 0);
	append(w, 0, 10);
	assert_int_equal(session_writer_save_as(w, "session"), 0);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, "session", why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	session_reader_close(r);
	assert_int_equal(chdir(was), 0);
}

/* A recording that still grows can be read; what comes later is found by reading on. */
static void test_growing_file(void **state)
{
	struct session_writer *w;
	struct session_reader *r;

	assert_int_equal(session_create(&w, path), 0);
	append(w, 0, 10);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	append(w, 10, 15);
	session_reader_rewind(r);
	assert_int_equal(read_all(r), 15);
	session_reader_close(r);
	assert_int_equal(session_writer_close(w), 0);
}

static void test_large_frames(void **state)
{
	char *text = malloc(FRAME_MAX_TEXT + 1);
	struct record note = {.type = REC_NOTE, .note.text = text};
	struct session_writer *w;
	struct session_reader *r;
	const struct record *rec;
	unsigned int i;

	memset(text, 'x', FRAME_MAX_TEXT);
	text[FRAME_MAX_TEXT] = '\0';
	assert_int_equal(session_create(&w, path), 0);
	for (i = 0; i < 500; i++) {
		note.note.level = i;
		assert_int_equal(session_writer_append(w, &note), 0);
	}
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	for (i = 0; i < 500; i++) {
		assert_int_equal(session_reader_next(r, &rec), 1);
		assert_int_equal(rec->note.level, i);
		assert_string_equal(rec->note.text, text);
	}
	assert_int_equal(session_reader_next(r, &rec), 0);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    session_test(test_round_trip),
	    session_test(test_index_offsets),
	    session_test(test_index_of_a_long_session_is_bounded),
	    session_test(test_live_only_records_stay_out),
	    session_test(test_not_closed),
	    session_test(test_size_limit),
	    session_test(test_disk_full),
	    session_test(test_what_is_replaced),
	    session_test(test_provisional),
	    session_test(test_fixed_folder),
	    session_test(test_sticky_folder),
	    session_test(test_link_to_a_session),
	    session_test(test_save_as),
	    session_test(test_relative_path),
	    session_test(test_growing_file),
	    session_test(test_large_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
