/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the operations of io_uring (include/uapi/linux/io_uring.h, enum io_uring_op). */
#pragma once

/* "read" for IORING_OP_READ; NULL if the number is not known. */
const char *uring_name(unsigned int opcode);
/* The operation with this name, or -ENOENT. */
int uring_number(const char *name);
