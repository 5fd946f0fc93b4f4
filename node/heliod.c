/* SPDX-License-Identifier: Apache-2.0 */
/* heliod: the node daemon. Reads the configuration, then runs the node in the foreground. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_arguments.h"
#include "conf/conf_groups.h"
#include "conf/json_number.h"
#include "node/config/config.h"
#include "node/config/config_link.h"
#include "node/node.h"
#include "node/node_security.h"
#include "node/plan/node_plan.h"
#include "os/clock.h"
#include "os/process/process.h"

static const char *type_text(const struct conf_option *o)
{
    static const char *const names[] = {
        [OPTION_DURATION] = "duration", [OPTION_RATE] = "rate",
        [OPTION_SIZE] = "size",         [OPTION_COUNT] = "number",
        [OPTION_BOOL] = "yes|no",       [OPTION_EID] = "EID",
        [OPTION_ADDRESS] = "address",   [OPTION_HOST] = "address or name",
        [OPTION_SHARE] = "share"};
    return o->type == OPTION_CHOICE  ? o->choices
           : option_is_text(o->type) ? "text"
                                     : names[o->type];
}

static const char *default_text(const struct conf_option *o)
{
    return o->initial == NULL ? "(required)" : *o->initial == '\0' ? "(empty)" : o->initial;
}

/* SECTION KEY TYPE DEFAULT MEANING, separated by tabs: for people and for the reference's test. */
static void print_key(const char *section, const struct conf_option *o)
{
    printf("%s\t%s\t%s\t%s\t%s\n", section, o->key, type_text(o), default_text(o),
           o->help != NULL ? o->help : "");
}

static json_t *text_json(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

static json_t *bound_json(bool numeric, uint64_t value)
{
    return numeric ? json_number(value) : json_null();
}

/* ops: of a key of an adapter, or NULL. */
static int put_key(json_t *all, const char *section, const struct conf_option *options,
                   const struct conf_option *o, const struct cla_ops *ops)
{
    const bool numeric = o->type == OPTION_DURATION || o->type == OPTION_RATE ||
                         o->type == OPTION_SIZE || o->type == OPTION_COUNT;
    const bool live = ops != NULL ? config_adapter_live(ops, o->key)
                                  : strcmp(section, "links") == 0 && config_link_live(o->key);
    const char *needs = ops == NULL ? NULL : cla_needs(ops, o->key);
    const size_t group = conf_key_group(options, o->key);
    json_t *in = group == 0 ? json_null() : json_stringn(o->key, group);
    json_t *key = json_pack("{s:s,s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:b,s:o,s:s}", "section", section,
                            "key", o->key, "group", in, "type", type_text(o), "word",
                            text_json(numeric ? o->choices : NULL), "default",
                            text_json(o->initial), "least", bound_json(numeric, o->min), "most",
                            bound_json(numeric && o->max != 0, o->max), "live", live, "needs",
                            text_json(needs), "meaning", o->help != NULL ? o->help : "");
    return key == NULL ? -1 : json_array_append_new(all, key);
}

/* Is the key in this group? len 0: in none. */
static bool is_of_group(const struct conf_option *options, const char *key, const char *group,
                        size_t len)
{
    return conf_key_group(options, key) == len && strncmp(key, group, len) == 0;
}

/* Prints the keys of one group, or appends them to `all`, if that is not NULL. */
static int put_group(json_t *all, const char *section, const struct conf_option *options,
                     const char *group, const struct cla_ops *ops)
{
    const size_t len = conf_key_group(options, group);
    int failed = 0;
    for (const struct conf_option *o = options; o->key != NULL && failed == 0; o++) {
        if (!is_of_group(options, o->key, group, len))
            continue;
        if (all == NULL)
            print_key(section, o);
        else
            failed = put_key(all, section, options, o, ops);
    }
    return failed;
}

/* The keys that stand alone, then group by group. */
static int put_table(json_t *all, const char *section, const struct conf_option *options,
                     const struct cla_ops *ops)
{
    int failed = put_group(all, section, options, "", ops);
    for (const struct conf_option *o = options; o->key != NULL && failed == 0; o++) {
        const size_t len = conf_key_group(options, o->key);
        const struct conf_option *first = options;
        while (!is_of_group(options, first->key, o->key, len))
            first++;
        if (len > 0 && first == o)
            failed = put_group(all, section, options, o->key, ops);
    }
    return failed;
}

/* Returns an exit code. */
static int print_keys(bool as_json)
{
    json_t *all = as_json ? json_array() : NULL;
    bool failed = as_json && all == NULL;
    for (size_t i = 0; config_section_at(i) != NULL && !failed; i++)
        failed =
            put_table(all, config_section_at(i)->name, config_section_at(i)->options, NULL) != 0;
    for (size_t i = 0; cla_at(i) != NULL && !failed; i++)
        failed = put_table(all, cla_at(i)->name, cla_at(i)->options, cla_at(i)) != 0;
    if (as_json && !failed)
        failed = json_dumpf(all, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF;
    json_decref(all);
    return failed || fflush(stdout) != 0;
}

static void print_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "%s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "%s: and %zu more errors\n", e->file, e->total - e->len);
}

static int load_config(struct config *c, const char *path)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    if (errors == NULL) {
        fputs("heliod: out of memory\n", stderr);
        return HELIO_ENOMEM;
    }
    conf_errors_init(errors, path);
    int err = config_load(c, path, cla_at, errors);
    if (err == 0) {
        err = config_places(c, errors);
        if (err < 0)
            config_fini(c);
    }
    print_errors(errors);
    free(errors);
    return err;
}

/* What a link's adapter says does not work now, or soon will not: the node starts all the same. */
static void print_warnings(const struct config *c, const char *path)
{
    const int64_t now = (int64_t)(clock_wall() / TICK_S);
    for (size_t i = 0; i < c->links_len; i++) {
        const struct config_link *l = &c->links[i];
        const char *key = "";
        char why[512];
        if (cla_warn(l->ops, l->settings, &c->node, now, &key, why, sizeof why))
            fprintf(stderr, "%s:%u: warning: links[%s].%s: %s\n", path, (unsigned)l->line, l->name,
                    key, why);
    }
}

static void print_note(void *context, uint32_t line, const char *text)
{
    const char *const *path = context;
    fprintf(stderr, "%s:%u: warning: %s\n", *path, (unsigned)line, text);
}

static void print_key_warning(const char *folder, const char *key, const char *text)
{
    fprintf(stderr, "%s: warning: key \"%s\": %s\n", folder, key, text);
}

static int check_keys(const struct config *c, const char *path)
{
    char why[512];
    const int err =
        node_security_check(c, path, dtn_ms_of(clock_wall()), print_key_warning, why, sizeof why);
    if (err < 0)
        fprintf(stderr, "%s\n", why);
    return err;
}

static int check_plan(const struct config *c)
{
    if (*c->plan == '\0')
        return 0;
    struct conf_errors *errors = malloc(sizeof *errors);
    if (errors == NULL) {
        fputs("heliod: out of memory\n", stderr);
        return HELIO_ENOMEM;
    }
    conf_errors_init(errors, c->plan);
    bool is_over;
    const int err = node_plan_check(c, clock_wall(), &is_over, errors);
    if (is_over)
        fprintf(stderr, "%s: warning: plan: all contacts are in the past; its dates are UTC\n",
                c->plan);
    print_errors(errors);
    free(errors);
    return err;
}

/* What the start would read beside the configuration. */
static int check_rest(const struct config *c, const char *path)
{
    print_warnings(c, path);
    config_notes(c, print_note, &path);
    const int keys = check_keys(c, path), plan = check_plan(c);
    return keys < 0 ? keys : plan;
}

struct options {
    bool check, sandbox, keys, json;
    const char *path;
};

static void take_path(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (o->path != NULL)
        argument_wrong(state, "\"%s\" is one too many; the configuration is %s%s", arg, o->path,
                       strcmp(o->path, "check") == 0 ? "; did you mean --check?" : "");
    o->path = arg;
}

static void check_options(struct argp_state *state, void *base)
{
    const struct options *o = base;
    if (o->keys && (o->path != NULL || o->check || o->sandbox))
        argp_error(state, "--keys: only --json may be beside it");
    else if (o->json && !o->keys)
        argp_error(state, "--json: write it with --keys");
    else if (!o->keys && o->path == NULL)
        argp_error(state, "the configuration file is missing: heliod CONFIG.yaml");
}

#define FLAG(member) .type = OPTION_BOOL, ARGUMENT_FIELD(struct options, member)

static const struct argument option_rows[] = {
    {"check", 'c',
     .help = "Only validate the configuration, and the keys, certificates, plan, groups and "
             "folders that it names: exit code 0 or 2",
     FLAG(check)},
    {"sandbox", 's', .help = "sandbox: on, unless the configuration says otherwise (key sandbox)",
     FLAG(sandbox)},
    {"keys", 'k', .help = "Every key of a configuration with its default and meaning", FLAG(keys)},
    {"json", 'j', .help = "With --keys: as JSON, with ranges and what can change", FLAG(json)},
    {"h", 'h', .flags = OPTION_HIDDEN, .own = argument_show_help},
    {0}};

static const struct argument_table table = {
    option_rows, .word = take_path, .end = check_options, .args_doc = "CONFIG.yaml",
    .doc = "Runs a DTN node (BPv7 over LTP, TCPCLv4 and UDP) in the foreground until SIGTERM or "
           "SIGINT. SIGHUP reopens the segment and bundle logs, and reads the configuration "
           "again: links, their keys that can change, routes, plan and log level are applied. "
           "The log names what cannot change.\v"
           "examples:\n"
           "  heliod --check node1.yaml && heliod node1.yaml\n"
           "  heliod --keys --json\n"
           "  helioctl node1.yaml status\n"
           "\n"
           "The smallest configuration:\n"
           "  node: ipn:1.0\n"
           "  socket: /tmp/helio-1.sock\n"
           "  store: {durability: none}\n"
           "\n"
           "exit codes: 0 done, 1 failed, 2 usage or configuration"};

/* The store's file is mapped. If the file is truncated, or its medium fails, a read causes this
 * signal, which ends the node in any case. */
static void on_bus_error(int number)
{
    static const char text[] = "heliod: SIGBUS: the store's file was cut, or its medium failed, "
                               "while it was read; see helio-store --help\n";
    ssize_t done = write(STDERR_FILENO, text, sizeof text - 1);
    (void)done;
    (void)number;
    _exit(1);
}

int main(int argc, char **argv)
{
    file_limit_report();
    struct options o = {0};
    argp_err_exit_status = 2;
    argp_program_version = "heliod " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, &o);
    if (o.keys)
        return print_keys(o.json);
    struct config config;
    memory_retain();
    descriptors_raise();
    signal(SIGPIPE, SIG_IGN); /* the write to an application that has gone returns an error */
    signal(SIGBUS, on_bus_error);
    int err = load_config(&config, o.path);
    if (err < 0)
        return err == HELIO_ENOMEM ? 1 : 2;
    if (config.sandbox == SANDBOX_AUTO && o.sandbox)
        config.sandbox = SANDBOX_ON;
    err = o.check ? check_rest(&config, o.path) : 0;
    if (o.check && err == 0)
        printf("%s: good\n", o.path);
    int code = err == HELIO_ENOMEM ? 1 : err < 0 ? 2 : o.check ? 0 : node_run(&config, o.path);
    config_fini(&config);
    return code;
}
