/* SPDX-License-Identifier: Apache-2.0 */
/* Several links in one process, from a file (scenario_links.h): the loop's relays, shared
 * transmitters, hand-over, report and control. */
#ifndef CHANNEL_EMU_EMU_LINKS_H
#define CHANNEL_EMU_EMU_LINKS_H

#include "channel-emu/emu/emu_loop.h"
#include "channel-emu/scenario/scenario_links_run.h"

struct emu_links {
    struct scenario_links file;
    const char *path;                /* of it; borrowed */
    struct emu_settings run;         /* its scenario is not used */
    struct emu_relay_options *ports; /* owned; of each link, its scenario borrowed from the file */
    struct links_run between;
    struct emu_loop loop;
};

/* Opens all. 0, or HELIO_E* with a message on `say`; HELIO_EFORMAT: the file is wrong.
 * emu_links_fini in any case. */
int emu_links_init(struct emu_links *l, const char *path, const struct emu_settings *run,
                   FILE *say);
void emu_links_fini(struct emu_links *l);

/* emu_links_report.c: all links, transmitters and hand-overs, and the verdict in all. */
void emu_links_text(const struct emu_loop *loop, FILE *to);
void emu_links_line(const struct emu_loop *loop, FILE *to);
void emu_links_json(const struct emu_links *l, FILE *to);
/* False when an output is not whole. */
bool emu_links_whole(const struct emu_links *l);
/* Of all, or of the link of this name (NULL: there is none). */
json_t *emu_links_status(const struct emu_links *l, const char *name);
/* emu_links_control.c: changes by name, and the status; whom: a struct emu_links. */
emu_obey emu_links_obey;

#endif
