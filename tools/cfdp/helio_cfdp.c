/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-cfdp daemon|put|get|ls|suspend|resume|cancel|link|status (docs/helio-cfdp.md). This file
 * has the command line. What can go wrong: a wrong word or option, or a wrong configuration (exit
 * 2).
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cfdp/tlv.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/cfdp/cfdp_ask.h"
#include "tools/cfdp/cfdp_daemon.h"
#include "tools/perf/perf_process.h"

const char *argp_program_version = "helio-cfdp " HELIO_VERSION;

#define WORDS_MAX 3

struct options {
    const struct command *command;
    const char *control;
    int class_; /* 0: not given */
    bool no_wait, json;
    json_t *requests; /* of --request */
    const char *words[WORDS_MAX];
    size_t words_len;
};

struct command {
    const char *name, *args; /* "helio-cfdp COMMAND" */
    const struct argument *options;
    size_t least, most; /* words */
    int (*run)(struct options *o);
    const char *doc;
};

static void take_word(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (o->words_len == o->command->most)
        argp_error(state, "\"%s\" is one word too many", arg);
    o->words[o->words_len++] = arg;
}

static uint64_t read_entity(struct argp_state *state, const char *text)
{
    char *end;
    const uint64_t v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0')
        argp_error(state, "ENTITY: \"%s\" is not understood; write a number, such as 2", text);
    return v;
}

/* Which word is an entity: its index; WORDS_MAX: none. */
static size_t entity_word(const struct options *o)
{
    const char *name = strchr(o->command->name, ' ') + 1;
    if (strcmp(name, "put") == 0)
        return o->words_len == 1 ? 0 : 1;
    return strcmp(name, "get") == 0 || strcmp(name, "ls") == 0 || strcmp(name, "link") == 0
               ? 0
               : WORDS_MAX;
}

static void check_words(struct argp_state *state, void *base)
{
    const struct options *o = base;
    const char *name = strchr(o->command->name, ' ') + 1;
    if (o->words_len < o->command->least)
        argp_error(state, "%s is missing", o->command->args);
    if (strcmp(name, "daemon") != 0 && o->control == NULL)
        argp_error(state, "--control PATH is missing: the daemon's key control");
    if (entity_word(o) < o->words_len)
        (void)read_entity(state, o->words[entity_word(o)]);
    if (strcmp(name, "put") == 0 && o->words_len == 1 && o->requests == NULL)
        argp_error(state, "ENTITY is missing: the remote entity's id, such as 2");
    if (strcmp(name, "link") == 0 && strcmp(o->words[1], "up") != 0 &&
        strcmp(o->words[1], "down") != 0)
        argp_error(state, "\"%s\" is not understood; write up or down", o->words[1]);
}

static void add_request(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct options *o = base;
    json_t *words = json_array();
    (void)row;
    unsigned action = CFDP_ACTIONS_COUNT;
    const size_t len = strcspn(arg, ":");
    for (unsigned k = 0; k < CFDP_ACTIONS_COUNT; k++) {
        const char *text = cfdp_action_text(k);
        bool same = strlen(text) == len;
        for (size_t i = 0; same && i < len; i++)
            same = text[i] == arg[i] || (text[i] == ' ' && arg[i] == '-');
        if (same)
            action = k;
    }
    char *first = arg[len] == ':' ? arg + len + 1 : NULL;
    char *second = first == NULL ? NULL : strchr(first, ':');
    const bool two = action < CFDP_ACTIONS_COUNT && cfdp_action_has_two(action);
    if (action == CFDP_ACTIONS_COUNT || first == NULL || two != (second != NULL))
        argument_want(state, arg, "such as create-directory:NAME or rename-file:OLD:NEW");
    json_array_append_new(words, json_string(cfdp_action_text(action)));
    if (second != NULL)
        *second++ = '\0';
    const bool good = json_array_append_new(words, json_string(first)) == 0 &&
                      (second == NULL || json_array_append_new(words, json_string(second)) == 0);
    if (!good)
        argp_error(state, "--request: a name is no UTF-8");
    o->requests = o->requests == NULL ? json_array() : o->requests;
    json_array_append_new(o->requests, words);
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)
#define CONTROL                                                                                    \
    {                                                                                              \
        "control", 0, "PATH", .help = "The daemon's control socket", .group = 1, FIELD(control)    \
    }
#define JSON                                                                                       \
    {                                                                                              \
        "json", 0, .help = "Answers as JSON", .group = 2, .type = OPTION_BOOL, FIELD(json)         \
    }
#define TRANSFER                                                                                   \
    CONTROL,                                                                                       \
        {"class",                                                                                  \
         0,                                                                                        \
         "1|2",                                                                                    \
         .help = "Class of the transfer [the daemon's, for this entity]",                          \
         .group = 2,                                                                               \
         .type = OPTION_CHOICE,                                                                    \
         .choices = "1|2",                                                                         \
         .min = 1,                                                                                 \
         FIELD(class_)},                                                                           \
        {"no-wait",                                                                                \
         0,                                                                                        \
         .help = "Do not wait for the end of the transfer",                                        \
         .group = 2,                                                                               \
         .type = OPTION_BOOL,                                                                      \
         FIELD(no_wait)},                                                                          \
        JSON

static const struct argument no_options[] = {{0}};
static const struct argument put_options[] = {
    TRANSFER,
    {"request", 'r', "ACTION:NAME[:NAME]",
     .help = "A filestore request there, after the file; may be repeated", .group = 2,
     .own = add_request, FIELD(requests)},
    {0}};
static const struct argument get_options[] = {TRANSFER, {0}};
static const struct argument other_options[] = {CONTROL, JSON, {0}};

/* ---- commands ---- */

static json_t *new_request(const struct options *o)
{
    json_t *q =
        json_pack("{s:s,s:b}", "do", strchr(o->command->name, ' ') + 1, "wait", !o->no_wait);
    if (q == NULL) {
        fputs("helio-cfdp: out of memory\n", stderr);
        exit(1);
    }
    if (o->class_ != 0)
        json_object_set_new(q, "class", json_integer(o->class_));
    return q;
}

static void put_word(json_t *q, const char *key, const char *text)
{
    json_t *word = json_string(text);
    if (word == NULL) {
        fprintf(stderr, "helio-cfdp: %s: the name is no UTF-8\n", key);
        exit(2);
    }
    json_object_set_new(q, key, word);
}

/* The last part of a name. */
static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash == NULL ? name : slash + 1;
}

static int run_put(struct options *o)
{
    json_t *q = new_request(o);
    put_word(q, "to", o->words[entity_word(o)]);
    if (o->words_len > 1) {
        put_word(q, "source", o->words[0]);
        put_word(q, "name", o->words_len > 2 ? o->words[2] : last_part(o->words[0]));
    }
    if (o->requests != NULL)
        json_object_set_new(q, "requests", o->requests);
    return ask_daemon(o->control, q, o->json);
}

static int run_get(struct options *o)
{
    json_t *q = new_request(o);
    put_word(q, "from", o->words[0]);
    put_word(q, "source", o->words[1]);
    put_word(q, "name", o->words_len > 2 ? o->words[2] : last_part(o->words[1]));
    return ask_daemon(o->control, q, o->json);
}

static int run_ls(struct options *o)
{
    json_t *q = new_request(o);
    put_word(q, "from", o->words[0]);
    put_word(q, "folder", o->words_len > 1 ? o->words[1] : "/");
    return ask_daemon(o->control, q, o->json);
}

static int run_change(struct options *o)
{
    json_t *q = new_request(o);
    put_word(q, "id", o->words[0]);
    return ask_daemon(o->control, q, o->json);
}

static int run_link(struct options *o)
{
    json_t *q = new_request(o);
    put_word(q, "entity", o->words[0]);
    json_object_set_new(q, "up", json_boolean(strcmp(o->words[1], "up") == 0));
    return ask_daemon(o->control, q, o->json);
}

static int run_status(struct options *o)
{
    return ask_daemon(o->control, new_request(o), o->json);
}

/* ---- the daemon ---- */

struct program {
    struct perf_process process;
    struct settings settings;
    struct daemon daemon;
};

static void on_signal(void *context, int number)
{
    struct program *p = context;
    (void)number;
    daemon_stop(&p->daemon);
}

static void end_program(void *context)
{
    struct program *p = context;
    perf_process_end(&p->process);
}

static int load_settings(struct program *p, const char *path)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fputs("helio-cfdp: out of memory\n", stderr);
        return 1;
    }
    conf_errors_init(e, path);
    const int rc = cfdp_settings_load(&p->settings, path, e);
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-cfdp daemon: %s\n", e->text[i]);
    free(e);
    return rc == 0 ? 0 : helio_code(rc) == HELIO_ENOMEM ? 1 : 2;
}

static int run_entity(struct program *p)
{
    if (perf_process_open(&p->process, "helio-cfdp", on_signal, p) != 0)
        return 1;
    const int rc = daemon_init(&p->daemon, p->process.world, &p->settings, end_program, p);
    if (rc == 0) {
        daemon_start(&p->daemon);
        perf_process_run(&p->process);
    }
    const bool good = rc == 0 && !p->daemon.failed;
    daemon_fini(&p->daemon);
    perf_process_end(&p->process);
    return good ? 0 : helio_code(rc) == HELIO_ENOENT ? 2 : 1;
}

static int run_daemon(struct options *o)
{
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("helio-cfdp: out of memory\n", stderr);
        return 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    descriptors_raise();
    int code = load_settings(p, o->words[0]);
    if (code == 0) {
        code = run_entity(p);
        perf_process_close(&p->process);
        cfdp_settings_free(&p->settings);
    }
    free(p);
    return code;
}

#define CODES                                                                                      \
    "\nexit codes: 0 done; 1 it failed, or the daemon has ended; 2 wrong usage or control path"

static const struct command commands[] = {
    {"helio-cfdp daemon", "CONFIG.yaml", no_options, 1, 1, run_daemon,
     "Runs a CFDP entity, until it is stopped.\v"
     "examples:\n"
     "  helio-cfdp daemon entity1.yaml\n"
     "\nexit codes: 0 stopped; 1 the folder, an address or the node failed; 2 wrong usage or "
     "configuration"},
    {"helio-cfdp put", "[SOURCE] ENTITY [NAME]", put_options, 1, 3, run_put,
     "Sends a file below our root to a remote entity, and asks for changes there.\v"
     "examples:\n"
     "  helio-cfdp put --control cfdp1.sock image.tif 2\n"
     "  helio-cfdp put --control cfdp1.sock image.tif 2 new/image.tif --class 1\n"
     "  helio-cfdp put --control cfdp1.sock 2 --request rename-file:a:b\n" CODES},
    {"helio-cfdp get", "ENTITY SOURCE [NAME]", get_options, 2, 3, run_get,
     "Asks a remote entity for a file (a proxy put request).\v"
     "examples:\n"
     "  helio-cfdp get --control cfdp1.sock 2 log/today.txt\n" CODES},
    {"helio-cfdp ls", "ENTITY [FOLDER]", other_options, 1, 2, run_ls,
     "Lists a folder of a remote entity.\v"
     "examples:\n"
     "  helio-cfdp ls --control cfdp1.sock 2 log\n" CODES},
    {"helio-cfdp suspend", "ID", other_options, 1, 1, run_change,
     "Suspends a transaction.\v"
     "examples:\n"
     "  helio-cfdp suspend --control cfdp1.sock 1:7\n" CODES},
    {"helio-cfdp resume", "ID", other_options, 1, 1, run_change,
     "Resumes a suspended transaction.\v"
     "examples:\n"
     "  helio-cfdp resume --control cfdp1.sock 1:7\n" CODES},
    {"helio-cfdp cancel", "ID", other_options, 1, 1, run_change,
     "Cancels a transaction.\v"
     "examples:\n"
     "  helio-cfdp cancel --control cfdp1.sock 1:7\n" CODES},
    {"helio-cfdp link", "ENTITY up|down", other_options, 2, 2, run_link,
     "Says that the link to an entity is down, or up again: meanwhile its timers stand still.\v"
     "examples:\n"
     "  helio-cfdp link --control cfdp1.sock 2 down\n" CODES},
    {"helio-cfdp status", "", other_options, 0, 0, run_status,
     "Shows the transactions and counters of a daemon.\v"
     "examples:\n"
     "  helio-cfdp status --control cfdp1.sock\n" CODES}};

static const char usage[] =
    "Usage: helio-cfdp daemon CONFIG.yaml                                  an entity\n"
    "       helio-cfdp put --control PATH [SOURCE] ENTITY [NAME]           send a file\n"
    "       helio-cfdp get --control PATH ENTITY SOURCE [NAME]             ask for a file\n"
    "       helio-cfdp ls --control PATH ENTITY [FOLDER]                   list a folder\n"
    "       helio-cfdp suspend|resume|cancel --control PATH ID             a transaction\n"
    "       helio-cfdp link --control PATH ENTITY up|down                  a contact\n"
    "       helio-cfdp status --control PATH\n"
    "       helio-cfdp --version\n"
    "Files by the CCSDS File Delivery Protocol. `helio-cfdp COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-cfdp daemon entity1.yaml\n"
    "  helio-cfdp put --control cfdp1.sock image.tif 2\n";

int main(int argc, char **argv)
{
    file_limit_report();
    const size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                      sizeof *commands, usage);
    struct options o = {.command = &commands[i]};
    const struct argument_table table = {.options = commands[i].options,
                                         .args_doc = commands[i].args,
                                         .doc = commands[i].doc,
                                         .word = take_word,
                                         .end = check_words};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc - 1, argv + 1, &o);
    return commands[i].run(&o);
}
