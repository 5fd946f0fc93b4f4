/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-plan check|convert|show|route|import: contact plans in files; serve|follow and
 * publish|rollback|versions: the plan service. This file has the command line. What can go wrong: a
 * wrong option (exit 2), a file that is no plan (exit 1, with each error's line).
 */
#include "tools/plan/helio_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "tools/plan/plans_service.h"

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
    struct plans_options service;
    struct eid followers[PLANS_FOLLOWERS_MAX];
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

/* A date, or a duration from now. */
static void set_effect(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    tick t, *effect = argument_field(o, base);
    if (plan_date(arg, effect) == 0)
        return;
    if (units_duration(arg, &t) < 0)
        argument_want(state, arg, "a date, such as 2026-11-22T12:00:00Z, or a time from now: 2h");
    *effect = tick_add(clock_wall(), t);
}

static void read_endpoint(struct argp_state *state, const char *arg, struct eid *out)
{
    if (eid_parse(arg, out) < 0 || eid_is_group(out) || eid_is_node(out) || eid_is_none(out))
        argument_want(state, arg, "an endpoint of one node, such as ipn:2.71");
}

static void add_follower(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct parse *p = argument_field(row, base);
    size_t *len = &p->service.followers_len;
    if (*len == PLANS_FOLLOWERS_MAX)
        argument_wrong(state, "%s is one too many; at most %d are possible", arg,
                       PLANS_FOLLOWERS_MAX);
    read_endpoint(state, arg, &p->followers[*len]);
    for (size_t i = 0; i < *len; i++)
        if (eid_equal(&p->followers[i], &p->followers[*len]))
            argument_wrong(state, "%s is there twice", arg);
    ++*len;
}

static void set_owner(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct parse *p = argument_field(row, base);
    read_endpoint(state, arg, &p->service.owner);
    (void)eid_text(&p->service.owner, p->service.owner_text);
}

static void set_group(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct eid e;
    if (eid_parse(arg, &e) < 0 || !eid_is_group(&e))
        argument_want(state, arg, "a multicast endpoint, such as imc:5.71");
    *(const char **)argument_field(row, base) = arg;
}

static void take_folder_word(struct argp_state *state, const struct parse *p, char *arg,
                             struct plan_options *o)
{
    if (p->words == 1)
        o->path = arg;
    else if (p->words == 2 && p->command->run == command_publish)
        o->plan = arg;
    else if (p->words != 2 || p->command->run != command_rollback)
        argp_error(state, "\"%s\" is one word too many", arg);
    else if (units_count(arg, PLANS_NUMBER_MAX, &o->version) < 0 || o->version == 0)
        argument_want(state, arg, "the number of a version, such as 4");
}

/* Has the command a folder of versions as its first word? */
static bool has_folder(const struct command *c)
{
    return c->run == command_serve || c->run == command_follow || c->run == command_publish ||
           c->run == command_rollback || c->run == command_versions;
}

static void take_word(struct argp_state *state, char *arg, void *base)
{
    struct parse *p = base;
    struct plan_options *o = &p->line;
    bool route = p->command->run == command_route;
    unsigned n = p->words++;
    if (has_folder(p->command))
        take_folder_word(state, p, arg, o);
    else if (p->command->run == command_import && n < PLAN_NAMED_MAX)
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
    bool two = p->command->run == command_publish || p->command->run == command_rollback;
    bool runs = p->command->run == command_serve || p->command->run == command_follow;
    unsigned need = p->command->run == command_route ? 4 : two ? 2 : 1;
    if (p->words < need)
        argp_error(state, "a word is missing; write %s", p->command->args);
    if (runs && p->service.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (p->command->run == command_serve && p->service.followers_len == 0)
        argp_error(state, "--to ENDPOINT is missing: a follower, such as ipn:2.71");
    if (p->command->run == command_follow && p->service.owner_text[0] == '\0')
        argp_error(state, "--owner ENDPOINT is missing: the owner, such as ipn:1.70");
    if (p->command->run == command_follow && p->service.control == NULL)
        argp_error(state, "--control PATH is missing: the node's control socket");
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

#define SERVICE(member) ARGUMENT_FIELD(struct parse, service.member)
#define ALL(setter) .own = (setter), .offset = 0, .size = sizeof(struct parse)

#define NODE(service_text)                                                                          \
    {"socket",       0,                                                                             \
     "PATH",         .help = "The node's application socket (required)",                            \
     .group = 1,     .own = argument_set_socket,                                                    \
     SERVICE(socket)},                                                                              \
        {"service",       0, "NAME", .help = service_text, .group = 2, .own = argument_set_service, \
         SERVICE(service)},                                                                         \
    {                                                                                               \
        "lifetime", 'l', "TIME", .help = "Lifetime of the bundles [1d]", .group = 2,                \
                                 .type = OPTION_DURATION, SERVICE(lifetime), .min = TICK_S,         \
                                 .max = 3650 * (86400 * TICK_S)                                     \
    }

#define EFFECT                                                                                     \
    {                                                                                              \
        "effect", 'e', "TIME",                                                                     \
            .help = "When it takes effect: a date, or a time from now; at once", .group = 1,       \
            OWN(set_effect, effect)                                                                \
    }

static const struct argument serve_options[] = {
    NODE("Service of our endpoint [70]"),
    {"to", 0, "ENDPOINT", .help = "A follower, such as ipn:2.71 (required); may be repeated",
     .group = 1, ALL(add_follower)},
    {"group", 0, "ENDPOINT", .help = "Send each version once to this multicast endpoint first",
     .group = 2, .own = set_group, SERVICE(group)},
    {"again", 0, "TIME", .help = "Push it again until the follower says it has it [--lifetime]",
     .group = 2, .type = OPTION_DURATION, SERVICE(again), .min = TICK_S,
     .max = 3650 * (86400 * TICK_S)},
    {"pause", 0, "TIME", .help = "Between two answers to a follower that asks [10s]", .group = 2,
     .type = OPTION_DURATION, SERVICE(pause), .min = 0, .max = 86400 * TICK_S},
    {0}};
static const struct argument follow_options[] = {
    NODE("Service of our endpoint [71]"),
    {"owner", 0, "ENDPOINT", .help = "The owner, such as ipn:1.70 (required)", .group = 1,
     ALL(set_owner)},
    {"control", 0, "PATH", .help = "The node's control socket (required)", .group = 1,
     SERVICE(control)},
    {"group", 0, "ENDPOINT", .help = "Receive for this multicast endpoint, too", .group = 2,
     .own = set_group, SERVICE(group)},
    {"ask", 0, "TIME", .help = "Ask the owner for missing versions every so long [1h]", .group = 2,
     .type = OPTION_DURATION, SERVICE(ask), .min = TICK_S, .max = 3650 * (86400 * TICK_S)},
    {0}};
#define NUMBER                                                                                     \
    {                                                                                              \
        "number", 'n', "N", .help = "Number of the new version; the last one + 1", .group = 2,     \
                            .type = OPTION_COUNT, FIELD(number), .min = 1, .max = PLANS_NUMBER_MAX \
    }
static const struct argument publish_options[] = {EFFECT, NUMBER, COMMON};
static const struct argument rollback_options[] = {
    EFFECT,
    NUMBER,
    {"json", 'j', .help = "Print JSON", .group = 9, .type = OPTION_BOOL, FIELD(json)},
    {0}};
static const struct argument versions_options[] = {
    {"json", 'j', .help = "Print JSON", .group = 9, .type = OPTION_BOOL, FIELD(json)}, {0}};

#define ENDS                                                                                       \
    "\nexit codes: 0 stopped, 1 the folder or the node failed, 2 usage, or there is no such "      \
    "folder"

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
     "\nexit codes: 0 done, 1 it could not be written, 2 a file is wrong, or usage"},
    {"helio-plan serve", "FOLDER", command_serve, serve_options,
     "The owner of a plan: pushes the versions in FOLDER to its followers, and answers those that "
     "were away, until it is stopped.\v"
     "examples:\n"
     "  helio-plan serve plans --socket node1.sock --to ipn:2.71 --to ipn:3.71\n" ENDS},
    {"helio-plan follow", "FOLDER", command_follow, follow_options,
     "A follower: keeps the owner's versions in FOLDER, and has the node follow each from its time "
     "of effect on, until it is stopped.\v"
     "examples:\n"
     "  helio-plan follow plans2 --socket node2.sock --control node2.sock.ctl \\\n"
     "      --owner ipn:1.70\n" ENDS},
    {"helio-plan publish", "FOLDER PLAN", command_publish, publish_options,
     "Makes PLAN the next version in the owner's FOLDER.\v"
     "examples:\n"
     "  helio-plan publish plans examples/plan.yaml --start 2026-11-22T12:00:00Z\n"
     "  helio-plan publish plans examples/plan.ionrc --effect 2h \\\n"
     "      --start 2026-11-22T12:00:00Z\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 the plan is wrong, or usage"},
    {"helio-plan rollback", "FOLDER NUMBER", command_rollback, rollback_options,
     "Publishes the contents of an old version as a new one.\v"
     "examples:\n"
     "  helio-plan rollback plans 4\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 there is no such version, or usage"},
    {"helio-plan versions", "FOLDER", command_versions, versions_options,
     "Prints the versions in the folder of an owner or of a follower, who follows which, and what "
     "arrived.\v"
     "examples:\n"
     "  helio-plan versions plans\n"
     "  helio-plan versions plans2 --json\n"
     "\nexit codes: 0 done, 1 the folder cannot be read, 2 there is no such folder, or usage"}};

static int run_command(const struct command *c, int argc, char **argv)
{
    struct parse p = {.command = c, .line = {.format = -1, .to = -1, .ways = 1}};
    p.service = (struct plans_options){.service = c->run == command_serve ? "70" : "71",
                                       .lifetime = 86400 * TICK_S,
                                       .pause = 10 * TICK_S,
                                       .ask = 3600 * TICK_S,
                                       .followers = p.followers};
    p.line.service = &p.service;
    const struct argument_table table = {.options = c->options,
                                         .args_doc = c->args,
                                         .doc = c->doc,
                                         .word = take_word,
                                         .end = check_words};
    plan_config_default(&p.line.config);
    p.line.query.priority = PLAN_NORMAL;
    argument_table_parse(&table, argc, argv, &p);
    if (p.service.again == 0) /* sooner, copies would fill the network */
        p.service.again = p.service.lifetime;
    return c->run(&p.line);
}

static const char usage[] =
    "Usage: helio-plan check PLAN                      can it be used?\n"
    "       helio-plan convert PLAN --to FORMAT        yaml, ion or hdtn\n"
    "       helio-plan show PLAN [--plot FILE]         contacts over time\n"
    "       helio-plan route PLAN FROM TO SIZE [AT]    the route of a bundle, hop by hop\n"
    "       helio-plan import FILE... [-o FILE]        heliod's configuration from ION's or "
    "HDTN's\n"
    "       helio-plan serve FOLDER --socket PATH --to ENDPOINT...\n"
    "                                                  versions for many nodes\n"
    "       helio-plan follow FOLDER --socket PATH --control PATH --owner ENDPOINT\n"
    "                                                  a node follows them\n"
    "       helio-plan publish FOLDER PLAN [--effect TIME]\n"
    "                                                  a new version\n"
    "       helio-plan rollback FOLDER NUMBER          an old one, as a new one\n"
    "       helio-plan versions FOLDER                 which there are, who follows which\n"
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
