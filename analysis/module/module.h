/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of which a target maps code: its identity, its functions and their
 * names, its call frame information, lines and inlined calls.
 *
 * Runs in the parser worker. Touches only the descriptors handed to it, never
 * opens a file. All input is hostile: files may be truncated or rewritten while
 * they are read, every count and offset in them may lie. Files are read with
 * pread, never mapped. Nothing here recurses over input; everything that grows
 * has a maximum (MODULE_MAX_*), past which the rest is left out and
 * module_truncated() says so.
 *
 * Opening reads the headers only; names, frames and lines are loaded on first
 * need (a million symbols: about a second). Functions that load on first need
 * therefore take a non-const module. Not thread-safe. All strings, pointers and
 * indexes returned live until module_free() or a successful module_add_debug(),
 * except where stated; identity and code bytes until module_free().
 *
 * "vaddr" is an address as in the file's program headers (for a position
 * independent file: relative to its load base). "offset" is a position in the
 * file. Probes use offsets, code and frames use vaddrs.
 */
#pragma once

#include "analysis/base/buf.h"

enum {
	MODULE_MAX_SYMBOLS = 8 << 20, /* read from all tables together */
	MODULE_MAX_FDES = 4 << 20,
	MODULE_MAX_NAME = 4096,		 /* bytes of one name; longer ones are left out */
	MODULE_MAX_DEMANGLED = 64 << 20, /* bytes of demangled names kept */
	MODULE_MAX_TABLE = 1 << 30,	 /* bytes of one section read whole */
	MODULE_MAX_INLINES = 64,
	MODULE_MAX_BUILD_ID = 64, /* bytes */
};

struct module;

/* ---- opening and identity ---- */

/* `fd` is duplicated; the caller keeps its own. Returns 0, -ENOEXEC (not ELF or
 * its headers are broken), -EXDEV (32-bit), -ENOTSUP (another machine, big
 * endian), -ENOMEM, or the error of reading. */
int module_open(struct module **out, int fd);

/* Is this the base name of a map of code made at run time ("perf-123.map")? */
bool module_is_perf_map_name(const char *name);
/* Such a map as a module: functions by address (an offset in it is an address of the process), no
 * code, no frames. 0 or a negative errno; `fd` stays the caller's. */
int module_open_perf_map(struct module **out, int fd);
/* True if its file has grown so that it is to be opened anew, `requests` after it was opened;
 * false for other modules. */
bool module_perf_map_grew(const struct module *m, uint64_t requests);
bool module_is_perf_map(const struct module *m);
void module_free(struct module *m);

/* Base name of the file as the user should see it ("libc.so.6"): functions
 * without a symbol are then called "libc.so.6+0x1234". Copied. "" until set. */
int module_set_name(struct module *m, const char *base_name);

enum module_type { MODULE_EXEC, MODULE_DYN };

struct module_identity {
	char build_id[2 * MODULE_MAX_BUILD_ID + 1]; /* hex, "" if none */
	char debuglink[256];			    /* base name, "" if none */
	uint32_t debuglink_crc;
	enum module_type type;
	bool has_symtab; /* the file itself */
	bool has_dwarf;	 /* the file itself: .debug_info and .debug_line */
	bool has_debugdata;
	bool has_eh_frame;
	bool is_go;    /* made by the Go compiler: stacks of its code move */
	uint64_t size; /* of the file, when opened */
};
const struct module_identity *module_identity(const struct module *m);

/* A separate debug file would add names or lines, and none was added yet. */
bool module_wants_debug(const struct module *m);
/* Add the names and lines of a separate debug file (`fd` is duplicated). It
 * must carry the same build id, or where the module has none, the checksum of
 * the debuglink: else -ESTALE. -EEXIST: there is one already. Errors of
 * module_open() too. */
int module_add_debug(struct module *m, int fd);
/* True if something was left out, because a maximum was reached or the file contradicts itself. */
bool module_truncated(const struct module *m);

/* ---- functions ---- */

enum function_source {
	FUNCTION_SYMTAB,    /* .symtab of the file */
	FUNCTION_DYNSYM,    /* .dynsym of the file */
	FUNCTION_DEBUG,	    /* .symtab of the separate debug file */
	FUNCTION_DEBUGDATA, /* .gnu_debugdata */
	FUNCTION_GOPCLNTAB, /* the table of the Go runtime */
	FUNCTION_EH_FRAME,  /* bounds only, no symbol */
	FUNCTION_SOURCES
};
const char *function_source_name(enum function_source s);

/* One entry point, in bytes of an executable segment that are in the file
 * (others are left out). Symbols of the same address are aliases of one
 * function; `symbol` is the one that a person would use. */
struct module_function {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size;	    /* never 0 and never past the segment; see `sized` */
	const char *symbol; /* linkage name without version; NULL: no symbol */
	uint8_t source;	    /* enum function_source, of `symbol` */
	bool ifunc;	    /* the address is the resolver's, which the loader calls */
	bool global;	    /* some name of it is global (exported if in .dynsym) or weak */
	bool weak;	    /* `symbol` is weak */
	bool exported;	    /* some name of it is in .dynsym */
	bool sized;	    /* size is from a symbol or an FDE, not a guess by the next start */
	bool old_version;   /* `symbol` is an older version: memcpy@GLIBC_2.2.5 */
};

/* In order of vaddr. Parts that are no functions of their own (NAME.cold) are not listed. */
size_t module_nr_functions(struct module *m);
const struct module_function *module_function(struct module *m, size_t i); /* NULL past the end */

/* Name for a person: demangled, with parameters, without the return type of a
 * template; the symbol itself when it is not mangled, with its version when that
 * is an older one; "MODULE+0x1234" (vaddr) without a symbol. Never NULL. */
const char *module_function_name(struct module *m, const struct module_function *f);
/* All symbols of a function: the i-th, or NULL past the last. */
const char *module_alias(struct module *m, const struct module_function *f, size_t i);

/* ---- finding ---- */

/*
 * The functions called `name`: linkage name, demangled name with or without
 * parameters (spaces do not matter), or "MODULE+0x1234"/"+0x1234" for the start
 * of a function. A version may be given ("memcpy@GLIBC_2.2.5", one or two @);
 * without one, the default version wins over older ones. Where no function has
 * the plain name, clones made by the compiler (NAME.isra.0, .constprop.0,
 * .part.0, .lto_priv.0, .llvm.N ...) are found by it. Template arguments are
 * part of a name.
 *
 * Returns the number of matches, of which up to `max` are written in order of
 * vaddr (more than one: ambiguous), or a negative errno.
 */
int module_find(struct module *m, const char *name, const struct module_function **out, size_t max);
/* Suggestions for `name`, best first: names that begin with it or contain it, and names that, whole
 * or in their last part, differ from it by at most a third of its characters. Returns how many were
 * written, or a negative errno. `costs`, unless NULL, receives a number for each; the suggestions
 * of several modules can be ordered by it. */
int module_nearest(struct module *m, const char *name, const struct module_function **out,
		   unsigned int *costs, size_t max);
/* Functions whose symbol or demangled name contains `text` (letters of either
 * case match a lower-case one), in order of vaddr, from the function with index
 * `*cursor` on. Stops after `max` matches or a bounded amount of work and sets
 * *cursor to where to go on, or to module_nr_functions() at the end. Returns
 * how many were written. */
int module_search(struct module *m, const char *text, size_t *cursor,
		  const struct module_function **out, size_t max);
/* The innermost function that contains the address; NULL if none does. Cold parts belong to theirs.
 */
const struct module_function *module_function_at(struct module *m, uint64_t vaddr);
const struct module_function *module_function_at_offset(struct module *m, uint64_t offset);

/* Range [start, end) of the cold part number `i` of a function. Returns 0 or
 * -ENOENT. */
int module_cold_part(struct module *m, const struct module_function *f, size_t i, uint64_t *start,
		     uint64_t *end);

/* ---- addresses and code: executable segments, bytes that are in the file ---- */

int module_vaddr_of(const struct module *m, uint64_t offset, uint64_t *vaddr); /* 0 or -ERANGE */
int module_offset_of(const struct module *m, uint64_t vaddr, uint64_t *offset);
/* [start, end) of the executable segment of an address (its bytes in the file); 0 or -ERANGE. */
int module_segment(const struct module *m, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* `size` bytes of code at `vaddr`; NULL where not all of them are in the file
 * or cannot be read. The bytes are a copy: they do not change later. */
const uint8_t *module_code(struct module *m, uint64_t vaddr, size_t size);

/* ---- call frame information (.eh_frame) ---- */

struct module_fde {
	uint64_t start, end; /* vaddr, [start, end), within one executable segment */
	bool has_lsda;	     /* exceptions land in it, or cleanups */
	bool signal_frame;
};
/* In order of start, not overlapping lies removed: an FDE outside the segments is left out. */
size_t module_nr_fdes(struct module *m);
int module_fde(struct module *m, size_t i, struct module_fde *fde); /* 0 or -ENOENT */
/* The FDE that covers `vaddr`: 0 or -ENOENT. */
int module_fde_at(struct module *m, uint64_t vaddr, struct module_fde *fde);

enum cfa_base { CFA_RSP = 7, CFA_RBP = 6, CFA_OTHER = -1 };
struct cfa {
	int reg;	/* DWARF number of the register (enum cfa_base), CFA_OTHER: an expression */
	int64_t offset; /* CFA = reg + offset */
};
/* The rule for the CFA before the instruction at `pc` runs. 0, -ENOENT (no FDE)
 * or -EBADMSG (the FDE is damaged). */
int module_cfa(struct module *m, uint64_t pc, struct cfa *cfa);

/* ---- imports and IFUNCs ---- */

/* If the code at `vaddr` is a jump through an import slot (an entry of .plt,
 * .plt.sec, .plt.got): the name "memcpy@plt", else NULL. */
const char *module_plt_name(struct module *m, uint64_t vaddr);
/* Symbol that the loader puts in the slot (GOT) at `vaddr`, NULL if none. */
const char *module_slot_symbol(struct module *m, uint64_t vaddr);
/* The slots that the loader fills with this symbol. Returns how many there are; up to `max` are
 * written. */
size_t module_slots_of(struct module *m, const char *symbol, uint64_t *vaddrs, size_t max);
/* Functions of this module that the resolver of an IFUNC may return: starts of
 * functions whose address its code takes. Number of them, up to `max` written;
 * -EINVAL if `f` is no IFUNC. */
int module_ifunc_targets(struct module *m, const struct module_function *f,
			 const struct module_function **out, size_t max);

/* ---- lines and inlined calls (DWARF of the file or of its debug file) ---- */

bool module_has_lines(struct module *m);
/* True if there is debug information that libdw cannot read, so that module_line() finds nothing:
 * `why` ends a sentence, as "is compressed with zstd". */
bool module_lines_unread(const struct module *m, char *why, size_t n);
/* Source position of an address: 0 or -ENOENT. */
int module_line(struct module *m, uint64_t vaddr, const char **file, uint32_t *line);

/* One level of calls at an address. */
struct module_inline {
	const char *name; /* demangled, with parameters where a linkage name is known */
	const char *file; /* position in that function; NULL if unknown */
	uint32_t line;
	bool inlined; /* false: the function that was really called, the last of the chain */
};
/* The chain at an address, innermost first, at most MODULE_MAX_INLINES.
 * Returns its length (at least 1), or -ENOENT. */
int module_inlines(struct module *m, uint64_t vaddr, struct module_inline *out, size_t max);
/* What module_line(), module_inlines() and the like read into memory at their first use: bytes of
 * debug information, unpacked; 0: there is none, or it was read already. */
uint64_t module_lines_to_read(const struct module *m);
/* Give this memory back, until the next use. */
void module_unload_lines(struct module *m);
/* Append what DWARF says of the parameters of a function, in the form of
 * analysis/base/parameters.h; nothing if that is not certain. `wanted`: expressions as "req->len"
 * or "arg0->len", separated by commas, which are read rather than others; or NULL. */
void module_parameters(struct module *m, const struct module_function *f, const char *wanted,
		       struct buf *to);
/* For a name that module_find() does not find: the functions whose code contains inlined copies of
 * the function called `name`, as that function was called in the source. Returns how many were
 * written, at most `max`; -E2BIG: none was found, and not all debug information was searched. */
int module_inlined_into(struct module *m, const char *name, const struct module_function **out,
			size_t max);
