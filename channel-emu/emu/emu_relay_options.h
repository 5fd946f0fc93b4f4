/* SPDX-License-Identifier: Apache-2.0 */
/* What the relay was asked to do; the simulator takes the same words. */
#ifndef CHANNEL_EMU_EMU_RELAY_OPTIONS_H
#define CHANNEL_EMU_EMU_RELAY_OPTIONS_H

#include "channel-emu/emu/emu_settings.h"
#include "channel-emu/scenario/scenario_links.h"
#include "os/net/address.h"

struct emu_relay_options {
    struct emu_settings settings;
    struct address listen, to, return_from, return_to;
    bool has_return_from, has_return_to;
};

/* Reads the options behind argv[0]. Exits with 2 and a message when they are wrong, with 0 after
 * --help. emu_settings_fini(&o->settings) in the end. */
void emu_relay_options_read(struct emu_relay_options *o, int argc, char **argv);

/* The link as the relay's options have it: what it borrows is the file's; `run` is the rest of
 * them. What is not understood is in *errors. */
void emu_links_ports(const struct scenario_link *l, const struct emu_settings *run,
                     struct emu_relay_options *out, struct conf_errors *errors);

#endif
