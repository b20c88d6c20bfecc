/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Makefile includes this file before every source file: the headers of the C library that most
 * files need, which these need not include again, and functions that this project must not use, so
 * that the compiler rejects them. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define PEAKTOP_BANNED(func) sorry_##func##_is_a_banned_function

#undef strcpy
#define strcpy(x, y) PEAKTOP_BANNED(strcpy)
#undef strcat
#define strcat(x, y) PEAKTOP_BANNED(strcat)
#undef strncpy
#define strncpy(x, y, n) PEAKTOP_BANNED(strncpy)
#undef strncat
#define strncat(x, y, n) PEAKTOP_BANNED(strncat)
#undef strtok
#define strtok(x, y) PEAKTOP_BANNED(strtok)
#undef sprintf
#define sprintf(...) PEAKTOP_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) PEAKTOP_BANNED(vsprintf)
#undef gets
#define gets(x) PEAKTOP_BANNED(gets)
#undef atoi
#define atoi(x) PEAKTOP_BANNED(atoi)
#undef atol
#define atol(x) PEAKTOP_BANNED(atol)
#undef gmtime
#define gmtime(x) PEAKTOP_BANNED(gmtime)
#undef localtime
#define localtime(x) PEAKTOP_BANNED(localtime)
#undef ctime
#define ctime(x) PEAKTOP_BANNED(ctime)
#undef asctime
#define asctime(x) PEAKTOP_BANNED(asctime)
#undef alloca
#define alloca(x) PEAKTOP_BANNED(alloca)
