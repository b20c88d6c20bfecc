/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a wait on a futex is for. */
#pragma once

/* True if the system call futex with this operation (its second argument) and this expected value
 * (its third) waits for a lock, like a mutex, and not for a condition. A futex does not show what
 * it is used for, but the expected value of its word does: 2 means a contended mutex in the C
 * libraries and in Rust; glibc's read-write locks use 2 and 3; the number of a thread with
 * FUTEX_WAITERS means a robust mutex, and each mutex of musl. */
bool futex_is_lock(uint64_t operation, uint32_t value);
