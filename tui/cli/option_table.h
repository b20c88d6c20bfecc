/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs and options of the command line as data. The parser, the help texts, the man pages and
 * the shell completion are all made from these tables. */
#pragma once

#include "tui/engine/options.h"

/* What is asked for: a verb, with what else decides which options it can use. */
enum form {
	FORM_SCREEN = 0,   /* peaktop [TARGET] */
	FORM_SCREEN_FILE,  /* peaktop -r FILE */
	FORM_WATCH,	   /* watch TARGET */
	FORM_WATCH_FILE,   /* watch -r FILE */
	FORM_DESCEND,	   /* descend TARGET -f OP */
	FORM_WALK,	   /* descend TARGET */
	FORM_OPEN,	   /* descend TARGET --open */
	FORM_DESCEND_FILE, /* descend -r FILE */
	FORM_CHAINS,
	FORM_CRITICAL,
	FORM_WAITS_FILE, /* chains or critical -r FILE */
	FORM_RECORD,
	FORM_RESUME,
	FORM_DIFF,
	FORM_WHY,
	FORM_EXPORT,
	FORM_DOCTOR,   /* doctor */
	FORM_COVERAGE, /* doctor TARGET */
	FORM_HELP,
	NR_FORMS
};

enum option_group {
	GROUP_TARGET = 0,
	GROUP_MEASURE,
	GROUP_DESCENT,
	GROUP_OUTPUT,
	GROUP_OTHER,
	NR_OPTION_GROUPS
};

enum option_kind {
	OPTION_OTHER = 0, /* command_line.c has a function for it, chosen by its id */
	OPTION_FLAG,	  /* bool */
	OPTION_NUMBER,	  /* double from low to high */
	OPTION_WHOLE,	  /* unsigned int from low to high */
	OPTION_TEXT	  /* const char * */
};

/* Options that command_line.c parses by a function of their own. */
enum option_id {
	OPT_NONE = 0,
	OPT_PIDS,
	OPT_FILE,
	OPT_OP,
	OPT_BEGIN,
	OPT_END,
	OPT_VALUE,
	OPT_PEAK,
	OPT_RING,
	OPT_WHEN,
	OPT_EVERY,
	OPT_IGNORED, /* accepted for compatibility, without effect */
	OPT_HELP,
	OPT_VERSION
};

struct option_row {
	const char *name;  /* long name, without -- */
	char letter;	   /* short name, 0 if none */
	const char *value; /* what its value is called (PID, FILE, OP, 1|2|4|8); NULL: no value */
	enum option_group group;
	uint32_t forms;	  /* bit mask of the enum forms that use it */
	const char *help; /* one sentence, without a full stop */
	enum option_kind kind;
	enum option_id id;
	size_t offset; /* of its member of struct options, if kind is not OPTION_OTHER */
	double low, high;
};

struct verb_row {
	const char *word; /* "" for the live screen */
	enum verb verb;
	uint32_t forms;		 /* bit mask of the enum forms that it can take */
	const char *synopsis[4]; /* what follows "peaktop ", NULL-terminated */
	const char *help;	 /* one line; NULL: help and version */
	const char *about;	 /* a few sentences for VERB --help */
	const char *examples[3]; /* NULL-terminated */
};

extern const struct option_row option_rows[];
extern const size_t nr_option_rows;
extern const struct verb_row verb_rows[];
extern const size_t nr_verb_rows;
/* The headings of the groups. */
extern const char *const option_group_names[NR_OPTION_GROUPS];

const struct verb_row *verb_row_of(enum verb verb);
/* The verb with the most similar name; NULL if none is similar (analysis/base/edit_distance.h). */
const char *verb_near(const char *word);
/* The first option with this id. */
const struct option_row *option_row_of(enum option_id id);
/* True if the option with this long name was given. */
bool option_given(const struct options *o, const char *name);
/* The form that the parsed options ask for. */
enum form option_form(const struct options *o);
/* What a form is called in a message: "descend --open". */
const char *option_form_name(enum form form);
/* The verbs that use an option, in words: "watch, record and descend -f OP". */
void option_users(const struct option_row *row, char *out, size_t n);
