/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All requests that the user can make on the screen. The key tables (keys.c) map keys to requests,
 * and views carry them out. The help (`?`) and docs/tui.md are generated from this list, so that
 * every key has its help. */
#pragma once

/* GROUP(title) starts a group; REQUEST(NAME, "name", "what it does"). */
#define REQUEST_LIST(GROUP, REQUEST)                                                               \
	GROUP("Moving")                                                                            \
	REQUEST(UP, "up", "One row up")                                                            \
	REQUEST(DOWN, "down", "One row down")                                                      \
	REQUEST(LEFT, "left", "Previous peak or column; in a tree, collapse")                      \
	REQUEST(RIGHT, "right", "Next peak or column; in a tree, expand")                          \
	REQUEST(FIRST, "first", "First row")                                                       \
	REQUEST(LAST, "last", "Last row")                                                          \
	REQUEST(HALF_UP, "half-up", "Half a page up")                                              \
	REQUEST(HALF_DOWN, "half-down", "Half a page down")                                        \
	REQUEST(PAGE_UP, "page-up", "One page up")                                                 \
	REQUEST(PAGE_DOWN, "page-down", "One page down")                                           \
	REQUEST(NEXT_PANE, "next-pane", "Next pane")                                               \
	REQUEST(PREVIOUS_PANE, "previous-pane", "Previous pane")                                   \
	REQUEST(COSTLIEST, "costliest", "Go to the row, peak or child with the most time")         \
	REQUEST(CHOOSE_PEAK, "choose-peak",                                                        \
		"Select the peak, or the part of all time, with this number")                      \
	GROUP("Views")                                                                             \
	REQUEST(OPEN, "open",                                                                      \
		"Open the selected line: operation, cause, source, chains of a task")              \
	REQUEST(CLOSE, "close", "Close this view; quit from the first view")                       \
	REQUEST(BACK, "back", "Close this view; clear the filter in the first view")               \
	REQUEST(QUIT, "quit", "Quit")                                                              \
	REQUEST(HELP, "help", "Help: the keys of this view")                                       \
	REQUEST(INFORMATION, "information", "Show target, host, cost, losses and all notes")       \
	REQUEST(EVENTS, "events", "Show the event log")                                            \
	REQUEST(SLOW_CALLS, "slow-calls", "Show calls that were slower than usual, one by one")    \
	REQUEST(WHY, "why", "Explain slow calls: of this column, open call or event")              \
	REQUEST(CHAINS, "chains", "Show for whom the target waits")                                \
	REQUEST(CRITICAL, "critical", "Show the critical path of the target")                      \
	REQUEST(WALK, "walk", "Show where the threads spend their time")                           \
	REQUEST(THREADS, "threads", "Show the threads: on CPU, waiting, in which operation")       \
	REQUEST(PAUSE, "pause", "Freeze the view; measuring continues")                            \
	REQUEST(REPAINT, "repaint", "Redraw the screen")                                           \
	REQUEST(SUSPEND, "suspend", "Detach all probes and stop until `fg`")                       \
	GROUP("Finding")                                                                           \
	REQUEST(SEARCH, "search", "Filter the list, or find text")                                 \
	REQUEST(FIND_NEXT, "find-next", "Next match")                                              \
	REQUEST(FIND_PREVIOUS, "find-previous", "Previous match")                                  \
	GROUP("What is watched")                                                                   \
	REQUEST(WATCH, "watch-function", "Watch another function: search by name")                 \
	REQUEST(UNWATCH, "unwatch", "Stop watching the selected function")                         \
	REQUEST(ASK_AGAIN, "ask-again", "Start over: the probes of the function, or the descent")  \
	REQUEST(LAYERS, "layers", "Choose the layers to measure")                                  \
	REQUEST(SPAN, "span", "Switch between figures of the whole run and of the last slice")     \
	REQUEST(REVERSE, "reverse", "Reverse the sort order")                                      \
	REQUEST(COLUMNS, "columns", "Choose, move and sort by columns of the list")                \
	REQUEST(SHOW_COLUMN, "show-column", "Show or hide the selected column")                    \
	REQUEST(COLUMN_LEFT, "column-left", "Move the selected column to the left")                \
	REQUEST(COLUMN_RIGHT, "column-right", "Move the selected column to the right")             \
	REQUEST(SORT_COLUMN, "sort-column", "Sort the list by the selected column")                \
	REQUEST(USUAL_COLUMNS, "usual-columns", "Show as many columns as fit, in the usual order") \
	REQUEST(SAVE_COLUMNS, "save-columns", "Write columns and sort order to the configuration") \
	REQUEST(CHOOSE_THREAD, "choose-thread",                                                    \
		"Count only calls of this thread and others chosen so")                            \
	REQUEST(ALL_THREADS, "all-threads", "Count the calls of all threads again")                \
	REQUEST(KERNEL_THREADS, "kernel-threads", "Show or hide kernel threads")                   \
	GROUP("Detail")                                                                            \
	REQUEST(EXPAND, "expand", "Show the details or children of the selected line")             \
	REQUEST(COLLAPSE, "collapse", "Hide the details or children of the selected line")         \
	REQUEST(EXPAND_ALL, "expand-all", "Show the details or children of all lines")             \
	REQUEST(COLLAPSE_ALL, "collapse-all", "Hide the details or children of all lines")         \
	REQUEST(ALL_PEAKS, "all-peaks", "List all peaks, or hide small peaks and shadows")         \
	REQUEST(CODE, "code", "Show the instructions around the selected frame")                   \
	REQUEST(SHORTER, "shorter-columns", "Less time per column of the heat map")                \
	REQUEST(LONGER, "longer-columns", "More time per column of the heat map")                  \
	REQUEST(FIT, "fit", "Go back to now; then show the whole run and all latencies")           \
	REQUEST(ZOOM_IN, "zoom-in", "Show fewer latencies in finer rows; timeline: less time")     \
	REQUEST(ZOOM_OUT, "zoom-out", "Show more latencies; timeline: more time")                  \
	REQUEST(PER_PROCESS, "per-process", "Chains per process, or per thread again")             \
	REQUEST(MAP, "map", "Move the cursor in the heat map with the arrow keys")                 \
	GROUP("Time")                                                                              \
	REQUEST(EARLIER, "earlier",                                                                \
		"Show an earlier second or span; in the map: from the cursor on")                  \
	REQUEST(LATER, "later", "Show a later second or span; in the map: up to the cursor")       \
	REQUEST(SHORTER_SPAN, "shorter-span", "Show half as much of the past")                     \
	REQUEST(LONGER_SPAN, "longer-span", "Show twice as much of the past")                      \
	REQUEST(NOW, "now", "Go back from the past to now")                                        \
	REQUEST(COMPARE, "compare", "Compare what is shown with another span or a saved session")  \
	REQUEST(BOOKMARK, "bookmark", "Set a bookmark with a note at the time that is shown")      \
	REQUEST(NEXT_BOOKMARK, "next-bookmark", "Show the time of the next older bookmark")        \
	GROUP("Saving")                                                                            \
	REQUEST(SNAPSHOT, "snapshot", "Write a snapshot of the session to a file")                 \
	REQUEST(VIEW_TEXT, "view-text", "Write this view as text to a file")                       \
	GROUP("Replay")                                                                            \
	REQUEST(STEP, "step", "One slice forward")                                                 \
	REQUEST(STEP_BACK, "step-back", "One slice back")                                          \
	REQUEST(JUMP, "jump", "Go to a time")                                                      \
	REQUEST(REWIND, "rewind", "Go to the beginning")                                           \
	REQUEST(RESUME, "resume", "Go on with a saved descent in a running process")               \
	GROUP("In a prompt")                                                                       \
	REQUEST(ACCEPT, "accept", "Accept the text")                                               \
	REQUEST(CANCEL, "cancel", "Leave the prompt")                                              \
	REQUEST(NEXT, "next", "Next candidate")                                                    \
	REQUEST(PREVIOUS, "previous", "Previous candidate")                                        \
	REQUEST(COMPLETE, "complete", "Complete with the selected candidate")                      \
	REQUEST(CURSOR_LEFT, "cursor-left", "One character to the left")                           \
	REQUEST(CURSOR_RIGHT, "cursor-right", "One character to the right")                        \
	REQUEST(CURSOR_HOME, "cursor-home", "Go to the beginning of the text")                     \
	REQUEST(CURSOR_END, "cursor-end", "Go to the end of the text")                             \
	REQUEST(ERASE, "erase", "Erase the character before the cursor")                           \
	REQUEST(ERASE_NEXT, "erase-next", "Erase the character under the cursor")                  \
	REQUEST(ERASE_WORD, "erase-word", "Erase the word before the cursor")                      \
	REQUEST(ERASE_ALL, "erase-all", "Erase the text")                                          \
	REQUEST(TOGGLE, "toggle", "Switch this layer on or off")

enum request {
	REQUEST_NONE = 0,
#define PEAKTOP_GROUP(title)
#define PEAKTOP_REQUEST(name, text, help) REQUEST_##name,
	REQUEST_LIST(PEAKTOP_GROUP, PEAKTOP_REQUEST)
#undef PEAKTOP_GROUP
#undef PEAKTOP_REQUEST
	    REQUEST_MAX
};

struct request_info {
	const char *group;
	const char *name;
	const char *help;
};

/* The name and help of a request; its fields are "" for an unknown number. */
const struct request_info *request_info(enum request request);
