/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-plan check|convert|show|route|import: contact plans in files. This file has the command
 * line. What can go wrong: a wrong option (exit 2), a file that is no plan (exit 1, with each
 * error's line).
 */
#include "tools/plan/helio_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/process.h"

const char *argp_program_version = "helio-plan " HELIO_VERSION;

struct command {
    const char *name, *args; /* the name is what messages begin with */
    int (*run)(const struct plan_options *o);
    const struct argument *options;
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
    const char *number = strncmp(text, "ipn:", 4) == 0 ? text + 4 : "";
    const int digits = (int)strspn(number, "0123456789");
    if (digits > 0 && (number[digits] == '.' || number[digits] == '\0'))
        argument_wrong(state, "\"%s\": a plan has numbers of nodes; write %.*s", text, digits,
                       number);
    if (units_count(text, UINT64_MAX, &n) < 0)
        argument_want(state, text, "the number of a node, such as 2");
    return n;
}

static void set_start(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (plan_date(arg, argument_field(o, base)) < 0)
        argument_want(state, arg, "a date, such as 2026-11-22T12:00:00Z");
}

/* [const char *] the text itself. */
static void set_lifetime(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    (void)argument_number(state, o, arg);
    *(const char **)argument_field(o, base) = arg;
}

static void add_excluded(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct plan_options *o = argument_field(row, base);
    if (o->query.excluded_len == PLAN_NAMED_MAX)
        argument_wrong(state, "%s is one too many; at most %d are possible", arg, PLAN_NAMED_MAX);
    else
        o->excluded[o->query.excluded_len++] = parse_node(state, arg);
}

/* NODE:SIZE */
static void add_backlog(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    char node[32];
    struct plan_options *o = argument_field(row, base);
    const char *colon = strchr(arg, ':');
    struct plan_backlog *b = &o->backlog[o->query.backlog_len];
    if (o->query.backlog_len == PLAN_NAMED_MAX || colon == NULL ||
        (size_t)(colon - arg) >= sizeof node || units_size(colon + 1, &b->bytes) < 0) {
        argument_want(state, arg, "NODE:SIZE, such as 2:50MB, at most 16 times");
        return;
    }
    memcpy(node, arg, (size_t)(colon - arg));
    node[colon - arg] = '\0';
    b->neighbour = parse_node(state, node);
    o->query.backlog_len++;
}

static void set_bare(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct plan_config *c = argument_field(o, base);
    (void)state;
    (void)arg;
    c->margin = false;
    c->overhead_min = c->overhead_ppm = 0;
}

static void take_word(struct argp_state *state, char *arg, void *base)
{
    struct parse *p = base;
    struct plan_options *o = &p->line;
    bool route = p->command->run == command_route;
    unsigned n = p->words++;
    if (p->command->run == command_import && n < PLAN_NAMED_MAX)
        o->files[o->files_len++] = arg;
    else if (n == 0)
        o->path = arg;
    else if (route && n == 1)
        o->query.from = parse_node(state, arg);
    else if (route && n == 2)
        o->query.to = parse_node(state, arg);
    else if (route && n == 3 && units_size(arg, &o->query.bytes) < 0)
        argument_want(state, arg, units_size_hint);
    else if (route && n == 4)
        o->at = arg;
    else if (!route || n > 4)
        argp_error(state, "\"%s\" is one word too many", arg);
}

static void check_words(struct argp_state *state, void *base)
{
    const struct parse *p = base;
    unsigned need = p->command->run == command_route ? 4 : 1;
    if (p->words < need)
        argp_error(state, "a word is missing; write %s", p->command->args);
    if (p->command->run == command_convert && p->line.to < 0)
        argp_error(state, "--to is missing; write one of: yaml, ion, hdtn");
}

#define FIELD(member) ARGUMENT_FIELD(struct parse, line.member)
#define OWN(setter, member) .own = (setter), FIELD(member)
#define LINE(setter) .own = (setter), ARGUMENT_FIELD(struct parse, line)

#define FORMAT(member) .type = OPTION_CHOICE, .choices = "yaml|ion|hdtn", FIELD(member)

#define COMMON                                                                                     \
    {"format",   'f',                                                                              \
     "FORMAT",   .help = "Of PLAN: yaml, ion or hdtn; by its name (.yaml, .json, others)",         \
     .group = 8, FORMAT(format)},                                                                  \
        {"start",    0,                                                                            \
         "DATE",     .help = "What times without a date count from",                               \
         .group = 8, OWN(set_start, start)},                                                       \
        {"json", 'j', .help = "Print JSON", .group = 9, .type = OPTION_BOOL, FIELD(json)},         \
    {                                                                                              \
        0                                                                                          \
    }

static const struct argument check_options[] = {COMMON};
static const struct argument convert_options[] = {
    {"to", 't', "FORMAT", .help = "yaml, ion or hdtn (required)", .group = 1, FORMAT(to)},
    {"output", 'o', "FILE", .help = "Where it goes; standard output", .group = 1, FIELD(output)},
    {"exact", 0,
     .help = "With ion and hdtn: all digits, as helio-plan and heliod read them; by default, what "
             "ION or HDTN itself loads: whole seconds, its limits",
     .group = 1, .type = OPTION_BOOL, FIELD(exact)},
    COMMON};
static const struct argument show_options[] = {
    {"plot", 0, "FILE", .help = "Draw contacts and light times there: .png, .svg or .pdf",
     .group = 1, FIELD(plot)},
    COMMON};
static const struct argument route_options[] = {
    {"class", 0, "CLASS", .help = "bulk, normal (default) or expedited", .group = 1,
     .type = OPTION_CHOICE, .choices = "bulk|normal|expedited", FIELD(query.priority)},
    {"lifetime", 0, "TIME", .help = "It must arrive within that", .group = 1,
     .type = OPTION_DURATION, OWN(set_lifetime, lifetime)},
    {"exclude", 0, "NODE", .help = "Not by this neighbour; may be repeated", .group = 1,
     LINE(add_excluded)},
    {"backlog", 0, "NODE:SIZE", .help = "What waits for a neighbour; may be repeated", .group = 1,
     LINE(add_backlog)},
    {"alternatives", 'a', "N", .help = "The first N routes by arrival", .group = 2,
     .type = OPTION_COUNT, FIELD(ways), .min = 1, .max = PLAN_WAYS_MAX},
    {"critical", 'c', .help = "The best route by each neighbour", .group = 2, .type = OPTION_BOOL,
     FIELD(critical)},
    {"bare", 0,
     .help = "No allowance for convergence layers (3 %, at least 100 bytes) and "
             "for the nodes' motion (125/186282 of light times)",
     .group = 2, OWN(set_bare, config)},
    COMMON};

static const struct argument import_options[] = {
    {"output", 'o', "FILE", .help = "Where it goes; standard output", .group = 1, FIELD(output)},
    {"format", 'f', "FORMAT", .help = "Of FILE: ion or hdtn; by its name (.json: hdtn)", .group = 1,
     FORMAT(format)},
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
    const struct argument_table table = {.options = c->options,
                                         .args_doc = c->args,
                                         .doc = c->doc,
                                         .word = take_word,
                                         .end = check_words};
    plan_config_default(&p.line.config);
    p.line.query.priority = PLAN_NORMAL;
    argument_table_parse(&table, argc, argv, &p);
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
