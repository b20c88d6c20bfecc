/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures for people: made in analysis/base, where reasons in words need them too. */
#ifndef PEAKTOP_FORMAT_H
#define PEAKTOP_FORMAT_H

#include "analysis/base/format.h"

#endif
