/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template is checked by making a link of it, with a peer and an address that stand for those of
 * a neighbour. What can go wrong is the user's: a template without an adapter that beacons name,
 * keys that a neighbour has of its own, links whose peers prove nothing.
 */
#include "node/config/config_discovery.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_section.h"
#include "node/config/config_link.h"
#include "node/config/config_tables.h"

#define WHERE "discovery."
#define AT(field) offsetof(struct config, discovery.field)
#define INTERFACE_MAX 15           /* IFNAMSIZ - 1 */
#define STAND_IN "discovery.links" /* shown as the name of the link that tries a template */

const char *const config_discovery_words[] = {"links", NULL};

const struct conf_option config_discovery[] = {
    {.key = "interface",
     .type = OPTION_TEXT,
     .offset = AT(interface),
     .initial = "",
     .help = "network interface whose multicast groups beacons are sent to and heard from; empty: "
             "none"},
    {.key = "listen",
     .type = OPTION_TEXT,
     .offset = AT(listen),
     .initial = "",
     .help = "address and port where IPND beacons are heard, such as 192.0.2.1:3003; not "
             "with interface, whose groups are heard then"},
    {.key = "addresses",
     .type = OPTION_WORDS,
     .offset = AT(addresses),
     .initial = "",
     .help = "further destinations of own IPND beacons: a list such as [192.0.2.7:3003], at most "
             "16"},
    {.key = "formats",
     .type = OPTION_WORDS,
     .offset = AT(formats),
     .initial = "ipnd",
     .help = "beacons that are sent and heard: ipnd (dtn7-rs; 224.0.0.26, ff02::1, port 3003), "
             "dtn7-go (224.23.23.23, ff02::23, port 35039), or a list of both"},
    {.key = "family",
     .type = OPTION_CHOICE,
     .offset = AT(family),
     .initial = "v4",
     .choices = "v4|v6|both",
     .help = "multicast groups of IPv4, IPv6 or both"},
    {.key = "interval",
     .type = OPTION_DURATION,
     .offset = AT(interval),
     .initial = "10s",
     .min = 100 * TICK_MS,
     .max = DISCOVERY_PERIOD_MAX,
     .help = "between own beacons, give or take a tenth"},
    {.key = "silence",
     .type = OPTION_DURATION,
     .offset = AT(silence),
     .initial = "35s",
     .min = 100 * TICK_MS,
     .max = 86400 * TICK_S,
     .help = "a neighbour without a beacon for so long is gone; three times the period that its "
             "beacons announce if that is longer, but at most ten times this"},
    {.key = "patience",
     .type = OPTION_DURATION,
     .offset = AT(patience),
     .initial = "20s",
     .min = 100 * TICK_MS,
     .max = 3600 * TICK_S,
     .help = "a link that is not up for so long gives way to another claimant of its name, or to "
             "another neighbour if there are links_max links"},
    {.key = "names",
     .type = OPTION_CHOICE,
     .offset = AT(names),
     .initial = "proven",
     .choices = "proven|claimed",
     .help = "proven: only links whose peer proves its name by TLS; claimed: any sender of a "
             "beacon can get the bundles for the name in it"},
    {.key = "confidence",
     .type = OPTION_SHARE,
     .offset = AT(confidence),
     .initial = "0.5",
     .help = "of the contacts that a link that is up adds to the contact plan, until its neighbour "
             "is silent; 0: none are added"},
    {.key = "rate",
     .type = OPTION_RATE,
     .offset = AT(rate),
     .initial = "unlimited",
     .min = 1,
     .max = UINT64_C(1000000000000),
     .choices = "unlimited",
     .help = "of these contacts"},
    {.key = "neighbours",
     .type = OPTION_COUNT,
     .offset = AT(neighbours),
     .initial = "256",
     .min = 1,
     .max = 4096,
     .help = "neighbours in the table: pairs of a name and an address; more displace those without "
             "a link, at random"},
    {.key = "address",
     .type = OPTION_COUNT,
     .offset = AT(address),
     .initial = "4",
     .min = 1,
     .max = 4096,
     .help = "of these from one address; more are ignored"},
    {.key = "links_max",
     .type = OPTION_COUNT,
     .offset = AT(links_max),
     .initial = "32",
     .min = 1,
     .max = 4096,
     .help = "links to neighbours at the same time"},
    {.key = NULL},
};

static uint32_t line_of(const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    return t != NULL ? t->line : map->line;
}

/* ---- values ---- */

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

bool config_discovery_on(const struct config *c)
{
    return is_given(c->discovery.interface) || is_given(c->discovery.listen) ||
           is_given(c->discovery.addresses);
}

/* The next word of the text, which has blanks between them. False: none is left. */
static bool next_word(const char **text, char *out, size_t cap)
{
    *text += strspn(*text, " ");
    const size_t len = strcspn(*text, " ");
    snprintf(out, cap, "%.*s", (int)(len < cap ? len : cap - 1), *text);
    *text += len;
    return len > 0;
}

bool config_discovery_has(const struct config *c, enum discovery_format format)
{
    char word[ADDRESS_TEXT_MAX];
    for (const char *at = c->discovery.formats; next_word(&at, word, sizeof word);)
        if (strcmp(word, discovery_format_text(format)) == 0)
            return true;
    return false;
}

size_t config_discovery_addresses(const struct config *c, struct address *out)
{
    size_t n = 0;
    char word[ADDRESS_TEXT_MAX];
    for (const char *at = c->discovery.addresses;
         n < CONFIG_DISCOVERY_ADDRESSES && next_word(&at, word, sizeof word);)
        n += address_parse(word, &out[n]) == 0;
    return n;
}

static void check_formats(const struct config *c, const struct conf_tree *map,
                          struct conf_errors *errors)
{
    char word[ADDRESS_TEXT_MAX];
    size_t n = 0;
    for (const char *at = c->discovery.formats; next_word(&at, word, sizeof word); n++) {
        int f = 0;
        while (f < DISCOVERY_FORMATS &&
               strcmp(word, discovery_format_text((enum discovery_format)f)) != 0)
            f++;
        if (f == DISCOVERY_FORMATS)
            conf_error(errors, line_of(map, "formats"),
                       WHERE "formats: \"%s\" is not known; write ipnd, dtn7-go, or both", word);
    }
    if (n == 0)
        conf_error(errors, line_of(map, "formats"),
                   WHERE "formats: it is empty; write ipnd, dtn7-go, or both");
}

static void check_addresses(const struct config *c, const struct conf_tree *map,
                            struct conf_errors *errors)
{
    char word[ADDRESS_TEXT_MAX];
    struct address a;
    size_t n = 0;
    for (const char *at = c->discovery.addresses; next_word(&at, word, sizeof word); n++)
        if (address_parse(word, &a) < 0)
            conf_error(errors, line_of(map, "addresses"),
                       WHERE "addresses: \"%s\" is not an address; write %s", word, address_hint);
    if (n > CONFIG_DISCOVERY_ADDRESSES)
        conf_error(errors, line_of(map, "addresses"),
                   WHERE "addresses: %zu addresses; at most %d are possible", n,
                   CONFIG_DISCOVERY_ADDRESSES);
    if (is_given(c->discovery.listen) && address_parse(c->discovery.listen, &a) < 0)
        conf_error(errors, line_of(map, "listen"),
                   WHERE "listen: \"%s\" is not an address; write %s", c->discovery.listen,
                   address_hint);
    if (is_given(c->discovery.listen) && is_given(c->discovery.interface))
        conf_error(errors, line_of(map, "listen"),
                   WHERE "listen: with interface beacons are heard at its groups; leave one away");
    if (conf_child(map, "links") != NULL && n == 0 && !is_given(c->discovery.listen) &&
        !is_given(c->discovery.interface))
        conf_error(errors, map->line,
                   WHERE "interface: it is missing; write the name of a network interface such as "
                         "eth0, or listen and addresses");
    if (is_given(c->discovery.interface) && strlen(c->discovery.interface) > INTERFACE_MAX)
        conf_error(errors, line_of(map, "interface"),
                   WHERE "interface: \"%s\" is too long for a network interface; ip link shows "
                         "their names",
                   c->discovery.interface);
}

/* ---- templates ---- */

/* A link of the template. NULL: no memory, or errors. */
static struct config_link *make_link(const struct conf_tree *form, const struct eid *node,
                                     const char *name, const char *peer, const char *remote,
                                     config_adapters *adapters, struct conf_errors *errors)
{
    const size_t before = errors->total;
    struct conf_tree *map = conf_tree_copy(form);
    struct config_link *l = calloc(1, sizeof *l);
    if (map == NULL || l == NULL || !conf_tree_put(map, "remote", remote) ||
        !conf_tree_put(map, "peer", peer) || !conf_tree_put(map, "name", name))
        conf_no_memory(errors, form->line);
    else
        config_link_read(l, node, map, adapters, errors);
    conf_tree_free(map);
    if (errors->total == before)
        return l;
    config_link_free(l);
    return NULL;
}

struct config_link *config_discovery_link(const struct config *c, size_t i, const char *name,
                                          const struct eid *peer, const char *remote,
                                          config_adapters *adapters, struct conf_errors *errors)
{
    char text[EID_TEXT_MAX];
    eid_text(peer, text);
    return make_link(c->discovery.found[i].map, &c->node, name, text, remote, adapters, errors);
}

/* Keys that each neighbour has of its own. */
static bool has_own_keys(const struct conf_tree *map, struct conf_errors *errors)
{
    static const char *const keys[] = {"name", "peer", "remote", "peers"};
    const size_t before = errors->total;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (conf_child(map, keys[i]) != NULL)
            conf_error(errors, line_of(map, keys[i]),
                       WHERE "links.%s: each neighbour's link gets its own; remove it", keys[i]);
    return errors->total > before;
}

static void check_link(const struct config *c, const struct config_link *l,
                       const struct conf_tree *map, struct conf_errors *errors)
{
    assert(l->ops != NULL); /* without errors it has an adapter */
    if (l->ops->service == NULL)
        conf_error(errors, map->line, WHERE "links: beacons do not name %s; write another adapter",
                   l->ops->name);
    else if (c->discovery.names == NAMES_PROVEN && !cla_proves(l->ops, l->settings))
        conf_error(errors, map->line,
                   WHERE "links: %s with these keys proves no names, and any sender of a beacon "
                         "could get the bundles for the name in it; write TCPCL with tls: {mode: "
                         "required, peer: node}, or " WHERE "names: claimed",
                   l->ops->name);
}

static void read_template(struct config *c, const struct conf_tree *map, config_adapters *adapters,
                          struct conf_errors *errors)
{
    struct config_found *f = &c->discovery.found[c->discovery.found_len];
    const char *key;
    if (has_own_keys(map, errors))
        return;
    const char *remote = c->discovery.family == FAMILY_V6 ? "[2001:db8::1]:1" : "192.0.2.1:1";
    struct config_link *l =
        make_link(map, &c->node, STAND_IN, "ipn:4294967294.0", remote, adapters, errors);
    if (l == NULL)
        return;
    check_link(c, l, map, errors);
    f->ops = l->ops;
    f->socket = config_link_socket(l, &key, &f->local);
    f->map = conf_tree_copy(map);
    config_link_free(l);
    if (f->map == NULL)
        conf_no_memory(errors, map->line);
    else
        c->discovery.found_len++;
}

static void read_templates(struct config *c, const struct conf_tree *map, config_adapters *adapters,
                           struct conf_errors *errors)
{
    size_t n;
    const struct conf_tree *t = conf_list(map, WHERE, "links", CONFIG_FOUND_MAX, &n, errors);
    if (t == NULL)
        return;
    c->discovery.found = calloc(n + 1, sizeof *c->discovery.found);
    if (c->discovery.found == NULL)
        conf_no_memory(errors, map->line);
    for (; t != NULL && c->discovery.found != NULL; t = t->next)
        read_template(c, t, adapters, errors);
}

void config_discovery_read(struct config *c, const struct conf_tree *root,
                           config_adapters *adapters, struct conf_errors *errors)
{
    const struct conf_tree *map = conf_child(root, "discovery");
    if (map == NULL || map->kind != CONF_MAP || c->discovery.formats == NULL ||
        c->discovery.addresses == NULL)
        return;
    check_formats(c, map, errors);
    check_addresses(c, map, errors);
    read_templates(c, map, adapters, errors);
}

void config_discovery_free(struct config *c)
{
    for (size_t i = 0; i < c->discovery.found_len; i++)
        conf_tree_free(c->discovery.found[i].map);
    free(c->discovery.found);
    c->discovery.found = NULL;
    c->discovery.found_len = 0;
}

bool config_discovery_same_links(const struct config *a, const struct config *b)
{
    if (a->discovery.found_len != b->discovery.found_len)
        return false;
    for (size_t i = 0; i < a->discovery.found_len; i++)
        if (!conf_tree_equal(a->discovery.found[i].map, b->discovery.found[i].map))
            return false;
    return true;
}
