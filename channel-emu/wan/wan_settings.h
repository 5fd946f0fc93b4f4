/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the stream relay: a YAML file, and options that override it. */
#ifndef CHANNEL_EMU_WAN_SETTINGS_H
#define CHANNEL_EMU_WAN_SETTINGS_H

#include <stdio.h>

#include "channel-emu/wan/wan_line.h"
#include "conf/conf_section.h"
#include "os/net/address.h"

#define WAN_CONNECTIONS_MAX 1024u
#define WAN_DELAY_MAX (3600 * TICK_S)

enum wan_direction { WAN_FORWARD, WAN_RETURN }; /* forward: from the one who connects */

struct wan_settings {
    char *listen, *to; /* owned */
    struct address listen_at, to_at;
    uint64_t connections; /* at once */
    struct wan_config directions[2];
    /* Of the run; borrowed. */
    const char *file, *control, *json;
    tick duration; /* 0: until a signal */
    bool realtime, check;
};

/* The defaults. 0 or HELIO_ENOMEM; wan_settings_fini in any case. */
int wan_settings_init(struct wan_settings *s);
void wan_settings_fini(struct wan_settings *s);

/* Applies a file to the settings, or an option that is written as one; errors are in *errors, for
 * an option without lines. */
void wan_settings_load(struct wan_settings *s, const char *path, struct conf_errors *errors);
void wan_settings_lay(struct wan_settings *s, const char *text, struct conf_errors *errors);
/* A change of a running relay: other values of its directions. */
struct wan_change {
    struct wan_config directions[2];
    bool stalls[2]; /* directions[].stalls is given */
    tick stall[2];  /* the line stands still for so long from now on; TICK_NEVER: not given */
};
/* Reads a change of these settings, which stay; what is wrong is in *errors. wan_change_fini in any
 * case. */
void wan_change_read(struct wan_change *c, const struct wan_settings *s, const char *text,
                     size_t len, struct conf_errors *errors);
/* The settings are those of the change, which has nothing more to free. */
void wan_change_lay(struct wan_change *c, struct wan_settings *s);
void wan_change_fini(struct wan_change *c);
/* Resolves the addresses; what is missing or does not fit is in *errors. */
void wan_settings_check(struct wan_settings *s, struct conf_errors *errors);

/* Maximum memory of octets in transit. */
uint64_t wan_settings_memory(const struct wan_settings *s);
/* As a file that reads back to the same. */
void wan_settings_print(const struct wan_settings *s, FILE *out);

/* Reads the options after argv[0], which override the file that they name. Ends the process with 2
 * and a message on errors, with 0 after --help. */
void wan_options_read(struct wan_settings *s, int argc, char **argv);

#endif
