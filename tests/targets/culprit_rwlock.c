// SPDX-License-Identifier: GPL-2.0-or-later
/* A read-write lock that another thread, "hoarder", holds for reading. */
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#define HOARD pthread_rwlock_rdlock
#define LOCK pthread_rwlock_wrlock
#define UNLOCK pthread_rwlock_unlock
#include "culprit_mutex.c"
