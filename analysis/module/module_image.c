// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/module/module_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int image_read(const struct image *img, uint64_t off, void *buf, size_t n)
{
	uint8_t *p = buf;

	if (off > img->size || n > img->size - off)
		return -ERANGE;
	if (img->mem) {
		memcpy(buf, img->mem + off, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(img->fd, p, n, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -ERANGE; /* truncated since it was opened */
		p += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

int image_load(const struct image *img, struct span at, size_t max, uint8_t **out)
{
	uint8_t *p;
	int err;

	*out = NULL;
	if (at.off > img->size || at.len > img->size - at.off)
		return -ERANGE;
	if (at.len > max)
		return -E2BIG;
	p = malloc(at.len + 1);
	if (!p)
		return -ENOMEM;
	err = image_read(img, at.off, p, at.len);
	if (err) {
		free(p);
		return err;
	}
	p[at.len] = 0;
	*out = p;
	return 0;
}

static int check_ident(const Elf64_Ehdr *eh)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (eh->e_ident[EI_CLASS] == ELFCLASS32)
		return -EXDEV;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (eh->e_ident[EI_DATA] == ELFDATA2MSB)
		return -ENOTSUP;
	if (eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_ident[EI_VERSION] != EV_CURRENT)
		return -ENOEXEC;
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return -ENOEXEC;
	if (eh->e_machine != EM_X86_64)
		return -ENOTSUP;
	return 0;
}

static int read_ehdr(struct image *img)
{
	uint8_t ident[EI_NIDENT];
	int err;

	/* A 32-bit header is shorter: its class must be known before. */
	err = image_read(img, 0, ident, sizeof(ident));
	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	if (memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32)
		return -EXDEV;
	err = image_read(img, 0, &img->eh, sizeof(img->eh));
	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	return check_ident(&img->eh);
}

/* Broken section headers are as good as none. */
static int read_sections(struct image *img)
{
	const Elf64_Ehdr *eh = &img->eh;
	uint64_t nr = eh->e_shnum, names = eh->e_shstrndx;
	struct span at;
	Elf64_Shdr first;
	uint8_t *p;
	int err;

	if (!eh->e_shoff || eh->e_shentsize != sizeof(first) ||
	    image_read(img, eh->e_shoff, &first, sizeof(first)))
		return 0;
	if (!nr)
		nr = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!nr || nr > IMAGE_MAX_SHDRS)
		return 0;
	at = (struct span){eh->e_shoff, nr * sizeof(first)};
	err = image_load(img, at, (size_t)IMAGE_MAX_SHDRS * sizeof(first), &p);
	if (err)
		return err == -ENOMEM ? err : 0;
	img->sh = (Elf64_Shdr *)(void *)p;
	img->nr_sh = nr;
	if (names >= nr)
		return 0;
	at = image_section_span(img, &img->sh[names]);
	err = image_load(img, at, IMAGE_MAX_SECTION_NAMES, &p);
	if (err)
		return err == -ENOMEM ? err : 0;
	img->names = (char *)p;
	img->names_len = at.len;
	return 0;
}

static int read_headers(struct image *img)
{
	uint64_t nr;
	struct span at;
	uint8_t *p;
	int err = read_ehdr(img);

	if (err)
		return err;
	err = read_sections(img);
	if (err)
		return err;
	nr = img->eh.e_phnum;
	if (nr == PN_XNUM)
		nr = img->nr_sh ? img->sh[0].sh_info : 0;
	if (!nr || nr > IMAGE_MAX_PHDRS || img->eh.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	at = (struct span){img->eh.e_phoff, nr * sizeof(Elf64_Phdr)};
	err = image_load(img, at, (size_t)IMAGE_MAX_PHDRS * sizeof(Elf64_Phdr), &p);
	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	img->ph = (Elf64_Phdr *)(void *)p;
	img->nr_ph = nr;
	return 0;
}

int image_open(struct image *img, int fd)
{
	struct stat st;
	int err;

	memset(img, 0, sizeof(*img));
	img->fd = -1;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	img->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (img->fd < 0)
		return -errno;
	img->size = (uint64_t)st.st_size;
	err = read_headers(img);
	if (err)
		image_release(img);
	return err;
}

int image_open_memory(struct image *img, uint8_t *mem, size_t size)
{
	int err;

	memset(img, 0, sizeof(*img));
	img->fd = -1;
	img->mem = mem;
	img->size = size;
	err = read_headers(img);
	if (err) {
		img->mem = NULL; /* still the caller's */
		image_release(img);
	}
	return err;
}

void image_release(struct image *img)
{
	if (img->fd >= 0)
		close(img->fd);
	free(img->mem);
	free(img->ph);
	free(img->sh);
	free(img->names);
	memset(img, 0, sizeof(*img));
	img->fd = -1;
}

const Elf64_Shdr *image_section(const struct image *img, const char *name)
{
	size_t i, n = strlen(name) + 1;

	for (i = 1; i < img->nr_sh; i++) {
		uint32_t at = img->sh[i].sh_name;

		/* The table ends in a NUL of ours: n bytes may include it. */
		if (at < img->names_len && n <= img->names_len + 1 - at &&
		    memcmp(img->names + at, name, n) == 0)
			return &img->sh[i];
	}
	return NULL;
}

const Elf64_Shdr *image_section_of_type(const struct image *img, uint32_t type)
{
	for (size_t i = 1; i < img->nr_sh; i++)
		if (img->sh[i].sh_type == type)
			return &img->sh[i];
	return NULL;
}

struct span image_section_span(const struct image *img, const Elf64_Shdr *sh)
{
	struct span none = {0, 0};

	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL)
		return none;
	if (sh->sh_offset > img->size || sh->sh_size > img->size - sh->sh_offset)
		return none;
	return (struct span){sh->sh_offset, sh->sh_size};
}

struct span image_at_vaddr(const struct image *img, uint64_t vaddr)
{
	struct span at = {0, 0};

	for (size_t i = 0; i < img->nr_ph; i++) {
		const Elf64_Phdr *ph = &img->ph[i];

		if (ph->p_type != PT_LOAD || vaddr < ph->p_vaddr ||
		    vaddr - ph->p_vaddr >= ph->p_filesz)
			continue;
		at.off = ph->p_offset + (vaddr - ph->p_vaddr);
		at.len = ph->p_filesz - (vaddr - ph->p_vaddr);
		if (at.off < ph->p_offset || at.off >= img->size)
			return (struct span){0, 0};
		if (at.len > img->size - at.off)
			at.len = img->size - at.off;
		return at;
	}
	return at;
}

enum {
	MAX_NOTES = 1 << 16, /* bytes of one note section */
	MAX_NOTE_SECTIONS = 64,
};

static bool notes_build_id(const struct image *img, struct span at, char *hex, size_t max)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *notes;
	uint64_t pos = 0;
	bool found = false;

	if (!at.len || image_load(img, at, MAX_NOTES, &notes))
		return false;
	while (!found && at.len - pos >= 12) {
		uint64_t namesz = get32(notes + pos), descsz = get32(notes + pos + 4);
		uint64_t name = pos + 12, desc = name + (namesz + 3) / 4 * 4, i;

		if (desc > at.len || descsz > at.len - desc)
			break;
		if (get32(notes + pos + 8) == NT_GNU_BUILD_ID && namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && descsz && descsz <= max) {
			for (i = 0; i < descsz; i++) {
				hex[2 * i] = digits[notes[desc + i] >> 4];
				hex[2 * i + 1] = digits[notes[desc + i] & 15];
			}
			hex[2 * i] = 0;
			found = true;
		}
		pos = desc + (descsz + 3) / 4 * 4;
		if (pos > at.len)
			break;
	}
	free(notes);
	return found;
}

void image_build_id(const struct image *img, char *hex, size_t max)
{
	size_t tried = 0;

	hex[0] = 0;
	for (size_t i = 0; i < img->nr_sh && tried < MAX_NOTE_SECTIONS; i++)
		if (img->sh[i].sh_type == SHT_NOTE && ++tried &&
		    notes_build_id(img, image_section_span(img, &img->sh[i]), hex, max))
			return;
	/* Segments last: in a debug file they point at bytes that are not there. */
	for (size_t i = 0; i < img->nr_ph && tried < 2 * MAX_NOTE_SECTIONS; i++) {
		struct span at = {img->ph[i].p_offset, img->ph[i].p_filesz};

		if (img->ph[i].p_type == PT_NOTE && ++tried && notes_build_id(img, at, hex, max))
			return;
	}
}
