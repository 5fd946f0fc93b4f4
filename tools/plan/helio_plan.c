/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-plan check|convert|show|route|import: contact plans in files. This file has the command
 * line. What can go wrong: a wrong option (exit 2), a file that is no plan (exit 1, with each
 * error's line).
 */
#include "tools/plan/helio_plan.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"
#include "os/process.h"

const char *argp_program_version = "helio-plan " HELIO_VERSION;

enum {
    KEY_START = 256,
    KEY_PLOT,
    KEY_CLASS,
    KEY_LIFETIME,
    KEY_EXCLUDE,
    KEY_BACKLOG,
    KEY_BARE,
    KEY_EXACT
};

struct command {
    const char *name, *args; /* the name is what messages begin with */
    int (*run)(const struct plan_options *o);
    const struct argp_option *options;
    const char *doc;
};

struct parse {
    const struct command *command;
    struct plan_options line;
    unsigned words;
};

static uint64_t parse_node(struct argp_state *state, const char *text)
{
    uint64_t n = 0;
    if (units_count(text, UINT64_MAX, &n) < 0)
        argp_error(state, "\"%s\": the number of a node is expected", text);
    return n;
}

static void parse_start(struct argp_state *state, struct plan_options *o, const char *text)
{
    if (plan_date(text, &o->start) < 0)
        argp_error(state, "--start %s: a date is expected, such as 2026-11-22T12:00:00Z", text);
}

static int parse_format(struct argp_state *state, const char *text)
{
    int format = plan_format_of(text);
    if (format < 0)
        argp_error(state, "\"%s\": yaml, ion or hdtn is expected", text);
    return format;
}

static void parse_class(struct argp_state *state, struct plan_options *o, const char *text)
{
    static const char *const names[] = {"bulk", "normal", "expedited"};
    for (int i = 0; i < PLAN_PRIORITIES; i++) {
        if (strcmp(text, names[i]) == 0) {
            o->query.priority = (enum plan_priority)i;
            return;
        }
    }
    argp_error(state, "--class %s: bulk, normal or expedited is expected", text);
}

static void parse_excluded(struct argp_state *state, struct plan_options *o, const char *text)
{
    if (o->query.excluded_len == PLAN_NAMED_MAX)
        argp_error(state, "--exclude: at most %d", PLAN_NAMED_MAX);
    else
        o->excluded[o->query.excluded_len++] = parse_node(state, text);
}

/* NODE:SIZE */
static void parse_backlog(struct argp_state *state, struct plan_options *o, const char *text)
{
    char node[32];
    const char *colon = strchr(text, ':');
    struct plan_backlog *b = &o->backlog[o->query.backlog_len];
    if (o->query.backlog_len == PLAN_NAMED_MAX || colon == NULL ||
        (size_t)(colon - text) >= sizeof node || units_size(colon + 1, &b->bytes) < 0) {
        argp_error(state, "--backlog %s: NODE:SIZE is expected, such as 2:50MB; at most %d", text,
                   PLAN_NAMED_MAX);
        return;
    }
    memcpy(node, text, (size_t)(colon - text));
    node[colon - text] = '\0';
    b->neighbour = parse_node(state, node);
    o->query.backlog_len++;
}

static void parse_word(struct argp_state *state, struct parse *p, const char *text)
{
    struct plan_options *o = &p->line;
    bool route = p->command->run == command_route;
    unsigned n = p->words++;
    if (p->command->run == command_import && n < PLAN_NAMED_MAX)
        o->files[o->files_len++] = text;
    else if (n == 0)
        o->path = text;
    else if (route && n == 1)
        o->query.from = parse_node(state, text);
    else if (route && n == 2)
        o->query.to = parse_node(state, text);
    else if (route && n == 3 && units_size(text, &o->query.bytes) < 0)
        argp_error(state, "SIZE: \"%s\" is not understood; write %s", text, units_size_hint);
    else if (route && n == 4)
        o->at = text;
    else if (!route || n > 4)
        argp_error(state, "\"%s\" is one word too many", text);
}

static void check_words(struct argp_state *state, const struct parse *p)
{
    unsigned need = p->command->run == command_route ? 4 : 1;
    if (p->words < need)
        argp_error(state, "%s is expected", p->command->args);
    if (p->command->run == command_convert && p->line.to < 0)
        argp_error(state, "--to is missing: yaml, ion or hdtn");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    struct plan_options *o = &p->line;
    uint64_t n;
    switch (key) {
    case 'j':
        o->json = true;
        return 0;
    case 'f':
        o->format = parse_format(state, arg);
        return 0;
    case 't':
        o->to = parse_format(state, arg);
        return 0;
    case KEY_EXACT:
        o->exact = true;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case KEY_START:
        parse_start(state, o, arg);
        return 0;
    case KEY_PLOT:
        o->plot = arg;
        return 0;
    case KEY_CLASS:
        parse_class(state, o, arg);
        return 0;
    case KEY_LIFETIME:
        if (units_duration(arg, &n) < 0)
            argp_error(state, "--lifetime %s: write %s", arg, units_duration_hint);
        o->lifetime = arg;
        return 0;
    case KEY_EXCLUDE:
        parse_excluded(state, o, arg);
        return 0;
    case KEY_BACKLOG:
        parse_backlog(state, o, arg);
        return 0;
    case KEY_BARE:
        o->config.margin = false;
        o->config.overhead_min = o->config.overhead_ppm = 0;
        return 0;
    case 'a':
        if (units_count(arg, PLAN_WAYS_MAX, &n) < 0 || n == 0)
            argp_error(state, "--alternatives %s: a number from 1 to %d is expected", arg,
                       PLAN_WAYS_MAX);
        o->ways = (size_t)n;
        return 0;
    case 'c':
        o->critical = true;
        return 0;
    case ARGP_KEY_ARG:
        parse_word(state, p, arg);
        return 0;
    case ARGP_KEY_END:
        check_words(state, p);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define COMMON                                                                                     \
    {"format", 'f', "FORMAT", 0, "Of PLAN: yaml, ion or hdtn; by its name (.yaml, .json, others)", \
     8},                                                                                           \
        {"start", KEY_START, "DATE", 0, "What times without a date count from", 8},                \
        {"json", 'j', NULL, 0, "Print JSON", 9},                                                   \
    {                                                                                              \
        0                                                                                          \
    }

static const struct argp_option check_options[] = {COMMON};
static const struct argp_option convert_options[] = {
    {"to", 't', "FORMAT", 0, "yaml, ion or hdtn (required)", 1},
    {"output", 'o', "FILE", 0, "Where it goes; standard output", 1},
    {"exact", KEY_EXACT, NULL, 0,
     "With ion and hdtn: all digits, as helio-plan and heliod read them; by default, what ION or "
     "HDTN "
     "itself loads: whole seconds, its limits",
     1},
    COMMON};
static const struct argp_option show_options[] = {
    {"plot", KEY_PLOT, "FILE", 0, "Draw contacts and light times there: .png, .svg or .pdf", 1},
    COMMON};
static const struct argp_option route_options[] = {
    {"class", KEY_CLASS, "CLASS", 0, "bulk, normal (default) or expedited", 1},
    {"lifetime", KEY_LIFETIME, "TIME", 0, "It must arrive within that", 1},
    {"exclude", KEY_EXCLUDE, "NODE", 0, "Not by this neighbour; may be repeated", 1},
    {"backlog", KEY_BACKLOG, "NODE:SIZE", 0, "What waits for a neighbour; may be repeated", 1},
    {"alternatives", 'a', "N", 0, "The first N routes by arrival", 2},
    {"critical", 'c', NULL, 0, "The best route by each neighbour", 2},
    {"bare", KEY_BARE, NULL, 0,
     "No allowance for convergence layers (3 %, at least 100 bytes) and "
     "for the nodes' motion (125/186282 of light times)",
     2},
    COMMON};

static const struct argp_option import_options[] = {
    {"output", 'o', "FILE", 0, "Where it goes; standard output", 1},
    {"format", 'f', "FORMAT", 0, "Of FILE: ion or hdtn; by its name (.json: hdtn)", 1},
    {0}};

static const struct command commands[] = {
    {"helio-plan check", "PLAN", command_check, check_options,
     "Reads a plan and says what is in it, and what will not work: times without a light time, "
     "contacts without a return direction.\v"
     "examples:\n"
     "  helio-plan check examples/plan.yaml\n"
     "  helio-plan check --json examples/plan.ionrc\n"
     "\nexit codes: 0 it can be used, 2 it cannot, or usage"},
    {"helio-plan convert", "PLAN", command_convert, convert_options,
     "Writes a plan in another format, and says what that cannot hold.\v"
     "examples:\n"
     "  helio-plan convert examples/plan.yaml --to ion\n"
     "  helio-plan convert examples/plan.ionrc --to hdtn -o /tmp/plan.json\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 the plan is wrong, or usage"},
    {"helio-plan show", "PLAN", command_show, show_options,
     "Prints contacts with their volumes and light times, and each direction as a line "
     "over time.\v"
     "examples:\n"
     "  helio-plan show examples/plan.yaml\n"
     "  helio-plan show examples/plan.yaml --plot /tmp/plan.png\n"
     "\nexit codes: 0 done, 1 it could not be drawn, 2 the plan is wrong, or usage"},
    {"helio-plan route", "PLAN FROM TO SIZE [AT]", command_route, route_options,
     "Prints how a bundle of SIZE that is at node FROM at the time AT (a duration, or a date; the "
     "plan's beginning) comes to node TO, hop by hop, and what decides when it arrives.\v"
     "examples:\n"
     "  helio-plan route examples/plan.yaml 1 4 500kB\n"
     "  helio-plan route examples/plan.yaml 1 4 500kB 2min --alternatives 3\n"
     "  helio-plan route examples/plan.yaml 1 4 80MB --backlog 2:20MB --json\n"
     "\nexit codes: 0 there is a route, 1 there is none, 2 the plan is wrong, or usage"},
    {"helio-plan import", "FILE...", command_import, import_options,
     "Writes heliod's configuration from that of ION (files of ionadmin, ltpadmin, bpadmin and "
     "ipnadmin, or one with sections of all) or of HDTN (JSON), and says of each line what has no "
     "counterpart.\v"
     "examples:\n"
     "  helio-plan import examples/ion.rc\n"
     "  helio-plan import examples/ion.rc -o /tmp/ion.yaml\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 a file is wrong, or usage"}};

static int run_command(const struct command *c, int argc, char **argv)
{
    struct parse p = {.command = c, .line = {.format = -1, .to = -1, .ways = 1}};
    const struct argp argp = {
        .options = c->options, .parser = parse_option, .args_doc = c->args, .doc = c->doc};
    plan_config_default(&p.line.config);
    p.line.query.priority = PLAN_NORMAL;
    argument_parse(&argp, argc, argv, 0, &p);
    return c->run(&p.line);
}

static const char usage[] =
    "Usage: helio-plan check PLAN                      can it be used?\n"
    "       helio-plan convert PLAN --to FORMAT        yaml, ion or hdtn\n"
    "       helio-plan show PLAN [--plot FILE]         contacts over time\n"
    "       helio-plan route PLAN FROM TO SIZE [AT]    the route of a bundle, hop by hop\n"
    "       helio-plan import FILE... [-o FILE]        heliod's configuration from ION's or "
    "HDTN's\n"
    "       helio-plan --version\n"
    "PLAN is a contact plan: YAML, ION's lines or HDTN's JSON. `helio-plan COMMAND --help` "
    "shows more.\n"
    "\n"
    "examples:\n"
    "  helio-plan check examples/plan.yaml\n"
    "  helio-plan show examples/plan.yaml\n"
    "  helio-plan route examples/plan.yaml 1 4 500kB 2min\n";

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return run_command(&commands[i], argc - 1, argv + 1);
}
