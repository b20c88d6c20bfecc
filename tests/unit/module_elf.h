/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files made byte by byte, for the tests of modules. Sections follow each
 * other in the file in the order in which they are added; addresses equal file
 * offsets plus ELF_BASE. One read-only segment spans the whole file, one
 * executable segment each section with SHF_EXECINSTR.
 */
#ifndef TESTS_UNIT_MODULE_ELF_H
#define TESTS_UNIT_MODULE_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/base/buf.h"

enum { ELF_BASE = 0x400000, ELF_MAX_SECTIONS = 24, ELF_PHDRS = 8 };

struct elf {
	struct buf out; /* the file so far */
	struct buf names;
	Elf64_Shdr sh[ELF_MAX_SECTIONS];
	size_t nr_sh;
	Elf64_Phdr ph[ELF_PHDRS];
	size_t nr_ph;
	Elf64_Ehdr eh;
	struct buf symbols[2], strings[2], versions; /* static, dynamic */
};

enum { ELF_STATIC, ELF_DYNAMIC };

static inline void elf_init(struct elf *e)
{
	size_t i;

	*e = (struct elf){0};
	buf_init(&e->out, 1 << 30);
	buf_init(&e->names, 1 << 20);
	buf_putc(&e->names, 0);
	buf_init(&e->versions, 1 << 28);
	for (i = 0; i < 2; i++) {
		static const Elf64_Sym none;

		buf_init(&e->symbols[i], 1 << 28);
		buf_init(&e->strings[i], 1 << 28);
		buf_putc(&e->strings[i], 0);
		buf_append(&e->symbols[i], &none, sizeof(none));
	}
	buf_append(&e->versions, "\0", 2);
	/* Room for the headers. */
	for (i = 0; i < sizeof(Elf64_Ehdr) + ELF_PHDRS * sizeof(Elf64_Phdr); i++)
		buf_putc(&e->out, 0);
	e->nr_sh = 1;
	memcpy(e->eh.e_ident, ELFMAG, SELFMAG);
	e->eh.e_ident[EI_CLASS] = ELFCLASS64;
	e->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	e->eh.e_ident[EI_VERSION] = EV_CURRENT;
	e->eh.e_type = ET_DYN;
	e->eh.e_machine = EM_X86_64;
	e->eh.e_version = EV_CURRENT;
	e->eh.e_ehsize = sizeof(Elf64_Ehdr);
	e->eh.e_phentsize = sizeof(Elf64_Phdr);
	e->eh.e_shentsize = sizeof(Elf64_Shdr);
}

static inline void elf_release(struct elf *e)
{
	size_t i;

	buf_release(&e->out);
	buf_release(&e->names);
	buf_release(&e->versions);
	for (i = 0; i < 2; i++) {
		buf_release(&e->symbols[i]);
		buf_release(&e->strings[i]);
	}
}

/* Where the next section will begin, as an address. */
static inline uint64_t elf_next(struct elf *e)
{
	while (e->out.len % 16)
		buf_putc(&e->out, 0);
	return ELF_BASE + e->out.len;
}

/* Returns the number of the section. */
static inline size_t elf_section(struct elf *e, const char *name, uint32_t type, uint64_t flags,
				 const void *data, size_t len)
{
	uint64_t addr = elf_next(e);

	e->sh[e->nr_sh] = (Elf64_Shdr){.sh_name = (uint32_t)e->names.len,
				       .sh_type = type,
				       .sh_flags = flags,
				       .sh_addr = flags & SHF_ALLOC ? addr : 0,
				       .sh_offset = addr - ELF_BASE,
				       .sh_size = len,
				       .sh_addralign = 16};
	buf_append(&e->names, name, strlen(name) + 1);
	buf_append(&e->out, data, len);
	if (flags & SHF_EXECINSTR)
		e->ph[e->nr_ph++] = (Elf64_Phdr){.p_type = PT_LOAD,
						 .p_flags = PF_R | PF_X,
						 .p_offset = addr - ELF_BASE,
						 .p_vaddr = addr,
						 .p_filesz = len,
						 .p_memsz = len,
						 .p_align = 16};
	return e->nr_sh++;
}

static inline void elf_symbol_full(struct elf *e, int table, const char *name, uint64_t addr,
				   uint64_t size, unsigned char info, uint16_t section,
				   uint16_t version)
{
	Elf64_Sym s = {.st_name = (uint32_t)e->strings[table].len,
		       .st_info = info,
		       .st_shndx = section,
		       .st_value = addr,
		       .st_size = size};

	buf_append(&e->strings[table], name, strlen(name) + 1);
	buf_append(&e->symbols[table], &s, sizeof(s));
	if (table == ELF_DYNAMIC)
		buf_append(&e->versions, &version, 2);
}

/* A function in section 1. */
static inline void elf_symbol(struct elf *e, const char *name, uint64_t addr, uint64_t size,
			      int bind)
{
	elf_symbol_full(e, ELF_STATIC, name, addr, size, (unsigned char)(bind << 4 | STT_FUNC), 1,
			0);
}

/* Versions 2.. of the given names. */
static inline void elf_add_tables(struct elf *e, const char *const *versions, size_t nr_versions)
{
	size_t i;

	if (e->symbols[ELF_STATIC].len > sizeof(Elf64_Sym)) {
		i = elf_section(e, ".symtab", SHT_SYMTAB, 0, e->symbols[ELF_STATIC].data,
				e->symbols[ELF_STATIC].len);
		e->sh[i].sh_entsize = sizeof(Elf64_Sym);
		e->sh[i].sh_link = (uint32_t)i + 1;
		elf_section(e, ".strtab", SHT_STRTAB, 0, e->strings[ELF_STATIC].data,
			    e->strings[ELF_STATIC].len);
	}
	if (e->symbols[ELF_DYNAMIC].len > sizeof(Elf64_Sym)) {
		struct buf defs;

		buf_init(&defs, 1 << 16);
		for (i = 0; i < nr_versions; i++) {
			Elf64_Verdef d = {.vd_version = 1,
					  .vd_ndx = (uint16_t)(i + 2),
					  .vd_cnt = 1,
					  .vd_aux = sizeof(d),
					  .vd_next = sizeof(d) + sizeof(Elf64_Verdaux)};
			Elf64_Verdaux a = {.vda_name = (uint32_t)e->strings[ELF_DYNAMIC].len};

			if (i + 1 == nr_versions)
				d.vd_next = 0;
			buf_append(&e->strings[ELF_DYNAMIC], versions[i], strlen(versions[i]) + 1);
			buf_append(&defs, &d, sizeof(d));
			buf_append(&defs, &a, sizeof(a));
		}
		i = elf_section(e, ".dynsym", SHT_DYNSYM, SHF_ALLOC, e->symbols[ELF_DYNAMIC].data,
				e->symbols[ELF_DYNAMIC].len);
		e->sh[i].sh_entsize = sizeof(Elf64_Sym);
		e->sh[i].sh_link = (uint32_t)i + 1;
		elf_section(e, ".dynstr", SHT_STRTAB, SHF_ALLOC, e->strings[ELF_DYNAMIC].data,
			    e->strings[ELF_DYNAMIC].len);
		elf_section(e, ".gnu.version", SHT_GNU_versym, SHF_ALLOC, e->versions.data,
			    e->versions.len);
		if (nr_versions)
			elf_section(e, ".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, defs.data,
				    defs.len);
		buf_release(&defs);
	}
}

/* Section names, section headers, program headers; the bytes are then in e->out. */
static inline void elf_finish(struct elf *e)
{
	size_t i = elf_section(e, ".shstrtab", SHT_STRTAB, 0, NULL, 0);

	e->sh[i].sh_size = e->names.len;
	buf_append(&e->out, e->names.data, e->names.len);
	e->eh.e_shstrndx = (uint16_t)i;
	e->eh.e_shnum = (uint16_t)e->nr_sh;
	e->eh.e_shoff = elf_next(e) - ELF_BASE;
	buf_append(&e->out, e->sh, e->nr_sh * sizeof(e->sh[0]));
	e->ph[e->nr_ph++] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R,
					 .p_vaddr = ELF_BASE,
					 .p_filesz = e->out.len,
					 .p_memsz = e->out.len};
	e->eh.e_phoff = sizeof(e->eh);
	e->eh.e_phnum = (uint16_t)e->nr_ph;
	memcpy(e->out.data, &e->eh, sizeof(e->eh));
	memcpy(e->out.data + sizeof(e->eh), e->ph, e->nr_ph * sizeof(e->ph[0]));
}

/* A descriptor with these bytes. */
static inline int elf_file(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < len) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

/* ---- .eh_frame ---- */

/*
 * A CIE of version 1 with augmentation "zR", or "zRS" for signal frames: CFA =
 * rsp + 8 at the start. Returns its offset in `b`.
 */
static inline size_t eh_cie(struct buf *b, const char *augmentation)
{
	static const unsigned char program[] = {0x0c, 7, 8, 0x90, 1};
	size_t at = b->len, body;
	uint32_t len;

	buf_append(b, "\0\0\0\0\0\0\0\0", 8);
	body = b->len;
	buf_putc(b, 1);
	buf_append(b, augmentation, strlen(augmentation) + 1);
	buf_append(b, "\x01\x78\x10", 3); /* code alignment 1, data -8, register 16 */
	if (strchr(augmentation, 'L'))
		buf_append(b, "\x02\x1b\x1b", 3);
	else
		buf_append(b, "\x01\x1b", 2);
	buf_append(b, program, sizeof(program));
	while ((b->len - body) % 4)
		buf_putc(b, 0);
	len = (uint32_t)(b->len - at - 4);
	memcpy(b->data + at, &len, 4);
	return at;
}

/* An FDE of a section that will be at `section`; lsda: its address, -1: the CIE has no L. */
static inline void eh_fde(struct buf *b, uint64_t section, size_t cie, uint64_t start,
			  uint32_t size, int64_t lsda, const void *program, size_t len)
{
	size_t at = b->len;
	uint32_t v, n;

	buf_append(b, "\0\0\0\0", 4);
	v = (uint32_t)(b->len - cie);
	buf_append(b, &v, 4);
	v = (uint32_t)(start - (section + b->len));
	buf_append(b, &v, 4);
	buf_append(b, &size, 4);
	if (lsda >= 0) {
		buf_putc(b, 4);
		v = lsda ? (uint32_t)((uint64_t)lsda - (section + b->len)) : 0;
		buf_append(b, &v, 4);
	} else {
		buf_putc(b, 0);
	}
	buf_append(b, program, len);
	while ((b->len - at) % 4)
		buf_putc(b, 0);
	n = (uint32_t)(b->len - at - 4);
	memcpy(b->data + at, &n, 4);
}

#endif
