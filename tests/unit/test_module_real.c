// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules that a compiler made, compared with what binutils say of them. Skipped
 * without gcc and binutils.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/base/parameters.h"
#include "analysis/module/module.h"
#include "collect/process/sandbox.h"

static char dir[] = "/tmp/test_module.XXXXXX";
static bool have_tools;

static const char program[] =
    "#include <cstdio>\n#include <cstdlib>\n#include <stdexcept>\n#include <string>\n"
    "#include <vector>\n"
    "namespace ns {\n"
    "struct Shape { virtual ~Shape(); virtual int area(int) const; int n = 3; };\n"
    "Shape::~Shape() { std::puts(\"gone\"); }\n"
    "int Shape::area(int k) const { return n * k; }\n"
    "template <class T> __attribute__((noinline)) T twice(T v) { return v + v + rand(); }\n"
    "}\n"
    "static inline __attribute__((always_inline)) int inner(int x) {\n"
    "  return x * 3 + rand();\n"
    "}\n"
    "inline __attribute__((always_inline)) int middle(int x) {\n"
    "  return inner(x + 1) ^ inner(x);\n"
    "}\n"
    "__attribute__((noinline)) int outer(int x) {\n"
    "  if (x > 100) std::abort();\n"
    "  return middle(x) + 1;\n"
    "}\n"
    "static __attribute__((noinline)) int splitme(int a, int b) {\n"
    "  if (a < 0) throw std::runtime_error(\"neg\" + std::to_string(b));\n"
    "  return a * b + rand();\n"
    "}\n"
    "extern \"C\" __attribute__((target_clones(\"avx2\", \"default\"), noinline))\n"
    "int chosen(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n"
    "static __attribute__((noinline)) int usage(const char *p) { return printf(\"%s\", p); }\n"
    "int main(int argc, char **argv) {\n"
    "  std::vector<int> v; for (int i = 0; i < argc; i++) v.push_back(i);\n"
    "  try { printf(\"%d\\n\", splitme(argc, 7)); }\n"
    "  catch (std::exception &e) { puts(e.what()); }\n"
    "  ns::Shape s; int x = 5;\n"
    "  auto l = [&](int q) __attribute__((noinline)) { return outer(q) + x; };\n"
    "  return usage(argv[0]) + l(argc) + chosen(v.data(), (int)v.size()) + s.area(argc) +\n"
    "         ns::twice(argc) + (int)ns::twice(1.5);\n"
    "}\n";

static const char parameters[] =
    "enum kind { READ, LOCK = 7, BACK = -3 };\n"
    "typedef const char *text_t;\n"
    "struct pair { long a, b; };\n"
    "struct large { long a, b, c; };\n"
    "#define OWN __attribute__((noipa))\n"
    "OWN enum kind serve(enum kind kind, double weight, text_t name, unsigned char flag, long n)\n"
    "{ return weight > n + flag ? kind : name[n]; }\n"
    "OWN void taken(struct pair pair, int after, ...) { __asm__ volatile(\"\" :: \"r\"(pair.a), "
    "\"r\"(after)); }\n"
    "OWN struct large returned(int i) { struct large l = {i, i, i}; return l; }\n"
    "OWN float real(_Bool on) { return on ? 1.5 : 2; }\n"
    "OWN long many(int a, short b, unsigned c, char *d, int e, int f, int g) { return "
    "a+b+c+*d+e+f+g; }\n"
    "struct request { int refs; unsigned low : 3; enum kind kind; _Bool on; char *body;\n"
    "  unsigned char flags; char name[16]; const char *path; long len; double weight; };\n"
    "typedef struct request request_t;\n"
    "OWN long behind(const request_t *req, char *to, int unused, const char *from)\n"
    "{ return req->len + *to + *from; }\n"
    "OWN long strings(struct request *r, const void *v) { return r->len + (v != 0); }\n"
    "int main(int argc, char **argv) { struct pair p = {1, 2}; taken(p, argc); return serve(argc,\n"
    "1, argv[0], 2, 3) + returned(2).c + (int)real(1) + many(1, 2, 3, argv[0], 5, 6, 7) +\n"
    "(argc > 5 ? behind(0, argv[0], 1, argv[1]) + strings(0, 0) : 0); }\n";

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
	char command[2048];
	va_list ap;
	int n;

	n = snprintf(command, sizeof(command), "cd %s && { ", dir);
	va_start(ap, format);
	n += vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
	va_end(ap);
	snprintf(command + n, sizeof(command) - (size_t)n, "; } 2>/dev/null");
	return system(command);
}

static FILE *output_of(const char *command)
{
	char text[2048];

	snprintf(text, sizeof(text), "cd %s && { %s; } 2>/dev/null", dir, command);
	return popen(text, "r");
}

static int setup(void **state)
{
	char path[64];
	FILE *f;

	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.cc", dir);
	f = fopen(path, "w");
	if (!f || fputs(program, f) < 0 || fclose(f))
		return -1;
	have_tools =
	    shell("g++ -O2 -g -fPIC -c t.cc && g++ t.o -o full && strip -o stripped full && "
		  "command -v objcopy readelf addr2line xz >/dev/null") == 0;
	return 0;
}

static int teardown(void **state)
{
	return shell("rm -rf %s", dir);
}

static int open_file(const char *name)
{
	char path[128];

	if (name[0] == '/')
		return open(name, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static struct module *open_module(const char *name)
{
	struct module *m = NULL;
	int fd;

	if (!have_tools && name[0] != '/')
		skip();
	fd = open_file(name);
	assert_true(fd >= 0);
	assert_int_equal(module_open(&m, fd), 0);
	close(fd);
	module_set_name(m, name);
	return m;
}

static int add_debug(struct module *m, const char *name)
{
	int fd = open_file(name), err;

	assert_true(fd >= 0);
	err = module_add_debug(m, fd);
	close(fd);
	return err;
}

static const struct module_function *find_one(struct module *m, const char *name)
{
	const struct module_function *f[2];

	assert_int_equal(module_find(m, name, f, 2), 1);
	return f[0];
}

static size_t count(struct module *m, enum function_source source)
{
	size_t i, nr = 0;

	for (i = 0; i < module_nr_functions(m); i++)
		nr += module_function(m, i)->source == source;
	return nr;
}

/* Every function that readelf lists is found by its name, at its address, with its size. */
static void compare_with_readelf(const char *name)
{
	struct module *m = open_module(name);
	unsigned long long addr, size, nr = 0;
	char command[256], line[4096], symbol[4000];
	FILE *f;

	snprintf(command, sizeof(command),
		 "readelf -sW %s | awk '($4==\"FUNC\"||$4==\"IFUNC\") && $7!=\"UND\" {print $2, "
		 "$3, $8}'",
		 name);
	f = output_of(command);
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const struct module_function *out[64];
		int n, i;

		if (sscanf(line, "%llx %lli %3999s", &addr, (long long *)&size, symbol) != 3)
			continue;
		nr++;
		if (strstr(symbol, ".cold")) {
			assert_int_equal(module_find(m, symbol, out, 64), 0);
			continue;
		}
		n = module_find(m, symbol, out, 64);
		assert_in_range(n, 1, 64);
		for (i = 0; i < n; i++)
			if (out[i]->vaddr == addr)
				break;
		assert_true(i < n);
		if (size)
			assert_true(out[i]->size >= size);
	}
	pclose(f);
	assert_true(nr > 10);
	module_free(m);
}

static void test_symbols(void **state)
{
	char self[64];

	compare_with_readelf("full");
	compare_with_readelf("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	compare_with_readelf("/lib/x86_64-linux-gnu/libc.so.6");
	snprintf(self, sizeof(self), "/proc/%d/exe", getpid());
	compare_with_readelf(self);
}

/* The rows of `readelf --debug-dump=frames-interp` are the rules that we find. */
static void compare_frames(const char *name)
{
	struct module *m = open_module(name);
	char command[256], line[1024], rule[64];
	unsigned long long pc;
	size_t nr = 0, wrong = 0, expressions = 0;
	FILE *f;

	/* Over a million rows in large libraries: a part of them. */
	snprintf(command, sizeof(command), "readelf -wF %s | head -60000", name);
	f = output_of(command);
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct cfa cfa;
		char expected[64];

		if (sscanf(line, "%llx %63s", &pc, rule) != 2 || strlen(line) < 20 ||
		    line[16] != ' ' || (strncmp(rule, "r", 1) != 0 && strcmp(rule, "exp") != 0))
			continue;
		if (module_cfa(m, pc, &cfa))
			continue; /* the row of a CIE */
		nr++;
		if (cfa.reg == CFA_OTHER)
			snprintf(expected, sizeof(expected), "exp");
		else if (cfa.reg == CFA_RSP || cfa.reg == CFA_RBP)
			snprintf(expected, sizeof(expected), "%s%+lld",
				 cfa.reg == CFA_RSP ? "rsp" : "rbp", (long long)cfa.offset);
		else
			continue;
		expressions += cfa.reg == CFA_OTHER;
		if (strcmp(expected, rule) != 0 && wrong++ < 5)
			print_message("%s: %llx: %s, readelf says %s\n", name, pc, expected, rule);
	}
	pclose(f);
	assert_true(nr > 20);
	assert_int_equal(wrong, 0);
	assert_true(expressions > 0); /* the PLT's */
	module_free(m);
}

static void test_frames(void **state)
{
	compare_frames("full");
	compare_frames("/lib/x86_64-linux-gnu/libc.so.6");
	compare_frames("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

/* Stripped code shows functions, all of them, and nothing but functions. */
static void test_stripped(void **state)
{
	struct module *full = open_module("full"), *m = open_module("stripped");
	const struct module_identity *id = module_identity(m);
	size_t i, found = 0, with_frames = 0;
	struct module_fde fde;

	assert_false(id->has_symtab);
	assert_false(id->has_dwarf);
	assert_true(id->has_eh_frame);
	assert_true(id->build_id[0]);
	assert_true(module_wants_debug(m));
	assert_false(module_has_lines(m));
	for (i = 0; i < module_nr_functions(m); i++) {
		const struct module_function *f = module_function(m, i);
		const struct module_function *same = module_function_at(full, f->vaddr);

		assert_non_null(same);
		assert_int_equal(same->vaddr, f->vaddr);
		if (f->source == FUNCTION_EH_FRAME)
			assert_int_equal(same->size, f->size);
		found++;
	}
	for (i = 0; i < module_nr_functions(full); i++)
		with_frames += module_fde_at(full, module_function(full, i)->vaddr, &fde) == 0;
	assert_int_equal(found, with_frames);
	assert_true(found > 10);
	module_free(full);
	module_free(m);
}

static void test_compiler_suffixes(void **state)
{
	struct module *m = open_module("full");
	const struct module_function *f, *t[8];
	uint64_t start, end;
	int n;

	f = find_one(m, "splitme");
	assert_true(module_cold_part(m, f, 0, &start, &end) == 0);
	assert_ptr_equal(module_function_at(m, start), f);
	assert_ptr_equal(find_one(m, "splitme(int, int)"), f);
	assert_true(find_one(m, "ns::Shape::~Shape()") != NULL);
	assert_non_null(find_one(m, "ns::twice<int>"));
	assert_non_null(find_one(m, "ns::twice<double>(double)"));
	f = find_one(m, "chosen");
	assert_true(f->ifunc);
	n = module_ifunc_targets(m, f, t, 8);
	assert_int_equal(n, 2);
	assert_non_null(strstr(t[0]->symbol, "chosen."));
	assert_non_null(strstr(t[1]->symbol, "chosen."));
	module_free(m);
}

static void compare_debug(struct module *m, enum function_source source)
{
	struct module *full = open_module("full");
	size_t i;

	assert_int_equal(module_nr_functions(m), module_nr_functions(full));
	assert_int_equal(count(m, source), module_nr_functions(full));
	for (i = 0; i < module_nr_functions(full); i++) {
		assert_string_equal(module_function(m, i)->symbol,
				    module_function(full, i)->symbol);
		assert_int_equal(module_function(m, i)->size, module_function(full, i)->size);
	}
	module_free(full);
}

static void test_debug_by_build_id(void **state)
{
	struct module *m = open_module("stripped");
	const char *file;
	uint32_t line;

	assert_int_equal(shell("objcopy --only-keep-debug full full.debug"), 0);
	assert_true(module_nr_functions(m) > 0); /* loaded before, and again after */
	assert_int_equal(add_debug(m, "/lib/x86_64-linux-gnu/libc.so.6"), -ESTALE);
	assert_int_equal(add_debug(m, "t.cc"), -ENOEXEC);
	assert_false(module_has_lines(m));
	assert_int_equal(add_debug(m, "full.debug"), 0);
	assert_int_equal(add_debug(m, "full.debug"), -EEXIST);
	assert_false(module_wants_debug(m));
	compare_debug(m, FUNCTION_DEBUG);
	assert_true(module_has_lines(m));
	assert_int_equal(module_line(m, find_one(m, "outer")->vaddr, &file, &line), 0);
	assert_non_null(strstr(file, "t.cc"));
	assert_int_equal(line, 18);
	module_free(m);
}

static void test_debug_by_link(void **state)
{
	struct module *m;

	if (!have_tools)
		skip();
	assert_int_equal(shell("g++ t.o -o nobid -Wl,--build-id=none && "
			       "objcopy --only-keep-debug nobid nobid.debug && "
			       "strip -o nobid.stripped nobid && "
			       "objcopy --add-gnu-debuglink=nobid.debug nobid.stripped && "
			       "cp nobid.debug other.debug && printf x >>other.debug"),
			 0);
	m = open_module("nobid.stripped");
	assert_string_equal(module_identity(m)->build_id, "");
	assert_string_equal(module_identity(m)->debuglink, "nobid.debug");
	assert_true(module_wants_debug(m));
	assert_int_equal(add_debug(m, "other.debug"), -ESTALE);
	assert_int_equal(add_debug(m, "nobid.debug"), 0);
	assert_true(count(m, FUNCTION_DEBUG) > 10);
	assert_non_null(find_one(m, "splitme"));
	module_free(m);
}

/* As Fedora makes it. */
static void test_debugdata(void **state)
{
	struct module *m;

	if (!have_tools)
		skip();
	assert_int_equal(shell("objcopy --only-keep-debug --strip-debug full mini && xz -k mini && "
			       "cp stripped packed && "
			       "objcopy --add-section .gnu_debugdata=mini.xz packed && "
			       "head -c 100 mini.xz >cut.xz && cp stripped broken && "
			       "objcopy --add-section .gnu_debugdata=cut.xz broken && "
			       "xz -k <t.cc >text.xz && cp stripped noelf && "
			       "objcopy --add-section .gnu_debugdata=text.xz noelf"),
			 0);
	m = open_module("packed");
	assert_true(module_identity(m)->has_debugdata);
	compare_debug(m, FUNCTION_DEBUGDATA);
	module_free(m);
	m = open_module("broken");
	assert_true(count(m, FUNCTION_EH_FRAME) > 10);
	assert_int_equal(count(m, FUNCTION_DEBUGDATA), 0);
	assert_true(module_truncated(m));
	module_free(m);
	m = open_module("noelf");
	assert_true(count(m, FUNCTION_EH_FRAME) > 10);
	module_free(m);
}

/* A decompressed gigabyte of zeros in a section of a hundred and fifty kilobytes. */
static void test_debugdata_bomb(void **state)
{
	struct module *m;

	if (!have_tools)
		skip();
	assert_int_equal(
	    shell("head -c 700000000 /dev/zero | xz -0 >bomb.xz && cp stripped bomb && "
		  "objcopy --add-section .gnu_debugdata=bomb.xz bomb"),
	    0);
	m = open_module("bomb");
	assert_true(count(m, FUNCTION_EH_FRAME) > 10);
	assert_true(module_truncated(m));
	module_free(m);
}

/* What addr2line says of every address of a function: "0x1234", then the chain. */
static FILE *addr2line(const char *name, const struct module_function *f)
{
	char command[128], path[128];
	uint64_t pc;
	FILE *out;

	snprintf(path, sizeof(path), "%s/addresses", dir);
	out = fopen(path, "w");
	assert_non_null(out);
	for (pc = f->vaddr; pc < f->vaddr + f->size; pc++)
		fprintf(out, "0x%llx\n", (unsigned long long)pc);
	fclose(out);
	snprintf(command, sizeof(command), "addr2line -a -i -e %s <addresses", name);
	return output_of(command);
}

/* Chains of inlined calls are those of addr2line. */
static void compare_lines(const char *name)
{
	struct module *m = open_module(name);
	const struct module_function *f = find_one(m, "outer");
	struct module_inline chain[8];
	size_t addresses = 0, whole = 0;
	char line[512], expected[256];
	unsigned long long pc;
	int n = 0, i = 0;
	FILE *out;

	assert_true(module_has_lines(m));
	out = addr2line(name, f);
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "0x%llx", &pc) == 1) {
			assert_int_equal(i, n); /* of the address before */
			/* Cut where the caller has less room: the innermost go. */
			assert_int_equal(module_inlines(m, pc, chain, 1), 1);
			assert_string_equal(chain[0].name, "outer(int)");
			n = module_inlines(m, pc, chain, 8);
			assert_in_range(n, 1, 8);
			i = 0;
			addresses++;
			assert_string_equal(chain[n - 1].name, "outer(int)");
			if (n == 3 && strcmp(chain[0].name, "inner") == 0 &&
			    strcmp(chain[1].name, "middle(int)") == 0)
				whole++;
			continue;
		}
		assert_true(i < n);
		snprintf(expected, sizeof(expected), "%s:%u", chain[i].file ? chain[i].file : "/??",
			 chain[i].line);
		line[strcspn(line, " \n")] = 0; /* "(discriminator 2)" */
		assert_string_equal(strrchr(line, '/'), strrchr(expected, '/'));
		assert_int_equal(chain[i].inlined, i + 1 < n);
		i++;
	}
	pclose(out);
	assert_int_equal(addresses, f->size);
	assert_true(whole > 0);
	module_free(m);
}

static void test_lines(void **state)
{
	compare_lines("full");
	assert_int_equal(shell("g++ -O2 -gdwarf-4 t.cc -o dwarf4"), 0);
	compare_lines("dwarf4");
	assert_int_equal(shell("objcopy --compress-debug-sections full packed.dwarf"), 0);
	compare_lines("packed.dwarf");
}

static const char *wanted_values; /* as with --value */

static void assert_parameters(struct module *m, const char *name, const char *wanted)
{
	struct buf text = {.max = PARAMETERS_MAX};

	module_parameters(m, find_one(m, name), wanted_values, &text);
	assert_int_equal(text.err, 0);
	assert_string_equal(text.data ? text.data : "", wanted);
	buf_release(&text);
}

/* The registers are those of the ABI; what comes behind a structure, and a result in memory, is
 * known only where the compiler says so. */
static void test_parameters(void **state)
{
	static const char *const versions[] = {"-O0 -gdwarf-4", "-O2 -gdwarf-5"};
	char path[64];
	FILE *f;

	if (!have_tools)
		skip();
	snprintf(path, sizeof(path), "%s/p.c", dir);
	f = fopen(path, "w");
	assert_true(f && fputs(parameters, f) >= 0 && !fclose(f));
	for (int i = 0; i < 2; i++) {
		struct module *m;

		assert_int_equal(shell("gcc %s p.c -o parameters", versions[i]), 0);
		m = open_module("parameters");
		assert_true(module_lines_to_read(m) > 0);
		assert_parameters(m, "serve",
				  ",e,4,READ=0,LOCK=7,BACK=-3;kind,e,4,READ=0,LOCK=7,BACK=-3;"
				  "name,p,8;flag,u,1;n,i,8;,n,0;,n,0;"
				  ",n,0;,n,0;,n,0;,n,0;name,s,40@1+0");
		assert_parameters(m, "taken",
				  i ? ",n,0;,?,0;,?,0;after,i,4;,?,0;,?,0;,?,0"
				    : ",n,0;,?,0;,?,0;,?,0;,?,0;,?,0;,?,0");
		assert_parameters(m, "returned", "");
		assert_parameters(m, "real", ",n,0;on,b,1;,n,0;,n,0;,n,0;,n,0;,n,0");
		assert_parameters(m, "many",
				  ",i,8;a,i,4;b,i,2;c,u,4;d,p,8;e,i,4;f,i,4;"
				  ",n,0;,n,0;,n,0;,n,0;d,s,40@3+0");
		assert_parameters(m, "behind",
				  ",i,8;req,p,8;to,p,8;unused,i,4;from,p,8;,n,0;,n,0;"
				  "req->kind,e,4@0+8,READ=0,LOCK=7,BACK=-3;req->on,b,1@0+12;"
				  "req->refs,i,4@0+0;req->flags,u,1@0+24;from,s,40@3+0");
		assert_parameters(m, "strings",
				  ",i,8;r,p,8;v,p,8;,n,0;,n,0;,n,0;,n,0;"
				  "r->kind,e,4@0+8,READ=0,LOCK=7,BACK=-3;r->on,b,1@0+12;"
				  "r->refs,i,4@0+0;r->flags,u,1@0+24;r->path,s,40@0+48*");
		/* what the user chose comes first, in the user's words */
		wanted_values = "arg0->len,r->name,r->low,r->nothing";
		assert_parameters(m, "strings",
				  ",i,8;r,p,8;v,p,8;,n,0;,n,0;,n,0;,n,0;arg0->len,i,8@0+56;"
				  "r->kind,e,4@0+8,READ=0,LOCK=7,BACK=-3;r->on,b,1@0+12;"
				  "r->refs,i,4@0+0;r->name,s,16@0+25");
		wanted_values = NULL;
		assert_parameters(m, "main", ",i,4;argc,i,4;argv,p,8;,n,0;,n,0;,n,0;,n,0");
		assert_int_equal(module_lines_to_read(m), 0);
		module_unload_lines(m);
		assert_true(module_lines_to_read(m) > 0);
		assert_parameters(m, "real", ",n,0;on,b,1;,n,0;,n,0;,n,0;,n,0;,n,0");
		module_free(m);
	}
}

/* clang does not pass a parameter that a static function does not use, and moves the others. */
static void test_removed_parameter(void **state)
{
	struct module *m;

	if (!have_tools || shell("command -v clang >/dev/null"))
		skip();
	assert_int_equal(
	    shell(
		"printf 'int rand(void); enum kind { READ, LOCK };\n"
		"static __attribute__((noinline)) long work(enum kind kind, long unused, long n)\n"
		"{ return kind == LOCK ? n + rand() : n * 3; }\n"
		"int main(int argc, char **argv)\n"
		"{ return work(argc, argc + 3, argc * 2) + work(argc + 1, 3, 4); }' >removed.c && "
		"clang -O2 -g removed.c -o removed"),
	    0);
	m = open_module("removed");
	assert_parameters(m, "work", ",i,8;kind,e,4,READ=0,LOCK=1;n,i,8;,n,0;,n,0;,n,0;,n,0");
	module_free(m);
}

static void assert_inlined(struct module *m, const char *name, const char *into)
{
	const struct module_function *f[4];
	int n = module_inlined_into(m, name, f, 4);

	assert_int_equal(n, into != NULL);
	if (into)
		assert_string_equal(module_function_name(m, f[0]), into);
}

/* A function without code of its own is found by the names that one with code would have. */
static void test_inlined_into(void **state)
{
	static const char *const files[] = {"full", "dwarf4", "packed.dwarf"};
	const struct module_function *f[1];
	struct module *m;

	if (!have_tools)
		skip();
	assert_int_equal(shell("g++ -O2 -gdwarf-4 t.cc -o dwarf4"), 0);
	assert_int_equal(shell("objcopy --compress-debug-sections full packed.dwarf"), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		m = open_module(files[i]);
		assert_int_equal(module_find(m, "inner", f, 1), 0);
		assert_inlined(m, "inner", "outer(int)");
		assert_inlined(m, "middle", "outer(int)");
		assert_inlined(m, "middle(int)", "outer(int)");
		assert_inlined(m, "_Z6middlei", "outer(int)");
		assert_inlined(m, "middle(long)", NULL);
		assert_inlined(m, "nner", NULL);
		assert_inlined(m, "inne", NULL);
		assert_inlined(m, "outer", NULL);
		assert_inlined(m, "", NULL);
		module_free(m);
	}
	m = open_module("stripped");
	assert_inlined(m, "inner", NULL);
	module_free(m);
}

static void test_line_limits(void **state)
{
	struct module *m = open_module("full"), *none = open_module("stripped");
	struct module_inline chain[2];
	const char *file;
	uint32_t line;

	assert_int_equal(module_line(m, 0, &file, &line), -ENOENT);
	assert_int_equal(module_line(m, UINT64_MAX, &file, &line), -ENOENT);
	assert_int_equal(module_inlines(m, 0, chain, 2), -ENOENT);
	assert_int_equal(module_inlines(m, find_one(m, "outer")->vaddr, chain, 0), -ENOENT);
	assert_int_equal(module_line(none, 0x1000, &file, &line), -ENOENT);
	assert_int_equal(module_inlines(none, 0x1000, chain, 2), -ENOENT);
	module_free(m);
	module_free(none);
}

/* The other half of split DWARF is another file, which must not be looked for. */
static void test_split_dwarf(void **state)
{
	const char *file;
	struct module *m;
	uint32_t line;

	if (!have_tools)
		skip();
	assert_int_equal(shell("g++ -O2 -g -gsplit-dwarf t.cc -o split"), 0);
	m = open_module("split");
	assert_int_equal(module_line(m, find_one(m, "outer")->vaddr, &file, &line), -ENOENT);
	module_free(m);
}

/* References to an alternate file lead nowhere, and no file is opened for them. */
static void test_alternate(void **state)
{
	struct module_inline chain[8];
	struct module *m;

	if (!have_tools)
		skip();
	assert_int_equal(shell("printf '/dev/stdin\\0aaaaaaaaaaaaaaaaaaaa' >alt && "
			       "objcopy --add-section .gnu_debugaltlink=alt full alternate"),
			 0);
	m = open_module("alternate");
	assert_in_range(module_inlines(m, find_one(m, "outer")->vaddr + 8, chain, 8), 1, 8);
	module_free(m);
}

static void wipe_section_headers(const char *from, const char *to)
{
	char path[128];
	int fd;

	assert_int_equal(shell("cp %s %s", from, to), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, to);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, 40), 8); /* e_shoff */
	assert_int_equal(pwrite(fd, "\0\0\0\0\0\0", 6, 58), 6);	    /* e_shentsize and on */
	close(fd);
}

/* What the loader needs is enough for us: no section headers at all. */
static void test_no_sections(void **state)
{
	static const char *const hashes[] = {"gnu", "sysv"};
	struct module *m, *with;
	size_t i, k;

	if (!have_tools)
		skip();
	for (k = 0; k < 2; k++) {
		assert_int_equal(shell("g++ -shared t.o -o lib -Wl,--hash-style=%s && "
				       "strip lib",
				       hashes[k]),
				 0);
		wipe_section_headers("lib", "lib.bare");
		with = open_module("lib");
		m = open_module("lib.bare");
		assert_string_equal(module_identity(m)->build_id, module_identity(with)->build_id);
		assert_true(count(m, FUNCTION_DYNSYM) > 5);
		assert_int_equal(module_nr_functions(m), module_nr_functions(with));
		assert_int_equal(module_nr_fdes(m), module_nr_fdes(with));
		for (i = 0; i < module_nr_functions(m); i++)
			assert_string_equal(module_function_name(m, module_function(m, i)) +
						(module_function(m, i)->symbol ? 0 : 8),
					    module_function_name(with, module_function(with, i)) +
						(module_function(m, i)->symbol ? 0 : 3));
		module_free(m);
		module_free(with);
	}
}

/* Calls in main go to stubs whose names are known, also where they are bound at once. */
static void test_plt(void **state)
{
	static const char *const flags[] = {"-Wl,-z,lazy -no-pie", "-Wl,-z,now -pie",
					    "-Wl,-z,ibtplt -Wl,-z,lazy"};
	size_t i;

	if (!have_tools)
		skip();
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const struct module_function *f;
		struct module *m;
		const char *name;
		bool printf = false;
		uint64_t pc;

		assert_int_equal(shell("g++ t.o -o plt %s", flags[i]), 0);
		m = open_module("plt");
		f = find_one(m, "main");
		for (pc = f->vaddr; pc + 5 <= f->vaddr + f->size; pc++) {
			const uint8_t *p = module_code(m, pc, 5);
			int32_t d;

			if (!p || *p != 0xe8)
				continue;
			memcpy(&d, p + 1, 4);
			name = module_plt_name(m, pc + 5 + (uint64_t)(int64_t)d);
			/* the latter where gcc fortifies by itself */
			printf |= name && (strcmp(name, "printf@plt") == 0 ||
					   strcmp(name, "__printf_chk@plt") == 0);
		}
		assert_true(printf);
		module_free(m);
	}
}

/* Static programs have IRELATIVE relocations and no dynamic segment. */
static void test_static(void **state)
{
	const struct module_function *f, *t[16];
	struct module *m;

	if (!have_tools || shell("g++ -static t.o -o static"))
		skip();
	m = open_module("static");
	f = find_one(m, "memcpy");
	assert_true(f->ifunc);
	assert_true(module_ifunc_targets(m, f, t, 16) > 3);
	assert_int_equal(module_identity(m)->type, MODULE_EXEC);
	module_free(m);
}

/* All of it works where the parser works: nothing may be opened there. */
static void in_sandbox(int fd, int debug)
{
	const struct module_function *f[2];
	struct module *m;
	const char *file;
	uint32_t line;

	if (sandbox_enter(SANDBOX_PARSER))
		_exit(1);
	if (module_open(&m, fd) || module_add_debug(m, debug))
		_exit(2);
	if (module_find(m, "outer", f, 2) != 1 || module_nr_fdes(m) < 10)
		_exit(3);
	if (module_line(m, f[0]->vaddr, &file, &line) || line != 18)
		_exit(4);
	if (module_find(m, "chosen", f, 2) != 1 || module_ifunc_targets(m, f[0], f, 2) != 2)
		_exit(5);
	module_free(m);
	_exit(0);
}

static void test_sandboxed(void **state)
{
	int fd, debug, status;
	pid_t pid;

	if (!have_tools)
		skip();
	assert_int_equal(shell("objcopy --only-keep-debug full sandboxed.debug"), 0);
	fd = open_file("stripped");
	debug = open_file("sandboxed.debug");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		in_sandbox(fd, debug);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
	close(debug);
}

static void test_libc(void **state)
{
	struct module *m = open_module("/lib/x86_64-linux-gnu/libc.so.6");
	const struct module_function *t[32];
	size_t i, nr = module_nr_functions(m);
	uint64_t at = 0;

	assert_true(nr > 2000);
	for (i = 0; i < nr; i++) {
		const struct module_function *f = module_function(m, i);
		uint64_t offset;

		assert_true(f->vaddr >= at);
		at = f->vaddr + 1;
		assert_true(f->size > 0);
		assert_int_equal(module_offset_of(m, f->vaddr, &offset), 0);
		assert_int_equal(offset, f->offset);
		assert_non_null(module_code(m, f->vaddr, f->size));
		assert_true(*module_function_name(m, f));
		if (f->ifunc)
			assert_true(module_ifunc_targets(m, f, t, 32) > 0);
	}
	/* The one that new programs get, of two versions. */
	assert_true(find_one(m, "memcpy")->ifunc);
	assert_false(find_one(m, "memcpy@GLIBC_2.2.5")->ifunc);
	assert_ptr_equal(find_one(m, "__libc_malloc"), find_one(m, "malloc"));
	assert_string_equal(find_one(m, "__read")->symbol, "read");
	module_free(m);
}

static void test_self(void **state)
{
	struct module *m = open_module("/proc/self/exe");

	assert_non_null(find_one(m, "test_self"));
	assert_non_null(find_one(m, "module_open"));
	assert_true(module_identity(m)->has_symtab);
	module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_self),
	    cmocka_unit_test(test_libc),
	    cmocka_unit_test(test_symbols),
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_stripped),
	    cmocka_unit_test(test_compiler_suffixes),
	    cmocka_unit_test(test_debug_by_build_id),
	    cmocka_unit_test(test_debug_by_link),
	    cmocka_unit_test(test_debugdata),
	    cmocka_unit_test(test_debugdata_bomb),
	    cmocka_unit_test(test_inlined_into),
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_line_limits),
	    cmocka_unit_test(test_split_dwarf),
	    cmocka_unit_test(test_alternate),
	    cmocka_unit_test(test_no_sections),
	    cmocka_unit_test(test_plt),
	    cmocka_unit_test(test_static),
	    cmocka_unit_test(test_parameters),
	    cmocka_unit_test(test_removed_parameter),
	    cmocka_unit_test(test_sandboxed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
