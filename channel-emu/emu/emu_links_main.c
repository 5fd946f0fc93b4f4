/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu links`: several links of one file, from options to report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_links.h"
#include "os/arguments.h"

struct command {
    struct emu_settings run;
    const char *path;
    bool check;
};

static const char doc[] =
    "Runs several relays as one file has them (docs/helio-emu-links.md): with one clock and one "
    "account, links that share a transmitter, and links that are handed over."
    "\vExamples:\n"
    "  helio-emu links hops.yaml --json counters.json\n"
    "  helio-emu links stations.yaml --control /tmp/links\n"
    "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way.";

static void take_file(struct argp_state *state, char *arg, void *base)
{
    if (state->arg_num > 0)
        argp_error(state, "'%s' is one file too many", arg);
    ((struct command *)base)->path = arg;
}

static void check_options(struct argp_state *state, void *base)
{
    if (((const struct command *)base)->path == NULL)
        argp_error(state, "FILE is missing: a file with a map of links");
}

static const struct argument options[] = {
    {"check", 0, .help = "Only read the file, and say what is wrong", .group = 5,
     .type = OPTION_BOOL, ARGUMENT_FIELD(struct command, check)},
    {0}};

static int check_file(const char *path)
{
    struct scenario_links file;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fputs("helio-emu: out of memory\n", stderr);
        return 1;
    }
    conf_errors_init(e, path);
    int rc = scenario_links_load(&file, path, e);
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-emu: %s\n", e->text[i]);
    if (rc == 0)
        printf("%zu links, %zu shared transmitters: right\n", file.count, file.shared_count);
    scenario_links_fini(&file);
    free(e);
    return rc == HELIO_ENOMEM ? 1 : rc < 0 ? 2 : 0;
}

static bool write_report(const struct emu_links *l, FILE *json)
{
    emu_links_text(&l->loop, stderr);
    if (l->run.json != NULL)
        emu_links_json(l, json);
    if (fclose(json) == 0)
        return emu_links_whole(l);
    fprintf(stderr, "helio-emu: the counters cannot be written: %s\n", strerror(errno));
    return false;
}

static int run_links(const struct command *c)
{
    struct emu_links l;
    FILE *json = emu_json_open(c->run.json);
    if (json == NULL)
        return 1;
    int rc = emu_links_init(&l, c->path, &c->run, stderr);
    if (rc == 0) {
        rc = emu_loop_run(&l.loop, stderr);
        if (!write_report(&l, json))
            rc = -1;
    }
    emu_links_fini(&l);
    return rc == HELIO_EFORMAT ? 2 : rc < 0 ? 1 : 0;
}

int emu_links_main(int argc, char **argv)
{
    static const struct argument_part parts[] = {
        {.options = emu_run_options, .offset = offsetof(struct command, run)}, {0}};
    static const struct argument_table table = {.options = options,
                                                .parts = parts,
                                                .word = take_file,
                                                .end = check_options,
                                                .args_doc = "FILE",
                                                .doc = doc};
    struct command c = {.run = emu_settings_default()};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &c);
    return c.check ? check_file(c.path) : run_links(&c);
}
