/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file becomes a tree, each section is read by its table, then what texts mean and what relates
 * to what: instances name users and sources that exist. All errors are collected.
 */
#include "tools/sle/sle_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node/http/http_text.h"
#include "tools/sle/sle_settings_private.h"
#include "tools/sle/sle_when.h"

static const struct {
    const char *name;
    const struct conf_option *options;
} sections[] = {
    {"", settings_top},         {"tml", settings_tml},         {"http", settings_http},
    {"users", settings_users},  {"sources", settings_sources}, {"instances", settings_instances},
    {"events", settings_events}};
static const char *const words[] = {"tml", "http", "users", "sources", "instances", NULL};
static const char *const instance_words[] = {"events", NULL};

bool settings_section(size_t i, const char **name, const struct conf_option **options)
{
    if (i >= sizeof sections / sizeof *sections)
        return false;
    *name = sections[i].name;
    *options = sections[i].options;
    return true;
}

/* ---- values ---- */

static bool take_number(const char **p, unsigned long max, unsigned long *out)
{
    char *end;
    if (**p < '0' || **p > '9')
        return false;
    *out = strtoul(*p, &end, 10);
    *p = end;
    return *out <= max;
}

bool settings_gvcid(const char *text, struct sle_gvcid *out)
{
    unsigned long version, scid, vcid = SLE_MASTER;
    if (!take_number(&text, SLE_VERSION_USLP, &version) || *text++ != '.' ||
        !take_number(&text, UINT16_MAX, &scid) || *text++ != '.')
        return false;
    if (*text == '*')
        text++;
    else if (!take_number(&text, 63, &vcid))
        return false;
    if (*text != '\0')
        return false;
    *out = (struct sle_gvcid){
        .scid = (uint16_t)scid, .version = (uint8_t)version, .vcid = (uint8_t)vcid};
    return sle_gvcid_ok(*out);
}

/* ---- reading ---- */

static uint32_t line_of(const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    return t != NULL ? t->line : map->line;
}

void settings_wrong(struct reading *r, const struct conf_tree *map, const char *where,
                    const char *key, const char *value, const char *want)
{
    conf_error(r->errors, line_of(map, key), "%s%s: '%s': expected %s", where, key, value, want);
}

static struct settings_source *find_source(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->sources_len; i++)
        if (s->sources[i].name != NULL && strcmp(s->sources[i].name, name) == 0)
            return &s->sources[i];
    return NULL;
}

static const struct settings_user *find_user(const struct settings *s, const char *id)
{
    for (size_t i = 0; i < s->users_len; i++)
        if (s->users[i].id != NULL && strcmp(s->users[i].id, id) == 0)
            return &s->users[i];
    return NULL;
}

static void check_password(struct reading *r, const struct conf_tree *map, const char *where,
                           const char *text)
{
    struct sle_identity who;
    if (!sle_password_read(text, &who))
        settings_wrong(r, map, where, "password", "...",
                       "at most 64 octets, two hexadecimal digits each");
}

static void read_user(struct reading *r, const struct conf_tree *map, void *item)
{
    struct settings_user *u = item;
    if (u->id == NULL)
        return;
    if (!sle_authority_ok(u->id))
        settings_wrong(r, map, "users.", "id", u->id, "3 to 16 characters without blanks");
    if (find_user(r->s, u->id) != u)
        settings_wrong(r, map, "users.", "id", u->id, "an id that no other user has");
    check_password(r, map, "users.", u->password);
    if (u->level != SLE_AUTH_NONE && *u->password == '\0')
        settings_wrong(r, map, "users.", "password", "",
                       "a password, since authentication is asked for");
}

static void read_address(struct reading *r, const struct conf_tree *map, const char *where,
                         const char *key, const char *text, struct address *out)
{
    if (address_parse(text, out) < 0)
        settings_wrong(r, map, where, key, text, address_hint);
}

static void read_source(struct reading *r, const struct conf_tree *map, void *item)
{
    struct settings_source *x = item;
    if (x->name != NULL && find_source(r->s, x->name) != x)
        settings_wrong(r, map, "sources.", "name", x->name, "a name that no other source has");
    if (x->kind == SOURCE_UDP || x->kind == SOURCE_TCP)
        read_address(r, map, "sources.", "address", x->address_text, &x->address);
    x->modem = x->head != 0;
    if (x->modem && x->kind != SOURCE_UDP && x->kind != SOURCE_TCP)
        settings_wrong(r, map, "sources.", "head", "modem", "none: it is of udp and tcp");
    if (x->kind == SOURCE_FILE && *x->file == '\0')
        settings_wrong(r, map, "sources.", "file", "", "the name of a file");
    uint64_t vcids = x->format == SOURCE_TM ? 8 : 63, scid = x->format == SOURCE_TM ? 1023 : 255;
    if (x->kind == SOURCE_GENERATOR && x->vcids > vcids)
        settings_wrong(r, map, "sources.", "vcids", "too many", "at most 8 of TM, 63 of AOS");
    if (x->kind == SOURCE_GENERATOR && x->scid > scid)
        settings_wrong(r, map, "sources.", "scid", "too large", "at most 255 of AOS");
    if (x->kind == SOURCE_GENERATOR && x->format == SOURCE_TM)
        x->control_words = true;
    if (x->fecf % 2 != 0 || (x->kind == SOURCE_GENERATOR && x->fecf > 0))
        settings_wrong(r, map, "sources.", "fecf", "", "0, 2 or 4; generated frames have none");
    if (x->when_full == SOURCE_BY_KIND)
        x->when_full = x->kind == SOURCE_UDP || x->rate > 0 ? SOURCE_ABORT : SOURCE_WAIT;
}

static void read_initiators(struct reading *r, const struct conf_tree *map,
                            struct settings_instance *i)
{
    size_t max = strlen(i->users) / 2 + 1;
    i->initiators = calloc(max, sizeof *i->initiators);
    i->initiator_count = i->initiators == NULL ? 0 : settings_cut(i->users, i->initiators, max);
    if (i->initiator_count == 0)
        settings_wrong(r, map, "instances.", "users", "", "the id of at least one of the users");
    for (size_t k = 0; k < i->initiator_count; k++)
        if (find_user(r->s, i->initiators[k]) == NULL)
            settings_wrong(r, map, "instances.", "users", i->initiators[k],
                           "the id of one of the users");
}

static void read_versions(struct reading *r, const struct conf_tree *map,
                          struct settings_instance *i)
{
    const char *p = i->versions_text;
    for (; *p != '\0'; p++) {
        if (*p >= '0' + SLE_VERSION_MIN && *p <= '0' + SLE_VERSION_MAX)
            i->versions |= 1u << (*p - '0');
        else if (*p != ' ')
            break;
    }
    if (*p != '\0' || i->versions == 0)
        settings_wrong(r, map, "instances.", "versions", i->versions_text, "some of 2 3 4 5");
}

static void read_when(struct reading *r, const struct conf_tree *map, const char *key,
                      const char *text, struct sle_when *out)
{
    uint64_t ns;
    if (*text == '\0')
        return;
    if (!user_time_parse(text, &ns)) {
        settings_wrong(r, map, "instances.", key, text,
                       "a time in UTC such as 2026-11-22T18:00:00Z");
        return;
    }
    *out = (struct sle_when){.known = true, .at = sle_time_of(ns)};
}

static void read_gvcids(struct reading *r, const struct conf_tree *map, struct settings_instance *i)
{
    const char *parts[SLE_GVCIDS_MAX] = {NULL};
    bool wanted = i->service == SLE_RCF || i->service == SLE_ROCF;
    i->gvcid_count = settings_cut(i->gvcids_text, parts, SLE_GVCIDS_MAX);
    if (i->gvcid_count > SLE_GVCIDS_MAX || (wanted && i->gvcid_count == 0)) {
        i->gvcid_count = 0;
        settings_wrong(r, map, "instances.", "gvcids", "",
                       "1 to 256 channels such as 1.171.5 or 0.22.*");
    }
    for (size_t k = 0; k < i->gvcid_count; k++)
        if (!settings_gvcid(parts[k], &i->gvcids[k]))
            settings_wrong(r, map, "instances.", "gvcids", parts[k],
                           "a channel such as 1.171.5 or 0.22.*");
}

static const struct settings_instance *find_instance(const struct settings *s, const char *id)
{
    for (size_t i = 0; i < s->instances_len; i++)
        if (s->instances[i].id != NULL && strcmp(s->instances[i].id, id) == 0)
            return &s->instances[i];
    return NULL;
}

struct list_kind {
    const char *key;
    const struct conf_option *options;
    size_t size, max;
    const char *const *words;
    void (*read)(struct reading *r, const struct conf_tree *map, void *item);
};

static void read_list(struct reading *r, const struct conf_tree *root, const struct list_kind *kind,
                      void *items, size_t *len)
{
    char where[32];
    size_t n = 0;
    const struct conf_tree *t = conf_list(root, "", kind->key, kind->max, &n, r->errors);
    char *all = t == NULL ? NULL : calloc(n, kind->size);
    memcpy(items, &all, sizeof all);
    if (t == NULL)
        return;
    if (all == NULL) {
        conf_no_memory(r->errors, root->line);
        return;
    }
    snprintf(where, sizeof where, "%s.", kind->key);
    for (; t != NULL; t = t->next) {
        char *item = all + kind->size * (*len)++;
        struct conf_part part = {kind->options, item, NULL};
        size_t before = r->errors->total;
        if (conf_options_default(kind->options, item, conf_option_set) < 0)
            conf_no_memory(r->errors, t->line);
        conf_section_read(t, where, &part, 1, kind->words, r->errors);
        if (r->errors->total == before)
            kind->read(r, t, item);
    }
}

static const struct list_kind event_list = {
    "events", settings_events,    sizeof(struct settings_event), SETTINGS_EVENTS_MAX,
    NULL,     settings_read_event};

static void read_instance(struct reading *r, const struct conf_tree *map, void *item)
{
    struct settings_instance *i = item;
    struct sle_siid id;
    if (i->id == NULL || i->users == NULL)
        return;
    if (sle_siid_parse(i->id, &id, &i->service, &i->mode) < 0) {
        settings_wrong(r, map, "instances.", "id", i->id,
                       "such as sagr=A.spack=B.rsl-fg=C.raf=onlc1");
        return;
    }
    if (find_instance(r->s, i->id) != i)
        settings_wrong(r, map, "instances.", "id", i->id, "an id that no other instance has");
    read_initiators(r, map, i);
    read_versions(r, map, i);
    read_when(r, map, "begin", i->begin_text, &i->begin);
    read_when(r, map, "end", i->end_text, &i->end);
    read_gvcids(r, map, i);
    read_list(r, map, &event_list, &i->events, &i->events_len);
    if (*i->antenna == '\0' || strlen(i->antenna) > SLE_ANTENNA_MAX)
        settings_wrong(r, map, "instances.", "antenna", i->antenna, "1 to 16 characters");
    if (i->service == SLE_FCLTU && *i->connect_text != '\0')
        settings_wrong(r, map, "instances.", "connect", i->connect_text,
                       "none: users of FCLTU bind");
    if (i->service == SLE_FCLTU) {
        (void)address_parse(i->uplink, &i->uplink_address); /* else it is a file */
        return;
    }
    if (*i->connect_text != '\0')
        read_address(r, map, "instances.", "connect", i->connect_text, &i->connect);
    if (i->events_len > 0)
        settings_wrong(r, map, "instances.", "events", "", "none: it is no forward service");
    i->from = find_source(r->s, i->source);
    if (i->from == NULL)
        settings_wrong(r, map, "instances.", "source", i->source, "the name of one of the sources");
    else if (i->mode == SLE_OFFLINE && *i->from->record == '\0')
        settings_wrong(r, map, "instances.", "source", i->source,
                       "a source with the key record, from which offline instances deliver");
    else if (!i->pipelining && i->from->when_full != SOURCE_WAIT)
        settings_wrong(r, map, "instances.", "source", i->source,
                       "a source with when_full: wait, since without pipelining it has to");
}

static const struct list_kind user_list = {
    "users", settings_users, sizeof(struct settings_user), SETTINGS_USERS_MAX, NULL, read_user};
static const struct list_kind source_list = {
    "sources", settings_sources, sizeof(struct settings_source), SETTINGS_SOURCES_MAX,
    NULL,      read_source};
static const struct list_kind instance_list = {
    "instances",    settings_instances, sizeof(struct settings_instance), SETTINGS_INSTANCES_MAX,
    instance_words, read_instance};

static void check_tls(struct reading *r, const struct conf_tree *root)
{
    const struct settings *s = r->s;
    if (s->tls.mode == 0)
        return;
    if (*s->tls.certificate == '\0')
        settings_wrong(r, root, "", "tls_certificate", "", "the file of our certificate");
    if (*s->tls.key == '\0')
        settings_wrong(r, root, "", "tls_key", "", "the file of its private key");
    if (*s->tls.ca == '\0' && s->tls.peer != 3)
        settings_wrong(r, root, "", "tls_ca", "",
                       "the file of the CAs that are trusted, or write tls_peer: none");
    if (*s->tls.host == '\0' && s->tls.peer == 1)
        settings_wrong(r, root, "", "tls_host", "", "a name, for tls_peer: host");
}

static void read_http(struct reading *r, const struct conf_tree *root)
{
    struct settings *s = r->s;
    struct conf_part http = {settings_http, s, NULL};
    struct address at;
    const struct conf_tree *t = conf_map(root, "", "http", r->errors);
    if (t == NULL)
        return;
    conf_section_read(t, "http.", &http, 1, NULL, r->errors);
    const size_t len = strlen(s->http.token);
    if (*s->http.listen != '\0' && http_listen_parse(s->http.listen, &at) < 0)
        settings_wrong(r, t, "http.", "listen", s->http.listen, address_hint);
    if (len > 0 && (len < 16 || len > 256 || strpbrk(s->http.token, " \t\r\n") != NULL))
        settings_wrong(r, t, "http.", "token", "...", "16 to 256 characters, without blanks");
}

static void read_top(struct reading *r, const struct conf_tree *root)
{
    struct settings *s = r->s;
    struct conf_part top = {settings_top, s, NULL}, tml = {settings_tml, s, NULL};
    conf_section_read(root, "", &top, 1, words, r->errors);
    const struct conf_tree *t = conf_map(root, "", "tml", r->errors);
    if (t != NULL)
        conf_section_read(t, "tml.", &tml, 1, NULL, r->errors);
    read_http(r, root);
    if (s->id != NULL && !sle_authority_ok(s->id))
        settings_wrong(r, root, "", "id", s->id, "3 to 16 characters without blanks");
    if (!sle_port_name_ok(s->port_name))
        settings_wrong(r, root, "", "port_name", s->port_name,
                       "1 to 128 characters without blanks");
    check_password(r, root, "", s->password);
    check_tls(r, root);
    read_address(r, root, "", "listen", s->listen_text, &s->listen);
}

static void read_root(struct reading *r, const struct conf_tree *root)
{
    struct settings *s = r->s;
    if (root->kind != CONF_MAP) {
        conf_error(r->errors, root->line,
                   "%s is not expected here; write a map with the keys id, users, sources and "
                   "instances",
                   conf_kind_name(root->kind));
        return;
    }
    if (conf_options_default(settings_top, s, conf_option_set) < 0 ||
        conf_options_default(settings_http, s, conf_option_set) < 0 ||
        conf_options_default(settings_tml, s, conf_option_set) < 0) {
        conf_no_memory(r->errors, 0);
        return;
    }
    read_top(r, root);
    read_list(r, root, &user_list, &s->users, &s->users_len);
    read_list(r, root, &source_list, &s->sources, &s->sources_len);
    read_list(r, root, &instance_list, &s->instances, &s->instances_len);
    if (r->errors->total == 0 && s->instances_len == 0)
        conf_error(r->errors, root->line, "instances: there is none; write at least one");
}

int settings_parse(struct settings *s, const char *text, size_t len, struct conf_errors *errors)
{
    struct reading r = {s, errors};
    *s = (struct settings){0};
    struct conf_tree *root = conf_tree_parse(
        text, len, "it needs at least the keys id, users, sources and instances", errors);
    if (root == NULL)
        return conf_errors_code(errors);
    read_root(&r, root);
    conf_tree_free(root);
    if (errors->total == 0)
        return 0;
    settings_free(s);
    return conf_errors_code(errors);
}

int settings_load(struct settings *s, const char *path, struct conf_errors *errors)
{
    size_t len;
    char *text = conf_file_read(path, &len, errors);
    if (text == NULL)
        return conf_errors_code(errors);
    int r = settings_parse(s, text, len, errors);
    free(text);
    return r;
}

void settings_free(struct settings *s)
{
    conf_options_free(settings_top, s);
    conf_options_free(settings_http, s);
    for (size_t i = 0; i < s->users_len; i++)
        conf_options_free(settings_users, &s->users[i]);
    for (size_t i = 0; i < s->sources_len; i++)
        conf_options_free(settings_sources, &s->sources[i]);
    for (size_t i = 0; i < s->instances_len; i++) {
        free(s->instances[i].initiators);
        settings_free_events(&s->instances[i]);
        conf_options_free(settings_instances, &s->instances[i]);
    }
    free(s->users);
    free(s->sources);
    free(s->instances);
    *s = (struct settings){0};
}

struct sle_provider_config settings_provider(const struct settings *s,
                                             const struct settings_instance *i)
{
    return (struct sle_provider_config){
        .id = i->id,
        .initiators = i->initiators,
        .initiator_count = i->initiator_count,
        .responder_port = s->port_name,
        .versions = i->versions,
        .initiate = address_given(&i->connect),
        .begin = i->begin,
        .end = i->end,
        .return_timeout_s = (uint16_t)i->return_timeout,
        .min_reporting_cycle_s = (uint16_t)i->min_reporting,
        .buffer_frames = (uint32_t)i->buffer,
        .latency = i->latency,
        .queue_buffers = (uint32_t)((i->store + i->buffer - 1) / i->buffer),
        .antenna = slice_of(i->antenna, strlen(i->antenna)),
        .gvcids = i->gvcid_count > 0 ? i->gvcids : NULL,
        .gvcid_count = i->gvcid_count,
        .cltu_buffer = (uint32_t)i->cltu_buffer,
        .cltu_max = (uint16_t)i->cltu_max,
    };
}
