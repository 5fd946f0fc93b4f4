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
#include "base/words.h"
#include "channel-emu/scenario/drop_log.h"
#include "channel-emu/trace/trace_file.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/process/signals.h"
#include "tools/ltp/ltp_arguments.h"
#include "tools/sim/sim_peers_options.h"
#include "tools/sim/sim_recovery.h"
#include "tools/sim/sim_report.h"
#include "tools/sim/stack.h"

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

/* `max` of the row is the direction. */
static void add_drop(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct arguments *a = base;
    size_t *n = &a->params.drop_count[row->max];
    char error[LTP_RULE_ERROR_MAX];
    if (*n == LTP_RULES_MAX)
        argument_wrong(state, "there are more than %u drop rules", LTP_RULES_MAX);
    else if (ltp_rule_parse(&a->drop[row->max][*n], arg, error) != 0)
        argument_wrong(state, "%s", error);
    else
        (*n)++;
    a->params.drop[row->max] = a->drop[row->max];
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

static void refuse_word(struct argp_state *state, char *word, void *base)
{
    (void)base;
    static const char *const commands[] = {"stack"};
    if (strcmp(word, commands[0]) == 0) {
        fputs("helio-sim: 'stack' must come first, before all options. Try 'helio-sim --help'\n",
              stderr);
        exit(2);
    }
    if (words_closest(word, commands, 1) != NULL)
        exit(argument_refuse("helio-sim", word, commands, 1));
    argp_error(state, "\"%s\" is one word too many%s", word,
               access(word, F_OK) == 0 ? "; nodes by their configurations are helio-sim stack"
                                       : "");
}

static void check_options(struct argp_state *state, void *base)
{
    struct arguments *a = base;
    if (a->params.warmup >= a->params.duration)
        argp_error(state, "--warmup: expected less than the duration");
    if (a->crowd.peers.count > 0)
        check_crowd(state, a);
    a->params.recovery_name = a->ltp.recovery;
    sim_settle_rto(&a->params);
}

#define FIELD(member) ARGUMENT_FIELD(struct arguments, member)

static const struct argument options[] = {
    {"trace", 0, "FILE|NAME|none|iid:P",
     .help = "Erasures from node 1 to node 2: a file, A, F, H, leo-low, leo-high, jpl-47km, none, "
             "or independent with probability P [A]",
     FIELD(trace)},
    {"trace-offset", 0, "TIME", .help = "Where in the trace the run starts [0]",
     .type = OPTION_DURATION, FIELD(params.trace_offset)},
    {"return-trace", 0, "FILE|NAME|none|iid:P", .help = "Erasures from node 2 to node 1 [none]",
     FIELD(params.back_name)},
    {"return-offset", 0, "TIME", .help = "Where in that trace the run starts [0]",
     .type = OPTION_DURATION, FIELD(params.back_offset)},
    {"return-rate", 0, "RATE",
     .help = "Nominal rate of the return direction; unlimited: sending takes no time [unlimited]",
     .type = OPTION_RATE, .min = 1, .choices = "unlimited", FIELD(params.back_rate_bps)},
    {"drop", 0, "RULE",
     .help = "Lose certain segments from node 1 to node 2, as in checkpoint:first=2; several are "
             "allowed",
     .own = add_drop, .max = 0},
    {"drop-return", 0, "RULE", .help = "The same in the return direction, as in report:every=10",
     .own = add_drop, .max = 1},
    {"rate", 0, "RATE", .help = "Nominal rate, bits on the air [500Mbit/s]", .type = OPTION_RATE,
     .min = 1, FIELD(params.rate_bps)},
    {"overhead", 0, "BYTES", .help = "On the air beside each segment [42]", .type = OPTION_SIZE,
     .max = 65535, FIELD(params.overhead)},
    {"delay", 0, "TIME", .help = "Propagation in each direction [5ms]", .type = OPTION_DURATION,
     FIELD(params.delay)},
    {"processing", 0, "TIME", .help = "Between a checkpoint's arrival and its report [0]",
     .type = OPTION_DURATION, FIELD(params.span.report_delay)},
    {"jitter", 0, "TIME",
     .help = "From node 1 to node 2 each segment takes up to so much longer, and may overtake [0]",
     .type = OPTION_DURATION, FIELD(params.jitter)},
    {"bundle", 0, "SIZE", .help = "Bytes of a block [500kB]", .type = OPTION_SIZE, .min = 1,
     .max = UINT32_MAX, FIELD(params.bundle)},
    {"colour", 0, "red|green|orange",
     .help = "Reliable, sent once, or sent once and answered [red]", .type = OPTION_CHOICE,
     .choices = "red|green|orange", FIELD(params.colour)},
    {"resend", 0, "N", .help = "Orange: times that a lost block is sent again [3]",
     .type = OPTION_COUNT, .max = 1000000, FIELD(params.resend)},
    {"duration", 0, "TIME", .help = "Virtual time [100s]", .min = 1, .type = OPTION_DURATION,
     FIELD(params.duration)},
    {"warmup", 0, "TIME",
     .help = "Blocks that arrive earlier do not count for the goodput, nor does this time [0]",
     .type = OPTION_DURATION, FIELD(params.warmup)},
    {"follow", 0, "yes|no",
     .help = "Times are of all sessions that begin between warm-up and end, each followed to its "
             "own end, instead of those that end in time [no]",
     .type = OPTION_CHOICE, .choices = "no|yes", FIELD(params.follow)},
    {"seed", 0, "N", .help = "Of everything random [1]", .type = OPTION_COUNT, .max = INT64_MAX,
     FIELD(params.seed)},
    {"log", 0, "FILE", .help = "Write the segment log (CSV; .gz: compressed)", FIELD(log_path)},
    {"log-node", 0, "1|2|both", .help = "Whose events the log holds [both]", .type = OPTION_CHOICE,
     .choices = "both|1|2", FIELD(log_node)},
    {"drop-log", 0, "FILE", .help = "Write what the channel lost (CSV; .gz: compressed)",
     FIELD(drops_path)},
    {"json", 0, .help = "Print the result as JSON", .type = OPTION_BOOL, FIELD(json)},
    {0}};

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
        fprintf(stderr, "helio-sim: stopped during the warm-up: nothing was measured\n");
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
    const struct argument_part parts[] = {
        {a.ltp.options, offsetof(struct arguments, ltp), "Sessions and recovery:", 0, NULL},
        {.options = sim_recovery_options, .offset = offsetof(struct arguments, params)},
        {sim_peers_options, offsetof(struct arguments, crowd), "Several peers:", 0,
         sim_peers_options_check},
        {0}};
    const struct argument_table table = {
        .options = options,
        .parts = parts,
        .word = refuse_word,
        .end = check_options,
        .doc = "LTP sessions through an erasure channel, in virtual time: node 1 sends blocks to "
               "node 2 without pause.\vTimes as in 30ms, 100s; rates as in 500Mbit/s; sizes as in "
               "1024B, "
               "500kB. The same options and seed give the same log byte for byte.\n"
               "With --node it runs whole nodes with their configuration instead: helio-sim stack "
               "--help.\n"
               "\nexamples:\n"
               "  helio-sim --trace F --sessions 10 --duration 20s\n"
               "  helio-sim --trace F --colour orange --resend 5\n"
               "  helio-sim --trace iid:0.05 --rto 1s --json --log sim.csv\n"
               "  helio-sim --return-trace iid:0.1 --return-rate 1Mbit/s\n"
               "  helio-sim --peers 3 --peer 2:weight=2,red=0.5 --peer 3:outage=5s-10s\n"
               "  helio-sim --drop checkpoint:first=2 --drop-return report:every=10\n"};
    struct log log = {0};
    struct log_writer *drops = NULL;
    struct sim_result result;
    struct sim_peers_result crowd;
    sim_peers_options_init(&a.crowd);
    if (stack_wanted(argc, argv))
        return stack_main(argc, argv);
    argp_err_exit_status = 2;
    argp_program_version = "helio-sim " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, &a);
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
