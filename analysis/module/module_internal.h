/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the files of struct module:
 *
 * module.c          opening, identity, segments, code bytes
 *   module_debug.c    separate debug files, .gnu_debugdata
 *   module_symbols.c  symbol tables to struct symbol
 *   module_functions.c  symbols and frames to the list of functions
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/module/module.h"
#include "analysis/module/module_image.h"

enum {
	MAX_SEGMENTS = 64,
	CODE_CHUNK = 1 << 16,	   /* code is read in pieces of this size */
	MAX_DEBUGDATA = 512 << 20, /* decompressed */
	MAX_EXTRA_NAMES = 256 << 20,
	MAX_SLOTS = 4 << 20,
	MAX_VERSIONS = 1 << 15,
};

struct module_segment {
	uint64_t vaddr, offset, size;
	uint8_t *code; /* `size` bytes, of which the chunks in `have` were read */
	uint8_t *have; /* one byte per chunk */
};

/* Where the text of a name is: in the string table of a source, or made by us. */
enum { TABLE_EXTRA = FUNCTION_SOURCES, NR_TABLES };

enum symbol_flags {
	SYM_GLOBAL = 1 << 0,
	SYM_WEAK = 1 << 1,
	SYM_IFUNC = 1 << 2,
	SYM_NOTYPE = 1 << 3,
	SYM_PART = 1 << 4,
	SYM_CLONE = 1 << 5,
	SYM_OLD_VERSION = 1 << 6, /* memcpy@V, not the default memcpy@@V */
	SYM_DYNAMIC = 1 << 7,
};

struct symbol {
	uint64_t vaddr;
	uint32_t size;	    /* clipped */
	uint32_t name;	    /* in the table's strings */
	uint32_t file : 24; /* number of the object file, for local symbols */
	uint32_t rank : 8;  /* which alias a person would use: lowest */
	uint16_t version;   /* 0: none; index in .gnu.version_d + 1; TABLE_EXTRA: source + 1 */
	uint8_t table;	    /* where the name is */
	uint8_t flags;
};

struct function_part {
	uint64_t vaddr;
	uint32_t size;
	uint32_t symbol;
	uint32_t owner; /* index of its function; NO_OWNER */
};
#define NO_OWNER UINT32_MAX

struct fde {
	uint64_t start;
	uint32_t size;
	uint32_t at; /* of its entry, in the section */
};

struct slot {
	uint64_t vaddr;
	uint64_t resolver;    /* of an IFUNC without a symbol; 0 */
	uint32_t name;	      /* in the strings of .dynsym; 0: none */
	const char *plt_name; /* once asked for */
};

/* The tables that the loader uses, from section headers or the dynamic segment. */
struct dynamic {
	struct span symbols, strings, versions, version_defs;
	struct span relocations[8];
	size_t nr_relocations;
};

struct strings {
	char *text; /* NUL-terminated */
	size_t len;
};

/* The table of the Go runtime; its bytes are those of its strings. */
struct go_table {
	const struct go_layout *layout;
	const uint8_t *bytes; /* from its header on */
	uint64_t len, vaddr;
	uint64_t nr;	 /* functions; 0: there is no table */
	uint64_t text;	 /* address that their entries are relative to */
	uint64_t names;	 /* offsets in it: of the names */
	uint64_t units;	 /* of the files of compilation units */
	uint64_t files;	 /* of the names of files */
	uint64_t values; /* of the lists of values by address */
	uint64_t list;	 /* of the list of functions */
	uint64_t trees;	 /* address of the trees of inlined calls; 0: not known */
	bool trees_tried;
};

struct name_chunk; /* kept demangled names */
struct lines;

struct module {
	struct image image;
	struct image debug;	/* fd -1: none was added */
	struct image debugdata; /* decompressed */
	struct module_identity identity;
	struct lines *lines;
	char *name;
	struct module_segment segments[MAX_SEGMENTS];
	size_t nr_segments;
	bool has_debug;
	bool has_debugdata;
	bool truncated;
	bool is_perf_map; /* module_perf_map.c */
	int load_error;
	bool debugdata_tried, frames_loaded, functions_loaded, lines_tried;

	/* frames */
	uint8_t *frames; /* .eh_frame */
	size_t frames_len;
	uint64_t frames_vaddr;
	struct fde *fdes; /* sorted, disjoint */
	size_t nr_fdes;

	/* names */
	struct dynamic dynamic;
	struct strings strings[NR_TABLES];
	struct go_table go;
	struct buf extra;	/* becomes strings[TABLE_EXTRA] */
	struct symbol *symbols; /* sorted by vaddr, rank */
	size_t nr_symbols, cap_symbols;
	uint32_t *version_names; /* by version index: offset in dynamic strings */
	struct slot *slots;	 /* sorted */
	size_t nr_slots;
	struct module_function *functions; /* sorted */
	size_t nr_functions;
	struct function_part *parts; /* sorted by vaddr */
	uint32_t *parts_by_owner;    /* indexes of `parts` */
	size_t nr_parts;
	uint32_t *hash_head, *hash_next; /* of symbols by base name; value index + 1 */
	size_t hash_size;
	const char **names; /* demangled, by function; NULL: not yet */
	struct name_chunk *chunks;
	size_t names_used;
};

/* module.c */
const struct module_segment *module_segment_at(const struct module *m, uint64_t vaddr);

/* module_debug.c: decompress .gnu_debugdata once; true if there is an image. */
bool module_load_debugdata(struct module *m);

/* module_symbols.c: fill strings, symbols, versions. 0 or -ENOMEM. */
int module_load_symbols(struct module *m);
const char *symbol_name(const struct module *m, const struct symbol *s);
/* Add a symbol of `size` bytes (0: unknown) called `name`, the text of s->name. It is left out if
 * no segment holds its address or its name is empty or too long. 0 or -ENOMEM. */
int module_keep_symbol(struct module *m, struct symbol *s, const char *name, uint64_t size);
/* Version of a symbol, "" if it has none. */
const char *symbol_version(const struct module *m, const struct symbol *s);

/* module_go.c: the table of the Go runtime, and its functions if nothing else has their names.
 * Needs the dynamic tables. 0 or -ENOMEM. */
int module_load_go(struct module *m);
bool module_has_go_table(const struct image *img);
struct row;
/* The row of an address in Go code. 0, or -ENOENT: the table does not tell. */
int module_go_row(struct module *m, uint64_t pc, struct row *row);
/* Loads the table of the Go runtime. False: there is none. */
bool module_reads_go(struct module *m);
/* module_go_lines.c: as module_line(), module_inlines() and module_inlined_into(), from the table.
 */
int module_go_line(struct module *m, uint64_t vaddr, const char **file, uint32_t *line);
int module_go_inlines(struct module *m, uint64_t vaddr, struct module_inline *out, size_t max);
int module_go_inlined_into(struct module *m, const char *name, const struct module_function **out,
			   size_t max);

/* module_frames.c: fill fdes; failures leave them empty. */
void module_load_frames(struct module *m);
/* Index of the FDE that covers vaddr, or -1. */
long module_fde_index(const struct module *m, uint64_t vaddr);

/* module_imports.c: fill slots; needs the symbols. */
void module_load_slots(struct module *m);
/* The code at vaddr is a jump through a known slot; needs the slots. */
bool module_is_import(struct module *m, uint64_t vaddr);

/* module_perf_map.c: the functions of a map of code made at run time. 0 or -ENOMEM. */
int module_perf_map_functions(struct module *m);

/* module_functions.c: everything above, then functions, parts, hash. 0 or -ENOMEM. */
int module_load_functions(struct module *m);
/* Range of symbols with this address. */
size_t module_symbols_at(const struct module *m, uint64_t vaddr, size_t *first);
void module_unload_functions(struct module *m);
uint32_t name_hash(const char *s, size_t n);
/* Function that starts at vaddr, NULL if none. */
const struct module_function *module_function_starting(const struct module *m, uint64_t vaddr);

/* module_parts.c: give each part its function; 0 or -ENOMEM. */
int module_assign_parts(struct module *m);
const struct module_function *module_part_owner(const struct module *m, uint64_t vaddr);

/* module_find.c */
/* Whether a mangled symbol is that of the function that a person calls `text`: its demangled name
 * without parameters, with them, or with the return type. */
bool name_is_called(const char *symbol, const char *text);

/* Copy into memory that lives as long as the names; NULL when full. */
const char *module_keep_name(struct module *m, const char *text, size_t len);
