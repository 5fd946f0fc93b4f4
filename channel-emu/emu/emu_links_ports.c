/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that a file names, with the line at which they stand. What can go wrong: one is not
 * understood, or would send a link's frames back to itself. */
#include "channel-emu/emu/emu_links_ports.h"

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
