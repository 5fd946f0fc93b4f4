/* SPDX-License-Identifier: Apache-2.0 */
/* The file becomes a tree, which is read by the tables; then what texts mean, and what belongs
 * together. All errors are collected. */
#include "tools/cfdp/cfdp_settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "bp/codec/eid.h"
#include "cfdp/checksum.h"

#define AT(field) offsetof(struct settings, field)
const struct conf_option cfdp_settings_top[] = {
    {.key = "entity",
     .type = OPTION_COUNT,
     .offset = AT(entity),
     .max = UINT64_MAX,
     .help = "our entity id, a number"},
    {.key = "id_octets",
     .type = OPTION_COUNT,
     .offset = AT(id_octets),
     .initial = "0",
     .max = 8,
     .help = "octets of entity ids in our PDUs; 0: the least for both"},
    {.key = "root",
     .type = OPTION_PLACE,
     .offset = AT(root),
     .help = "folder of the files; it must exist"},
    {.key = "control",
     .type = OPTION_SOCKET,
     .offset = AT(control),
     .help = "UNIX socket for the other commands, of this user alone"},
    {.key = "listen",
     .type = OPTION_TEXT,
     .offset = AT(listen_text),
     .initial = "",
     .help = "address for remote entities over UDP; empty: no UDP"},
    {.key = "socket",
     .type = OPTION_TEXT,
     .offset = AT(socket),
     .initial = "",
     .help = "a node's application socket, for remote entities over bundles; empty: no bundles"},
    {.key = "service",
     .type = OPTION_TEXT,
     .offset = AT(service),
     .initial = "64",
     .help = "service of our endpoint at that node"},
    {.key = "lifetime",
     .type = OPTION_DURATION,
     .offset = AT(lifetime),
     .initial = "1d",
     .min = TICK_MS,
     .help = "lifetime of the bundles"},
    {.key = "overwrite",
     .type = OPTION_BOOL,
     .offset = AT(overwrite),
     .initial = "no",
     .help = "a file that arrives may take the place of one with its name"},
    {.key = "sync",
     .type = OPTION_BOOL,
     .offset = AT(sync),
     .initial = "yes",
     .help = "a file is on the medium before it is reported"},
    {0}};
#undef AT

#define AT(field) offsetof(struct settings_remote, field)
#define LIMIT(name, member, text)                                                                  \
    {                                                                                              \
        .key = (name), .type = OPTION_COUNT, .offset = AT(member), .initial = "10", .min = 1,      \
        .max = 1000000, .help = (text)                                                             \
    }
#define TIMER(name, member, first, text)                                                           \
    {                                                                                              \
        .key = (name), .type = OPTION_DURATION, .offset = AT(member), .initial = (first),          \
        .min = 10 * TICK_MS, .help = (text)                                                        \
    }
const struct conf_option cfdp_settings_remotes[] = {
    {.key = "entity",
     .type = OPTION_COUNT,
     .offset = AT(entity),
     .max = UINT64_MAX,
     .help = "its entity id"},
    {.key = "address",
     .type = OPTION_TEXT,
     .offset = AT(address_text),
     .initial = "",
     .help = "its address and port over UDP; datagrams from others are refused"},
    {.key = "endpoint",
     .type = OPTION_TEXT,
     .offset = AT(endpoint),
     .initial = "",
     .help = "instead of address: its endpoint over bundles"},
    {.key = "allow",
     .type = OPTION_WORDS,
     .offset = AT(allow),
     .initial = "put",
     .help = "what it may do here: put, get, list, change (filestore requests); none"},
    {.key = "class",
     .type = OPTION_CHOICE,
     .offset = AT(class_),
     .initial = "2",
     .choices = "1|2",
     .help = "of what is sent to it, unless a command says otherwise"},
    {.key = "checksum",
     .type = OPTION_CHOICE,
     .offset = AT(checksum),
     .initial = "crc-32c",
     .choices = "modular|crc-32c|crc-32|null",
     .help = "of the files that are sent to it"},
    {.key = "crc",
     .type = OPTION_BOOL,
     .offset = AT(crc),
     .initial = "no",
     .help = "PDUs for it end with a CRC"},
    {.key = "closure",
     .type = OPTION_BOOL,
     .offset = AT(closure),
     .initial = "no",
     .help = "class 1 asks for a Finished PDU"},
    {.key = "immediate_nak",
     .type = OPTION_BOOL,
     .offset = AT(immediate_nak),
     .initial = "no",
     .help = "ask for missing octets at once, and not only after EOF"},
    {.key = "rate",
     .type = OPTION_RATE,
     .offset = AT(rate),
     .initial = "10Mbit/s",
     .min = 1,
     .choices = "unlimited",
     .help = "of all PDUs for it"},
    {.key = "segment",
     .type = OPTION_SIZE,
     .offset = AT(segment),
     .initial = "1024",
     .min = 1,
     .max = 65000,
     .help = "octets of a file in a PDU"},
    TIMER("ack_timer", ack_time, "10s", "EOF and Finished are sent again after so long"),
    LIMIT("ack_limit", ack_limit, "expirations of ack_timer before a fault"),
    TIMER("nak_timer", nak_time, "10s", "missing octets are asked for again after so long"),
    LIMIT("nak_limit", nak_limit, "expirations of nak_timer without new octets before a fault"),
    TIMER("check_timer", check_time, "10s", "class 1: octets may arrive so long after EOF"),
    LIMIT("check_limit", check_limit, "expirations of check_timer before a fault"),
    TIMER("inactivity", inactivity, "300s", "silence of the peer before a fault"),
    {.key = "keep_alive",
     .type = OPTION_DURATION,
     .offset = AT(keep_alive),
     .initial = "off",
     .choices = "off",
     .min = 10 * TICK_MS,
     .help = "time between Keep Alive PDUs of a receiver"},
    {.key = "keep_alive_limit",
     .type = OPTION_SIZE,
     .offset = AT(keep_alive_limit),
     .initial = "off",
     .choices = "off",
     .help = "octets that a receiver may be behind before a fault"},
    {.key = "faults",
     .type = OPTION_WORDS,
     .offset = AT(faults),
     .initial = "",
     .help = "handlers, such as check-limit=ignore; cancel is the handler of others"},
    {.key = "transactions",
     .type = OPTION_COUNT,
     .offset = AT(transactions),
     .initial = "64",
     .min = 1,
     .max = 100000,
     .help = "transactions that it may have begun at once"},
    {.key = "file_max",
     .type = OPTION_SIZE,
     .offset = AT(file_max),
     .initial = "16GiB",
     .min = 1,
     .max = INT64_MAX,
     .help = "the longest file taken"},
    {.key = "space",
     .type = OPTION_SIZE,
     .offset = AT(space),
     .initial = "64GiB",
     .min = 1,
     .max = INT64_MAX,
     .help = "octets of its incomplete files and their journals, together"},
    {.key = "gaps",
     .type = OPTION_COUNT,
     .offset = AT(gaps),
     .initial = "16384",
     .min = 1,
     .max = 1000000,
     .help = "ranges that a file with gaps may have"},
    {0}};

/* ---- words ---- */

struct word {
    const char *text;
    unsigned value;
};

static const struct word permissions[] = {
    {"put", CFDP_MAY_PUT},       {"get", CFDP_MAY_GET}, {"list", CFDP_MAY_LIST},
    {"change", CFDP_MAY_CHANGE}, {"none", 0},           {NULL, 0}};
static const struct word conditions[] = {
    {"ack-limit", CFDP_ACK_LIMIT},         {"keep-alive-limit", CFDP_KEEP_ALIVE_LIMIT},
    {"filestore", CFDP_FILESTORE},         {"checksum", CFDP_CHECKSUM},
    {"file-size", CFDP_FILE_SIZE},         {"nak-limit", CFDP_NAK_LIMIT},
    {"inactivity", CFDP_INACTIVITY},       {"check-limit", CFDP_CHECK_LIMIT},
    {"checksum-type", CFDP_CHECKSUM_TYPE}, {NULL, 0}};
static const struct word handlers[] = {{"cancel", CFDP_HANDLE_CANCEL},
                                       {"suspend", CFDP_HANDLE_SUSPEND},
                                       {"ignore", CFDP_HANDLE_IGNORE},
                                       {"abandon", CFDP_HANDLE_ABANDON},
                                       {NULL, 0}};

static bool find_word(const struct word *table, const char *text, size_t len, unsigned *out)
{
    for (; table->text != NULL; table++)
        if (strlen(table->text) == len && memcmp(table->text, text, len) == 0) {
            *out = table->value;
            return true;
        }
    return false;
}

static bool read_permissions(const char *text, unsigned *out)
{
    unsigned one;
    for (*out = 0; *text != '\0'; text += strspn(text, " ")) {
        const size_t len = strcspn(text, " ");
        if (!find_word(permissions, text, len, &one))
            return false;
        *out |= one;
        text += len;
    }
    return true;
}

static bool read_handlers(const char *text, uint8_t out[16])
{
    unsigned condition, handler;
    for (; *text != '\0'; text += strspn(text, " ")) {
        const size_t len = strcspn(text, " "), name = strcspn(text, "=");
        if (name >= len || !find_word(conditions, text, name, &condition) ||
            !find_word(handlers, text + name + 1, len - name - 1, &handler))
            return false;
        out[condition] = (uint8_t)handler;
        text += len;
    }
    return true;
}

/* ---- reading ---- */

struct reading {
    struct settings *s;
    struct conf_errors *errors;
};

static void say_wrong(struct reading *r, const struct conf_tree *map, const char *where,
                      const char *key, const char *value, const char *want)
{
    const struct conf_tree *t = conf_child(map, key);
    conf_error(r->errors, t != NULL ? t->line : map->line, "%s%s: '%s': expected %s", where, key,
               value, want);
}

static void fill_row(struct settings_remote *x)
{
    static const unsigned types[] = {CFDP_CHECKSUM_MODULAR, CFDP_CHECKSUM_CRC32C,
                                     CFDP_CHECKSUM_CRC32, CFDP_CHECKSUM_NULL};
    x->row.id = x->entity;
    x->row.class_ = x->class_ == 0 ? CFDP_CLASS_1 : CFDP_CLASS_2;
    x->row.checksum = types[x->checksum];
    x->row.crc = x->crc;
    x->row.closure = x->closure;
    x->row.immediate_nak = x->immediate_nak;
    x->row.segment_max = (uint32_t)x->segment;
    x->row.ack_time = x->ack_time;
    x->row.nak_time = x->nak_time;
    x->row.check_time = x->check_time;
    x->row.idle_time = x->inactivity;
    x->row.keep_alive_time = x->keep_alive;
    x->row.keep_alive_limit = x->keep_alive_limit;
    x->row.ack_limit = (uint32_t)x->ack_limit;
    x->row.nak_limit = (uint32_t)x->nak_limit;
    x->row.check_limit = (uint32_t)x->check_limit;
    x->row.transactions_max = (uint32_t)x->transactions;
    x->row.gaps_max = (uint32_t)x->gaps;
    x->row.file_max = x->file_max;
    x->row.space_max = x->space;
    x->row.confirms = *x->endpoint != '\0';
}

/* As the node writes it: arrivals are compared with it. */
static void set_endpoint(struct reading *r, const struct conf_tree *t, struct settings_remote *x,
                         const struct eid *eid)
{
    char text[EID_TEXT_MAX];
    const size_t len = eid_text(eid, text);
    char *copy = malloc(len + 1);
    if (copy == NULL) {
        conf_no_memory(r->errors, t->line);
        return;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    free(x->endpoint);
    x->endpoint = copy;
}

static void read_place(struct reading *r, const struct conf_tree *t, struct settings_remote *x)
{
    struct eid eid;
    const bool by_udp = *x->address_text != '\0', by_bundles = *x->endpoint != '\0';
    if (by_udp == by_bundles)
        say_wrong(r, t, "remotes.", "address", x->address_text, "one of address and endpoint");
    else if (by_udp && address_parse(x->address_text, &x->address) < 0)
        say_wrong(r, t, "remotes.", "address", x->address_text, address_hint);
    else if (by_udp && !address_given(&r->s->listen))
        say_wrong(r, t, "remotes.", "address", x->address_text, "the key listen for UDP");
    else if (by_bundles && eid_parse(x->endpoint, &eid) != 0)
        say_wrong(r, t, "remotes.", "endpoint", x->endpoint, "an endpoint, such as ipn:2.64");
    else if (by_bundles && *r->s->socket == '\0')
        say_wrong(r, t, "remotes.", "endpoint", x->endpoint, "the key socket for bundles");
    else if (by_bundles)
        set_endpoint(r, t, x, &eid);
}

static bool is_second(const struct settings *s, const struct settings_remote *x)
{
    for (const struct settings_remote *o = s->remotes; o != x; o++)
        if (o->entity == x->entity || (*x->endpoint != '\0' && !strcmp(o->endpoint, x->endpoint)) ||
            (address_given(&x->address) && address_equal(&o->address, &x->address)))
            return true;
    return false;
}

static void read_remote(struct reading *r, const struct conf_tree *t, struct settings_remote *x)
{
    read_place(r, t, x);
    fill_row(x);
    if (!read_permissions(x->allow, &x->row.permissions))
        say_wrong(r, t, "remotes.", "allow", x->allow, "some of put get list change, or none");
    if (!read_handlers(x->faults, x->row.handlers))
        say_wrong(r, t, "remotes.", "faults", x->faults,
                  "words such as check-limit=ignore; docs/helio-cfdp.md has all");
    if (x->entity == r->s->entity || is_second(r->s, x))
        say_wrong(r, t, "remotes.", "entity", "", "another entity and place for each item");
    if (r->s->id_octets > 0 && (cfdp_number_len(x->entity) > r->s->id_octets ||
                                cfdp_number_len(r->s->entity) > r->s->id_octets))
        say_wrong(r, t, "remotes.", "entity", "", "entity ids that id_octets can hold");
}

static void read_remotes(struct reading *r, const struct conf_tree *root)
{
    size_t n = 0;
    const struct conf_tree *t = conf_list(root, "", "remotes", SETTINGS_REMOTES_MAX, &n, r->errors);
    r->s->remotes = t == NULL ? NULL : calloc(n, sizeof *r->s->remotes);
    if (t == NULL || r->s->remotes == NULL) {
        if (t != NULL)
            conf_no_memory(r->errors, root->line);
        else if (r->errors->total == 0)
            conf_error(r->errors, root->line, "remotes: there is none; write at least one");
        return;
    }
    for (; t != NULL; t = t->next) {
        struct settings_remote *x = &r->s->remotes[r->s->remotes_len++];
        const struct conf_part part = {cfdp_settings_remotes, x, NULL};
        const size_t before = r->errors->total;
        if (conf_options_default(cfdp_settings_remotes, x, conf_option_set) < 0)
            conf_no_memory(r->errors, t->line);
        conf_section_read(t, "remotes.", &part, 1, NULL, r->errors);
        if (r->errors->total == before)
            read_remote(r, t, x);
    }
}

static void read_root(struct reading *r, const struct conf_tree *root)
{
    static const char *const words[] = {"remotes", NULL};
    struct settings *s = r->s;
    const struct conf_part top = {cfdp_settings_top, s, NULL};
    if (root->kind != CONF_MAP) {
        conf_error(r->errors, root->line,
                   "%s is not expected here; write a map with the keys entity, root, control and "
                   "remotes",
                   conf_kind_name(root->kind));
        return;
    }
    if (conf_options_default(cfdp_settings_top, s, conf_option_set) < 0) {
        conf_no_memory(r->errors, 0);
        return;
    }
    conf_section_read(root, "", &top, 1, words, r->errors);
    if (r->errors->total > 0)
        return;
    if (*s->listen_text != '\0' && address_parse(s->listen_text, &s->listen) < 0)
        say_wrong(r, root, "", "listen", s->listen_text, address_hint);
    read_remotes(r, root);
}

int cfdp_settings_parse(struct settings *s, const char *text, size_t len,
                        struct conf_errors *errors)
{
    struct reading r = {s, errors};
    *s = (struct settings){0};
    struct conf_tree *root = conf_tree_parse(
        text, len, "it needs at least the keys entity, root, control and remotes", errors);
    if (root == NULL)
        return conf_errors_code(errors);
    read_root(&r, root);
    conf_tree_free(root);
    if (errors->total == 0)
        return 0;
    cfdp_settings_free(s);
    return conf_errors_code(errors);
}

int cfdp_settings_load(struct settings *s, const char *path, struct conf_errors *errors)
{
    size_t len;
    char *text = conf_file_read(path, &len, errors);
    if (text == NULL)
        return conf_errors_code(errors);
    const int rc = cfdp_settings_parse(s, text, len, errors);
    free(text);
    return rc;
}

void cfdp_settings_free(struct settings *s)
{
    conf_options_free(cfdp_settings_top, s);
    for (size_t i = 0; i < s->remotes_len; i++)
        conf_options_free(cfdp_settings_remotes, &s->remotes[i]);
    free(s->remotes);
    *s = (struct settings){0};
}
