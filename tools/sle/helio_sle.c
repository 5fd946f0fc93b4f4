/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sle provider|user|bench|bridge|sim: Space Link Extension. This file has the command line.
 * What can go wrong: a wrong option, or options that contradict each other (exit 2).
 */
#include <stdlib.h>
#include <string.h>

#include "os/arguments.h"
#include "os/process.h"
#include "tools/sle/sle_options.h"

struct command {
    const char *name, *args; /* "helio-sle COMMAND" */
    error_t (*parse)(int key, char *arg, struct argp_state *state);
    int (*run)(const struct options *o);
    const struct argp_option *options;
    const char *doc;
    const struct argp_child *children;
};

const char *argp_program_version = "helio-sle " HELIO_VERSION;

/* ---- provider ---- */

static error_t parse_provider(int key, char *arg, struct argp_state *state)
{
    struct provider_options *o = &((struct options *)state->input)->provider;
    switch (key) {
    case KEY_CHECK:
        o->check = true;
        return 0;
    case KEY_KEYS:
        o->keys = true;
        return 0;
    case 'l':
        o->log = sle_log_level(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        if (o->config != NULL)
            argp_error(state, "\"%s\" is one word too many", arg);
        o->config = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->config == NULL && !o->keys)
            argp_error(state, "the configuration file is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_provider(const struct options *o)
{
    return command_provider(&o->provider);
}

static const struct argp_option provider_options[] = {
    {"check", KEY_CHECK, NULL, 0, "Check the configuration only", 1},
    {"keys", KEY_KEYS, NULL, 0, "Print the keys of the configuration", 1},
    {"log", 'l', "LEVEL", 0, "error, warning or info (default)", 1},
    {0}};

/* ---- bench ---- */

static error_t parse_measurement(int key, char *arg, struct argp_state *state,
                                 struct bench_options *o)
{
    static const char *const modes[] = {"onlt", "onlc", NULL};
    static const char *const yes_no[] = {"yes", "no", NULL};
    static const char *const services[] = {"raf", "fcltu", NULL};
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->terms;
        return 0;
    case ARGP_KEY_END:
        if (o->cltus && o->frame > SLE_CLTU_MAX)
            argp_error(state, "a CLTU has at most %d octets (--frame)", SLE_CLTU_MAX);
        if (o->cltus && o->record != NULL)
            argp_error(state, "CLTUs are not recorded");
        return 0;
    case 'b':
        o->buffer = argument_count(state, "buffer", arg, 1, 65535);
        return 0;
    case KEY_FRAME:
        o->frame = argument_count(state, "frame", arg, NUMBERED_FRAME_MIN, SLE_FRAME_MAX);
        return 0;
    case KEY_REPEAT:
        o->instances = argument_count(state, "instances", arg, 1, 1000);
        return 0;
    case 'n':
        o->frames = argument_count(state, "frames", arg, 1, UINT64_MAX);
        return 0;
    case 't':
        o->time = argument_time(state, "time", arg, TICK_MS);
        return 0;
    case KEY_RATE:
        o->rate = argument_rate(state, "rate", arg);
        return 0;
    case KEY_LATENCY:
        o->latency = argument_time(state, "latency", arg, TICK_MS / 10);
        return 0;
    case KEY_MODE:
        o->mode = modes[sle_word(state, "mode", arg, modes, "onlt or onlc")];
        return 0;
    case KEY_RECORD:
        o->record = arg;
        return 0;
    case KEY_PORT:
        o->port = (uint16_t)argument_count(state, "port", arg, 1, 65535);
        return 0;
    case KEY_TCP:
        o->tcp_buffer = argument_size(state, "tcp-buffer", arg, 0, 1u << 30);
        return 0;
    case KEY_THREADS:
        o->threads = argument_count(state, "threads", arg, 0, WORK_THREADS_MAX);
        return 0;
    case KEY_CONGESTION:
        o->congestion = arg;
        return 0;
    case KEY_WARMUP:
        o->warmup = argument_time(state, "warmup", arg, 0);
        return 0;
    case KEY_SERVICE:
        o->cltus = sle_word(state, "service", arg, services, "raf or fcltu") == 1;
        return 0;
    case KEY_PIPELINING:
        o->blocked = sle_word(state, "pipelining", arg, yes_no, "yes or no") == 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
    return parse_measurement(key, arg, state, &((struct options *)state->input)->bench);
}

static error_t parse_wan_bench(int key, char *arg, struct argp_state *state)
{
    return key == ARGP_KEY_INIT ? 0 : parse_measurement(key, arg, state, state->input);
}

static int run_bench(const struct options *o)
{
    return command_bench(&o->bench);
}

/* Of bench and sim. */
static const struct argp_option measurement_options[] = {
    {"service", KEY_SERVICE, "NAME", 0,
     "raf: frames to the user (default); fcltu: CLTUs to the provider, a notification for each", 1},
    {"buffer", 'b', "N", 0, "Frames of a transfer buffer (20)", 1},
    {"frame", KEY_FRAME, "N", 0, "Octets of a frame, or of a CLTU (1115)", 1},
    {"time", 't', "TIME", 0, "How long (5s)", 1},
    {"warmup", KEY_WARMUP, "TIME", 0, "What comes earlier is not measured (0)", 1},
    {"frames", 'n', "N", 0, "Or stop after N frames, or CLTUs, of each instance", 1},
    {"rate", KEY_RATE, "RATE", 0, "Of each instance (as fast as can be)", 1},
    {"instances", KEY_REPEAT, "N", 0, "At once (1)", 1},
    {"mode", KEY_MODE, "MODE", 0, "onlc (default) or onlt", 2},
    {"latency", KEY_LATENCY, "TIME", 0, "Latency limit (100ms)", 2},
    {"pipelining", KEY_PIPELINING, "yes|no", 0,
     "no: each transfer buffer waits until TCP has acknowledged the one before; each CLTU for the "
     "notification that the one before was radiated",
     2},
    {"tcp-buffer", KEY_TCP, "SIZE", 0, "Of the sockets (the system finds them)", 3},
    {"congestion", KEY_CONGESTION, "NAME", 0, "TCP's congestion control, such as cubic", 3},
    {"threads", KEY_THREADS, "N", 0, "Of the provider, to write in (0: one thread does all)", 3},
    {"record", KEY_RECORD, "FOLDER", 0, "Record meanwhile, to FOLDER0 and so on", 3},
    {"port", KEY_PORT, "N", 0, "Of the provider (one that is free)", 3},
    {0}};

/* ---- sim ---- */

static error_t parse_sim(int key, char *arg, struct argp_state *state)
{
    struct wan_options *o = &((struct options *)state->input)->wan;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->bench.terms;
        state->child_inputs[1] = &o->bench;
        return 0;
    case KEY_RTT:
        o->rtt = argument_time(state, "rtt", arg, 0);
        return 0;
    case KEY_LINE:
        o->line = argument_rate(state, "line", arg);
        return 0;
    case KEY_LOSS:
        o->loss = strtod(arg, &end);
        if (end == arg || *end != '\0' || !(o->loss >= 0 && o->loss < 1))
            argument_want(state, "loss", arg, "a share such as 0.001");
        return 0;
    case KEY_SEED:
        o->seed = argument_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case ARGP_KEY_END:
        if (o->bench.record != NULL || o->bench.port != 0)
            argp_error(state, "in virtual time nothing is recorded, and there is no port");
        if (o->bench.congestion != NULL && strcmp(o->bench.congestion, "reno") != 0 &&
            strcmp(o->bench.congestion, "cubic") != 0)
            argument_want(state, "congestion", o->bench.congestion, "reno or cubic");
        if (o->bench.warmup >= o->bench.time)
            argp_error(state, "--warmup must be shorter than --time");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_sim(const struct options *o)
{
    return command_sim(&o->wan);
}

static const struct argp_option sim_options[] = {
    {"rtt", KEY_RTT, "TIME", 0, "Round trip of the line (0)", 4},
    {"line", KEY_LINE, "RATE", 0, "Of the line: bits on the air (1Gbit/s)", 4},
    {"loss", KEY_LOSS, "SHARE", 0, "Of what is on the line, each by itself (0)", 4},
    {"seed", KEY_SEED, "N", 0, "Of chance (1)", 4},
    {0}};

static const struct argp measurement_argp = {.options = measurement_options,
                                             .parser = parse_wan_bench};

/* ---- bridge ---- */

static error_t parse_bridge(int key, char *arg, struct argp_state *state)
{
    struct options *all = state->input;
    struct bridge_options *o = &all->bridge;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->terms;
        return 0;
    case KEY_LISTEN:
        o->listen = argument_address(state, "listen", arg);
        return 0;
    case KEY_DATAGRAMS:
        o->input = argument_address(state, "datagrams", arg);
        return 0;
    case KEY_UPLINK:
        o->uplink = argument_address(state, "uplink", arg);
        return 0;
    case KEY_ID:
        o->id = sle_name(state, "id", arg);
        return 0;
    case KEY_PASSWORD:
        o->password = sle_password_file(state, "password-file", arg, all->own_password);
        return 0;
    case KEY_USER:
        o->user = sle_name(state, "user", arg);
        return 0;
    case KEY_USER_PASSWORD:
        o->user_password = sle_password_file(state, "user-password-file", arg, all->peer_password);
        return 0;
    case KEY_INSTANCE:
        o->instance = sle_instance_name(state, arg);
        return 0;
    case KEY_CLTU_INSTANCE:
        o->cltu_instance = sle_instance_name(state, arg);
        return 0;
    case KEY_FRAME:
        o->frame = argument_count(state, "frame", arg, NUMBERED_FRAME_MIN, SLE_FRAME_MAX);
        return 0;
    case 'b':
        o->buffer = argument_count(state, "buffer", arg, 1, 65535);
        return 0;
    case 'l':
        o->log = sle_log_level(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (*o->password == '\0')
            o->password = sle_password_variable(state, "HELIO_SLE_PASSWORD", all->own_password);
        if (*o->user_password == '\0')
            o->user_password =
                sle_password_variable(state, "HELIO_SLE_PEER_PASSWORD", all->peer_password);
        if (!address_given(&o->input) && !address_given(&o->uplink))
            argp_error(state, "--datagrams or --uplink is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_bridge(const struct options *o)
{
    return command_bridge(&o->bridge);
}

static const struct argp_option bridge_options[] = {
    {"listen", KEY_LISTEN, "ADDRESS", 0, "For users (127.0.0.1:5100)", 1},
    {"datagrams", KEY_DATAGRAMS, "ADDRESS", 0, "Frames arrive here, each as a datagram", 1},
    {"uplink", KEY_UPLINK, "ADDRESS", 0, "CLTUs are sent there, each as a datagram", 1},
    {"frame", KEY_FRAME, "N", 0, "Octets of the longest frame (2048)", 1},
    {"buffer", 'b', "N", 0, "Frames of a transfer buffer (20)", 1},
    {"id", KEY_ID, "NAME", 0, "Our authority identifier (STATION)", 2},
    {"user", KEY_USER, "NAME", 0, "The user's authority identifier (CENTRE)", 2},
    {"password-file", KEY_PASSWORD, "FILE", 0,
     "Our password, in hexadecimal digits ($HELIO_SLE_PASSWORD)", 2},
    {"user-password-file", KEY_USER_PASSWORD, "FILE", 0, "The user's ($HELIO_SLE_PEER_PASSWORD)",
     2},
    {"instance", KEY_INSTANCE, "ID", 0, "Of the frames (sagr=1.spack=1.rsl-fg=1.raf=onlt1)", 3},
    {"cltu-instance", KEY_CLTU_INSTANCE, "ID", 0,
     "Of the CLTUs (sagr=1.spack=1.fsl-fg=1.cltu=cltu1)", 3},
    {"log", 'l', "LEVEL", 0, "error, warning or info (default)", 4},
    {0}};

/* ---- all ---- */

static const struct argp_child terms_children[] = {
    {&sle_terms_argp, 0, "What both ends must agree on:", 2}, {0}};
static const struct argp_child sim_children[] = {
    {&sle_terms_argp, 0, "What both ends must agree on:", 2},
    {&measurement_argp, 0, "What is measured:", 1},
    {0}};

static const struct command commands[] = {
    {"helio-sle provider", "CONFIG.yaml", parse_provider, run_provider, provider_options,
     "Provides the service instances of a configuration until SIGINT or SIGTERM.\v"
     "examples:\n"
     "  helio-sle provider --keys\n"
     "  helio-sle provider --check examples/sle-station.yaml\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage or configuration",
     NULL},
    {"helio-sle user", "ADDRESS...", sle_parse_user, sle_run_user, sle_user_options,
     "Binds a service instance, takes its frames or sends CLTUs, and unbinds.\v"
     "examples (with `helio-sle provider examples/sle-station.yaml` running):\n"
     "  helio-sle user 127.0.0.1:5100 --id CENTRE --responder STATION \\\n"
     "    --instance sagr=1.spack=1.rsl-fg=1.raf=onlc1 -n 100000 --numbered\n"
     "  helio-sle user 127.0.0.1:5100 --id CENTRE --responder STATION \\\n"
     "    --instance sagr=1.spack=1.rsl-fg=1.rcf=onlt1 --gvcid '1.171.*' \\\n"
     "    -t 2s -o /tmp/a.frames\n"
     "\nexit codes: 0 all went in order, 1 not, 2 usage",
     terms_children},
    {"helio-sle bench", "", parse_bench, run_bench, measurement_options,
     "Measures a provider and a user, a process each, on this machine. Prints JSON.\v"
     "examples:\n"
     "  helio-sle bench -b 20 -t 5s\n"
     "  helio-sle bench -b 20 --rate 1Gbit/s -t 5s \\\n"
     "      --authentication all --hash sha256\n"
     "  helio-sle bench --service fcltu --frame 300 -t 5s\n"
     "\nexit codes: 0 done, 1 it did not go in order, 2 usage",
     terms_children},
    {"helio-sle bridge", "", parse_bridge, run_bridge, bridge_options,
     "A provider without a configuration file: frames from UDP, CLTUs to UDP.\v"
     "examples:\n"
     "  helio-sle bridge --datagrams 127.0.0.1:5001 --uplink 127.0.0.1:5002\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage",
     terms_children},
    {"helio-sle modem", "", sle_parse_modem, sle_run_modem, sle_modem_options,
     "Sends frames as a modem would, with a known share of erred and missing ones, to a source "
     "with `head: modem`.\v"
     "examples:\n"
     "  helio-sle modem --connect 127.0.0.1:5001 --erred 0.01 --missing 0.01\n"
     "\nexit codes: 0 done, 1 not, 2 usage",
     NULL},
    {"helio-sle control", "SOCKET NAME WORD [VALUE]", sle_parse_control, sle_run_control,
     sle_control_options,
     "Tells a running provider of lock and production: of a source, or of an instance of FCLTU.\v"
     "examples:\n"
     "  helio-sle control /tmp/station.control modem carrier-lock no\n"
     "  helio-sle control /tmp/station.control modem production interrupted\n"
     "\nexit codes: 0 done, 1 not, 2 usage",
     NULL},
    {"helio-sle sim", "", parse_sim, run_sim, sim_options,
     "Measures a provider and a user in virtual time, with a line and TCP between them. Prints "
     "JSON.\v"
     "examples:\n"
     "  helio-sle sim --rtt 200ms --line 1.2Gbit/s -t 20s --warmup 10s\n"
     "  helio-sle sim --rtt 50ms --loss 0.001 --congestion reno -t 30s\n"
     "\nexit codes: 0 done, 1 it did not go in order, 2 usage",
     sim_children}};

static struct options defaults(void)
{
    struct options o = {
        .provider = {.log = LEVEL_INFO},
        .user = {.password = "",
                 .responder_password = "",
                 .port_name = "PORT1",
                 .repeat = 1,
                 .terms = {.version = 5},
                 .start = {.quality = SLE_ALL_FRAMES,
                           .word = SLE_ALL_WORDS,
                           .tc_vcid = SLE_TC_VC_NONE,
                           .update = SLE_CONTINUOUS,
                           .first_cltu = USER_FIRST_CLTU},
                 .wait = 60 * TICK_S,
                 .log = LEVEL_WARNING},
        .bench = {.buffer = 20,
                  .frame = 1115,
                  .instances = 1,
                  .time = 5 * TICK_S,
                  .latency = 100 * TICK_MS,
                  .terms = {.version = 5},
                  .mode = "onlc"},
        .control = {.wait = 10 * TICK_S},
        .modem = {.frames = 10000, .frame = 1115, .seed = 1, .antenna = "", .annotation = ""},
        .bridge = {.id = "STATION",
                   .user = "CENTRE",
                   .password = "",
                   .user_password = "",
                   .instance = "sagr=1.spack=1.rsl-fg=1.raf=onlt1",
                   .cltu_instance = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1",
                   .frame = 2048,
                   .buffer = 20,
                   .log = LEVEL_INFO},
    };
    (void)address_of("127.0.0.1", 5100, &o.bridge.listen);
    o.wan = (struct wan_options){.bench = o.bench, .line = 1000000000, .seed = 1};
    return o;
}

static const char usage[] =
    "Usage: helio-sle provider CONFIG.yaml     service instances for users to bind\n"
    "       helio-sle user ADDRESS OPTIONS     frames from a provider, or CLTUs to it\n"
    "       helio-sle bench                    how fast, on this machine\n"
    "       helio-sle bridge --datagrams ADDRESS  a provider of frames that arrive by UDP\n"
    "       helio-sle sim                      the same in virtual time, over a long line\n"
    "       helio-sle modem --connect ADDRESS  frames as a modem sends them, with an account\n"
    "       helio-sle control SOCKET NAME WORD VALUE  lock and production of a provider\n"
    "       helio-sle --version\n"
    "Space Link Extension: RAF, RCF, ROCF and FCLTU. `helio-sle COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-sle provider --keys\n"
    "  helio-sle bench -b 20 -t 2s\n";

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    struct options o = defaults();
    const struct argp argp = {.options = commands[i].options,
                              .parser = commands[i].parse,
                              .args_doc = commands[i].args,
                              .doc = commands[i].doc,
                              .children = commands[i].children};
    argument_parse(&argp, argc - 1, argv + 1, 0, &o);
    return commands[i].run(&o);
}
