/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu check`: reads a scenario and options like a run, and prints the effective
 * values. It opens no files but the traces. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_commands.h"
#include "os/arguments.h"

#define PLAIN_JSON 256

struct check {
    struct emu_settings settings;
    bool json;
};

static const struct argp_option table[] = {
    {"json", PLAIN_JSON, NULL, 0, "Print JSON instead of YAML", 1}, {0}};

static const char doc[] =
    "Checks a scenario file and prints the settings in effect, as a scenario that reads back to "
    "the same."
    "\vExamples:\n"
    "  helio-emu check link-a.yaml\n"
    "  helio-emu check link-a.yaml --set forward.rate=1Gbit/s --json\n"
    "Exit codes: 0 right, 2 wrong.";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct check *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->settings;
        return 0;
    case PLAIN_JSON:
        c->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' is one file too many", arg);
        return 0;
    case ARGP_KEY_END:
        if (c->settings.file == NULL)
            argp_error(state, "the scenario file is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    static const struct argp_child children[] = {{&emu_settings_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {table, parse_option, "SCENARIO", doc, children, NULL, NULL};
    struct check c = {.json = false};
    emu_settings_init(&c.settings, 42, argc, argv);
    const char *path = first_file(argc, argv);
    if (path != NULL)
        emu_settings_load(&c.settings, path);
    argument_parse(&argp, argc, argv, 0, &c);
    int rc = print_settings(&c);
    emu_settings_fini(&c.settings);
    return rc;
}
