/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last steps of the collector, and the files that it serves in all steps. */
#pragma once

struct collector;
struct req_file;

/* Remove all probes, send the last slice and REC_BYE with the error. */
void collector_finish(struct collector *c);
/* Answer REQ_FILE, or REQ_DEBUG_FILE (`debug`), with REC_FILE. */
void file_serve(struct collector *c, const struct req_file *req, bool debug);
/*
 * A command may end before the front has asked for the files of its libraries, which name its
 * functions: after collector_finish(), serve them until the front closes the socket, or for a
 * limited time.
 */
void files_serve(struct collector *c);
