/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command `helio-emu relay`: where traffic goes, beside those of all commands.
 * Each wrong value ends with a message that names the option and what would be right. And the same
 * of a link that a file of links describes: an error names the line of the key. */
#include <stdlib.h>

#include "channel-emu/emu/emu_relay_options.h"

#include "base/err.h"
#include "os/arguments.h"

static const char doc[] =
    "Relays UDP datagrams over an emulated link: delay, rate, contacts, and losses."
    "\vExamples:\n"
    "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 \\\n"
    "      --delay 5ms --rate 500Mbit/s --trace A --json counters.json \\\n"
    "      --drop-log drops.csv\n"
    "  helio-emu relay --listen '[::1]:5000' --to '[::1]:6000' \\\n"
    "      --scenario leo-pass.yaml\n"
    "Ctrl-C ends it and prints the counters; SIGUSR1 prints them on the way.";

static void set_address(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    char error[256];
    if (address_resolve(arg, argument_field(row, base), error, sizeof error) < 0)
        argument_wrong(state, "\"%s\" %s", arg, error);
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "\"%s\" is one word too many; there are only options", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct emu_relay_options, member)

static const struct argument options[] = {
    {NULL, .help = "Where traffic goes:", .group = 1},
    {"listen", 0, "ADDR:PORT", .help = "Receive here; port 0 chooses one", .group = 1,
     .own = set_address, FIELD(listen)},
    {"to", 0, "ADDR:PORT", .help = "Send forward traffic there", .group = 1, .own = set_address,
     FIELD(to)},
    {"return-from", 0, "ADDR:PORT",
     .help = "What comes to --listen from this address is return traffic too (what comes from --to "
             "always is)",
     .group = 1, .own = set_address, FIELD(return_from)},
    {"return-to", 0, "ADDR:PORT",
     .help = "Where such return traffic goes (default: the forward peer)", .group = 1,
     .own = set_address, FIELD(return_to)},
    {0}};

static void check_options(struct argp_state *state, void *base)
{
    struct emu_relay_options *o = base;
    o->has_return_from = address_given(&o->return_from);
    o->has_return_to = address_given(&o->return_to);
    if (!address_given(&o->listen) || !address_given(&o->to))
        argp_error(state, "%s is missing; write ADDRESS:PORT, such as 127.0.0.1:4556",
                   !address_given(&o->listen) ? "--listen" : "--to");
    if (address_equal(&o->listen, &o->to))
        argp_error(state, "--to is the address of --listen; frames would go round for ever");
}

void emu_relay_options_read(struct emu_relay_options *o, int argc, char **argv)
{
    static const struct argument_part parts[] = {
        EMU_SETTINGS_PARTS(offsetof(struct emu_relay_options, settings)), {0}};
    static const struct argument_table table = {
        .options = options, .parts = parts, .word = refuse_word, .end = check_options, .doc = doc};
    *o = (struct emu_relay_options){.has_return_to = false};
    emu_settings_init(&o->settings, 42, argc, argv);
    argument_table_parse(&table, argc, argv, o);
}

/* ---- the same of a link that a file describes ---- */

static void resolve_one(const char *text, const char *link, const char *key, uint32_t line,
                        struct address *out, struct conf_errors *e)
{
    char why[256];
    if (*text != '\0' && address_resolve(text, out, why, sizeof why) < 0)
        conf_error(e, line, "links.%s.%s: \"%s\" %s", link, key, text, why);
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
