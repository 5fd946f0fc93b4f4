/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-store check|list|export|repair: the store of a node that does not run. This file has the
 * command line. What can go wrong: a wrong option (exit 2), a directory that is no store, or is in
 * use (exit 1).
 */
#include "tools/store/helio_store.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "os/process/store_lock.h"

const char *argp_program_version = "helio-store " HELIO_VERSION;

struct command {
    const char *name; /* what messages begin with */
    int (*run)(const struct store_options_line *o);
    const struct argument *options;
    const char *doc;
};

struct parse {
    const struct command *command;
    struct store_options_line line;
};

static void take_directory(struct argp_state *state, char *arg, void *base)
{
    struct parse *p = base;
    if (p->line.directory != NULL)
        argp_error(state, "\"%s\" is one word too many; write one DIRECTORY", arg);
    p->line.directory = arg;
}

static void check_options(struct argp_state *state, void *base)
{
    const struct parse *p = base;
    if (p->line.directory == NULL)
        argp_error(state, "DIRECTORY is missing: the store.path of a node's configuration");
    if (p->line.output == NULL && p->command->run == command_export)
        argp_error(state, "--output is missing: a directory for the bundles");
}

#define FIELD(member) ARGUMENT_FIELD(struct parse, line.member)
#define JSON_OPTION                                                                                \
    {                                                                                              \
        "json", 'j', .help = "Print JSON, one object a line", .type = OPTION_BOOL, FIELD(json)     \
    }

static const struct argument plain_options[] = {JSON_OPTION, {0}};
static const struct argument export_options[] = {
    {"output", 'o', "DIRECTORY", .help = "Where the files go (required); made when it is not there",
     FIELD(output)},
    {"key", 0, "KEY", .help = "This bundle alone: its key as `list` shows it", .type = OPTION_COUNT,
     .min = 1, FIELD(key)},
    {"damaged", 0, .help = "Also what is damaged, as KEY.damaged.bundle", .type = OPTION_BOOL,
     FIELD(damaged)},
    JSON_OPTION,
    {0}};
static const struct argument repair_options[] = {
    {"output", 'o', "FILE",
     .help = "Where what is damaged goes; damaged-TIME.jsonl in the store's directory",
     FIELD(output)},
    JSON_OPTION,
    {0}};

static const struct command commands[] = {
    {"helio-store check", command_check, plain_options,
     "Compares everything in a store with its check values. Changes nothing."
     "\vexamples:\n"
     "  helio-store check /var/lib/helio/1\n"
     "  helio-store check --json /var/lib/helio/1\n"
     "\nexit codes: 0 all is whole, 1 something is not, 2 usage"},
    {"helio-store list", command_list, plain_options,
     "Prints the bundles: key, id, destination, length, how long it has been here, what is left of "
     "its lifetime, state. Changes nothing."
     "\vexamples:\n"
     "  helio-store list /var/lib/helio/1\n"
     "  helio-store list --json /var/lib/helio/1 | jq .destination\n"
     "\nexit codes: 0 done, 1 not all could be read, 2 usage"},
    {"helio-store export", command_export, export_options,
     "Writes each bundle to a file KEY.bundle, as `helio-bundle show` reads it. Changes nothing in "
     "the store."
     "\vexamples:\n"
     "  helio-store export /var/lib/helio/1 -o saved\n"
     "  helio-store export /var/lib/helio/1 -o saved --damaged --key 17\n"
     "\nexit codes: 0 done, 1 not all could be read or written, 2 usage"},
    {"helio-store repair", command_repair, repair_options,
     "Moves what is damaged out of the store into a file, one JSON object a line, and makes a "
     "store of an older format one of this. If the pages of its file are damaged, it first copies "
     "what can be read to a new database; the old one stays as damaged-TIME.mdb."
     "\vexamples:\n"
     "  helio-store repair /var/lib/helio/1\n"
     "  helio-store repair /var/lib/helio/1 -o damaged.jsonl\n"
     "\nexit codes: 0 the store is whole now, 1 it cannot be repaired, 2 usage"}};

static int run_command(const struct command *c, int argc, char **argv)
{
    struct parse p = {.command = c};
    const struct argument_table table = {.options = c->options,
                                         .args_doc = "DIRECTORY",
                                         .doc = c->doc,
                                         .word = take_directory,
                                         .end = check_options};
    char why[4300], file[4096];
    struct stat st;
    argument_table_parse(&table, argc, argv, &p);
    snprintf(file, sizeof file, "%s/data.mdb", p.line.directory);
    if (stat(file, &st) < 0) {
        fprintf(stderr, "helio-store: %s: there is no store: it has no data.mdb\n",
                p.line.directory);
        return EXIT_USAGE;
    }
    int lock = store_lock(p.line.directory, false, "stop it first, or ask it: helioctl bundles",
                          why, sizeof why);
    if (lock < 0) {
        fprintf(stderr, "helio-store: %s\n", why);
        return EXIT_FAILED;
    }
    int code = c->run(&p.line);
    close(lock);
    return code;
}

static const char usage[] =
    "Usage: helio-store check DIRECTORY             is everything as it was written?\n"
    "       helio-store list DIRECTORY              the bundles\n"
    "       helio-store export DIRECTORY -o FOLDER  the bundles as files\n"
    "       helio-store repair DIRECTORY            moves what is damaged to a file\n"
    "       helio-store --version\n"
    "DIRECTORY is the store.path of a node that does not run. `helio-store COMMAND --help` "
    "shows more.\n"
    "\n"
    "examples:\n"
    "  helio-store check /var/lib/helio/1\n"
    "  helio-store list --json /var/lib/helio/1\n"
    "  helio-store export /var/lib/helio/1 -o saved && \\\n"
    "    helio-bundle show saved/17.bundle\n";

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return run_command(&commands[i], argc - 1, argv + 1);
}
