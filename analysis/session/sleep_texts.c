// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/sleep_texts.h"

static void copy(char *out, size_t n, const char *from)
{
	snprintf(out, n, "%s", from ? from : "");
}

void sleep_texts_point(const struct sleep_texts *texts, struct rec_sleep *s)
{
	s->call = texts->call;
	s->name = texts->name;
	s->waker = texts->waker;
	s->holder = texts->holder;
	s->doing = texts->doing;
	s->about = texts->about;
	s->interrupt = texts->interrupt;
}

void sleep_texts_keep(struct sleep_texts *texts, struct rec_sleep *s)
{
	copy(texts->call, sizeof(texts->call), s->call);
	copy(texts->name, sizeof(texts->name), s->name);
	copy(texts->waker, sizeof(texts->waker), s->waker);
	copy(texts->holder, sizeof(texts->holder), s->holder);
	copy(texts->doing, sizeof(texts->doing), s->doing);
	copy(texts->about, sizeof(texts->about), s->about);
	copy(texts->interrupt, sizeof(texts->interrupt), s->interrupt);
	sleep_texts_point(texts, s);
}
