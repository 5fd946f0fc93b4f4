/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file becomes a tree, each section of the tree is read by its table, then the relations
 * between values are checked: links have names of their own and a node as peer, routes name links
 * that exist, a durable store has a path. All errors are collected; a configuration with one error
 * is none at all.
 */
#include "node/config/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/units.h"
#include "base/words.h"
#include "bp/agent/forwarding/routes.h"
#include "conf/conf_section.h"
#include "node/config/config_discovery.h"
#include "node/config/config_link.h"
#include "node/config/config_names.h"
#include "node/config/config_permit.h"
#include "node/config/config_tables.h"

#define NEEDS_KEYS "it needs at least the keys node and socket"

#define NONE_LIMIT (UINT64_C(1) << 30)

static const struct config_section sections[] = {
    {"", config_top},
    {"store", config_store},
    {"bundles", config_bundles},
    {"log", config_log},
    {"routing", config_routing},
    {"http", config_http},
    {"discovery", config_discovery},
    {"links", config_link_options},
    {"priorities", config_queue_options},
    {"routes", config_route_options},
    {"endpoints", config_endpoint_options},
    {"names", config_name_options},
    {"security", config_security_options},
    {"rules", config_rule_options},
    {"applications", config_user_options},
};
static const char *const section_words[] = {
    "store",  "bundles",   "log",   "routing",  "http",  "discovery",    "links",
    "routes", "endpoints", "names", "security", "rules", "applications", NULL};

const struct config_section *config_section_at(size_t i)
{
    return i < sizeof sections / sizeof *sections ? &sections[i] : NULL;
}

/* Where to point at: the key's line, or its map's when it is not there. */
static uint32_t line_of(const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    return t != NULL ? t->line : map->line;
}

static void read_map(const struct conf_tree *root, const char *name,
                     const struct conf_option *options, struct config *c,
                     struct conf_errors *errors)
{
    char where[32];
    const struct conf_tree *t = conf_child(root, name);
    if (t == NULL || (t->kind == CONF_SCALAR && *t->text == '\0'))
        return;
    snprintf(where, sizeof where, "%s.", name);
    struct conf_part part = {options, c, config_set};
    conf_section_read(t, where, &part, 1,
                      options == config_discovery ? config_discovery_words : NULL, errors);
}

static void read_link(struct config *c, const struct conf_tree *map, config_adapters *adapters,
                      struct conf_errors *errors)
{
    struct config_link *l = &c->links[c->links_len++];
    const struct conf_tree *name = conf_child(map, "name");
    config_link_read(l, &c->node, map, adapters, errors);
    for (size_t i = 0; i + 1 < c->links_len && l->name != NULL; i++)
        if (c->links[i].name != NULL && strcmp(c->links[i].name, l->name) == 0)
            conf_error(errors, name != NULL ? name->line : map->line,
                       "links[%.64s].name: the link in line %u has this name, too; write another",
                       l->name, c->links[i].line);
}

/* Do their sockets exclude each other? With one adapter they have one at the same address. */
static bool excludes_socket(const struct config_link *l, const struct config_link *o,
                            const char **key, char *why, size_t cap)
{
    struct address mine, other;
    const char *ignored;
    const enum cla_socket kind = config_link_socket(l, key, &mine);
    if (kind == CLA_SOCKET_NONE || config_link_socket(o, &ignored, &other) != kind ||
        address_port(&mine) != address_port(&other))
        return false;
    const bool same = address_equal(&mine, &other),
               whole = mine.sa.sa_family == other.sa.sa_family &&
                       (address_is_any(&mine) || address_is_any(&other));
    if (same ? l->ops == o->ops : !whole)
        return false;
    snprintf(why, cap, "%s; write another port",
             same ? "another adapter has this address and port"
                  : "one of the two has all addresses of this port");
    return true;
}

/* Can both be opened? Else with what is wrong of l. */
static bool can_both(const struct config *c, const struct config_link *l,
                     const struct config_link *o, const char **key, char *why, size_t cap)
{
    const struct cla_named mine = {l->settings, &c->node, &l->peer},
                           other = {o->settings, &c->node, &o->peer};
    if (excludes_socket(l, o, key, why, cap))
        return false;
    return l->ops != o->ops || cla_conflict(l->ops, &mine, &other, key, why, cap) == 0;
}

/* Of the links before it, the first one beside which it cannot be opened. */
static void check_pair(const struct config *c, size_t i, struct conf_errors *errors)
{
    const struct config_link *l = &c->links[i];
    for (size_t k = 0; k < i; k++) {
        const struct config_link *o = &c->links[k];
        const char *key = "";
        char why[256];
        if (can_both(c, l, o, &key, why, sizeof why))
            continue;
        conf_error(errors, l->line, "links[%.64s].%s: conflicts with the link %.64s: %s", l->name,
                   key, o->name, why);
        return;
    }
}

static void check_pairs(const struct config *c, struct conf_errors *errors)
{
    for (size_t i = 0; i < c->links_len; i++)
        check_pair(c, i, errors);
}

/* The node's own endpoints have one owner. */
static void check_ends(const struct config *c, struct conf_errors *errors)
{
    struct eid echo;
    char text[EID_TEXT_MAX];
    if (!config_echo(c, &echo))
        return;
    for (size_t i = 0; i < c->links_len; i++) {
        const struct config_link *l = &c->links[i];
        struct cla_tunnel t;
        if (!cla_tunnel(l->ops, l->settings, &t))
            continue;
        eid_text(&t.near_end, text);
        if (eid_equal(&t.near_end, &echo))
            conf_error(errors, l->line,
                       "links[%.64s].%s: %s is the echo endpoint; write another one, or echo: off",
                       l->name, t.near_key, text);
    }
}

static void resolve_route(const struct config *c, const struct conf_tree *map,
                          struct config_route *r, struct conf_errors *errors)
{
    const char **names = calloc(c->links_len + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < c->links_len; i++) {
        if (c->links[i].name == NULL)
            continue;
        if (strcmp(c->links[i].name, r->via) == 0) {
            r->link = (uint32_t)i;
            free(names);
            return;
        }
        if (names != NULL)
            names[n++] = c->links[i].name;
    }
    const char *closest = words_closest(r->via, names, n);
    conf_error(errors, line_of(map, "via"), "routes.via: there is no link \"%s\"; %s%s%s", r->via,
               closest != NULL ? "did you mean " : "write the name of one of the links",
               closest != NULL ? closest : "", closest != NULL ? "?" : "");
    free(names);
}

static void read_route(struct config *c, const struct conf_tree *map, struct conf_errors *errors)
{
    struct config_route *r = &c->routes[c->routes_len++];
    struct conf_part part = {config_route_options, r, config_set};
    r->line = map->line;
    conf_section_read(map, "routes.", &part, 1, NULL, errors);
    const char *why;
    if (r->to != NULL && eid_patterns_read(r->to, &r->patterns, &why) < 0)
        conf_error(errors, line_of(map, "to"), "routes.to: \"%s\" %s", r->to, why);
    if (r->via != NULL)
        resolve_route(c, map, r, errors);
}

static void read_lists(struct config *c, const struct conf_tree *root, config_adapters *adapters,
                       struct conf_errors *errors)
{
    size_t links, routes;
    const struct conf_tree *l = conf_list(root, "", "links", CONFIG_LINKS_MAX, &links, errors);
    const struct conf_tree *r = conf_list(root, "", "routes", ROUTES_MAX, &routes, errors);
    c->links = calloc(links + 1, sizeof *c->links);
    c->routes = calloc(routes + 1, sizeof *c->routes);
    if (c->links == NULL || c->routes == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (; l != NULL; l = l->next)
        read_link(c, l, adapters, errors);
    for (; r != NULL; r = r->next)
        read_route(c, r, errors);
    config_lists_read(config_lists, c, root, "", errors);
    config_lists_read(config_security_lists, c, root, "", errors);
    config_lists_read(config_permit_lists, c, root, "", errors);
    config_discovery_read(c, root, adapters, errors);
}

static void check_socket(const struct conf_tree *root, const char *key, const char *path,
                         struct conf_errors *errors)
{
    size_t max = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (path == NULL || strlen(path) <= max)
        return;
    if (conf_child(root, key) == NULL) /* the control socket, whose path is made of the other */
        conf_error(errors, line_of(root, "socket"),
                   "socket: with .ctl for the %s socket the path has %zu bytes; at most %zu are "
                   "possible",
                   key, strlen(path), max);
    else
        conf_error(errors, line_of(root, key),
                   "%s: the path has %zu bytes; a socket's path has at most %zu", key, strlen(path),
                   max);
}

static void check_node(const struct config *c, const struct conf_tree *root,
                       struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(root, "node");
    if (t == NULL || t->kind != CONF_SCALAR || *t->text == '\0')
        return;
    char text[EID_TEXT_MAX];
    struct eid node = eid_node(&c->node), parsed;
    if (eid_parse(t->text, &parsed) < 0)
        return;
    eid_text(&node, text);
    if (eid_is_none(&c->node) || eid_is_local(&c->node))
        conf_error(errors, t->line, "node: %s names no node; write one such as ipn:1.0", t->text);
    else if (!eid_is_node(&c->node))
        conf_error(errors, t->line, "node: \"%s\" is an endpoint; write its node's id, %s", t->text,
                   text);
}

static void check_echo(const struct config *c, const struct conf_tree *root,
                       struct conf_errors *errors)
{
    struct eid e;
    const struct conf_tree *t = conf_child(root, "echo");
    if (t == NULL || c->echo == NULL || strcmp(c->echo, "off") == 0 || eid_is_none(&c->node))
        return;
    if (!config_echo(c, &e))
        conf_error(errors, t->line, "echo: \"%s\" is not a service of this node; write on, off, %s",
                   c->echo, c->node.scheme == EID_IPN ? "or a number from 1" : "or a name");
}

static void check_store(struct config *c, const struct conf_tree *root, struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(root, "store");
    bool map = t != NULL && t->kind == CONF_MAP;
    if (c->store.durability == STORE_NONE) {
        if (!map || conf_child(t, "limit") == NULL)
            c->store.limit = NONE_LIMIT;
    } else if ((c->store.path == NULL || *c->store.path == '\0') && (t == NULL || map)) {
        conf_error(errors, t != NULL ? t->line : root->line,
                   "store.path: this key is missing; write a directory, or durability: none to "
                   "keep bundles in memory only");
    }
}

static uint32_t line_in(const struct conf_tree *root, const char *section, const char *key)
{
    const struct conf_tree *map = section != NULL ? conf_child(root, section) : root;
    const struct conf_tree *t = map != NULL && map->kind == CONF_MAP ? conf_child(map, key) : NULL;
    return t != NULL ? t->line : 0;
}

static void check_lifetimes(const struct config *c, const struct conf_tree *root,
                            struct conf_errors *errors)
{
    uint32_t line = line_in(root, "bundles", "lifetime");
    if (c->bundles.lifetime <= c->bundles.lifetime_max)
        return;
    if (line != 0)
        conf_error(errors, line,
                   "bundles.lifetime: longer than lifetime_max (30d unless given); write a shorter "
                   "one, or raise that");
    else
        conf_error(errors, line_in(root, "bundles", "lifetime_max"),
                   "bundles.lifetime_max: shorter than lifetime (1d unless given); write a longer "
                   "one, or a shorter lifetime");
}

size_t config_numbers(const char *text, uint64_t *out, size_t max)
{
    size_t n = 0, len;
    for (text += strspn(text, ", "); *text != '\0'; text += len, text += strspn(text, ", ")) {
        char word[24];
        len = strcspn(text, ", ");
        if (len >= sizeof word || n == max)
            return SIZE_MAX;
        snprintf(word, sizeof word, "%.*s", (int)len, text);
        if (units_count(word, UINT64_MAX, &out[n++]) != 0)
            return SIZE_MAX;
    }
    return n;
}

static void check_exclude(const struct config *c, const struct conf_tree *root,
                          struct conf_errors *errors)
{
    uint64_t numbers[CONFIG_EXCLUDE_MAX];
    const char *text = c->routing.exclude;
    if (text != NULL && config_numbers(text, numbers, CONFIG_EXCLUDE_MAX) == SIZE_MAX)
        conf_error(errors, line_in(root, "routing", "exclude"),
                   "routing.exclude: \"%s\" is not understood; write at most %d numbers of "
                   "neighbours, such as 3, 5",
                   text, CONFIG_EXCLUDE_MAX);
}

static void check_token(const char *token, const char *key, const struct conf_tree *root,
                        struct conf_errors *errors)
{
    const size_t len = token == NULL ? 0 : strlen(token);
    if (len > 0 && (len < 16 || len > 256 || strpbrk(token, " \t\r\n") != NULL))
        conf_error(errors, line_in(root, "http", key),
                   "http.%s: write 16 to 256 characters, without blanks", key);
}

/* "http://HOST:PORT" in len bytes; nothing behind it, as in an Origin header. */
static bool is_origin(const char *word, size_t len)
{
    static const char scheme[] = "http", rest[] = "://";
    size_t at = sizeof scheme - 1;
    if (len < at || memcmp(word, scheme, at) != 0)
        return false;
    at += len > at && word[at] == 's';
    if (len < at + 3 || memcmp(word + at, rest, 3) != 0)
        return false;
    for (size_t i = at += 3; i < len; i++)
        if (!isalnum((unsigned char)word[i]) && strchr("-._:[]", word[i]) == NULL)
            return false;
    return len > at && len <= CONFIG_ORIGIN_MAX;
}

static void check_origins(const char *text, const char *key, const struct conf_tree *root,
                          struct conf_errors *errors)
{
    size_t count = 0, len;
    const uint32_t line = line_in(root, "http", key);
    for (const char *w = text == NULL ? "" : text; *w != '\0'; w += len + strspn(w + len, " ")) {
        len = strcspn(w, " ");
        if (!is_origin(w, len)) {
            conf_error(errors, line,
                       "http.%s: \"%.*s\" is not understood; write how a page's address begins, "
                       "with nothing behind the port, such as http://192.0.2.7:9464",
                       key, (int)len, w);
            return;
        }
        count++;
    }
    if (count > CONFIG_ORIGINS_MAX)
        conf_error(errors, line, "http.%s: %zu addresses; at most %d are possible", key, count,
                   CONFIG_ORIGINS_MAX);
}

static void check_http(const struct config *c, const struct conf_tree *root,
                       struct conf_errors *errors)
{
    struct address at;
    uint64_t port;
    const char *listen = c->http.listen, *change = c->http.change_token;
    if (listen != NULL && *listen != '\0' && units_count(listen, 65535, &port) != 0 &&
        address_parse(listen, &at) != 0)
        conf_error(errors, line_in(root, "http", "listen"),
                   "http.listen: \"%s\" is not understood; write a port (of 127.0.0.1), or an "
                   "address with its port, such as 192.0.2.1:9464",
                   listen);
    check_token(c->http.token, "token", root, errors);
    check_token(change, "change_token", root, errors);
    if (change != NULL && *change != '\0' && c->http.token != NULL &&
        strcmp(change, c->http.token) == 0)
        conf_error(errors, line_in(root, "http", "change_token"),
                   "http.change_token: it is http.token, whose users only read; write another one");
    check_origins(c->http.network, "network", root, errors);
    check_origins(c->http.origins, "origins", root, errors);
}

static void check_mode(struct config_access *a, const char *key, const struct conf_tree *root,
                       struct conf_errors *errors)
{
    char *end = NULL;
    const char *text = a->mode_text == NULL ? "" : a->mode_text;
    unsigned long mode = strspn(text, "01234567") == 0 ? 0 : strtoul(text, &end, 8);
    if (end == NULL || *end != '\0' || mode > 0777 || (mode & 0600) != 0600)
        conf_error(
            errors, line_in(root, NULL, key),
            "%s: \"%s\" is not understood; write three octal digits, of which the owner's is "
            "6 or 7, such as 0660",
            key, text);
    a->mode = (unsigned)mode;
}

static void note_lines(struct config *c, const struct conf_tree *root)
{
    c->lines.socket = line_in(root, NULL, "socket");
    c->lines.control = line_in(root, NULL, "control");
    c->lines.socket_group = line_in(root, NULL, "socket_group");
    c->lines.control_group = line_in(root, NULL, "control_group");
    c->lines.admin_group = line_in(root, NULL, "control_admin_group");
    c->lines.plan = line_in(root, NULL, "plan");
    c->lines.security = line_in(root, NULL, "security");
    c->lines.security_keys = line_in(root, NULL, "security_keys");
    c->lines.store = line_in(root, "store", "path");
    c->lines.total = line_in(root, "bundles", "total");
    c->lines.http = line_in(root, "http", "listen");
    c->lines.segments = line_in(root, "log", "segments");
    c->lines.bundles = line_in(root, "log", "bundles");
}

/* "SOCKET.ctl"; NULL: out of memory. */
static char *control_of(const char *socket)
{
    const size_t cap = strlen(socket) + sizeof ".ctl";
    char *path = malloc(cap);
    if (path != NULL)
        snprintf(path, cap, "%s.ctl", socket);
    return path;
}

static void check_all(struct config *c, const struct conf_tree *root, struct conf_errors *errors)
{
    note_lines(c, root);
    check_node(c, root, errors);
    check_echo(c, root, errors);
    check_store(c, root, errors);
    check_lifetimes(c, root, errors);
    check_exclude(c, root, errors);
    check_http(c, root, errors);
    config_security_check(c, root, errors);
    config_permit_lines(c, root);
    check_mode(&c->socket_access, "socket_mode", root, errors);
    check_mode(&c->control_access, "control_mode", root, errors);
    if (c->bundles.retry_max < c->bundles.retry_min)
        conf_error(errors, line_of(root, "bundles"),
                   "bundles.retry_max: shorter than retry_min; write a longer one");
    if (c->socket != NULL && c->control != NULL && *c->control == '\0') {
        char *path = control_of(c->socket);
        if (path == NULL) {
            conf_no_memory(errors, 0);
            return;
        }
        free(c->control);
        c->control = path;
    }
    check_socket(root, "socket", c->socket, errors);
    check_socket(root, "control", c->control, errors);
}

static void read_root(struct config *c, struct conf_tree *root, config_adapters *adapters,
                      struct conf_errors *errors)
{
    const size_t before = errors->total;
    if (root->kind != CONF_MAP) {
        conf_error(errors, root->line,
                   "%s is not expected here; write a map with the keys node "
                   "and socket",
                   conf_kind_name(root->kind));
        return;
    }
    if (conf_is_foreign(root, "heliod", errors))
        return;
    for (size_t i = 0; i < CONFIG_MAPS; i++) {
        if (conf_options_default(sections[i].options, c, config_set) < 0) {
            conf_no_memory(errors, 0);
            return;
        }
    }
    c->node = eid_none();
    if (!config_names_read(c, root, errors))
        return;
    struct conf_part part = {config_top, c, config_set};
    errors->place_of = config_place_of;
    errors->context = &adapters;
    conf_section_read(root, "", &part, 1, section_words, errors);
    for (size_t i = 1; i < CONFIG_MAPS; i++)
        read_map(root, sections[i].name, sections[i].options, c, errors);
    read_lists(c, root, adapters, errors);
    errors->place_of = NULL;
    if (errors->total == before) {
        check_pairs(c, errors);
        check_ends(c, errors);
    }
    check_all(c, root, errors);
}

int config_parse(struct config *out, const char *data, size_t len, config_adapters *adapters,
                 struct conf_errors *errors)
{
    *out = (struct config){.links = NULL};
    struct conf_tree *root = conf_tree_parse(data, len, NEEDS_KEYS, errors);
    if (root != NULL)
        read_root(out, root, adapters, errors);
    conf_tree_free(root);
    if (errors->total == 0)
        return 0;
    config_fini(out);
    return conf_errors_code(errors);
}

int config_load(struct config *out, const char *path, config_adapters *adapters,
                struct conf_errors *errors)
{
    *out = (struct config){.links = NULL};
    size_t len;
    char *data = conf_file_read(path, &len, errors);
    int err =
        data != NULL ? config_parse(out, data, len, adapters, errors) : conf_errors_code(errors);
    free(data);
    return err;
}

/* A text that is not empty, or NULL. */
static const char *text_of(const struct conf_tree *root, const char *key)
{
    const struct conf_tree *t = root->kind == CONF_MAP ? conf_child(root, key) : NULL;
    return t != NULL && t->kind == CONF_SCALAR && *t->text != '\0' ? t->text : NULL;
}

char *config_control(const char *path, struct conf_errors *errors)
{
    size_t len;
    char *data = conf_file_read(path, &len, errors), *made = NULL;
    struct conf_tree *root = data == NULL ? NULL : conf_tree_parse(data, len, NEEDS_KEYS, errors);
    free(data);
    if (root == NULL)
        return NULL;
    const char *control = text_of(root, "control"), *socket = text_of(root, "socket");
    if (control != NULL || socket != NULL) {
        made = control != NULL ? strdup(control) : control_of(socket);
        if (made == NULL)
            conf_no_memory(errors, 0);
    } else {
        conf_error(errors, root->line,
                   "socket: this key is missing; write the configuration of a node");
    }
    conf_tree_free(root);
    return made;
}

void config_fini(struct config *c)
{
    for (size_t i = 0; i < CONFIG_MAPS; i++)
        conf_options_free(sections[i].options, c);
    for (size_t i = 0; i < c->links_len; i++)
        config_link_fini(&c->links[i]);
    for (size_t i = 0; i < c->routes_len; i++)
        conf_options_free(config_route_options, &c->routes[i]);
    config_lists_free(config_lists, c);
    config_lists_free(config_name_lists, c);
    config_lists_free(config_security_lists, c);
    config_lists_free(config_permit_lists, c);
    config_discovery_free(c);
    free(c->links);
    free(c->routes);
    *c = (struct config){.links = NULL};
}

bool config_echo(const struct config *c, struct eid *out)
{
    uint64_t service;
    char text[EID_TEXT_MAX + 64];
    if (strcmp(c->echo, "off") == 0 || strlen(c->echo) > 63)
        return false;
    bool on = strcmp(c->echo, "on") == 0;
    if (c->node.scheme == EID_IPN) {
        if (units_count(on ? "128" : c->echo, UINT32_MAX, &service) < 0 || service == 0)
            return false;
        *out = c->node;
        out->service = service;
        return true;
    }
    size_t n = eid_text(&c->node, text);
    snprintf(text + n, sizeof text - n, "%s", on ? "echo" : c->echo);
    return *c->echo != '\0' && eid_parse(text, out) == 0;
}
