/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that a person can ask of the screen. The key tables (keys.c) map
 * keys to these, views answer them, and `?` and docs/tui.md are made from this
 * list, so that no key exists without its help.
 */
#ifndef PEAKTOP_REQUEST_H
#define PEAKTOP_REQUEST_H

/* GROUP(title) starts a group; REQUEST(NAME, "name", "what it does"). */
#define REQUEST_LIST(GROUP, REQUEST)                                                               \
	GROUP("Moving")                                                                            \
	REQUEST(UP, "up", "One row up")                                                            \
	REQUEST(DOWN, "down", "One row down")                                                      \
	REQUEST(LEFT, "left", "To the left: previous peak or column; in a tree, close")            \
	REQUEST(RIGHT, "right", "To the right: next peak or column; in a tree, open")              \
	REQUEST(FIRST, "first", "First row")                                                       \
	REQUEST(LAST, "last", "Last row")                                                          \
	REQUEST(HALF_UP, "half-up", "Half a page up")                                              \
	REQUEST(HALF_DOWN, "half-down", "Half a page down")                                        \
	REQUEST(PAGE_UP, "page-up", "One page up")                                                 \
	REQUEST(PAGE_DOWN, "page-down", "One page down")                                           \
	REQUEST(NEXT_PANE, "next-pane", "Next pane")                                               \
	REQUEST(PREVIOUS_PANE, "previous-pane", "Previous pane")                                   \
	REQUEST(COSTLIEST, "costliest", "To the row, peak or child with the most time")            \
	REQUEST(CHOOSE_PEAK, "choose-peak", "Choose this peak")                                    \
	GROUP("Views")                                                                             \
	REQUEST(OPEN, "open", "Open it; a peak: descend to its cause; a frame: source")            \
	REQUEST(CLOSE, "close", "Close this view; at the first one, quit")                         \
	REQUEST(BACK, "back", "Close this view; at the first one, drop the filter")                \
	REQUEST(QUIT, "quit", "Quit")                                                              \
	REQUEST(HELP, "help", "Help: the keys of this view")                                       \
	REQUEST(INFORMATION, "information", "Target, host, cost, losses and all notes")            \
	REQUEST(PAUSE, "pause", "Freeze the view; the collection goes on")                         \
	REQUEST(REPAINT, "repaint", "Paint the screen again")                                      \
	REQUEST(SUSPEND, "suspend", "Detach all probes and stop until `fg`")                       \
	GROUP("Finding")                                                                           \
	REQUEST(SEARCH, "search", "Filter the list, or find text")                                 \
	REQUEST(FIND_NEXT, "find-next", "Next match")                                              \
	REQUEST(FIND_PREVIOUS, "find-previous", "Previous match")                                  \
	GROUP("What is watched")                                                                   \
	REQUEST(WATCH, "watch-function", "Watch another function: search by name")                 \
	REQUEST(UNWATCH, "unwatch", "Stop watching the selected function")                         \
	REQUEST(ASK_AGAIN, "ask-again",                                                            \
		"Ask again: arm the function anew, begin the descent anew")                        \
	REQUEST(LAYERS, "layers", "Choose the layers that are measured")                           \
	REQUEST(SPAN, "span", "Figures of the whole run, or of the last slice")                    \
	REQUEST(REVERSE, "reverse", "Reverse the order")                                           \
	GROUP("Detail")                                                                            \
	REQUEST(EXPAND, "expand", "Show the details or the children of this one")                  \
	REQUEST(COLLAPSE, "collapse", "Hide the details or the children of this one")              \
	REQUEST(EXPAND_ALL, "expand-all", "Show the details or the children of all")               \
	REQUEST(COLLAPSE_ALL, "collapse-all", "Hide the details or the children of all")           \
	REQUEST(ALL_PEAKS, "all-peaks", "List all peaks, or fold small ones and shadows again")    \
	REQUEST(CODE, "code", "The instructions around this frame")                                \
	REQUEST(SHORTER, "shorter-columns", "Less time in a column of the heatmap")                \
	REQUEST(LONGER, "longer-columns", "More time in a column of the heatmap")                  \
	GROUP("Saving")                                                                            \
	REQUEST(SNAPSHOT, "snapshot", "Write a snapshot of the session to a file")                 \
	REQUEST(VIEW_TEXT, "view-text", "Write this view as text to a file")                       \
	GROUP("Replay")                                                                            \
	REQUEST(STEP, "step", "One slice on")                                                      \
	REQUEST(STEP_BACK, "step-back", "One slice back")                                          \
	REQUEST(JUMP, "jump", "Jump to a time")                                                    \
	REQUEST(REWIND, "rewind", "To the beginning")                                              \
	GROUP("In a prompt")                                                                       \
	REQUEST(ACCEPT, "accept", "Take it")                                                       \
	REQUEST(CANCEL, "cancel", "Leave the prompt")                                              \
	REQUEST(NEXT, "next", "Next candidate")                                                    \
	REQUEST(PREVIOUS, "previous", "Previous candidate")                                        \
	REQUEST(COMPLETE, "complete", "Complete with the selected candidate")                      \
	REQUEST(CURSOR_LEFT, "cursor-left", "One character to the left")                           \
	REQUEST(CURSOR_RIGHT, "cursor-right", "One character to the right")                        \
	REQUEST(CURSOR_HOME, "cursor-home", "To the beginning of the text")                        \
	REQUEST(CURSOR_END, "cursor-end", "To the end of the text")                                \
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

/* "" fields for a number that is no request. */
const struct request_info *request_info(enum request request);

#endif
