/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu bridge`: its own options beside those of all commands. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_bridge.h"
#include "channel-emu/emu/emu_commands.h"
#include "os/arguments.h"

enum key { PORT_A = 256, PORT_B, EXEMPT, IO };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "Between which interfaces:", 1},
    {"a", PORT_A, "INTERFACE", 0, "Frames that arrive here go forward", 1},
    {"b", PORT_B, "INTERFACE", 0, "Frames that arrive here go back", 1},
    {"exempt", EXEMPT, "none|signalling", 0,
     "ARP and IPv6 neighbour discovery are only delayed, or nothing is exempt (default)", 1},
    {"io", IO, "ring|pcap", 0, "How frames are read and sent (default ring)", 1},
    {0}};

static const char doc[] =
    "Forwards Ethernet frames between two interfaces over an emulated link: delay, rate, contacts "
    "and losses. Needs root."
    "\vExamples:\n"
    "  helio-emu bridge --a eth1 --b eth2 --delay 5ms --rate 500Mbit/s --trace A\n"
    "  helio-emu bridge --a eth1 --b eth2 --scenario leo-pass.yaml \\\n"
    "      --exempt signalling\n"
    "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way.";

static void check_all(struct argp_state *state, const struct emu_bridge_options *o)
{
    if (o->port_name[0] == NULL || o->port_name[1] == NULL)
        argp_error(state, "%s is missing; right is the name of an interface, such as eth1",
                   o->port_name[0] == NULL ? "--a" : "--b");
    else if (strcmp(o->port_name[0], o->port_name[1]) == 0)
        argp_error(state, "--a and --b are the same interface");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct emu_bridge_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->settings;
        return 0;
    case PORT_A:
        o->port_name[0] = arg;
        return 0;
    case PORT_B:
        o->port_name[1] = arg;
        return 0;
    case EXEMPT:
        o->settings.scenario.exempt = strcmp(arg, "signalling") == 0;
        if (!o->settings.scenario.exempt && strcmp(arg, "none") != 0)
            argp_error(state, "--exempt '%s' is wrong; right is none or signalling", arg);
        return 0;
    case IO:
        o->io = strcmp(arg, "pcap") == 0 ? EMU_IO_PCAP : EMU_IO_RING;
        if (o->io == EMU_IO_RING && strcmp(arg, "ring") != 0)
            argp_error(state, "--io '%s' is wrong; right is ring or pcap", arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is not an option", arg);
        return 0;
    case ARGP_KEY_END:
        check_all(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    static const struct argp_child children[] = {{&emu_settings_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {table, parse_option, NULL, doc, children, NULL, NULL};
    struct emu_bridge_options o = {.io = EMU_IO_RING};
    emu_settings_init(&o.settings, 0, argc, argv);
    argument_parse(&argp, argc, argv, 0, &o);
    int rc = run_bridge(&o);
    emu_settings_fini(&o.settings);
    return rc;
}
