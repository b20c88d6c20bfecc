// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/list.h"

void list_select(struct list *l, int row)
{
	l->selected = row >= l->n ? l->n - 1 : row;
	if (l->selected < 0)
		l->selected = 0;
}

void list_resize(struct list *l, int n)
{
	l->n = n;
	list_select(l, l->selected);
}

int list_top(const struct list *l, int height)
{
	int top = l->top;

	if (height < 1)
		height = 1;
	if (l->selected >= top + height)
		top = l->selected - height + 1;
	if (top > l->selected)
		top = l->selected;
	if (top > l->n - height)
		top = l->n - height;
	return top < 0 ? 0 : top;
}

bool list_request(struct list *l, enum request request, int height)
{
	int by = height > 1 ? height : 1;

	switch (request) {
	case REQUEST_UP:
		list_select(l, l->selected - 1);
		break;
	case REQUEST_DOWN:
		list_select(l, l->selected + 1);
		break;
	case REQUEST_HALF_UP:
		list_select(l, l->selected - (by + 1) / 2);
		break;
	case REQUEST_HALF_DOWN:
		list_select(l, l->selected + (by + 1) / 2);
		break;
	case REQUEST_PAGE_UP:
		list_select(l, l->selected - by);
		break;
	case REQUEST_PAGE_DOWN:
		list_select(l, l->selected + by);
		break;
	case REQUEST_FIRST:
		list_select(l, 0);
		break;
	case REQUEST_LAST:
		list_select(l, l->n - 1);
		break;
	default:
		return false;
	}
	l->top = list_top(l, height);
	return true;
}
