/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sle provider|import|user|bench|bridge|sim: Space Link Extension. This file has the command
 * line.
 * What can go wrong: a wrong option, or options that contradict each other (exit 2).
 */
#include <stdlib.h>
#include <string.h>

#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/sle/sle_options.h"

struct command {
    const char *name, *args; /* "helio-sle COMMAND" */
    void (*word)(struct argp_state *state, char *arg, void *base);
    void (*end)(struct argp_state *state, void *base);
    int (*run)(const struct options *o);
    const struct argument *options;
    const char *doc;
    const struct argument_part *parts;
};

const char *argp_program_version = "helio-sle " HELIO_VERSION;

/* ---- provider ---- */

static void take_file(struct argp_state *state, char *arg, void *base)
{
    struct provider_options *o = &((struct options *)base)->provider;
    if (o->config != NULL)
        argp_error(state, "\"%s\" is one word too many", arg);
    o->config = arg;
}

static void check_provider(struct argp_state *state, void *base)
{
    const struct provider_options *o = &((const struct options *)base)->provider;
    if (o->config == NULL && !o->keys)
        argp_error(state, "CONFIG.yaml is missing: the configuration");
}

static int run_provider(const struct options *o)
{
    return command_provider(&o->provider);
}

static const struct argument provider_options[] = {
    {"check", 0, .help = "Check the configuration only", .group = 1, SLE_FLAG(provider.check)},
    {"keys", 0, .help = "Print the keys of the configuration", .group = 1, SLE_FLAG(provider.keys)},
    {"log", 'l', "LEVEL", .help = "error, warning or info (default)", .group = 1,
     SLE_LOG(provider.log)},
    {0}};

/* ---- import ---- */

static void take_exchanged(struct argp_state *state, char *arg, void *base)
{
    struct import_options *o = &((struct options *)base)->import;
    if (o->len == IMPORT_FILES_MAX)
        argp_error(state, "at most %d files", IMPORT_FILES_MAX);
    o->files[o->len++] = arg;
}

static void check_import(struct argp_state *state, void *base)
{
    if (((const struct options *)base)->import.len == 0)
        argp_error(state,
                   "FILE is missing: service instances (JSON), or a database of the SLE API");
}

static int run_import(const struct options *o)
{
    return command_import(&o->import);
}

static const struct argument import_options[] = {
    {"output", 'o', "FILE", .help = "Write it to this file, for this user alone", .group = 1,
     SLE_FIELD(import.output)},
    {0}};

/* ---- bench ---- */

static void check_measurement(struct argp_state *state, void *base)
{
    const struct bench_options *o = base;
    if (o->cltus && o->frame > SLE_CLTU_MAX)
        argp_error(state, "a CLTU has at most %d octets (--frame)", SLE_CLTU_MAX);
    if (o->cltus && o->record != NULL)
        argp_error(state, "CLTUs are not recorded");
}

/* [const char *] the word itself. */
static void set_mode(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    (void)argument_choice(state, o, arg);
    *(const char **)argument_field(o, base) = arg;
}

static int run_bench(const struct options *o)
{
    return command_bench(&o->bench);
}

#define BENCH(member) ARGUMENT_FIELD(struct bench_options, member)
#define COUNT(low, high) .type = OPTION_COUNT, .min = (low), .max = (high)
#define TIME(low) .type = OPTION_DURATION, .min = (low)

/* Of bench and sim: a part for a struct bench_options. */
static const struct argument measurement_options[] = {
    {"service", 0, "NAME",
     .help = "raf: frames to the user (default); fcltu: CLTUs to the provider, a notification for "
             "each",
     .group = 1, .type = OPTION_CHOICE, .choices = "raf|fcltu", BENCH(cltus)},
    {"buffer", 'b', "N", .help = "Frames of a transfer buffer (20)", .group = 1, COUNT(1, 65535),
     BENCH(buffer)},
    {"frame", 0, "N", .help = "Octets of a frame, or of a CLTU (1115)", .group = 1,
     COUNT(NUMBERED_FRAME_MIN, SLE_FRAME_MAX), BENCH(frame)},
    {"time", 't', "TIME", .help = "How long (5s)", .group = 1, TIME(TICK_MS), BENCH(time)},
    {"warmup", 0, "TIME", .help = "What comes earlier is not measured (0)", .group = 1, TIME(0),
     BENCH(warmup)},
    {"frames", 'n', "N", .help = "Or stop after N frames, or CLTUs, of each instance", .group = 1,
     COUNT(1, 0), BENCH(frames)},
    {"rate", 0, "RATE", .help = "Of each instance (as fast as can be)", .group = 1,
     .type = OPTION_RATE, .min = 1, .choices = "unlimited", BENCH(rate)},
    {"instances", 0, "N", .help = "At once (1)", .group = 1, COUNT(1, 1000), BENCH(instances)},
    {"mode", 0, "MODE", .help = "onlc (default) or onlt", .group = 2, .own = set_mode,
     .type = OPTION_CHOICE, .choices = "onlc|onlt", BENCH(mode)},
    {"latency", 0, "TIME", .help = "Latency limit (100ms)", .group = 2, TIME(TICK_MS / 10),
     BENCH(latency)},
    {"pipelining", 0, "yes|no",
     .help = "no: each transfer buffer waits until TCP has acknowledged the one before; each CLTU "
             "for the notification that the one before was radiated",
     .group = 2, .type = OPTION_CHOICE, .choices = "yes|no", BENCH(blocked)},
    {"tcp-buffer", 0, "SIZE", .help = "Of the sockets (the system finds them)", .group = 3,
     .type = OPTION_SIZE, .max = 1u << 30, BENCH(tcp_buffer)},
    {"congestion", 0, "NAME", .help = "TCP's congestion control, such as cubic", .group = 3,
     BENCH(congestion)},
    {"threads", 0, "N", .help = "Of the provider, to write in (0: one thread does all)", .group = 3,
     COUNT(0, WORK_THREADS_MAX), BENCH(threads)},
    {"record", 0, "FOLDER", .help = "Record meanwhile, to FOLDER0 and so on", .group = 3,
     BENCH(record)},
    {"port", 0, "N", .help = "Of the provider (one that is free)", .group = 3, COUNT(1, 65535),
     BENCH(port)},
    {0}};

/* ---- sim ---- */

static void check_sim(struct argp_state *state, void *base)
{
    const struct wan_options *o = &((const struct options *)base)->wan;
    if (o->bench.record != NULL || o->bench.port != 0)
        argp_error(state, "in virtual time nothing is recorded, and there is no port");
    if (o->bench.congestion != NULL && strcmp(o->bench.congestion, "reno") != 0 &&
        strcmp(o->bench.congestion, "cubic") != 0)
        argp_error(state, "--congestion: \"%s\" is not known here; write one of: reno, cubic",
                   o->bench.congestion);
    if (o->bench.warmup >= o->bench.time)
        argp_error(state, "--warmup must be shorter than --time");
}

static int run_sim(const struct options *o)
{
    return command_sim(&o->wan);
}

static const struct argument sim_options[] = {
    {"rtt", 0, "TIME", .help = "Round trip of the line (0)", .group = 4, SLE_TIME(wan.rtt, 0)},
    {"line", 0, "RATE", .help = "Of the line: bits on the air (1Gbit/s)", .group = 4,
     SLE_RATE(wan.line)},
    {"loss", 0, "SHARE", .help = "Of what is on the line, each by itself (0)", .group = 4,
     SLE_LOSS(wan.loss)},
    {"seed", 0, "N", .help = "Of chance (1)", .group = 4, SLE_COUNT(wan.seed, 0, 0)},
    {0}};

/* ---- bridge ---- */

static void check_bridge(struct argp_state *state, void *base)
{
    struct options *all = base;
    struct bridge_options *o = &all->bridge;
    sle_password_variable(state, "HELIO_SLE_PASSWORD", &o->password, all->own_password);
    sle_password_variable(state, "HELIO_SLE_PEER_PASSWORD", &o->user_password, all->peer_password);
    if (!address_given(&o->input) && !address_given(&o->uplink))
        argp_error(state, "--datagrams or --uplink is missing, such as --datagrams 127.0.0.1:5001");
}

static int run_bridge(const struct options *o)
{
    return command_bridge(&o->bridge);
}

static const struct argument bridge_options[] = {
    {"listen", 0, "ADDRESS", .help = "For users (127.0.0.1:5100)", .group = 1,
     SLE_ADDRESS(bridge.listen)},
    {"datagrams", 0, "ADDRESS", .help = "Frames arrive here, each as a datagram", .group = 1,
     SLE_ADDRESS(bridge.input)},
    {"uplink", 0, "ADDRESS", .help = "CLTUs are sent there, each as a datagram", .group = 1,
     SLE_ADDRESS(bridge.uplink)},
    {"frame", 0, "N", .help = "Octets of the longest frame (2048)", .group = 1,
     SLE_COUNT(bridge.frame, NUMBERED_FRAME_MIN, SLE_FRAME_MAX)},
    {"buffer", 'b', "N", .help = "Frames of a transfer buffer (20)", .group = 1,
     SLE_COUNT(bridge.buffer, 1, 65535)},
    {"id", 0, "NAME", .help = "Our authority identifier (STATION)", .group = 2, .own = sle_set_name,
     SLE_FIELD(bridge.id)},
    {"user", 0, "NAME", .help = "The user's authority identifier (CENTRE)", .group = 2,
     .own = sle_set_name, SLE_FIELD(bridge.user)},
    {"password-file", 0, "FILE",
     .help = "Our password, in hexadecimal digits ($HELIO_SLE_PASSWORD)", .group = 2,
     .own = sle_set_own_password, SLE_FIELD(bridge.password)},
    {"user-password-file", 0, "FILE", .help = "The user's ($HELIO_SLE_PEER_PASSWORD)", .group = 2,
     .own = sle_set_peer_password, SLE_FIELD(bridge.user_password)},
    {"instance", 0, "ID", .help = "Of the frames (sagr=1.spack=1.rsl-fg=1.raf=onlt1)", .group = 3,
     .own = sle_set_instance, SLE_FIELD(bridge.instance)},
    {"cltu-instance", 0, "ID", .help = "Of the CLTUs (sagr=1.spack=1.fsl-fg=1.cltu=cltu1)",
     .group = 3, .own = sle_set_instance, SLE_FIELD(bridge.cltu_instance)},
    {"log", 'l', "LEVEL", .help = "error, warning or info (default)", .group = 4,
     SLE_LOG(bridge.log)},
    {0}};

/* ---- all ---- */

#define TERMS(of)                                                                                  \
    {                                                                                              \
        sle_terms_options, offsetof(struct options, of.terms), "What both ends must agree on:", 2, \
            NULL                                                                                   \
    }
static const struct argument no_options[] = {{0}};
static const struct argument_part user_parts[] = {{.options = sle_more_options}, TERMS(user), {0}};
static const struct argument_part bench_parts[] = {
    {measurement_options, offsetof(struct options, bench), NULL, 0, check_measurement},
    TERMS(bench),
    {0}};
static const struct argument_part bridge_parts[] = {TERMS(bridge), {0}};
static const struct argument_part sim_parts[] = {TERMS(wan.bench),
                                                 {measurement_options,
                                                  offsetof(struct options, wan.bench),
                                                  "What is measured:", 1, check_measurement},
                                                 {0}};

static const struct command commands[] = {
    {"helio-sle provider", "CONFIG.yaml", take_file, check_provider, run_provider, provider_options,
     "Provides the service instances of a configuration until SIGINT or SIGTERM.\v"
     "examples:\n"
     "  helio-sle provider --keys\n"
     "  helio-sle provider --check examples/sle-station.yaml\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage or configuration",
     NULL},
    {"helio-sle import", "FILE...", take_exchanged, check_import, run_import, import_options,
     "Writes a provider's configuration from files that stations exchange: service instances in "
     "JSON, databases of the SLE API.\v"
     "examples:\n"
     "  helio-sle import examples/sle-import/proxy.txt \\\n"
     "    examples/sle-import/instances.json -o station.yaml\n"
     "  helio-sle provider --check station.yaml\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 usage, or a file is wrong",
     NULL},
    {"helio-sle user", "ADDRESS...", sle_take_place, sle_check_user, sle_run_user, sle_user_options,
     "Binds a service instance, takes its frames or sends CLTUs, and unbinds.\v"
     "examples (with `helio-sle provider examples/sle-station.yaml` running):\n"
     "  helio-sle user 127.0.0.1:5100 --id CENTRE --responder STATION \\\n"
     "    --instance sagr=1.spack=1.rsl-fg=1.raf=onlc1 -n 100000 --numbered\n"
     "  helio-sle user 127.0.0.1:5100 --id CENTRE --responder STATION \\\n"
     "    --instance sagr=1.spack=1.rsl-fg=1.rcf=onlt1 --gvcid '1.171.*' \\\n"
     "    -t 2s -o /tmp/a.frames\n"
     "\nexit codes: 0 all steps succeeded; 1 one failed, or CLTUs were refused, expired\n"
     "or discarded; 2 usage",
     user_parts},
    {"helio-sle bench", "", NULL, NULL, run_bench, no_options,
     "Measures a provider and a user, a process each, on this machine. Prints JSON.\v"
     "examples:\n"
     "  helio-sle bench -b 20 -t 5s\n"
     "  helio-sle bench -b 20 --rate 1Gbit/s -t 5s \\\n"
     "      --authentication all --hash sha256\n"
     "  helio-sle bench --service fcltu --frame 300 -t 5s\n"
     "\nexit codes: 0 done, 1 it did not go in order, 2 usage",
     bench_parts},
    {"helio-sle bridge", "", NULL, check_bridge, run_bridge, bridge_options,
     "A provider without a configuration file: frames from UDP, CLTUs to UDP.\v"
     "examples:\n"
     "  helio-sle bridge --datagrams 127.0.0.1:5001 --uplink 127.0.0.1:5002\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage",
     bridge_parts},
    {"helio-sle modem", "", NULL, sle_check_modem, sle_run_modem, sle_modem_options,
     "Sends frames as a modem would, with a known share of erred and missing ones, to a source "
     "with `head: modem`.\v"
     "examples:\n"
     "  helio-sle modem --connect 127.0.0.1:5001 --erred 0.01 --missing 0.01\n"
     "\nexit codes: 0 done, 1 not, 2 usage",
     NULL},
    {"helio-sle control", "SOCKET NAME WORD [VALUE]", sle_take_control, sle_check_control,
     sle_run_control, sle_control_options,
     "Tells a running provider of lock and production: of a source, or of an instance of FCLTU.\v"
     "examples:\n"
     "  helio-sle control /tmp/station.control modem carrier-lock no\n"
     "  helio-sle control /tmp/station.control modem production interrupted\n"
     "\nexit codes: 0 done, 1 not, 2 usage",
     NULL},
    {"helio-sle sim", "", NULL, check_sim, run_sim, sim_options,
     "Measures a provider and a user in virtual time, with a line and TCP between them. Prints "
     "JSON.\v"
     "examples:\n"
     "  helio-sle sim --rtt 200ms --line 1.2Gbit/s -t 20s --warmup 10s\n"
     "  helio-sle sim --rtt 50ms --loss 0.001 --congestion reno -t 30s\n"
     "\nexit codes: 0 done, 1 it did not go in order, 2 usage",
     sim_parts}};

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
    "       helio-sle import FILE...           its configuration, of exchanged files\n"
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
    const struct argument_table table = {.options = commands[i].options,
                                         .parts = commands[i].parts,
                                         .word = commands[i].word,
                                         .end = commands[i].end,
                                         .args_doc = commands[i].args,
                                         .doc = commands[i].doc};
    argument_table_parse(&table, argc - 1, argv + 1, &o);
    return commands[i].run(&o);
}
