/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's service instance: parameters with their values, events, named lists of labels; and
 * what a list of a GET or a START means. Entries are found by an index that is sorted by their ids,
 * so that a long list costs no search through all entries for each of its elements.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/delivery_private.h"
#include "csts/forward_private.h"

enum { FIRST_ENTRIES = 64 };

struct csts_service *csts_service_new(struct csts *s, const struct csts_service_config *config)
{
    list_for_each (it, &s->services)
        if (csts_instance_same(&container_of(it, struct csts_service, node)->c.id, &config->id))
            return NULL;
    struct csts_service *v = calloc(1, sizeof *v);
    if (v == NULL)
        return NULL;
    v->csts = s;
    v->c = *config;
    v->c.cycle_min = config->cycle_min == 0 ? 100 : config->cycle_min;
    v->c.version = config->version == 0 ? CSTS_VERSION : config->version;
    list_init(&v->lists);
    list_add_tail(&s->services, &v->node);
    return v;
}

static void free_entries(struct entries *e)
{
    for (uint32_t i = 0; i < e->len; i++)
        free(e->all[i].octets);
    free(e->all);
    free(e->sorted);
}

void assoc_service_free(struct csts_service *v)
{
    struct list *node;
    assert(v->link == NULL);
    while ((node = list_first(&v->lists)) != NULL) {
        struct named_list *l = container_of(node, struct named_list, node);
        list_sub(node);
        free(l->name);
        free(l->labels);
        free(l);
    }
    assoc_forward_free(v);
    assoc_delivery_free(v);
    free_entries(&v->parameters);
    free_entries(&v->events);
    list_sub(&v->node);
    free(v);
}

struct csts_link *csts_service_link(const struct csts_service *v)
{
    return v->link;
}

/* ---- the index ---- */

static int compare_oids(const struct csts_oid *a, const struct csts_oid *b)
{
    const int d = memcmp(a->octets, b->octets, a->len < b->len ? a->len : b->len);
    return d != 0 ? d : (int)a->len - (int)b->len;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_names(const struct csts_name *a, const struct csts_name *b)
{
    int d = compare_oids(&a->id, &b->id);
    if (d == 0)
        d = (int)a->is_procedure - (int)b->is_procedure;
    if (d == 0 && !a->is_procedure) {
        d = compare_oids(&a->resource, &b->resource);
        return d != 0 ? d : compare_numbers(a->instance, b->instance);
    }
    if (d == 0)
        d = compare_oids(&a->procedure.type, &b->procedure.type);
    if (d == 0)
        d = (int)a->procedure.role - (int)b->procedure.role;
    if (d == 0 && a->procedure.role == CSTS_SECONDARY)
        d = compare_numbers(a->procedure.number, b->procedure.number);
    return d;
}

struct place {
    const struct entry *entry;
    uint32_t index;
};

static int compare_places(const void *a, const void *b)
{
    return compare_names(&((const struct place *)a)->entry->name,
                         &((const struct place *)b)->entry->name);
}

/* False: memory is out. */
static bool sort_entries(struct entries *e)
{
    if (e->sorted != NULL || e->len == 0)
        return true;
    struct place *places = malloc(e->len * sizeof *places);
    uint32_t *sorted = malloc(e->len * sizeof *sorted);
    if (places == NULL || sorted == NULL) {
        free(places);
        free(sorted);
        return false;
    }
    for (uint32_t i = 0; i < e->len; i++)
        places[i] = (struct place){&e->all[i], i};
    qsort(places, e->len, sizeof *places, compare_places);
    for (uint32_t i = 0; i < e->len; i++)
        sorted[i] = places[i].index;
    free(places);
    e->sorted = sorted;
    return true;
}

/* The first place whose entry is not before this name (or, of a label, this id). */
static uint32_t first_place(const struct entries *e, const struct csts_name *name, bool is_label)
{
    uint32_t low = 0, high = e->len;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct csts_name *at = &e->all[e->sorted[middle]].name;
        const int d = is_label ? compare_oids(&at->id, &name->id) : compare_names(at, name);
        if (d < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- entries ---- */

static bool has_entry(const struct entries *e, const struct csts_name *name)
{
    for (uint32_t i = 0; i < e->len; i++)
        if (csts_name_same(&e->all[i].name, name))
            return true;
    return false;
}

static int add_entry(struct entries *e, const struct csts_name *name)
{
    if (e->len == CSTS_ENTRIES_MAX)
        return HELIO_EAGAIN;
    if (name->id.len == 0 || has_entry(e, name))
        return HELIO_EINVAL;
    if (e->len == e->cap) {
        const uint32_t cap = e->cap == 0 ? FIRST_ENTRIES : 2 * e->cap;
        struct entry *all = realloc(e->all, cap * sizeof *all);
        if (all == NULL)
            return HELIO_ENOMEM;
        e->all = all;
        e->cap = cap;
    }
    e->all[e->len] = (struct entry){.name = *name};
    free(e->sorted);
    e->sorted = NULL;
    return (int)e->len++;
}

int csts_parameter_add(struct csts_service *v, const struct csts_name *name)
{
    uint8_t octets[8];
    const struct csts_value none = {.state = CSTS_UNAVAILABLE};
    const int index = add_entry(&v->parameters, name);
    if (index < 0)
        return index;
    const struct slice values =
        slice_of(octets, csts_values_write(&none, 1, octets, sizeof octets));
    const int e = csts_parameter_set(v, index, values, NULL);
    if (e < 0)
        v->parameters.len--;
    return e < 0 ? e : index;
}

int csts_parameter_set(struct csts_service *v, int index, struct slice values, bool *changed)
{
    if (index < 0 || (uint32_t)index >= v->parameters.len || values.len > CSTS_VALUE_MAX)
        return HELIO_EINVAL;
    struct entry *e = &v->parameters.all[index];
    const struct csts_parameter p = {.name = e->name, .values = values};
    const size_t room = values.len + 256;
    uint8_t *octets = malloc(room);
    if (octets == NULL)
        return HELIO_ENOMEM;
    const size_t n = csts_parameter_write(&p, octets, room);
    if (n == 0) {
        free(octets);
        return HELIO_EINVAL;
    }
    const bool differs = e->octets == NULL || e->len != n || memcmp(e->octets, octets, n) != 0;
    if (changed != NULL)
        *changed = differs;
    if (!differs) {
        free(octets);
        return HELIO_OK;
    }
    free(e->octets);
    e->octets = octets;
    e->len = (uint32_t)n;
    e->changed = ++v->changes;
    return HELIO_OK;
}

int csts_event_add(struct csts_service *v, const struct csts_name *name)
{
    return add_entry(&v->events, name);
}

int csts_list_add(struct csts_service *v, const char *name, bool is_default,
                  const struct csts_oid *labels, size_t count)
{
    if (v->list_count == CSTS_LISTS_MAX || count > CSTS_LABELS_MAX)
        return HELIO_EAGAIN;
    list_for_each (it, &v->lists) {
        const struct named_list *l = container_of(it, struct named_list, node);
        if (strcmp(l->name, name) == 0 || (is_default && l->is_default))
            return HELIO_EINVAL;
    }
    const size_t len = strlen(name) + 1;
    struct named_list *l = calloc(1, sizeof *l);
    char *copy = malloc(len);
    struct csts_oid *all = malloc((count + 1) * sizeof *all);
    if (l == NULL || copy == NULL || all == NULL) {
        free(l);
        free(copy);
        free(all);
        return HELIO_ENOMEM;
    }
    memcpy(copy, name, len);
    if (count > 0)
        memcpy(all, labels, count * sizeof *all);
    *l = (struct named_list){.name = copy, .is_default = is_default, .labels = all, .count = count};
    list_add_tail(&v->lists, &l->node);
    v->list_count++;
    return HELIO_OK;
}

/* ---- selection ---- */

struct walk {
    struct selection *out;
    struct entries *of;
    uint8_t *chosen; /* of each entry */
    size_t items_room, items_len;
    bool no_memory;
};

static void choose(struct walk *w, uint32_t index)
{
    if (w->chosen[index] != 0)
        return;
    w->chosen[index] = 1;
    w->out->found[w->out->len++] = index;
}

/* All instances. When the first is chosen all are: the list has this label twice. */
static bool choose_label(struct walk *w, const struct csts_oid *label)
{
    const struct csts_name name = {.id = *label};
    uint32_t at = first_place(w->of, &name, true);
    bool any = false;
    for (; at < w->of->len; at++) {
        const uint32_t index = w->of->sorted[at];
        if (!csts_oid_same(&w->of->all[index].name.id, label))
            break;
        if (!any && w->chosen[index] != 0)
            return true;
        any = true;
        choose(w, index);
    }
    return any;
}

static bool choose_name(struct walk *w, const struct csts_name *name)
{
    const uint32_t at = first_place(w->of, name, false);
    if (at == w->of->len || !csts_name_same(&w->of->all[w->of->sorted[at]].name, name))
        return false;
    choose(w, w->of->sorted[at]);
    return true;
}

static void refuse(struct walk *w, enum csts_list_diag_kind kind)
{
    w->out->refused = true;
    w->out->why.kind = kind;
}

/* One more element that is not known; their octets are as long as those of the request, about. */
static void refuse_element(struct walk *w, const struct csts_name *name, bool is_label)
{
    enum { ELEMENT_ROOM = 128 };
    refuse(w, CSTS_UNKNOWN_IDENTIFIER);
    if (w->items_len + ELEMENT_ROOM > w->items_room) {
        const size_t room = 2 * w->items_room + 1024;
        uint8_t *items = realloc(w->out->items, room);
        if (items == NULL) {
            w->no_memory = true;
            return;
        }
        w->out->items = items;
        w->items_room = room;
    }
    w->items_len += csts_unknown_write(name, is_label, w->out->items + w->items_len, ELEMENT_ROOM);
}

static void choose_elements(struct walk *w, const struct csts_list *list)
{
    struct slice rest = list->items;
    struct csts_name name = {0};
    const bool labels = list->kind == CSTS_LIST_LABELS;
    while (!w->no_memory &&
           (labels ? csts_labels_next(&rest, &name.id) : csts_names_next(&rest, &name)))
        if (!(labels ? choose_label(w, &name.id) : choose_name(w, &name)))
            refuse_element(w, &name, labels);
}

static void choose_list(struct walk *w, const struct csts_service *v, const struct csts_list *list)
{
    const bool by_default = list->kind == CSTS_LIST_DEFAULT;
    list_for_each (it, &v->lists) {
        const struct named_list *l = container_of(it, struct named_list, node);
        if (by_default ? l->is_default
                       : slice_equal(list->text, slice_of(l->name, strlen(l->name)))) {
            for (size_t i = 0; i < l->count; i++)
                (void)choose_label(w, &l->labels[i]); /* one without entries has no values */
            return;
        }
    }
    refuse(w, by_default ? CSTS_UNDEFINED_DEFAULT : CSTS_UNKNOWN_LIST);
    w->out->why.text = by_default ? slice_of("no default list", 15) : list->text;
}

static bool matches(const struct csts_name *n, const struct csts_list *l)
{
    switch (l->kind) {
    case CSTS_LIST_RESOURCE:
        return !n->is_procedure && n->instance == l->instance &&
               csts_oid_same(&n->resource, &l->oid);
    case CSTS_LIST_RESOURCE_TYPE:
        return !n->is_procedure && csts_oid_same(&n->resource, &l->oid);
    case CSTS_LIST_PROCEDURE_TYPE:
        return n->is_procedure && csts_oid_same(&n->procedure.type, &l->oid);
    default:
        return n->is_procedure && csts_procedure_same(&n->procedure, &l->procedure);
    }
}

static void choose_matching(struct walk *w, const struct csts_list *list)
{
    static const enum csts_list_diag_kind kinds[] = {
        [CSTS_LIST_RESOURCE] = CSTS_UNKNOWN_RESOURCE,
        [CSTS_LIST_RESOURCE_TYPE] = CSTS_UNKNOWN_RESOURCE_TYPE,
        [CSTS_LIST_PROCEDURE_TYPE] = CSTS_UNKNOWN_PROCEDURE_TYPE,
        [CSTS_LIST_PROCEDURE] = CSTS_UNKNOWN_PROCEDURE};
    for (uint32_t i = 0; i < w->of->len; i++)
        if (matches(&w->of->all[i].name, list))
            choose(w, i);
    if (w->out->len > 0)
        return;
    refuse(w, kinds[list->kind]);
    w->out->why.oid = list->oid;
    w->out->why.instance = list->instance;
    w->out->why.procedure = list->procedure;
}

bool assoc_select_entries(struct selection *s, struct csts_service *v, struct entries *of,
                          const struct csts_list *list)
{
    struct walk w = {.out = s, .of = of};
    memset(s, 0, sizeof *s);
    s->found = malloc((of->len + 1) * sizeof *s->found);
    w.chosen = calloc(of->len + 1, 1);
    if (s->found == NULL || w.chosen == NULL || !sort_entries(of)) {
        free(w.chosen);
        return false;
    }
    switch (list->kind) {
    case CSTS_LIST_DEFAULT:
    case CSTS_LIST_NAMED:
        choose_list(&w, v, list);
        break;
    case CSTS_LIST_NAMES:
    case CSTS_LIST_LABELS:
        choose_elements(&w, list);
        break;
    default:
        choose_matching(&w, list);
    }
    free(w.chosen);
    if (w.no_memory)
        s->refused = false;
    s->why.items = slice_of(s->items, w.items_len);
    assert(s->len <= of->len);
    return !s->refused && !w.no_memory;
}

void assoc_selection_fini(struct selection *s)
{
    free(s->found);
    free(s->items);
    s->found = NULL;
    s->items = NULL;
}
