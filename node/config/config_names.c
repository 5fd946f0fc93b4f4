/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are replaced in the file's tree before the other keys are read, so that no other part knows
 * them. What can go wrong: two nodes with one name, or a node with two; a word that is no name; a
 * name that is not in the list, which is reported if another name is near. Else it stays as it is,
 * and the key's own check reports it.
 */
#include "node/config/config_names.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
#define TEXT_MAX 1024 /* of a value with names */

const struct conf_option config_name_options[] = {
    {.key = "name",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_name, name),
     .help = "the word for the node: a letter, then letters, digits, '-', '_' or '.'; 32 in all"},
    {.key = "node",
     .type = OPTION_EID,
     .offset = offsetof(struct config_name, node),
     .help = "the node's id, such as ipn:2.0 or dtn://name/"},
    {.key = NULL},
};

static int check_name(void *item, const char **key, char *why, size_t cap)
{
    const struct config_name *x = item;
    const size_t len = strlen(x->name);
    char text[EID_TEXT_MAX];
    if (len == 0 || len > CONFIG_NAME_BYTES || !isalpha((unsigned char)x->name[0]) ||
        strspn(x->name, CHARACTERS) != len) {
        *key = "name";
        snprintf(why, cap,
                 "\"%.64s\" is no name; write a letter, then letters, digits, '-', '_' or '.', %d "
                 "characters at most",
                 x->name, CONFIG_NAME_BYTES);
        return HELIO_EINVAL;
    }
    if (eid_is_node(&x->node) && !eid_is_none(&x->node) && !eid_is_local(&x->node))
        return 0;
    const struct eid node = eid_node(&x->node);
    eid_text(&node, text);
    *key = "node";
    if (eid_is_none(&x->node) || eid_is_local(&x->node))
        snprintf(why, cap, "it names no node; write an id such as ipn:2.0 or dtn://name/");
    else
        snprintf(why, cap, "it is an endpoint; write its node's id, %s", text);
    return HELIO_EINVAL;
}

const struct cla_list config_name_lists[] = {
    {.key = "names",
     .options = config_name_options,
     .item_size = sizeof(struct config_name),
     .max = CONFIG_NAMES_MAX,
     .items = offsetof(struct config, names),
     .count = offsetof(struct config, names_len),
     .check = check_name},
    {.key = NULL},
};

static const struct config_name *names_of(const struct config *c)
{
    return c->names;
}

/* len: of the name in the text. */
static const struct config_name *find_name(const struct config *c, const char *text, size_t len)
{
    for (size_t i = 0; i < c->names_len; i++) {
        const struct config_name *x = &names_of(c)[i];
        if (strncmp(x->name, text, len) == 0 && x->name[len] == '\0')
            return x;
    }
    return NULL;
}

/* The id without its service: "ipn:2.", "dtn://mars/". Its length. */
static size_t stem_text(const struct eid *node, char out[EID_TEXT_MAX])
{
    const size_t len = eid_text(node, out);
    if (node->scheme != EID_IPN)
        return len;
    assert(len > 1 && out[len - 1] == '0');
    out[len - 1] = '\0';
    return len - 1;
}

/* One alternative, of len bytes. Sets *named if it has a name. False: it is too long. */
static bool expand_part(const struct config *c, enum config_name_form form, const char *text,
                        size_t len, FILE *out, bool *named)
{
    const char *slash = memchr(text, '/', len);
    const size_t name_len = slash == NULL ? len : (size_t)(slash - text);
    const struct config_name *x = find_name(c, text, name_len);
    char stem[EID_TEXT_MAX];
    if (x == NULL)
        return fwrite(text, 1, len, out) == len;
    *named = true;
    const size_t stem_len = stem_text(&x->node, stem);
    if (fwrite(stem, 1, stem_len, out) != stem_len)
        return false;
    if (slash != NULL)
        return fwrite(slash + 1, 1, len - name_len - 1, out) == len - name_len - 1;
    const char *end = form == CONFIG_NAME_PATTERN ? "*" : x->node.scheme == EID_IPN ? "0" : "";
    return fputs(end, out) >= 0;
}

bool config_name_expand(const struct config *c, enum config_name_form form, const char *text,
                        char *out, size_t cap)
{
    char whole[TEXT_MAX] = "";
    bool named = false, fits = true;
    if (c->names_len == 0 || strlen(text) >= sizeof whole)
        return false;
    FILE *f = fmemopen(whole, sizeof whole, "w");
    if (f == NULL)
        return false;
    for (const char *at = text; fits; at++) {
        const size_t len = strcspn(at, "|");
        fits = expand_part(c, form, at, len, f, &named);
        at += len;
        if (*at == '\0')
            break;
        fits = fits && fputc('|', f) != EOF;
    }
    fits = fclose(f) == 0 && fits;
    if (!named || !fits || strlen(whole) >= cap)
        return false;
    snprintf(out, cap, "%s", whole);
    return true;
}

/* Could it have been meant as one of the names? */
static size_t name_length(const char *text)
{
    const size_t len = strcspn(text, "/");
    const bool good = len <= CONFIG_NAME_BYTES && isalpha((unsigned char)text[0]) &&
                      strspn(text, CHARACTERS) >= len && strchr(text, ':') == NULL;
    return good ? len : 0;
}

const char *config_name_closest(const struct config *c, const char *text)
{
    char word[CONFIG_NAME_BYTES + 1];
    const size_t len = name_length(text);
    if (len == 0 || c->names_len == 0 || find_name(c, text, len) != NULL)
        return NULL;
    const char **words = malloc(c->names_len * sizeof *words);
    if (words == NULL)
        return NULL;
    for (size_t i = 0; i < c->names_len; i++)
        words[i] = names_of(c)[i].name;
    snprintf(word, sizeof word, "%.*s", (int)len, text);
    const char *closest = words_closest(word, words, c->names_len);
    free(words);
    return closest;
}

bool config_name_show(const struct config *c, const struct eid *e, char out[CONFIG_NAME_SHOWN])
{
    char text[EID_TEXT_MAX], stem[EID_TEXT_MAX];
    for (size_t i = 0; i < c->names_len; i++) {
        const struct config_name *x = &names_of(c)[i];
        if (!eid_same_node(&x->node, e))
            continue;
        const size_t len = stem_text(&x->node, stem);
        eid_text(e, text);
        if (eid_is_node(e))
            snprintf(out, CONFIG_NAME_SHOWN, "%s", x->name);
        else
            snprintf(out, CONFIG_NAME_SHOWN, "%s/%s", x->name, text + len);
        return strncmp(text, stem, len) == 0;
    }
    return false;
}

bool config_name_show_pattern(const struct config *c, const struct eid_pattern *p,
                              char out[CONFIG_NAME_SHOWN])
{
    char text[EID_TEXT_MAX], stem[EID_TEXT_MAX];
    eid_pattern_text(p, text);
    for (size_t i = 0; i < c->names_len; i++) {
        const struct config_name *x = &names_of(c)[i];
        const size_t len = stem_text(&x->node, stem);
        if (strncmp(text, stem, len) != 0)
            continue;
        snprintf(out, CONFIG_NAME_SHOWN, "%s/%s", x->name, text + len);
        return true;
    }
    return false;
}

/* ---- the file ---- */

/* NULL: the key has no node. */
static const enum config_name_form *form_of(const char *key)
{
    static const struct {
        const char *key;
        enum config_name_form form;
    } rows[] = {{"peer", CONFIG_NAME_NODE},
                {"to", CONFIG_NAME_PATTERN},
                {"from", CONFIG_NAME_PATTERN},
                {"at", CONFIG_NAME_PATTERN}};
    for (size_t i = 0; key != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i].form;
    return NULL;
}

static void replace_text(struct conf_tree *t, const char *text, struct conf_errors *errors)
{
    char *own = strdup(text);
    if (own == NULL) {
        conf_no_memory(errors, t->line);
        return;
    }
    free(t->text);
    t->text = own;
}

static void apply_scalar(const struct config *c, struct conf_tree *t, const char *where,
                         struct conf_errors *errors)
{
    char text[TEXT_MAX];
    const enum config_name_form *form = form_of(t->key);
    if (form == NULL)
        return;
    if (config_name_expand(c, *form, t->text, text, sizeof text)) {
        replace_text(t, text, errors);
        return;
    }
    const char *closest = config_name_closest(c, t->text);
    if (closest == NULL)
        return;
    conf_error(errors, t->line, "%s%s: \"%.64s\" is not in names; did you mean %s?", where, t->key,
               t->text, closest);
    (void)config_name_expand(c, *form, closest, text, sizeof text);
    replace_text(t, text, errors); /* so that the key's own check has no second error */
}

void config_names_apply(const struct config *c, struct conf_tree *t, const char *where,
                        struct conf_errors *errors)
{
    char inner[64];
    if (c->names_len == 0)
        return;
    for (struct conf_tree *i = t->first; i != NULL; i = i->next) {
        snprintf(inner, sizeof inner, "%s%s%s", where, i->key != NULL ? i->key : "",
                 i->key != NULL ? "." : "");
        if (i->kind == CONF_SCALAR)
            apply_scalar(c, i, where, errors);
        else
            config_names_apply(c, i, inner, errors);
    }
}

/* Item i of the list in the file. */
static const struct conf_tree *item_at(const struct conf_tree *list, size_t i)
{
    const struct conf_tree *t = list->first;
    for (; t != NULL && i > 0; i--)
        t = t->next;
    return t;
}

static void check_twice(const struct config *c, const struct conf_tree *list, size_t i,
                        struct conf_errors *errors)
{
    const struct config_name *x = &names_of(c)[i];
    char text[EID_TEXT_MAX];
    for (size_t k = 0; k < i; k++) {
        const struct config_name *other = &names_of(c)[k];
        const bool name = strcmp(other->name, x->name) == 0;
        if (!name && !eid_same_node(&other->node, &x->node))
            continue;
        const struct conf_tree *map = item_at(list, i), *there = item_at(list, k);
        assert(map != NULL && there != NULL); /* one item of the list for each map */
        eid_text(&x->node, text);
        if (name)
            conf_error(errors, map->line,
                       "names.name: line %u has the name %s, too; write another one", there->line,
                       x->name);
        else
            conf_error(errors, map->line,
                       "names.node: line %u names the node %s, too; a node has one name",
                       there->line, text);
        return;
    }
}

bool config_names_read(struct config *c, struct conf_tree *root, struct conf_errors *errors)
{
    static const char *const lists[] = {"links",    "routes", "endpoints",
                                        "security", "rules",  "applications"};
    char where[32];
    const size_t before = errors->total;
    const struct conf_tree *names = conf_child(root, "names");
    config_lists_read(config_name_lists, c, root, "", errors);
    for (size_t i = 1; i < c->names_len && errors->total == before; i++)
        check_twice(c, names, i, errors);
    if (errors->total > before)
        return false;
    for (struct conf_tree *t = root->first; t != NULL; t = t->next)
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            snprintf(where, sizeof where, "%s.", lists[i]);
            if (strcmp(t->key, lists[i]) == 0 && t->kind == CONF_LIST)
                config_names_apply(c, t, where, errors);
        }
    return true;
}
