/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that are trees: our YAML, and HDTN's JSON, which the same reader takes, so that errors of
 * both have file, line and key. What can go wrong: keys and values that are not understood; all are
 * reported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "conf/conf_section.h"
#include "node/plan/plan_draft.h"

#define OWLT_MAX (86400 * TICK_S * 366)
#define RATE_MAX UINT64_C(1000000000000000)
#define AT(field) offsetof(struct item, field)
#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }

/* Of all tables. */
struct item {
    struct plan_draft *draft;
    uint64_t from, to, rate, number;
    tick start, end, at, owlt;
    double confidence;
    bool both, one_way;
};

/* Of plans: more than configurations have. */
#define PLAN_TREE_MAX (UINT32_C(16) << 20)

#define A_TIME "a duration since the start such as 10s, or a date such as 2026-11-22T12:00:00Z"

static const struct conf_option contact_table[] = {
    {"from", OPTION_COUNT, AT(from), NULL, 0, 0, NULL, "the number of the node that sends"},
    {"to", OPTION_COUNT, AT(to), NULL, 0, 0, NULL, "the number of the node that receives"},
    {"start", OPTION_TIME, AT(start), "0", 0, 0, NULL, A_TIME},
    {"end", OPTION_TIME, AT(end), NULL, 0, 0, NULL, A_TIME},
    {"rate", OPTION_RATE, AT(rate), NULL, 1, RATE_MAX, "unlimited", units_rate_hint},
    {"confidence", OPTION_SHARE, AT(confidence), "1", 0, 0, NULL, "above 0, at most 1"},
    {"owlt", OPTION_DURATION, AT(owlt), "0", 0, OWLT_MAX, NULL, "the light time for all of it"},
    {"both", OPTION_BOOL, AT(both), "no", 0, 0, NULL, "the same the other way"},
    END};
static const struct conf_option range_table[] = {
    {"from", OPTION_COUNT, AT(from), NULL, 0, 0, NULL, "a node's number"},
    {"to", OPTION_COUNT, AT(to), NULL, 0, 0, NULL, "a node's number"},
    {"start", OPTION_TIME, AT(start), "0", 0, 0, NULL, A_TIME},
    {"end", OPTION_TIME, AT(end), NULL, 0, 0, NULL, A_TIME},
    {"owlt", OPTION_DURATION, AT(owlt), "0", 0, OWLT_MAX, NULL, "the light time from start to end"},
    {"one_way", OPTION_BOOL, AT(one_way), "no", 0, 0, NULL,
     "it says nothing about the other direction"},
    END};
static const char *const range_words[] = {"table", NULL};
static const struct conf_option point_table[] = {
    {"at", OPTION_TIME, AT(at), NULL, 0, 0, NULL, A_TIME},
    {"owlt", OPTION_DURATION, AT(owlt), NULL, 0, OWLT_MAX, NULL, "the light time from then on"},
    END};
static const struct conf_option root_table[] = {
    {"start", OPTION_TIME, AT(start), "0", 0, 0, NULL,
     "the date that durations count from, such as 2026-11-22T12:00:00Z"},
    END};
static const char *const root_words[] = {"contacts", "ranges", NULL};
static const struct conf_option hdtn_table[] = {
    {"contact", OPTION_COUNT, AT(at), "0", 0, 0, NULL, "its number"},
    {"source", OPTION_COUNT, AT(from), NULL, 0, 0, NULL, "the number of the node that sends"},
    {"dest", OPTION_COUNT, AT(to), NULL, 0, 0, NULL, "the number of the node that receives"},
    {"startTime", OPTION_TIME, AT(start), "0", 0, 0, NULL, "seconds since the start"},
    {"endTime", OPTION_TIME, AT(end), NULL, 0, 0, NULL, "seconds since the start"},
    {"rateBitsPerSec", OPTION_COUNT, AT(rate), "0", 0, RATE_MAX, NULL,
     "bits a second; 0: no limit"},
    {"rate", OPTION_COUNT, AT(number), "0", 0, RATE_MAX / 1000000, NULL,
     "of older files: megabits a second, without rateBitsPerSec"},
    {"owlt", OPTION_TIME, AT(owlt), "0", 0, 0, NULL, "the light time in seconds"},
    END};
static const char *const hdtn_words[] = {"contacts", NULL};
static const struct conf_option hdtn_root[] = {END};

static conf_setter set_yaml;
static int set_yaml(const struct conf_option *o, void *base, const char *text, char *why,
                    size_t cap)
{
    struct item *item = base;
    tick t, *field = (tick *)(void *)((char *)base + o->offset);
    if (o->type != OPTION_TIME)
        return conf_option_set(o, base, text, why, cap);
    if (units_duration(text, &t) == 0 && t <= TICK_NEVER - 1 - item->draft->start) {
        *field = item->draft->start + t;
        /* A start that is left out, or 0, says nothing. */
        item->draft->since |= t > 0;
        return 0;
    }
    if (plan_date(text, field) == 0) {
        item->draft->dated = true;
        return 0;
    }
    snprintf(why, cap, "\"%s\" is not understood; write %s", text, A_TIME);
    return HELIO_EFORMAT;
}

static conf_setter set_hdtn;
static int set_hdtn(const struct conf_option *o, void *base, const char *text, char *why,
                    size_t cap)
{
    struct item *item = base;
    tick t, from = o->offset == AT(owlt) ? 0 : item->draft->start;
    if (o->type != OPTION_TIME)
        return conf_option_set(o, base, text, why, cap);
    if (plan_seconds(text, strlen(text), &t) < 0 || t > TICK_NEVER - 1 - from) {
        snprintf(why, cap, "\"%s\" is not understood; write seconds such as 10 or 0.25", text);
        return HELIO_EFORMAT;
    }
    *(tick *)(void *)((char *)base + o->offset) = from + t;
    item->draft->since |= o->offset != AT(owlt);
    return 0;
}

/* One map of a list; false when something in it is wrong. */
static bool read_item(struct item *item, const struct conf_tree *map, const char *where,
                      const struct conf_option *table, const char *const *words, conf_setter *set,
                      struct conf_errors *e)
{
    struct conf_part part = {table, item, set};
    size_t before = e->total;
    if (conf_options_default(table, item, set) < 0)
        conf_no_memory(e, map->line);
    conf_section_read(map, where, &part, 1, words, e);
    return e->total == before;
}

static void add_range(const struct item *i, tick start, tick end, uint32_t line, const char *where,
                      struct conf_errors *e)
{
    struct plan_range r = {i->from, i->to, start, end, i->owlt, i->one_way};
    plan_draft_range(i->draft, &r, line, where, e);
}

static void read_contact(struct plan_draft *d, const struct conf_tree *map, const char *where,
                         struct conf_errors *e)
{
    struct item i = {.draft = d};
    if (!read_item(&i, map, where, contact_table, NULL, set_yaml, e))
        return;
    struct plan_contact c = {i.from, i.to, i.start, i.end, i.rate, i.confidence};
    struct plan_contact back = {i.to, i.from, i.start, i.end, i.rate, i.confidence};
    if (plan_draft_contact(d, &c, map->line, where, e) < 0)
        return;
    if (i.both)
        plan_draft_contact(d, &back, map->line, where, e);
    if (conf_child(map, "owlt") != NULL)
        add_range(&i, i.start, i.end, map->line, where, e);
}

/* Each point holds until the next, the last to the end. */
static void read_table(struct item *i, const struct conf_tree *map, const char *where,
                       struct conf_errors *e)
{
    size_t n, at = 0;
    tick before = 0, end = i->end;
    uint32_t line = 0;
    const struct conf_tree *t = conf_list(map, where, "table", PLAN_ITEMS_MAX, &n, e);
    struct item point = *i;
    for (; t != NULL; t = t->next, at++) {
        char name[96];
        snprintf(name, sizeof name, "%stable[%zu].", where, at);
        if (!read_item(&point, t, name, point_table, NULL, set_yaml, e))
            return;
        if (at > 0 && point.at <= before) {
            conf_error(e, t->line, "%sat: not later than the one before; write them in order",
                       name);
            return;
        }
        if (at > 0)
            add_range(i, before, point.at, line, where, e);
        i->owlt = point.owlt;
        before = point.at;
        line = t->line;
    }
    if (at > 0)
        add_range(i, before, end, line, where, e);
}

static void read_range(struct plan_draft *d, const struct conf_tree *map, const char *where,
                       struct conf_errors *e)
{
    struct item i = {.draft = d};
    bool table = conf_child(map, "table") != NULL, owlt = conf_child(map, "owlt") != NULL;
    if (!read_item(&i, map, where, range_table, range_words, set_yaml, e))
        return;
    if (table == owlt)
        conf_error(e, map->line,
                   "%sowlt: write it, or a table: [{at: 0s, owlt: 5ms}, …], and not "
                   "both",
                   where);
    else if (table && conf_child(map, "start") != NULL)
        conf_error(e, map->line, "%sstart: a table starts with its first point; leave it out",
                   where);
    else if (table)
        read_table(&i, map, where, e);
    else
        add_range(&i, i.start, i.end, map->line, where, e);
}

static bool has_option(const struct conf_option *table, const char *const *words, const char *key)
{
    for (; table->key != NULL; table++) {
        if (strcmp(table->key, key) == 0)
            return true;
    }
    for (; words != NULL && *words != NULL; words++) {
        if (strcmp(*words, key) == 0)
            return true;
    }
    return false;
}

/* Keys that HDTN does not know it does not read: they are taken out of the map, with a note. */
static void drop_unknown(struct plan_draft *d, struct conf_tree *map,
                         const struct conf_option *table, const char *const *words,
                         const char *where)
{
    struct conf_tree **at = &map->first;
    while (map->kind == CONF_MAP && *at != NULL) {
        struct conf_tree *child = *at;
        if (has_option(table, words, child->key)) {
            at = &child->next;
            continue;
        }
        plan_draft_note(d, child->line, "%s%s: is not read", where, child->key);
        *at = child->next;
        child->next = NULL;
        conf_tree_free(child);
    }
}

/* Of the root and of each contact. */
static void drop_all_unknown(struct plan_draft *d, struct conf_tree *root)
{
    size_t i = 0;
    drop_unknown(d, root, hdtn_root, hdtn_words, "");
    struct conf_tree *list = root->first;
    while (list != NULL && strcmp(list->key, "contacts") != 0)
        list = list->next;
    for (struct conf_tree *t = list == NULL ? NULL : list->first; t != NULL; t = t->next, i++) {
        char where[64];
        snprintf(where, sizeof where, "contacts[%zu].", i);
        drop_unknown(d, t, hdtn_table, NULL, where);
    }
}

/* Contacts that HDTN takes and never uses. */
static bool is_void(struct plan_draft *d, const struct item *i, uint32_t line, const char *where)
{
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    if (i->from == i->to)
        plan_draft_note(d, line, "%sdest: a contact of node %" PRIu64 " with itself: left out",
                        where, i->from);
    else if (i->end <= i->start)
        plan_draft_note(d, line, "%sendTime: %s is not after its start, %s: left out", where,
                        plan_time_text(i->end, d->start, a), plan_time_text(i->start, d->start, b));
    return i->from == i->to || i->end <= i->start;
}

static void read_hdtn_contact(struct plan_draft *d, const struct conf_tree *map, const char *where,
                              struct conf_errors *e)
{
    struct item i = {.draft = d};
    if (!read_item(&i, map, where, hdtn_table, NULL, set_hdtn, e) ||
        is_void(d, &i, map->line, where))
        return;
    if (conf_child(map, "owlt") == NULL)
        plan_draft_note(d, map->line, "%sowlt: is missing: 0", where);
    if (conf_child(map, "rateBitsPerSec") == NULL) {
        plan_draft_note(d, map->line, "%srateBitsPerSec: is missing: %s", where,
                        i.number > 0 ? "that of rate" : "no limit");
        i.rate = i.number * 1000000;
    }
    struct plan_contact c = {i.from, i.to, i.start, i.end, i.rate, 1};
    if (plan_draft_contact(d, &c, map->line, where, e) == 0)
        add_range(&i, i.start, i.end, map->line, where, e);
}

typedef void item_reader(struct plan_draft *d, const struct conf_tree *map, const char *where,
                         struct conf_errors *e);

static void read_list(struct plan_draft *d, const struct conf_tree *root, const char *key,
                      item_reader *read, struct conf_errors *e)
{
    size_t n, i = 0;
    for (const struct conf_tree *t = conf_list(root, "", key, PLAN_ITEMS_MAX, &n, e); t != NULL;
         t = t->next, i++) {
        char where[64];
        snprintf(where, sizeof where, "%s[%zu].", key, i);
        read(d, t, where, e);
    }
}

static struct conf_tree *parse_root(const char *text, size_t len, struct conf_errors *e)
{
    struct conf_tree *root =
        conf_tree_parse_long(text, len, PLAN_TREE_MAX, "it needs at least contacts", e);
    if (root != NULL && root->kind != CONF_MAP) {
        conf_error(e, root->line, "%s is not expected here; write contacts: and ranges:",
                   conf_kind_name(root->kind));
        conf_tree_free(root);
        return NULL;
    }
    return root;
}

int plan_yaml_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e)
{
    size_t before = e->total;
    struct item i = {.draft = d};
    struct conf_tree *root = parse_root(text, len, e);
    if (root == NULL)
        return -1;
    read_item(&i, root, "", root_table, root_words, set_yaml, e);
    /* What is in the file counts before what the caller gave. */
    if (conf_child(root, "start") != NULL)
        d->start = i.start;
    d->since = d->dated = false;
    read_list(d, root, "contacts", read_contact, e);
    read_list(d, root, "ranges", read_range, e);
    conf_tree_free(root);
    return e->total == before ? 0 : -1;
}

int plan_hdtn_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e)
{
    size_t before = e->total;
    struct item i = {.draft = d};
    struct conf_tree *root = parse_root(text, len, e);
    if (root == NULL)
        return -1;
    drop_all_unknown(d, root);
    if (conf_child(root, "contacts") == NULL)
        conf_error(e, root->line, "contacts: this key is missing; it means: the list of contacts");
    read_item(&i, root, "", hdtn_root, hdtn_words, set_hdtn, e);
    read_list(d, root, "contacts", read_hdtn_contact, e);
    plan_draft_trim(d);
    conf_tree_free(root);
    return e->total == before ? 0 : -1;
}
