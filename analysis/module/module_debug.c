// SPDX-License-Identifier: GPL-2.0-or-later
/* Separate debug files and the symbols compressed inside a file. */
#include <lzma.h>

#include "analysis/module/module_internal.h"

/* The CRC-32 of a debuglink. */
static int image_crc(const struct image *img, uint32_t *crc)
{
	enum { PIECE = 1 << 16 };
	uint8_t *piece = malloc(PIECE);
	uint64_t at = 0;
	int err = piece ? 0 : -ENOMEM;

	*crc = 0;
	while (!err && at < img->size) {
		size_t n = img->size - at < PIECE ? (size_t)(img->size - at) : PIECE;

		err = image_read(img, at, piece, n);
		if (!err)
			*crc = lzma_crc32(piece, n, *crc);
		at += n;
	}
	free(piece);
	return err;
}

static int check_debug(const struct module *m, const struct image *debug)
{
	const struct module_identity *id = &m->identity;
	char build_id[2 * MODULE_MAX_BUILD_ID + 1];
	uint32_t crc;
	int err;

	if (id->build_id[0]) {
		image_build_id(debug, build_id, MODULE_MAX_BUILD_ID);
		return strcmp(build_id, id->build_id) == 0 ? 0 : -ESTALE;
	}
	if (!id->debuglink[0])
		return -ESTALE;
	err = image_crc(debug, &crc);
	if (err)
		return err;
	return crc == id->debuglink_crc ? 0 : -ESTALE;
}

int module_add_debug(struct module *m, int fd)
{
	struct image debug;
	int err;

	if (m->has_debug)
		return -EEXIST;
	err = image_open(&debug, fd);
	if (err)
		return err;
	err = check_debug(m, &debug);
	if (err) {
		image_release(&debug);
		return err;
	}
	m->debug = debug;
	m->has_debug = true;
	module_unload_functions(m);
	module_unload_lines(m);
	return 0;
}

/* ---- .gnu_debugdata: an ELF file with a .symtab, compressed by xz ---- */

static int unpack(const uint8_t *packed, size_t len, uint8_t **out, size_t *out_len)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t cap = len * 4 + 4096;
	uint8_t *p = NULL, *bigger;
	lzma_ret ret;

	if (lzma_stream_decoder(&s, 128 << 20, 0) != LZMA_OK)
		return -ENOMEM;
	s.next_in = packed;
	s.avail_in = len;
	do {
		if (cap > MAX_DEBUGDATA)
			cap = MAX_DEBUGDATA;
		bigger = s.total_out < cap ? realloc(p, cap) : NULL;
		if (!bigger) {
			ret = LZMA_MEM_ERROR;
			break;
		}
		p = bigger;
		s.next_out = p + s.total_out;
		s.avail_out = cap - s.total_out;
		ret = lzma_code(&s, LZMA_FINISH);
		cap *= 2;
	} while (ret == LZMA_OK && !s.avail_out);
	*out_len = s.total_out;
	lzma_end(&s);
	if (ret != LZMA_STREAM_END) {
		free(p);
		return -EBADMSG;
	}
	*out = p;
	return 0;
}

bool module_load_debugdata(struct module *m)
{
	struct span at = image_section_span(&m->image, image_section(&m->image, ".gnu_debugdata"));
	uint8_t *packed, *mem = NULL;
	size_t len = 0;

	if (m->debugdata_tried)
		return m->has_debugdata;
	m->debugdata_tried = true;
	if (!at.len)
		return false;
	if (image_load(&m->image, at, MAX_DEBUGDATA / 4, &packed)) {
		m->truncated = true;
		return false;
	}
	if (!unpack(packed, at.len, &mem, &len)) {
		if (!image_open_memory(&m->debugdata, mem, len))
			m->has_debugdata = true;
		else
			free(mem);
	}
	if (!m->has_debugdata)
		m->truncated = true;
	free(packed);
	return m->has_debugdata;
}
