/* SPDX-License-Identifier: Apache-2.0 */
/* The common command line of relay, bridge and check: the link (a scenario, and options that
 * override it) and the run. */
#ifndef CHANNEL_EMU_EMU_SETTINGS_H
#define CHANNEL_EMU_EMU_SETTINGS_H

#include "channel-emu/scenario/emu_pace.h"
#include "channel-emu/scenario/scenario.h"
#include "conf/conf_arguments.h"

#define EMU_DRAIN_AUTO TICK_NEVER /* as long as the longest delay */

struct emu_settings {
    struct scenario scenario;
    const char *file;      /* of the scenario; NULL: none */
    uint64_t buffer_bytes; /* of each socket or interface */
    tick batch;            /* frames are released at most this late by intention; EMU_BATCH_AUTO */
    tick duration;         /* 0: until a signal */
    tick drain;            /* at the end, go on for so long with what is inside; EMU_DRAIN_AUTO */
    tick stats;            /* interval of status lines; 0: none */
    bool realtime;         /* ask for real-time scheduling */
    const char *control;   /* path of the socket for changes in mid-run; NULL: none */
    const char *json;      /* file of the report, "-" for the standard output, NULL for none */
};

/* Parts of the commands' tables (conf/conf_arguments.h), for a struct emu_settings that
 * emu_settings_init has made; emu_settings_check is to be the `end` of the first. Wrong values end
 * the process with code 2. */
extern const struct argument emu_settings_options[];
void emu_settings_check(struct argp_state *state, void *base);
/* Both parts, of a table with its struct emu_settings at `offset`. */
#define EMU_SETTINGS_PARTS(at)                                                                     \
    {.options = emu_settings_options, .offset = (at), .end = emu_settings_check},                  \
    {                                                                                              \
        .options = emu_run_options, .offset = (at)                                                 \
    }

/* emu_run.c: the options of a run alone, and their defaults; the rest is zero. */
extern const struct argument emu_run_options[];
struct emu_settings emu_settings_default(void);

/* Sets the defaults and reads the scenario that argv names, so that options override it in any
 * order; `overhead` is the default of this command. Ends the process with code 2 on errors. */
void emu_settings_init(struct emu_settings *s, uint64_t overhead, int argc, char **argv);
/* Applies a scenario file to *s in the same way. */
void emu_settings_load(struct emu_settings *s, const char *path);
void emu_settings_fini(struct emu_settings *s);

/* The longest delay of the link without its queue: `told` or the longest configured delay, jitter,
 * interleaver. */
tick emu_settings_delay_max(const struct emu_settings *s, tick told);

/* The tolerance that holds: the configured one, or the longest of 50 us beyond a batch, a step of a
 * trace, and two full frames on the line, the latter two up to EMU_TOLERANCE_MAX. */
#define EMU_TOLERANCE_MAX (10 * TICK_MS)
tick emu_settings_tolerance(const struct emu_settings *s);

#endif
