/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file as bytes that are read on demand, from a descriptor (pread) or
 * from memory: headers, sections by name, file offsets of addresses. Internal
 * to the module files. Only 64-bit little-endian x86-64 executables and shared
 * objects are taken. */
#pragma once

#include <elf.h>

enum {
	IMAGE_MAX_PHDRS = 4096,
	IMAGE_MAX_SHDRS = 1 << 18,
	IMAGE_MAX_SECTION_NAMES = 16 << 20, /* bytes */
};

struct image {
	int fd;	      /* owned; -1: in memory */
	uint8_t *mem; /* owned */
	uint64_t size;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	size_t nr_ph;
	Elf64_Shdr *sh; /* none if the section headers are broken: the loader needs none either */
	size_t nr_sh;
	char *names; /* of sections, NUL-terminated */
	size_t names_len;
};

/* A range of bytes in the file; len 0: none. */
struct span {
	uint64_t off, len;
};

/* Read the headers; `fd` is duplicated. Returns 0, -ENOEXEC, -EXDEV (32-bit),
 * -ENOTSUP (other machine or byte order), -ENOMEM or an error of reading. */
int image_open(struct image *img, int fd);
/* The same of `size` bytes from malloc, owned by the image on success. */
int image_open_memory(struct image *img, uint8_t *mem, size_t size);
void image_release(struct image *img);

/* Exactly `n` bytes at `off`: 0, -ERANGE (beyond the file) or an error of reading. */
int image_read(const struct image *img, uint64_t off, void *buf, size_t n);
/* The same into memory from malloc, with a NUL after it. -E2BIG over `max`. */
int image_load(const struct image *img, struct span at, size_t max, uint8_t **out);

/* First section of this name; NULL if there is none. */
const Elf64_Shdr *image_section(const struct image *img, const char *name);
const Elf64_Shdr *image_section_of_type(const struct image *img, uint32_t type);
/* Bytes of a section in the file: len 0 if it has none or they are not all there. */
struct span image_section_span(const struct image *img, const Elf64_Shdr *sh);
/* The bytes from `vaddr` to the end of its segment's bytes in the file. */
struct span image_at_vaddr(const struct image *img, uint64_t vaddr);

/* Build id in hex, "" if none; `hex` holds 2 * max + 1 bytes. */
void image_build_id(const struct image *img, char *hex, size_t max);

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}
