/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu bridge`: its own options beside those of all commands. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_bridge.h"
#include "channel-emu/emu/emu_commands.h"
#include "os/arguments.h"

static const char doc[] =
    "Forwards Ethernet frames between two interfaces over an emulated link: delay, rate, contacts "
    "and losses. Needs root."
    "\vExamples:\n"
    "  helio-emu bridge --a eth1 --b eth2 --delay 5ms --rate 500Mbit/s --trace A\n"
    "  helio-emu bridge --a eth1 --b eth2 --scenario leo-pass.yaml \\\n"
    "      --exempt signalling\n"
    "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way.";

static void check_options(struct argp_state *state, void *base)
{
    const struct emu_bridge_options *o = base;
    if (o->port_name[0] == NULL || o->port_name[1] == NULL)
        argp_error(state, "%s is missing; write the name of an interface, such as eth1",
                   o->port_name[0] == NULL ? "--a" : "--b");
    else if (strcmp(o->port_name[0], o->port_name[1]) == 0)
        argp_error(state, "--a and --b are the same interface");
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "\"%s\" is one word too many; there are only options", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct emu_bridge_options, member)

static const struct argument options[] = {
    {NULL, .help = "Between which interfaces:", .group = 1},
    {"a", 0, "INTERFACE", .help = "Frames that arrive here go forward", .group = 1,
     FIELD(port_name[0])},
    {"b", 0, "INTERFACE", .help = "Frames that arrive here go back", .group = 1,
     FIELD(port_name[1])},
    {"exempt", 0, "none|signalling",
     .help = "ARP and IPv6 neighbour discovery are only delayed, or nothing is exempt (default)",
     .group = 1, .type = OPTION_CHOICE, .choices = "none|signalling",
     FIELD(settings.scenario.exempt)},
    {"io", 0, "ring|pcap", .help = "How frames are read and sent (default ring)", .group = 1,
     .type = OPTION_CHOICE, .choices = "ring|pcap", FIELD(io)},
    {0}};

static int run_bridge(const struct emu_bridge_options *o)
{
    FILE *json = emu_json_open(o->settings.json);
    struct emu_bridge *b = calloc(1, sizeof *b);
    if (json == NULL || b == NULL) {
        if (b == NULL)
            fputs("helio-emu: out of memory\n", stderr);
        free(b);
        return 1;
    }
    int rc = emu_bridge_init(b, o, stderr);
    if (rc == 0) {
        rc = emu_bridge_run(b, stderr);
        if (!emu_report_end(&b->link, "bridge", json))
            rc = -1;
    }
    emu_bridge_fini(b);
    free(b);
    return rc == HELIO_EFORMAT ? 2 : rc < 0 ? 1 : 0;
}

int emu_bridge_main(int argc, char **argv)
{
    static const struct argument_part parts[] = {
        EMU_SETTINGS_PARTS(offsetof(struct emu_bridge_options, settings)), {0}};
    static const struct argument_table table = {
        .options = options, .parts = parts, .word = refuse_word, .end = check_options, .doc = doc};
    struct emu_bridge_options o = {.io = EMU_IO_RING};
    emu_settings_init(&o.settings, 0, argc, argv);
    argument_table_parse(&table, argc, argv, &o);
    int rc = run_bridge(&o);
    emu_settings_fini(&o.settings);
    return rc;
}
