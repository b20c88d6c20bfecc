// SPDX-License-Identifier: GPL-2.0-or-later
/* A target's mappings and the files behind them. Their file systems may hang, so the reader opens
 * and reads them. */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/reader.h"
#include "collect/target.h"

/* ---- mappings --------------------------------------------------------- */

bool mapping_is_vdso(const struct mapping *m)
{
	return !m->inode && !strcmp(m->path, "[vdso]");
}

enum { COPY_PARTS = 64 /* mappings of which a copy may consist */ };

/* The lines of /proc/PID/maps; each ends with '\0'. */
struct map_lines {
	char *next, *end;
};

static bool next_mapping(struct map_lines *lines, struct mapping *m, bool *executable)
{
	while (lines->next < lines->end) {
		const char *line = lines->next;
		unsigned int major, minor;
		char perms[5];
		int at = 0;

		lines->next += strlen(line) + 1;
		*m = (struct mapping){0};
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &m->start, &m->end, perms, &m->offset, &major, &minor, &m->inode,
			   &at) != 7 ||
		    !at)
			continue;
		m->dev = makedev(major, minor);
		m->path = line + at;
		*executable = perms[2] == 'x';
		return true;
	}
	return false;
}

/*
 * True if this executable mapping without a name continues the mapping of a file that ends at
 * `end`, and a later mapping continues the same file behind it: the program has put a copy into the
 * place of a part of the file. The copy may consist of several mappings.
 */
static bool is_copy(const struct mapping *file, uint64_t end, struct mapping m,
		    struct map_lines after)
{
	bool executable = true;

	for (unsigned int n = 0; n < COPY_PARTS && m.start == end; n++) {
		if (m.inode)
			return n && m.inode == file->inode && m.dev == file->dev &&
			       m.offset - file->offset == m.start - file->start;
		if (m.path[0] || !executable)
			return false;
		end = m.end;
		if (!next_mapping(&after, &m, &executable))
			return false;
	}
	return false;
}

int target_code(pid_t pid, mapping_fn each, void *ctx)
{
	struct mapping m, file = {0};
	uint64_t file_end = 0; /* of `file` and the copies behind it */
	struct map_lines lines;
	char path[64], *text;
	unsigned int n = 0;
	bool executable;
	int err = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/maps", proc_number(pid));
	got = reader_text(pid, path, &text);
	if (got < 0)
		return (int)got;
	lines = (struct map_lines){text, text + got};
	for (char *p = text; (p = strchr(p, '\n')); p++)
		*p = '\0';
	while (!err && n < TARGET_MAX_MAPPINGS && next_mapping(&lines, &m, &executable)) {
		if (m.inode) {
			file = m;
			file_end = m.end;
		} else if (executable && is_copy(&file, file_end, m, lines)) {
			m.dev = file.dev;
			m.inode = file.inode;
			m.path = file.path;
			m.offset = file.offset + (m.start - file.start);
			m.copied_beside = &file;
			file_end = m.end;
		}
		if (!executable)
			continue;
		err = each(ctx, &m);
		n++;
	}
	free(text);
	return err;
}

struct mapping_call {
	mapping_fn each;
	void *ctx;
};

/* Keep anonymous code only if a JIT compiler may have made it, without a name or with one that it
 * chose (PR_SET_VMA_ANON_NAME), and the vDSO. */
static int keep_mapping(void *ctx, const struct mapping *m)
{
	const struct mapping_call *call = ctx;

	if (!m->inode && m->path[0] && strncmp(m->path, "[anon:", 6) && !mapping_is_vdso(m))
		return 0;
	return call->each(call->ctx, m);
}

int target_mappings(pid_t pid, mapping_fn each, void *ctx)
{
	struct mapping_call call = {each, ctx};

	return target_code(pid, keep_mapping, &call);
}

/* ---- in the reader ---------------------------------------------------- */

struct map_order {
	pid_t pid;
	uint64_t start, end, offset;
	struct map_file about;
};

/* True for file systems that do not depend on another host or process. */
static bool is_local(int fd)
{
	static const uint32_t local[] = {
	    EXT4_SUPER_MAGIC,
	    XFS_SUPER_MAGIC,
	    BTRFS_SUPER_MAGIC,
	    F2FS_SUPER_MAGIC,
	    TMPFS_MAGIC,
	    RAMFS_MAGIC,
	    OVERLAYFS_SUPER_MAGIC,
	    SQUASHFS_MAGIC,
	    EROFS_SUPER_MAGIC_V1,
	    ISOFS_SUPER_MAGIC,
	    MSDOS_SUPER_MAGIC,
	    HUGETLBFS_MAGIC,
	    REISERFS_SUPER_MAGIC,
	    0x2fc12fc1 /* ZFS */,
	    0xca451a4e /* bcachefs */,
	    0x3153464a /* JFS */,
	    0x7366746e /* NTFS3 */,
	    0x858458f6 /* ramfs */,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return any_of(i, ARRAY_SIZE(local), (uint32_t)fs.f_type == local[i]);
}

static int map_open(const struct map_order *o, int flags)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, proc_number(o->pid),
		 o->start, o->end);
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 ? fd : -errno;
}

static int reopen(int path_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 ? fd : -errno;
}

/* Open a mapped file with O_PATH, if it is a regular file. */
static int map_find(struct map_order *o)
{
	int fd = map_open(o, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	o->about = (struct map_file){.size = (uint64_t)st.st_size, .remote = !is_local(fd)};
	return fd;
}

/*
 * True for a memfd, huge pages or shared memory whose content is no ELF file. JIT compilers that
 * map their code twice, to write it here and to execute it there, keep it in such a file.
 */
static bool is_made(int fd)
{
	static const uint32_t in_memory[] = {TMPFS_MAGIC, HUGETLBFS_MAGIC, RAMFS_MAGIC};
	char magic[4];
	struct statfs fs;

	if (fstatfs(fd, &fs) ||
	    !any_of(i, ARRAY_SIZE(in_memory), (uint32_t)fs.f_type == in_memory[i]))
		return false;
	return pread(fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
	       memcmp(magic, "\177ELF", sizeof(magic));
}

static int64_t file_work(void *argument, int *fd)
{
	struct map_order *o = argument;
	int path_fd = map_find(o);

	if (path_fd < 0)
		return path_fd;
	*fd = path_fd;
	if (!o->about.remote) {
		*fd = reopen(path_fd);
		close(path_fd);
		o->about.made = *fd >= 0 && is_made(*fd);
	}
	return *fd < 0 ? *fd : 0;
}

enum { COPY_MAX = 512 << 20, COPY_PART = 1 << 20, COPY_MAX_MS = 1000 };

static int64_t copy_work(void *argument, int *fd)
{
	struct map_order *o = argument;
	int path_fd = map_find(o), from, to;
	uint64_t done = 0, until;
	ssize_t n = 1;

	if (path_fd < 0)
		return path_fd;
	if (o->about.size > COPY_MAX)
		return -EFBIG;
	from = reopen(path_fd);
	if (from < 0)
		return from;
	to = memfd_create("peaktop-module", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	until = now_ms() + COPY_MAX_MS;
	while (to >= 0 && done < o->about.size && (n = sendfile(to, from, NULL, COPY_PART)) > 0) {
		done += (uint64_t)n;
		reader_reads(o->pid);
		if (now_ms() > until)
			return -ETIMEDOUT;
	}
	if (to < 0 || n < 0)
		return -errno;
	if (fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	*fd = to;
	return 0;
}

static int64_t answers_work(void *argument, int *unused)
{
	struct map_order *o = argument;
	int path_fd = map_find(o), fd;
	char byte;

	(void)unused;
	fd = path_fd < 0 ? path_fd : reopen(path_fd);
	if (fd < 0)
		return fd;
	return pread(fd, &byte, 1, (off_t)o->offset) == 1 ? 0 : -EIO;
}

/* ---- in the collector ------------------------------------------------- */

int target_map_file(pid_t pid, uint64_t start, uint64_t end, struct map_file *about)
{
	struct map_order o = {.pid = pid, .start = start, .end = end};
	int64_t err;
	int fd;

	*about = (struct map_file){0};
	err = reader_call(pid, READER_FILES, file_work, &o, sizeof(o), &fd);
	if (err)
		return (int)err;
	*about = o.about;
	return fd >= 0 ? fd : -EPROTO;
}

int target_map_copy(pid_t pid, uint64_t start, uint64_t end)
{
	struct map_order o = {.pid = pid, .start = start, .end = end};
	int fd;
	int64_t err = reader_call(pid, READER_FILES, copy_work, &o, sizeof(o), &fd);

	/* end the reader, so that descriptors which it left open are closed */
	reader_end();
	return err ? (int)err : fd >= 0 ? fd : -EPROTO;
}

int target_map_answers(pid_t pid, uint64_t start, uint64_t end, uint64_t offset)
{
	struct map_order o = {.pid = pid, .start = start, .end = end, .offset = offset};
	int64_t err = reader_call(pid, READER_FILES, answers_work, &o, sizeof(o), NULL);

	reader_end();
	return (int)err;
}
