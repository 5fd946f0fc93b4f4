/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-store check|list|export|repair: the store of a node that does not run. This file has the
 * command line. What can go wrong: a wrong option (exit 2), a directory that is no store, or is in
 * use (exit 1).
 */
#include "tools/store/helio_store.h"

#include <argp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "os/arguments.h"
#include "os/process.h"
#include "os/store_lock.h"

const char *argp_program_version = "helio-store " HELIO_VERSION;

enum { KEY_DAMAGED = 256, KEY_KEY };

struct command {
    const char *name; /* what messages begin with */
    int (*run)(const struct store_options_line *o);
    const struct argp_option *options;
    const char *doc;
};

struct parse {
    const struct command *command;
    struct store_options_line line;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    switch (key) {
    case 'j':
        p->line.json = true;
        return 0;
    case 'o':
        p->line.output = arg;
        return 0;
    case KEY_DAMAGED:
        p->line.damaged = true;
        return 0;
    case KEY_KEY:
        if (units_count(arg, UINT64_MAX, &p->line.key) != 0 || p->line.key == 0)
            argp_error(state, "--key %s: the key of a bundle is expected, as `list` shows it", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (p->line.directory != NULL)
            argp_error(state, "one DIRECTORY is expected, not \"%s\" as well", arg);
        p->line.directory = arg;
        return 0;
    case ARGP_KEY_END:
        if (p->line.directory == NULL)
            argp_error(state, "DIRECTORY is missing: the store.path of a node's configuration");
        if (p->line.output == NULL && p->command->run == command_export)
            argp_error(state, "--output is missing: a directory for the bundles");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define JSON_OPTION                                                                                \
    {                                                                                              \
        "json", 'j', NULL, 0, "Print JSON, one object a line", 0                                   \
    }

static const struct argp_option plain_options[] = {JSON_OPTION, {0}};
static const struct argp_option export_options[] = {
    {"output", 'o', "DIRECTORY", 0, "Where the files go (required); made when it is not there", 0},
    {"key", KEY_KEY, "KEY", 0, "This bundle alone", 0},
    {"damaged", KEY_DAMAGED, NULL, 0, "Also what is damaged, as KEY.damaged.bundle", 0},
    JSON_OPTION,
    {0}};
static const struct argp_option repair_options[] = {
    {"output", 'o', "FILE", 0,
     "Where what is damaged goes; damaged-TIME.jsonl in the store's directory", 0},
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
    const struct argp argp = {
        .options = c->options, .parser = parse_option, .args_doc = "DIRECTORY", .doc = c->doc};
    char why[4300], file[4096];
    struct stat st;
    argument_parse(&argp, argc, argv, 0, &p);
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
