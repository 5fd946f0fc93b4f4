/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a running emulator: a UNIX datagram socket. Each request is a change (struct
 * scenario_change, as YAML), answered with "ok …" or an error; or "status" or "now", answered with
 * counters as JSON.
 */
#ifndef CHANNEL_EMU_EMU_CONTROL_H
#define CHANNEL_EMU_EMU_CONTROL_H

#include "channel-emu/emu/emu_link.h"

#define EMU_CONTROL_TEXT_MAX 4096u    /* of a message */
#define EMU_CONTROL_ANSWER_MAX 65536u /* of its answer */

struct emu_control {
    int fd;           /* -1: none was asked for */
    const char *path; /* borrowed */
};

/* Replaces a socket without a server; path NULL: no control. Returns 0, or HELIO_EIO with a message
 * on `say`. */
int emu_control_open(struct emu_control *c, const char *path, FILE *say);
void emu_control_close(struct emu_control *c);

/* Executes a request at `now`, and logs it on `say`. Returns 0 and the answer, or HELIO_ENOMEM. */
typedef int emu_obey(void *whom, const char *text, size_t len, FILE *say, tick now,
                     char answer[EMU_CONTROL_ANSWER_MAX]);
/* … for one link, a struct emu_link. */
emu_obey emu_control_link;

/* The next message: 1, 0 when there is none, or HELIO_ENOMEM. What arrived before `now` has been
 * read. */
int emu_control_serve(struct emu_control *c, emu_obey *obey, void *whom, tick now, FILE *say);
#define EMU_CONTROL_BURST 16 /* messages at once, before the loop goes on */

/* For executors: refuse: all errors, as the answer. done: the change at `now`, as the answer and on
 * `say`. A JSON object (which is freed) as the answer. */
void emu_control_refuse(const struct conf_errors *e, char answer[EMU_CONTROL_ANSWER_MAX]);
void emu_control_done(const struct emu_link *l, const char *text, tick now, FILE *say,
                      char answer[EMU_CONTROL_ANSWER_MAX]);
void emu_control_show(json_t *o, char answer[EMU_CONTROL_ANSWER_MAX]);
/* Queries in place of a change; with several links a name follows, or (status) may follow. */
#define EMU_CONTROL_STATUS "status"
#define EMU_CONTROL_NOW "now"

/* The other end: questions to a running emulator. */
/* Is this path short enough for a socket? */
bool emu_ask_path_ok(const char *path);

/* Sends `text`, and waits at most 5 s for the answer, a text. 0, or -1 with errno. SIGINT, SIGTERM
 * and SIGHUP end the waiting, and are raised again at its end. */
int emu_ask(const char *path, const char *text, char answer[EMU_CONTROL_ANSWER_MAX + 1]);

#endif
