/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of `helio-emu relay` and `bridge`, read with argp. Each wrong value ends with a
 * message that names the option and what would be right. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/emu_link.h"

enum key {
    LISTEN = 256,
    TO,
    RETURN_FROM,
    RETURN_TO,
    PORT_A,
    PORT_B,
    IO,
    EXEMPT,
    DELAY,
    DELAY_FORWARD,
    DELAY_RETURN,
    JITTER,
    RATE,
    RATE_RETURN,
    OVERHEAD,
    TRACE,
    TRACE_RETURN,
    TRACE_START,
    TRACE_ORIGIN,
    SEED,
    LOOP,
    QUEUE,
    BUFFER,
    BATCH,
    DURATION,
    STATS,
    JSON,
    PRIORITY
};

static const struct argp_option relay_table[] = {
    {NULL, 0, NULL, 0, "Where traffic goes:", 1},
    {"listen", LISTEN, "ADDR:PORT", 0, "Receive here; port 0 chooses one", 1},
    {"to", TO, "ADDR:PORT", 0, "Send forward traffic there", 1},
    {"return-from", RETURN_FROM, "ADDR:PORT", 0,
     "What comes to --listen from this address is return traffic too (what comes from --to always "
     "is)",
     1},
    {"return-to", RETURN_TO, "ADDR:PORT", 0,
     "Where such return traffic goes (default: the forward peer)", 1},
    {0}};

static const struct argp_option bridge_table[] = {
    {NULL, 0, NULL, 0, "Between which interfaces:", 1},
    {"a", PORT_A, "INTERFACE", 0, "Frames that arrive here go forward", 1},
    {"b", PORT_B, "INTERFACE", 0, "Frames that arrive here go back", 1},
    {"exempt", EXEMPT, "none|signalling", 0,
     "ARP and IPv6 neighbour discovery are only delayed, or nothing is exempt (default)", 1},
    {"io", IO, "ring|pcap", 0, "How frames are read and sent (default ring)", 1},
    {0}};

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "The link:", 2},
    {"delay", DELAY, "DURATION", 0, "Delay in each direction (default 0)", 2},
    {"delay-forward", DELAY_FORWARD, "DURATION", 0, "Delay forward only", 2},
    {"delay-return", DELAY_RETURN, "DURATION", 0, "Delay of the return only", 2},
    {"jitter", JITTER, "DURATION", 0, "Uniform extra delay forward; frames may overtake", 2},
    {"rate", RATE, "RATE", 0, "Serialise forward frames at this rate (default unlimited)", 2},
    {"rate-return", RATE_RETURN, "RATE", 0, "The same for the return", 2},
    {"overhead", OVERHEAD, "BYTES", 0,
     "Bytes on the air beside each frame or datagram's payload (default: bridge 0, relay 42: UDP, "
     "IPv4, Ethernet)",
     2},
    {"queue", QUEUE, "SIZE", 0, "Limit of what waits for the line (default 64MB; 0: none)", 2},
    {NULL, 0, NULL, 0, "Erasures:", 3},
    {"trace", TRACE, "TRACE", 0,
     "Forward: a file, A, F, H, iid:P (independent, probability P), or none (default)", 3},
    {"trace-return", TRACE_RETURN, "TRACE", 0, "The same for the return (default none)", 3},
    {"trace-start", TRACE_START, "DURATION", 0, "Where in the trace to begin (default 0)", 3},
    {"trace-origin", TRACE_ORIGIN, "first|start", 0,
     "The trace begins with the first frame of its direction (default), or with the process", 3},
    {"loop", LOOP, NULL, 0, "The trace begins again at its end (always so)", 3},
    {"seed", SEED, "N", 0, "Seed of independent erasures and jitter (default 1)", 3},
    {NULL, 0, NULL, 0, "The run:", 4},
    {"duration", DURATION, "DURATION", 0, "Stop after this time (default: at Ctrl-C)", 4},
    {"json", JSON, "FILE", 0, "Write the counters at the end; - is the standard output", 4},
    {"stats", STATS, "DURATION", 0, "Print a line of counters at this interval", 4},
    {"batch", BATCH, "DURATION", 0, "Release frames in batches of this time (default 20us)", 4},
    {"priority", PRIORITY, "realtime|normal", 0,
     "Real-time scheduling where it is permitted (default), or not", 4},
    {"socket-buffer", BUFFER, "SIZE", 0, "Buffer of each socket or interface (default 32MB)", 4},
    {0}};

#define DOC_END "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way."

static const char relay_doc[] =
    "Relays UDP datagrams over an emulated link: delay, rate, and erasures by a trace."
    "\vExamples:\n"
    "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 \\\n"
    "      --delay 5ms --rate 500Mbit/s --trace A --json counters.json\n"
    "  helio-emu relay --listen '[::1]:5000' --to '[::1]:6000' --trace iid:0.05\n" DOC_END;

static const char bridge_doc[] =
    "Forwards Ethernet frames between two interfaces over an emulated link: delay, rate, and "
    "erasures by a trace. Needs root."
    "\vExamples:\n"
    "  helio-emu bridge --a eth1 --b eth2 --delay 5ms --rate 500Mbit/s --trace A\n"
    "  helio-emu bridge --a eth1 --b eth2 --trace F --exempt signalling --json out.json\n" DOC_END;

static void wrong(struct argp_state *state, const char *option, const char *arg, const char *right)
{
    argp_error(state, "%s '%s' is wrong; right is %s", option, arg, right);
}

static void address(struct argp_state *state, const char *option, const char *arg,
                    struct emu_addr *out)
{
    char error[256];
    if (emu_addr_parse(out, arg, error, sizeof error) < 0)
        argp_error(state, "%s '%s': %s", option, arg, error);
}

static tick duration(struct argp_state *state, const char *option, const char *arg)
{
    tick t = 0;
    if (units_duration(arg, &t) < 0 || t > 86400 * TICK_S * 365)
        wrong(state, option, arg, units_duration_hint);
    return t;
}

static uint64_t rate(struct argp_state *state, const char *option, const char *arg)
{
    uint64_t bps = 0;
    if (units_rate(arg, &bps) < 0)
        wrong(state, option, arg, units_rate_hint);
    return bps;
}

static uint64_t size(struct argp_state *state, const char *option, const char *arg)
{
    uint64_t bytes = 0;
    if (units_size(arg, &bytes) < 0)
        wrong(state, option, arg, units_size_hint);
    return bytes;
}

static uint64_t count(struct argp_state *state, const char *option, const char *arg, uint64_t max)
{
    uint64_t n = 0;
    if (units_count(arg, max, &n) < 0)
        argp_error(state, "%s '%s' is wrong; right is a whole number from 0 to %llu", option, arg,
                   (unsigned long long)max);
    return n;
}

static void trace(struct argp_state *state, const char *option, const char *arg,
                  struct emu_way_options *way)
{
    char error[TRACE_FILE_ERROR_MAX];
    trace_source_fini(&way->trace);
    int rc = trace_source_read(&way->trace, arg, error);
    if (rc == HELIO_ENOMEM)
        argp_failure(state, 1, 0, "%s: %s", option, error);
    if (rc < 0)
        argp_error(state, "%s: %s", option, error);
    way->trace_name = arg;
}

static error_t place(int key, char *arg, struct argp_state *state, struct emu_options *o)
{
    switch (key) {
    case LISTEN:
        address(state, "--listen", arg, &o->listen);
        return 0;
    case TO:
        address(state, "--to", arg, &o->to);
        return 0;
    case RETURN_FROM:
        address(state, "--return-from", arg, &o->return_from);
        o->has_return_from = true;
        return 0;
    case RETURN_TO:
        address(state, "--return-to", arg, &o->return_to);
        o->has_return_to = true;
        return 0;
    case PORT_A:
        o->port_name[0] = arg;
        return 0;
    case PORT_B:
        o->port_name[1] = arg;
        return 0;
    case EXEMPT:
        o->exempt = strcmp(arg, "signalling") == 0;
        if (!o->exempt && strcmp(arg, "none") != 0)
            wrong(state, "--exempt", arg, "none or signalling");
        return 0;
    case IO:
        o->io = strcmp(arg, "pcap") == 0 ? EMU_IO_PCAP : EMU_IO_RING;
        if (o->io == EMU_IO_RING && strcmp(arg, "ring") != 0)
            wrong(state, "--io", arg, "ring or pcap");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t link_setting(int key, char *arg, struct argp_state *state, struct emu_options *o)
{
    struct emu_way_options *forward = &o->way[EMU_FORWARD], *back = &o->way[EMU_RETURN];
    switch (key) {
    case DELAY:
        forward->delay = back->delay = duration(state, "--delay", arg);
        return 0;
    case DELAY_FORWARD:
        forward->delay = duration(state, "--delay-forward", arg);
        return 0;
    case DELAY_RETURN:
        back->delay = duration(state, "--delay-return", arg);
        return 0;
    case JITTER:
        forward->jitter = duration(state, "--jitter", arg);
        return 0;
    case RATE:
        forward->rate_bps = rate(state, "--rate", arg);
        return 0;
    case RATE_RETURN:
        back->rate_bps = rate(state, "--rate-return", arg);
        return 0;
    case OVERHEAD:
        o->overhead = (uint32_t)count(state, "--overhead", arg, 65535);
        return 0;
    case QUEUE:
        o->queue_bytes = size(state, "--queue", arg);
        return 0;
    case TRACE:
        trace(state, "--trace", arg, forward);
        return 0;
    case TRACE_RETURN:
        trace(state, "--trace-return", arg, back);
        return 0;
    case TRACE_START:
        forward->trace_start = back->trace_start = duration(state, "--trace-start", arg);
        return 0;
    case TRACE_ORIGIN:
        o->origin_start = strcmp(arg, "start") == 0;
        if (!o->origin_start && strcmp(arg, "first") != 0)
            wrong(state, "--trace-origin", arg, "first or start");
        return 0;
    case LOOP:
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_places(struct argp_state *state, const struct emu_options *o)
{
    if (o->bridge) {
        if (o->port_name[0] == NULL || o->port_name[1] == NULL)
            argp_error(state, "%s is missing; right is the name of an interface, such as eth1",
                       o->port_name[0] == NULL ? "--a" : "--b");
        if (strcmp(o->port_name[0], o->port_name[1]) == 0)
            argp_error(state, "--a and --b are the same interface");
        return;
    }
    if (o->listen.len == 0 || o->to.len == 0)
        argp_error(state, "%s is missing; right is ADDRESS:PORT, such as 127.0.0.1:4556",
                   o->listen.len == 0 ? "--listen" : "--to");
    if (emu_addr_equal(&o->listen, &o->to))
        argp_error(state, "--to is the address of --listen; frames would go round for ever");
}

static error_t run_setting(int key, char *arg, struct argp_state *state, struct emu_options *o)
{
    switch (key) {
    case SEED:
        o->seed = count(state, "--seed", arg, UINT64_MAX);
        return 0;
    case BUFFER:
        o->buffer_bytes = size(state, "--socket-buffer", arg);
        return 0;
    case BATCH:
        o->batch = duration(state, "--batch", arg);
        return 0;
    case DURATION:
        o->duration = duration(state, "--duration", arg);
        return 0;
    case STATS:
        o->stats = duration(state, "--stats", arg);
        return 0;
    case PRIORITY:
        o->realtime = strcmp(arg, "realtime") == 0;
        if (!o->realtime && strcmp(arg, "normal") != 0)
            wrong(state, "--priority", arg, "realtime or normal");
        return 0;
    case JSON:
        o->json = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is not an option", arg);
        return 0;
    case ARGP_KEY_END:
        check_places(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_link(int key, char *arg, struct argp_state *state)
{
    static error_t (*const groups[])(int, char *, struct argp_state *,
                                     struct emu_options *) = {link_setting, run_setting};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        error_t rc = groups[i](key, arg, state, state->input);
        if (rc != ARGP_ERR_UNKNOWN)
            return rc;
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_place(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_INIT)
        state->child_inputs[0] = state->input;
    return place(key, arg, state, state->input);
}

void emu_options_read(struct emu_options *o, bool bridge, int argc, char **argv)
{
    const struct argp link = {.options = table, .parser = parse_link};
    const struct argp_child children[] = {{.argp = &link}, {0}};
    const struct argp argp = {.options = bridge ? bridge_table : relay_table,
                              .parser = parse_place,
                              .doc = bridge ? bridge_doc : relay_doc,
                              .children = children};
    *o = (struct emu_options){.bridge = bridge,
                              .overhead = bridge ? 0 : 42,
                              .queue_bytes = 64000000,
                              .seed = 1,
                              .buffer_bytes = 32000000,
                              .batch = 20 * TICK_US,
                              .realtime = true};
    o->way[EMU_FORWARD].trace_name = o->way[EMU_RETURN].trace_name = "none";
    argp_parse(&argp, argc, argv, 0, NULL, o);
}

void emu_options_fini(struct emu_options *o)
{
    trace_source_fini(&o->way[EMU_FORWARD].trace);
    trace_source_fini(&o->way[EMU_RETURN].trace);
}
