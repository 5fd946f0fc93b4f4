/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a file is JSON if it begins with {, else a database. Each key has a row that
 * says what it becomes. A key without a counterpart becomes a note.
 *
 * What can go wrong: a key that no row has, a value that is none of its key, two files, or two
 * keys, that contradict each other: an error with file, line and key.
 */
#include "tools/sle/sle_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "conf/conf_section.h"
#include "os/net/address.h"
#include "sle/engine.h"
#include "tools/sle/sle_database.h"
#include "tools/sle/sle_when.h"

enum { USERS_MAX = 1024, INSTANCES_MAX = 4096, NOTES_MAX = 1 << 20 };

struct reading {
    struct sle_import *im;
    struct conf_errors *errors;
};

/* A key: its number goes to `offset` of a struct, or `take` takes it; neither: it has no
 * counterpart. */
struct row {
    const char *key;
    size_t offset;
    uint64_t min, max;
    void (*take)(struct reading *r, const struct conf_tree *t, void *base);
};

static void say_wrong(struct reading *r, const struct conf_tree *t, const char *want)
{
    conf_error(r->errors, t->line, "%s: '%s': expected %s", t->key == NULL ? "value" : t->key,
               t->kind == CONF_SCALAR ? t->text : conf_kind_name(t->kind), want);
}

static bool is_absent(const struct conf_tree *t)
{
    return t->kind == CONF_SCALAR && (t->text[0] == '\0' || strcmp(t->text, "null") == 0);
}

/* ---- values ---- */

static bool read_number(struct reading *r, const struct conf_tree *t, uint64_t min, uint64_t max,
                        uint64_t *out)
{
    char want[80], *end = NULL;
    const bool digits = t->kind == CONF_SCALAR && t->text[0] >= '0' && t->text[0] <= '9';
    const uint64_t n = digits && strlen(t->text) < 19 ? strtoull(t->text, &end, 10) : 0;
    if (end != NULL && *end == '\0' && n >= min && n <= max) {
        *out = n;
        return true;
    }
    snprintf(want, sizeof want, "a whole number from %" PRIu64 " to %" PRIu64, min, max);
    say_wrong(r, t, want);
    return false;
}

/* A text that must be the same each time; NULL: memory is out. */
static void set_text(struct reading *r, const struct conf_tree *t, const char *text, char **out)
{
    if (*out != NULL && strcmp(*out, text) == 0)
        return;
    if (*out != NULL) {
        conf_error(r->errors, t->line, "%s: it contradicts what was read before", t->key);
        return;
    }
    *out = strdup(text);
    if (*out == NULL)
        conf_no_memory(r->errors, t->line);
}

static void take_authority(struct reading *r, const struct conf_tree *t, void *out)
{
    if (t->kind != CONF_SCALAR || !sle_authority_ok(t->text))
        say_wrong(r, t, "3 to 16 characters without blanks");
    else
        set_text(r, t, t->text, out);
}

/* Never shown. */
static void take_password(struct reading *r, const struct conf_tree *t, void *out)
{
    struct sle_identity who;
    if (t->kind == CONF_SCALAR && sle_password_read(t->text, &who))
        set_text(r, t, t->text, out);
    else
        conf_error(r->errors, t->line,
                   "%s: expected at most 64 octets, two hexadecimal digits each", t->key);
}

static void take_level(struct reading *r, const struct conf_tree *t, void *out)
{
    static const char *const words[] = {"none", "bind", "all"};
    const char **level = out;
    for (size_t i = 0; t->kind == CONF_SCALAR && i < 3; i++)
        if (strcasecmp(t->text, words[i]) == 0) {
            *level = words[i];
            return;
        }
    say_wrong(r, t, "NONE, BIND or ALL");
}

static void take_port(struct reading *r, const struct conf_tree *t, void *out)
{
    if (t->kind != CONF_SCALAR || !sle_port_name_ok(t->text))
        say_wrong(r, t, "1 to 128 characters without blanks");
    else
        set_text(r, t, t->text, out);
}

static void take_time(struct reading *r, const struct conf_tree *t, void *out)
{
    uint64_t ns;
    if (t->kind != CONF_SCALAR || !user_time_parse(t->text, &ns))
        say_wrong(r, t, "a time, such as 2026-11-22T18:00:00Z");
    else
        set_text(r, t, t->text, out);
}

/* ---- rows ---- */

static void note_key(struct reading *r, const struct conf_tree *t)
{
    struct sle_import *im = r->im;
    char line[256];
    const int n = snprintf(line, sizeof line, "# %.100s:%u: %.60s has no counterpart\n",
                           r->errors->file, t->line, t->key);
    if (n < 0 || (size_t)n >= sizeof line || im->notes_len + (size_t)n > NOTES_MAX)
        return;
    char *notes = realloc(im->notes, im->notes_len + (size_t)n + 1);
    if (notes == NULL) {
        conf_no_memory(r->errors, t->line);
        return;
    }
    for (char *p = line + 1; p < line + n - 1; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    memcpy(notes + im->notes_len, line, (size_t)n + 1);
    im->notes = notes;
    im->notes_len += (size_t)n;
}

static void read_row(struct reading *r, const struct row *row, const struct conf_tree *t,
                     void *base)
{
    uint64_t n;
    if (is_absent(t))
        return;
    void *out = (char *)base + row->offset;
    if (row->take != NULL)
        row->take(r, t, out);
    else if (row->max == 0)
        note_key(r, t);
    else if (read_number(r, t, row->min, row->max, &n))
        memcpy(out, &n, sizeof n);
}

/* Keys differ in upper and lower case, or in - and _, between programs. */
static bool same_key(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        const char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;
        if (x != y && strncasecmp(&x, &y, 1) != 0)
            return false;
    }
    return *a == *b;
}

static void read_map(struct reading *r, const struct conf_tree *map, const struct row *rows,
                     void *base)
{
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        const struct row *row = rows;
        while (row->key != NULL && !same_key(row->key, t->key))
            row++;
        if (row->key == NULL)
            conf_error(r->errors, t->line, "%s: no such key", t->key);
        else if (!conf_is_second(map, t, "", r->errors))
            read_row(r, row, t, base);
    }
}

static bool is_list(struct reading *r, const struct conf_tree *t, enum conf_kind of)
{
    for (const struct conf_tree *i = t->first; t->kind == CONF_LIST && i != NULL; i = i->next)
        if (i->kind != of) {
            conf_error(r->errors, i->line, "%s: expected a list of %s", t->key,
                       of == CONF_MAP ? "keys with values" : "values");
            return false;
        }
    if (t->kind != CONF_LIST)
        say_wrong(r, t, "a list");
    return t->kind == CONF_LIST;
}

/* One more element of an array; NULL: an error. */
static void *add_element(struct reading *r, const struct conf_tree *t, void *array, size_t *len,
                         size_t size, size_t max)
{
    void **all = array;
    if (*len == max) {
        conf_error(r->errors, t->line, "more than %zu of them", max);
        return NULL;
    }
    void *more = *len % 64 != 0 ? *all : realloc(*all, (*len + 64) * size);
    if (more == NULL) {
        conf_no_memory(r->errors, t->line);
        return NULL;
    }
    *all = more;
    void *element = (char *)more + (*len)++ * size;
    memset(element, 0, size);
    return element;
}

/* ---- users ---- */

#define USER(field) .offset = offsetof(struct sle_import_user, field)
static const struct row user_rows[] = {{"id", USER(id), .take = take_authority},
                                       {"authentication_mode", USER(level), .take = take_level},
                                       {"password", USER(password), .take = take_password},
                                       {0}};
#undef USER

static void check_user(struct reading *r, const struct conf_tree *t,
                       const struct sle_import_user *u)
{
    const struct sle_import *im = r->im;
    if (u->id == NULL)
        return;
    for (const struct sle_import_user *x = im->users; x < u; x++)
        if (strcmp(x->id == NULL ? "" : x->id, u->id) == 0)
            conf_error(r->errors, t->line, "%s: this peer is there twice", u->id);
    if (u->level == NULL)
        conf_error(r->errors, t->line, "%s: AUTHENTICATION_MODE is missing", u->id);
    else if (strcmp(u->level, "none") != 0 && u->password == NULL)
        conf_error(r->errors, t->line, "%s: PASSWORD is missing, since authentication is asked for",
                   u->id);
}

static struct sle_import_user *add_user(struct reading *r, const struct conf_tree *t)
{
    struct sle_import *im = r->im;
    return add_element(r, t, &im->users, &im->users_len, sizeof *im->users, USERS_MAX);
}

/* REMOTE_PEERS of a database: a list. */
static void take_peers(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    if (!is_list(r, t, CONF_MAP))
        return;
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        struct sle_import_user *u = add_user(r, i);
        if (u == NULL)
            return;
        read_map(r, i, user_rows, u);
        if (u->id == NULL)
            conf_error(r->errors, i->line, "%s: ID is missing", t->key);
        check_user(r, i, u);
    }
}

/* remote_peers of JSON: a map by their identifiers. */
static void take_peers_by_id(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    if (t->kind != CONF_MAP) {
        say_wrong(r, t, "a map");
        return;
    }
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        struct sle_import_user *u = i->kind == CONF_MAP ? add_user(r, i) : NULL;
        if (i->kind != CONF_MAP)
            say_wrong(r, i, "a map");
        if (u == NULL)
            return;
        if (!sle_authority_ok(i->key))
            conf_error(r->errors, i->line, "'%s': expected 3 to 16 characters without blanks",
                       i->key);
        else
            set_text(r, i, i->key, &u->id);
        read_map(r, i, user_rows, u);
        check_user(r, i, u);
    }
}

/* ---- service instances ---- */

static void take_mode(struct reading *r, const struct conf_tree *t, void *base)
{
    static const char *const words[] = {"TIMELY_ONLINE", "COMPLETE_ONLINE", "OFFLINE"};
    const struct sle_import_instance *i = base;
    const char *want = i->mode < SLE_FORWARD ? words[i->mode] : "none: it is a forward service";
    if (t->kind != CONF_SCALAR || strcmp(t->text, want) != 0) {
        char text[80];
        snprintf(text, sizeof text, "%s, as its identifier says", want);
        say_wrong(r, t, text);
    }
}

static void take_initiator(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    if (t->kind != CONF_SCALAR || strcasecmp(t->text, "user") != 0)
        say_wrong(r, t, "USER: an instance that its provider binds needs `connect`, by hand");
}

static void take_responder(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    take_authority(r, t, &r->im->id);
}

static void take_qualities(struct reading *r, const struct conf_tree *t, void *base)
{
    static const char *const words[] = {"allFrames", "erredFramesOnly", "goodFramesOnly"};
    unsigned seen = 0;
    (void)base;
    if (!is_list(r, t, CONF_SCALAR))
        return;
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        unsigned k = 0;
        while (k < 3 && strcmp(i->text, words[k]) != 0)
            k++;
        if (k == 3)
            say_wrong(r, i, "allFrames, erredFramesOnly or goodFramesOnly");
        seen |= 1u << k;
    }
    if (seen != 7)
        note_key(r, t);
}

#define INSTANCE(field) .offset = offsetof(struct sle_import_instance, field)
static const struct row instance_rows[] = {
    {"start_time", INSTANCE(begin), .take = take_time},
    {"stop_time", INSTANCE(end), .take = take_time},
    {"initiator_id", INSTANCE(user), .take = take_authority},
    {"responder_id", 0, .take = take_responder},
    {"return_timeout_period", INSTANCE(timeout), 1, 600},
    {"delivery_mode", 0, .take = take_mode},
    {"initiator", 0, .take = take_initiator},
    {"permitted_frame_quality", 0, .take = take_qualities},
    {"latency_limit", INSTANCE(latency), 1, 86400},
    {"transfer_buffer_size", INSTANCE(buffer), 1, 65535},
    {"maximum_cltu_length", INSTANCE(cltu_max), 12, 4096},
    {.key = "report_cycle"},
    {.key = "requested_frame_quality"},
    {.key = "state"},
    {.key = "minimum_cltu_delay"},
    {.key = "maximum_cltu_delay"},
    {.key = "bit_lock_required"},
    {.key = "rf_available_required"},
    {.key = "rf_availiable_required"}, /* as sle-provider spells it */
    {.key = "protocol_abort_clear_enabled"},
    {0}};
#undef INSTANCE

static void read_instance(struct reading *r, const struct conf_tree *t)
{
    struct sle_import *im = r->im;
    struct sle_siid id;
    struct sle_import_instance *i = NULL;
    if (t->kind == CONF_MAP)
        i = add_element(r, t, &im->instances, &im->instances_len, sizeof *i, INSTANCES_MAX);
    else
        say_wrong(r, t, "a map");
    if (i == NULL)
        return;
    if (sle_siid_parse(t->key, &id, &i->service, &i->mode) < 0) {
        conf_error(r->errors, t->line,
                   "'%s': expected an identifier such as sagr=A.spack=B.rsl-fg=C.raf=onlc1",
                   t->key);
        return;
    }
    set_text(r, t, t->key, &i->id);
    for (const struct sle_import_instance *x = im->instances; x < i; x++)
        if (x->id != NULL && strcmp(x->id, t->key) == 0)
            conf_error(r->errors, t->line, "'%s': it is there twice", t->key);
    read_map(r, t, instance_rows, i);
    if (i->user == NULL)
        conf_error(r->errors, t->line, "'%s': initiator_id is missing", t->key);
}

static void take_instances(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    if (t->kind != CONF_MAP) {
        say_wrong(r, t, "a map");
        return;
    }
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next)
        read_instance(r, i);
}

/* ---- a database ---- */

static void take_role(struct reading *r, const struct conf_tree *t, void *base)
{
    (void)base;
    if (t->kind != CONF_SCALAR ||
        (strcasecmp(t->text, "RESPONDER") != 0 && strcasecmp(t->text, "provider") != 0))
        say_wrong(r, t,
                  same_key(t->key, "proxy_role") ? "RESPONDER: a file of a provider"
                                                 : "provider: a file of a provider");
}

static void take_heartbeats(struct reading *r, const struct conf_tree *t, void *base)
{
    struct sle_import *im = base;
    const bool yes = t->kind == CONF_SCALAR && strcmp(t->text, "TRUE") == 0;
    if (!yes && (t->kind != CONF_SCALAR || strcmp(t->text, "FALSE") != 0))
        say_wrong(r, t, "TRUE or FALSE");
    im->heartbeat_said = true;
    im->heartbeat_required = !yes;
}

struct server {
    const char *name; /* "RAF"; NULL: none that we have */
    enum sle_service service;
    uint32_t versions;
};

static void take_service(struct reading *r, const struct conf_tree *t, void *base)
{
    static const struct server known[] = {
        {"RAF", SLE_RAF, 0}, {"RCF", SLE_RCF, 0}, {"ROCF", SLE_ROCF, 0}, {"CLTU", SLE_FCLTU, 0}};
    struct server *s = base;
    for (size_t i = 0; t->kind == CONF_SCALAR && i < 4; i++)
        if (strcmp(t->text, known[i].name) == 0) {
            s->name = known[i].name;
            s->service = known[i].service;
            return;
        }
    if (t->kind == CONF_SCALAR && strcmp(t->text, "FSP") == 0)
        note_key(r, t);
    else
        say_wrong(r, t, "RAF, RCF, ROCF, CLTU or FSP");
}

static void take_versions(struct reading *r, const struct conf_tree *t, void *base)
{
    struct server *s = base;
    uint64_t n;
    if (!is_list(r, t, CONF_SCALAR))
        return;
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next)
        if (read_number(r, i, 1, 5, &n))
            s->versions |= 1u << n;
}

static const struct row server_rows[] = {
    {"srv_id", .take = take_service}, {"srv_version", .take = take_versions}, {0}};

/* Version 1 is none of ours. */
static void take_servers(struct reading *r, const struct conf_tree *t, void *base)
{
    struct sle_import *im = base;
    if (!is_list(r, t, CONF_MAP))
        return;
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        struct server s = {0};
        read_map(r, i, server_rows, &s);
        if (s.name != NULL && s.versions != 0 && (s.versions & ~3u) == 0)
            conf_error(r->errors, i->line, "SRV_VERSION: %s: expected one from 2 to 5", s.name);
        if (s.name != NULL)
            im->versions[s.service] |= s.versions & ~3u;
    }
}

static void take_ip(struct reading *r, const struct conf_tree *t, void *base)
{
    struct sle_import *im = base;
    struct address a;
    char text[80];
    if (!is_list(r, t, CONF_SCALAR) || t->first == NULL)
        return;
    const char *from = t->first->text;
    snprintf(text, sizeof text, "%s%s", strncmp(from, "*:", 2) == 0 ? "0.0.0.0" : "",
             strncmp(from, "*:", 2) == 0 ? from + 1 : from);
    if (t->first->next != NULL)
        conf_error(r->errors, t->line, "%s: expected one address", t->key);
    else if (strlen(from) >= 60 || address_parse(text, &a) < 0)
        conf_error(r->errors, t->first->line,
                   "%s: '%s': expected an address with its port, or *:PORT", t->key, from);
    else
        set_text(r, t, text, &im->listen);
}

#define IMPORT(field) .offset = offsetof(struct sle_import, field)
static const struct row port_rows[] = {{"port_name", IMPORT(port_name), .take = take_port},
                                       {"ip_address", .take = take_ip},
                                       {.key = "tcp_xmit_buffer_size"},
                                       {.key = "tcp_recv_buffer_size"},
                                       {0}};

/* Ours has one port. */
static void take_ports(struct reading *r, const struct conf_tree *t, void *base)
{
    if (!is_list(r, t, CONF_MAP) || t->first == NULL)
        return;
    if (t->first->next != NULL)
        conf_error(r->errors, t->first->next->line,
                   "%s: a second port; one provider has one: write a file for each", t->key);
    read_map(r, t->first, port_rows, base);
}

static const struct row top_rows[] = {{"proxy_role", .take = take_role},
                                      {"local_id", IMPORT(id), .take = take_authority},
                                      {"local_password", IMPORT(password), .take = take_password},
                                      {"authentication_delay", IMPORT(auth_delay), 1, 86400},
                                      {"startup_timer", IMPORT(establish), 1, 86400},
                                      {"non_useheartbeat", .take = take_heartbeats},
                                      {"min_heartbeat", IMPORT(heartbeat_min), 1, 3600},
                                      {"max_heartbeat", IMPORT(heartbeat_max), 1, 3600},
                                      {"min_deadfactor", IMPORT(dead_min), 1, 1000},
                                      {"max_deadfactor", IMPORT(dead_max), 1, 1000},
                                      {"server_types", .take = take_servers},
                                      {"remote_peers", .take = take_peers},
                                      {"local_logical_ports", .take = take_ports},
                                      {.key = "foreign_logical_ports"},
                                      {.key = "transmit_queue_size"},
                                      {.key = "max_trace_length"},
                                      {.key = "cs_address"},
                                      {.key = "default_reporting_address"},
                                      {.key = "use_nagle"},
                                      /* of a service element's database */
                                      {"application_role", .take = take_role},
                                      {"min_reportingcycle", IMPORT(min_reporting), 2, 600},
                                      {.key = "max_reportingcycle"},
                                      {.key = "portlist"},
                                      {0}};

static const struct row json_rows[] = {{"local_id", IMPORT(id), .take = take_authority},
                                       {"local_password", IMPORT(password), .take = take_password},
                                       {"remote_peers", .take = take_peers_by_id},
                                       {"si_config", .take = take_instances},
                                       {"service_instances", .take = take_instances},
                                       {0}};
#undef IMPORT

/* ---- a file ---- */

static bool is_json(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0')
        i++;
    return i < len && text[i] == '{';
}

static void read_json(struct reading *r, const char *text, size_t len)
{
    struct conf_tree *root =
        conf_tree_parse(text, len, "it needs service instances, or peers", r->errors);
    if (root == NULL)
        return;
    if (root->first != NULL && strchr(root->first->key, '=') != NULL)
        take_instances(r, root, NULL);
    else
        read_map(r, root, json_rows, r->im);
    conf_tree_free(root);
}

int sle_import_read(struct sle_import *im, const char *text, size_t len, struct conf_errors *errors)
{
    struct reading r = {im, errors};
    const size_t before = errors->total;
    if (is_json(text, len)) {
        read_json(&r, text, len);
        return errors->total == before ? HELIO_OK : HELIO_EFORMAT;
    }
    struct conf_tree *root = sle_database_parse(text, len, errors);
    if (root == NULL)
        return HELIO_EFORMAT;
    if (root->first == NULL)
        conf_error(errors, 0, "it is empty: a database has keys, such as LOCAL_ID");
    read_map(&r, root, top_rows, im);
    conf_tree_free(root);
    return errors->total == before ? HELIO_OK : HELIO_EFORMAT;
}
