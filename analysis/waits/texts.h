/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts by number: names of tasks, files, handlers. Equal texts have one number; bounded. */
#pragma once

struct texts;
struct texts *texts_new(uint32_t max);
void texts_free(struct texts *t);
/* 0: "". When there is no room for another one: the number of "(more names)". */
uint32_t texts_number(struct texts *t, const char *text);
const char *texts_get(const struct texts *t, uint32_t number);
