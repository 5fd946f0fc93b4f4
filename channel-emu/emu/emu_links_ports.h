/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the links of a file, for the emulator and the simulator. */
#ifndef CHANNEL_EMU_EMU_LINKS_PORTS_H
#define CHANNEL_EMU_EMU_LINKS_PORTS_H

#include "channel-emu/emu/emu_relay_options.h"
#include "channel-emu/scenario/scenario_links.h"

/* The link as the relay's options have it: what it borrows is the file's; `run` is the rest of
 * them. What is not understood is in *errors. */
void emu_links_ports(const struct scenario_link *l, const struct emu_settings *run,
                     struct emu_relay_options *out, struct conf_errors *errors);

#endif
