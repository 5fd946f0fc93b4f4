/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command `helio-emu relay`: where traffic goes, beside those of all commands.
 * Each wrong value ends with a message that names the option and what would be right. And the same
 * of a link that a file of links describes: an error names the line of the key. */
#include <argp.h>
#include <stdlib.h>

#include "channel-emu/emu/emu_relay_options.h"

#include "base/err.h"
#include "os/arguments.h"

enum key { LISTEN = 256, TO, RETURN_FROM, RETURN_TO };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "Where traffic goes:", 1},
    {"listen", LISTEN, "ADDR:PORT", 0, "Receive here; port 0 chooses one", 1},
    {"to", TO, "ADDR:PORT", 0, "Send forward traffic there", 1},
    {"return-from", RETURN_FROM, "ADDR:PORT", 0,
     "What comes to --listen from this address is return traffic too (what comes from --to always "
     "is)",
     1},
    {"return-to", RETURN_TO, "ADDR:PORT", 0,
     "Where such return traffic goes (default: the forward peer)", 1},
    {0}};

static const char doc[] =
    "Relays UDP datagrams over an emulated link: delay, rate, contacts, and losses."
    "\vExamples:\n"
    "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 \\\n"
    "      --delay 5ms --rate 500Mbit/s --trace A --json counters.json \\\n"
    "      --drop-log drops.csv\n"
    "  helio-emu relay --listen '[::1]:5000' --to '[::1]:6000' \\\n"
    "      --scenario leo-pass.yaml\n"
    "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way.";

static void address(struct argp_state *state, const char *option, const char *arg,
                    struct address *out)
{
    char error[256];
    if (address_resolve(arg, out, error, sizeof error) < 0)
        argp_error(state, "%s '%s': %s", option, arg, error);
}

static void check_all(struct argp_state *state, const struct emu_relay_options *o)
{
    if (!address_given(&o->listen) || !address_given(&o->to))
        argp_error(state, "%s is missing; right is ADDRESS:PORT, such as 127.0.0.1:4556",
                   !address_given(&o->listen) ? "--listen" : "--to");
    if (address_equal(&o->listen, &o->to))
        argp_error(state, "--to is the address of --listen; frames would go round for ever");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct emu_relay_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->settings;
        return 0;
    case LISTEN:
        address(state, "--listen", arg, &o->listen);
        return 0;
    case TO:
        address(state, "--to", arg, &o->to);
        return 0;
    case RETURN_FROM:
        address(state, "--return-from", arg, &o->return_from);
        o->has_return_from = true;
        return 0;
    case RETURN_TO:
        address(state, "--return-to", arg, &o->return_to);
        o->has_return_to = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is not an option", arg);
        return 0;
    case ARGP_KEY_END:
        check_all(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void emu_relay_options_read(struct emu_relay_options *o, int argc, char **argv)
{
    static const struct argp_child children[] = {{&emu_settings_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {table, parse_option, NULL, doc, children, NULL, NULL};
    *o = (struct emu_relay_options){.has_return_to = false};
    emu_settings_init(&o->settings, 42, argc, argv);
    argument_parse(&argp, argc, argv, 0, o);
}

/* ---- the same of a link that a file describes ---- */

static void resolve_one(const char *text, const char *link, const char *key, uint32_t line,
                        struct address *out, struct conf_errors *e)
{
    char why[256];
    if (*text != '\0' && address_resolve(text, out, why, sizeof why) < 0)
        conf_error(e, line, "links.%s.%s: \"%s\": %s", link, key, text, why);
}

void emu_links_ports(const struct scenario_link *l, const struct emu_settings *run,
                     struct emu_relay_options *out, struct conf_errors *errors)
{
    size_t before = errors->total;
    *out = (struct emu_relay_options){.settings = *run};
    out->settings.scenario = l->scenario;
    resolve_one(l->listen, l->name, "listen", l->listen_line, &out->listen, errors);
    resolve_one(l->to, l->name, "to", l->to_line, &out->to, errors);
    resolve_one(l->return_from, l->name, "return_from", l->return_from_line, &out->return_from,
                errors);
    resolve_one(l->return_to, l->name, "return_to", l->return_to_line, &out->return_to, errors);
    out->has_return_from = *l->return_from != '\0';
    out->has_return_to = *l->return_to != '\0';
    if (errors->total == before && *l->listen != '\0' && address_equal(&out->listen, &out->to))
        conf_error(errors, l->to_line,
                   "links.%s.to: is the address of listen; frames would go round for ever",
                   l->name);
}
