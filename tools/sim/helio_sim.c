/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sim: the demo's experiment in virtual time. Options become a struct sim_params, a trace is
 * read, the experiment runs, the result is printed and the log closed. What can go wrong: a wrong
 * option (exit 2, saying what would be right), a trace or log file (exit 1).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "base/words.h"
#include "channel-emu/scenario/drop_log.h"
#include "channel-emu/trace/trace_file.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/signals.h"
#include "tools/ltp/ltp_arguments.h"
#include "tools/sim/sim_peers_options.h"
#include "tools/sim/sim_recovery.h"
#include "tools/sim/sim_report.h"
#include "tools/sim/stack.h"

enum {
    OPT_TRACE = 256,
    OPT_TRACE_OFFSET,
    OPT_RATE,
    OPT_OVERHEAD,
    OPT_DELAY,
    OPT_PROCESSING,
    OPT_BUNDLE,
    OPT_DURATION,
    OPT_WARMUP,
    OPT_FOLLOW,
    OPT_SEED,
    OPT_LOG,
    OPT_LOG_NODE,
    OPT_JSON,
    OPT_DROP,
    OPT_DROP_RETURN,
    OPT_COLOUR,
    OPT_RESEND,
    OPT_DROP_LOG,
    OPT_JITTER,
    OPT_RETURN_TRACE,
    OPT_RETURN_OFFSET,
    OPT_RETURN_RATE
};

static const struct argp_option options[] = {
    {"trace", OPT_TRACE, "FILE|NAME|none|iid:P", 0,
     "Erasures from node 1 to node 2: a file, A, F, H, leo-low, leo-high, jpl-47km, none, or "
     "independent "
     "with "
     "probability P [A]",
     0},
    {"trace-offset", OPT_TRACE_OFFSET, "TIME", 0, "Where in the trace the run starts [0]", 0},
    {"return-trace", OPT_RETURN_TRACE, "FILE|NAME|none|iid:P", 0,
     "Erasures from node 2 to node 1 [none]", 0},
    {"return-offset", OPT_RETURN_OFFSET, "TIME", 0, "Where in that trace the run starts [0]", 0},
    {"return-rate", OPT_RETURN_RATE, "RATE", 0,
     "Nominal rate of the return direction; unlimited: sending takes no time [unlimited]", 0},
    {"drop", OPT_DROP, "RULE", 0,
     "Lose certain segments from node 1 to node 2, as in checkpoint:first=2; several are allowed",
     0},
    {"drop-return", OPT_DROP_RETURN, "RULE", 0,
     "The same in the return direction, as in report:every=10", 0},
    {"rate", OPT_RATE, "RATE", 0, "Nominal rate, bits on the air [500Mbit/s]", 0},
    {"overhead", OPT_OVERHEAD, "BYTES", 0, "On the air beside each segment [42]", 0},
    {"delay", OPT_DELAY, "TIME", 0, "Propagation in each direction [5ms]", 0},
    {"processing", OPT_PROCESSING, "TIME", 0, "Between a checkpoint's arrival and its report [0]",
     0},
    {"jitter", OPT_JITTER, "TIME", 0,
     "From node 1 to node 2 each segment takes up to so much longer, and may overtake [0]", 0},
    {"bundle", OPT_BUNDLE, "SIZE", 0, "Bytes of a block [500kB]", 0},
    {"colour", OPT_COLOUR, "red|green|orange", 0,
     "Reliable, sent once, or sent once and answered [red]", 0},
    {"resend", OPT_RESEND, "N", 0, "Orange: times that a lost block is sent again [3]", 0},
    {"duration", OPT_DURATION, "TIME", 0, "Virtual time [100s]", 0},
    {"warmup", OPT_WARMUP, "TIME", 0,
     "Blocks that arrive earlier do not count for the goodput, nor does this time [0]", 0},
    {"follow", OPT_FOLLOW, "yes|no", 0,
     "Times are of all sessions that begin between warm-up and end, each followed to its own end, "
     "instead of those that end in time [no]",
     0},
    {"seed", OPT_SEED, "N", 0, "Of everything random [1]", 0},
    {"log", OPT_LOG, "FILE", 0, "Write the segment log (CSV; .gz: compressed)", 0},
    {"log-node", OPT_LOG_NODE, "1|2|both", 0, "Whose events the log holds [both]", 0},
    {"drop-log", OPT_DROP_LOG, "FILE", 0, "Write what the channel lost (CSV; .gz: compressed)", 0},
    {"json", OPT_JSON, NULL, 0, "Print the result as JSON", 0},
    {0}};

struct arguments {
    struct sim_params params;
    const char *trace, *log_path, *drops_path;
    struct trace_source forward, back;
    struct sim_peers_options crowd;
    struct ltp_arguments ltp;
    uint64_t log_node; /* 0 = both */
    bool json;
    struct ltp_rule drop[2][LTP_RULES_MAX]; /* forward, back */
    int signals;
};

struct log {
    struct log_writer *file;
    uint64_t node; /* 0 = both */
};

static void parse_drop(struct argp_state *state, int way, const char *arg)
{
    struct arguments *a = state->input;
    size_t *n = &a->params.drop_count[way];
    char error[LTP_RULE_ERROR_MAX];
    if (*n == LTP_RULES_MAX)
        argp_error(state, "more than %u drop rules", LTP_RULES_MAX);
    else if (ltp_rule_parse(&a->drop[way][*n], arg, error) != 0)
        argp_error(state, "%s", error);
    else
        (*n)++;
    a->params.drop[way] = a->drop[way];
}

static error_t parse_return(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct sim_params *p = &a->params;
    switch (key) {
    case OPT_RETURN_TRACE:
        p->back_name = arg;
        return 0;
    case OPT_RETURN_OFFSET:
        p->back_offset = argument_time(state, "return-offset", arg, 0);
        return 0;
    case OPT_RETURN_RATE:
        if (units_rate(arg, &p->back_rate_bps) != 0)
            argument_want(state, "return-rate", arg, units_rate_hint);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_link(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct sim_params *p = &a->params;
    switch (key) {
    case OPT_TRACE:
        a->trace = arg;
        return 0;
    case OPT_TRACE_OFFSET:
        p->trace_offset = argument_time(state, "trace-offset", arg, 0);
        return 0;
    case OPT_RATE:
        if (units_rate(arg, &p->rate_bps) != 0 || p->rate_bps == 0)
            argument_want(state, "rate", arg, units_rate_hint);
        return 0;
    case OPT_OVERHEAD:
        p->overhead = (uint32_t)argument_size(state, "overhead", arg, 0, 65535);
        return 0;
    case OPT_DELAY:
        p->delay = argument_time(state, "delay", arg, 0);
        return 0;
    case OPT_DROP:
    case OPT_DROP_RETURN:
        parse_drop(state, key == OPT_DROP_RETURN, arg);
        return 0;
    case OPT_PROCESSING:
        p->span.report_delay = argument_time(state, "processing", arg, 0);
        return 0;
    case OPT_JITTER:
        p->jitter = argument_time(state, "jitter", arg, 0);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_colour(struct argp_state *state, const char *arg, enum sim_colour *out)
{
    static const char *const names[] = {"red", "green", "orange"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(arg, names[i]) == 0) {
            *out = (enum sim_colour)i;
            return;
        }
    }
    argument_want(state, "colour", arg, "red, green or orange");
}

static error_t parse_orange(int key, const char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_COLOUR:
        parse_colour(state, arg, &a->params.colour);
        return 0;
    case OPT_RESEND:
        a->params.resend = argument_count(state, "resend", arg, 0, 1000000);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_log_node(struct argp_state *state, const char *arg, uint64_t *node)
{
    if (strcmp(arg, "1") != 0 && strcmp(arg, "2") != 0 && strcmp(arg, "both") != 0)
        argument_want(state, "log-node", arg, "1, 2 or both");
    *node = strcmp(arg, "both") == 0 ? 0 : (uint64_t)(arg[0] - '0');
}

/* What is of one pair of nodes alone. */
static void check_crowd(struct argp_state *state, const struct arguments *a)
{
    const struct sim_params *p = &a->params;
    const char *odd = p->colour != SIM_RED                      ? "colour"
                      : p->drop_count[0] + p->drop_count[1] > 0 ? "drop"
                      : a->drops_path != NULL                   ? "drop-log"
                      : p->follow                               ? "follow"
                                                                : NULL;
    if (odd != NULL)
        argp_error(state, "--%s does not go with --peers%s", odd,
                   p->colour != SIM_RED ? "; --red says what share of the blocks is red" : "");
}

static void refuse_word(struct argp_state *state, const char *word)
{
    static const char *const commands[] = {"stack"};
    if (strcmp(word, commands[0]) == 0) {
        fputs("helio-sim: 'stack' must come first, before all options. Try 'helio-sim --help'\n",
              stderr);
        exit(2);
    }
    if (words_closest(word, commands, 1) != NULL)
        exit(argument_refuse("helio-sim", word, commands, 1));
    argp_error(state, "unexpected argument '%s'", word);
}

static error_t parse_rest(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_LOG:
        a->log_path = arg;
        return 0;
    case OPT_LOG_NODE:
        parse_log_node(state, arg, &a->log_node);
        return 0;
    case OPT_DROP_LOG:
        a->drops_path = arg;
        return 0;
    case OPT_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        refuse_word(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (a->params.warmup >= a->params.duration)
            argp_error(state, "--warmup: expected less than the duration");
        if (a->crowd.peers.count > 0)
            check_crowd(state, a);
        a->params.recovery_name = a->ltp.recovery;
        sim_settle_rto(&a->params);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct sim_params *p = &a->params;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->ltp;
        state->child_inputs[1] = p;
        state->child_inputs[2] = &a->crowd;
        return 0;
    case OPT_BUNDLE:
        p->bundle = argument_size(state, "bundle", arg, 1, UINT32_MAX);
        return 0;
    case OPT_DURATION:
        p->duration = argument_time(state, "duration", arg, 0);
        if (p->duration == 0)
            argument_want(state, "duration", arg, "more than 0");
        return 0;
    case OPT_WARMUP:
        p->warmup = argument_time(state, "warmup", arg, 0);
        return 0;
    case OPT_FOLLOW:
        p->follow = strcmp(arg, "yes") == 0;
        if (!p->follow && strcmp(arg, "no") != 0)
            argument_want(state, "follow", arg, "yes or no");
        return 0;
    case OPT_SEED:
        p->seed = argument_count(state, "seed", arg, 0, INT64_MAX);
        return 0;
    default:
        if (parse_link(key, arg, state) == 0 || parse_return(key, arg, state) == 0 ||
            parse_orange(key, arg, state) == 0)
            return 0;
        return parse_rest(key, arg, state);
    }
}

/* Returns an exit code. */
static int load_trace(const char *option, const char *name, struct trace_source *source,
                      const struct trace **trace, double *loss)
{
    char error[TRACE_FILE_ERROR_MAX];
    int rc = trace_source_read(source, name, error);
    if (rc != 0) {
        fprintf(stderr, "helio-sim: --%s: %s\n", option, error);
        return 2; /* whatever is wrong with it: another value of the option is wanted */
    }
    *trace = source->on ? &source->trace : NULL;
    *loss = source->loss;
    return 0;
}

/* Returns an exit code. */
static int load_traces(struct arguments *a)
{
    struct sim_params *p = &a->params;
    int status = 0;
    a->crowd.peers.base.trace_offset = p->trace_offset;
    if (a->crowd.peers.count > 0)
        status = sim_peers_options_load(&a->crowd, a->trace);
    else
        status = load_trace("trace", a->trace, &a->forward, &p->trace, &p->loss);
    if (status == 0)
        status = load_trace("return-trace", p->back_name, &a->back, &p->back_trace, &p->back_loss);
    return status;
}

static void write_log(void *context, uint64_t node, const struct event *e)
{
    const struct log *log = context;
    if (log->node != 0 && log->node != node)
        return;
    char *room = log_writer_room(log->file, EVENT_CSV_MAX);
    if (room != NULL)
        log_writer_put(log->file, event_csv(e, node, 0, room));
}

static int open_log(struct arguments *a, struct log *log)
{
    if (a->log_path == NULL)
        return 0;
    log->node = a->log_node;
    int rc = log_writer_open(&log->file, a->log_path, LOG_LINES | LOG_WAIT,
                             slice_of(event_csv_header, strlen(event_csv_header)));
    if (rc < 0) {
        fprintf(stderr, "helio-sim: %s: %s\n", a->log_path, helio_strerror(rc));
        return argument_file_code(a->log_path, true);
    }
    a->params.log = write_log;
    a->params.log_context = log;
    return 0;
}

static int finish_file(const char *path, struct log_writer *w)
{
    int rc = w == NULL ? 0 : log_writer_finish(w);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s: could not be written whole: %s\n", path,
                helio_strerror(rc));
    log_writer_free(w);
    return rc < 0;
}

static void write_fate(void *context, int direction, const struct chan_fate *f)
{
    struct ltp_fields ltp;
    struct drop_row row = {.time = f->entered,
                           .direction = direction,
                           .frame = f->number,
                           .reason = chan_reason_name(f->reason),
                           .length = f->len,
                           .late_ns = EVENT_NONE};
    if (ltp_fields_read(&ltp, f->data, f->len))
        row.ltp = &ltp;
    drop_log_put(context, &row);
}

static int open_drops(struct arguments *a, struct log_writer **drops)
{
    int rc = a->drops_path == NULL ? 0 : drop_log_open(drops, a->drops_path, true);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s: %s\n", a->drops_path, helio_strerror(rc));
    if (*drops != NULL) {
        a->params.fate = write_fate;
        a->params.fate_context = *drops;
    }
    return rc < 0;
}

/* Progress of a long run, on a terminal, and whether the user wants to end it. */
struct watch {
    int signals;
    bool terminal;
    tick duration, shown;
};

static bool look_around(void *context, tick now)
{
    struct watch *w = context;
    if (w->terminal && clock_now() >= w->shown + TICK_S / 4) {
        w->shown = clock_now();
        fprintf(stderr, "\r%.0f %% of %.0f s of virtual time\033[K",
                100 * (double)now / (double)w->duration, (double)w->duration / (double)TICK_S);
    }
    return w->signals >= 0 && signals_take(w->signals) != 0;
}

/* Until the result is printed SIGINT and SIGTERM ask for what was measured so far. Returns an exit
 * code. */
static int run_experiment(struct arguments *a, struct sim_result *result,
                          struct sim_peers_result *crowd)
{
    struct watch w = {.signals = a->signals,
                      .terminal = isatty(STDERR_FILENO) == 1,
                      .duration = a->params.duration,
                      .shown = clock_now()};
    tick began = w.shown;
    a->params.look = look_around;
    a->params.look_context = &w;
    a->crowd.peers.base = a->params;
    int rc = a->crowd.peers.count > 0 ? sim_peers_run(&a->crowd.peers, crowd)
                                      : sim_run_experiment(&a->params, result);
    a->params.look_context = a->crowd.peers.base.look_context = NULL;
    if (w.shown != began)
        fputs("\r\033[K", stderr);
    if (rc == HELIO_ENOENT)
        fprintf(stderr, "helio-sim: stopped before the warm-up was over: nothing was measured\n");
    else if (rc != 0)
        fprintf(stderr, "helio-sim: %s\n", helio_strerror(rc));
    return rc != 0;
}

static int print_result(const struct arguments *a, const struct sim_result *r,
                        const struct sim_peers_result *crowd)
{
    const struct sim_peers *peers = &a->crowd.peers;
    if (peers->count > 0 && a->json)
        return sim_peers_json(stdout, peers, crowd) != 0;
    if (peers->count > 0) {
        sim_peers_text(stdout, peers, crowd);
        return fflush(stdout) != 0;
    }
    if (a->json)
        return sim_report_json(stdout, &a->params, a->trace, r) != 0;
    sim_report_text(stdout, &a->params, a->trace, r);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    file_limit_report();
    /* what follows from the experiment, or has other words here */
    static const char *const without[] = {"sessions",        "rto",          "rto_auto",
                                          "report_delay",    "ranges",       "block_max",
                                          "import_sessions", "idle_timeout", NULL};
    struct arguments a = {.trace = "A",
                          .params = {.rate_bps = 500000000,
                                     .overhead = 42,
                                     .delay = 5 * TICK_MS,
                                     .span = {.export_sessions = 10},
                                     .bundle = 500000,
                                     .duration = 100 * TICK_S,
                                     .seed = 1,
                                     .resend = 3,
                                     .back_name = "none"}};
    ltp_arguments_init(&a.ltp, &a.params.span, without);
    const struct argp_child children[] = {{&a.ltp.argp, 0, "Sessions and recovery:", 0},
                                          {&sim_recovery_argp, 0, NULL, 0},
                                          {&sim_peers_argp, 0, "Several peers:", 0},
                                          {0}};
    const struct argp argp = {
        options,
        parse_option,
        NULL,
        "LTP sessions through an erasure channel, in virtual time: node 1 sends blocks to "
        "node 2 without pause.\vTimes as in 30ms, 100s; rates as in 500Mbit/s; sizes as in 1024B, "
        "500kB. The same options and seed give the same log byte for byte.\n"
        "With --node it runs whole nodes with their configuration instead: helio-sim stack "
        "--help.\n"
        "\nexamples:\n"
        "  helio-sim --trace F --sessions 10 --duration 20s\n"
        "  helio-sim --trace F --colour orange --resend 5\n"
        "  helio-sim --trace iid:0.05 --rto 1s --json --log sim.csv\n"
        "  helio-sim --return-trace iid:0.1 --return-rate 1Mbit/s\n"
        "  helio-sim --peers 3 --peer 2:weight=2,red=0.5 --peer 3:outage=5s-10s\n"
        "  helio-sim --drop checkpoint:first=2 --drop-return report:every=10\n",
        children,
        NULL,
        NULL};
    struct log log = {0};
    struct log_writer *drops = NULL;
    struct sim_result result;
    struct sim_peers_result crowd;
    sim_peers_options_init(&a.crowd);
    if (stack_wanted(argc, argv))
        return stack_main(argc, argv);
    argp_err_exit_status = 2;
    argp_program_version = "helio-sim " HELIO_VERSION;
    argument_parse(&argp, argc, argv, 0, &a);
    int status = load_traces(&a);
    sigset_t before; /* blocked before logs have threads, which would take them */
    a.signals = signals_open((const int[]){SIGINT, SIGTERM, 0}, &before);
    if (status == 0)
        status = open_log(&a, &log);
    if (status == 0)
        status = open_drops(&a, &drops);
    if (status == 0)
        status = run_experiment(&a, &result, &crowd);
    if ((finish_file(a.log_path, log.file) | finish_file(a.drops_path, drops)) != 0)
        status = 1;
    if (status == 0)
        status = print_result(&a, &result, &crowd);
    sim_peers_options_fini(&a.crowd);
    trace_source_fini(&a.forward);
    trace_source_fini(&a.back);
    if (a.signals >= 0)
        signals_close(a.signals, &before);
    return status;
}
