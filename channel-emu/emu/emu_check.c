/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu check`: reads a scenario and options like a run, and prints the effective
 * values. It opens no files but the traces. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_commands.h"
#include "os/arguments.h"

struct check {
    struct emu_settings settings;
    bool json;
};

static const char doc[] =
    "Checks a scenario file and prints the settings in effect, as a scenario that reads back to "
    "the same."
    "\vExamples:\n"
    "  helio-emu check link-a.yaml\n"
    "  helio-emu check link-a.yaml --set forward.rate=1Gbit/s --json\n"
    "Exit codes: 0 right, 2 wrong.";

/* It was read before. */
static void take_file(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    if (state->arg_num > 0)
        argp_error(state, "'%s' is one file too many", arg);
}

static void check_options(struct argp_state *state, void *base)
{
    if (((const struct check *)base)->settings.file == NULL)
        argp_error(state, "the scenario file is missing");
}

static const struct argument options[] = {{"json", 0, .help = "Print JSON instead of YAML",
                                           .group = 1, .type = OPTION_BOOL,
                                           ARGUMENT_FIELD(struct check, json)},
                                          {0}};

static int print_settings(const struct check *c)
{
    json_t *o = c->json ? scenario_json(&c->settings.scenario) : NULL;
    char *text = o != NULL ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(15))
                           : scenario_yaml(&c->settings.scenario);
    int rc = text == NULL ? 1 : 0;
    if (text != NULL)
        printf("%s%s", text, o != NULL ? "\n" : "");
    else
        fprintf(stderr, "helio-emu: out of memory\n");
    free(text);
    json_decref(o);
    return fflush(stdout) != 0 ? 1 : rc;
}

static bool takes_value(const char *option)
{
    return strcmp(option, "--json") != 0 && strcmp(option, "--loop") != 0 &&
           strchr(option, '=') == NULL;
}

/* The file is one of the arguments, and options override it: so it is found before they are
 * read. */
static const char *first_file(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return argv[i];
        i += takes_value(argv[i]);
    }
    return NULL;
}

int emu_check_main(int argc, char **argv)
{
    static const struct argument_part parts[] = {
        EMU_SETTINGS_PARTS(offsetof(struct check, settings)), {0}};
    static const struct argument_table table = {.options = options,
                                                .parts = parts,
                                                .word = take_file,
                                                .end = check_options,
                                                .args_doc = "SCENARIO",
                                                .doc = doc};
    struct check c = {.json = false};
    emu_settings_init(&c.settings, 42, argc, argv);
    const char *path = first_file(argc, argv);
    if (path != NULL)
        emu_settings_load(&c.settings, path);
    argument_table_parse(&table, argc, argv, &c);
    int rc = print_settings(&c);
    emu_settings_fini(&c.settings);
    return rc;
}
