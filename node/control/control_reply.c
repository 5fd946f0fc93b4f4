/* SPDX-License-Identifier: Apache-2.0 */
/* The object's closing brace is left out until its list has been written. What can go wrong:
 * memory. */
#include "node/control/control_reply.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool has_room(struct control_reply *r, size_t more)
{
    size_t cap = r->cap == 0 ? 512 : r->cap;
    while (cap - r->len < more)
        cap *= 2;
    char *text = cap == r->cap ? r->text : realloc(r->text, cap);
    if (text == NULL)
        return false;
    r->text = text;
    r->cap = cap;
    return true;
}

static int put_text(const char *text, size_t len, void *context)
{
    struct control_reply *r = context;
    if (!has_room(r, len))
        return -1;
    memcpy(r->text + r->len, text, len);
    r->len += len;
    return 0;
}

static bool put_words(struct control_reply *r, const char *words)
{
    return put_text(words, strlen(words), r) == 0;
}

static bool put_json(struct control_reply *r, const json_t *o)
{
    return o != NULL && json_dump_callback(o, put_text, r, JSON_COMPACT) == 0;
}

static bool end_text(struct control_reply *r, const char *words)
{
    json_decref(r->out);
    r->out = NULL;
    control_list_free(r->list);
    r->list = NULL;
    return put_words(r, words);
}

void control_reply_begin(struct control_reply *r, struct json_t *out, struct control_list *list)
{
    assert(r->out == NULL && r->list == NULL);
    r->out = out;
    r->list = list;
    r->state = REPLY_PREPARING;
    r->len = r->done = 0;
}

static bool begin_list(struct control_reply *r)
{
    if (r->list->ops->head != NULL)
        r->list->ops->head(r->list, r->out);
    if (!put_json(r, r->out))
        return false;
    if (r->list->ops->key == NULL)
        return end_text(r, "\n");
    assert(json_object_size(r->out) > 0);
    r->len--; /* the brace */
    r->state = REPLY_FIRST;
    return put_words(r, ",\"") && put_words(r, r->list->ops->key) && put_words(r, "\":[");
}

static bool put_item(struct control_reply *r)
{
    json_t *item = NULL;
    if (!r->list->ops->next(r->list, &item))
        return end_text(r, "]}\n");
    if (item == NULL)
        return true;
    const bool good = (r->state == REPLY_FIRST || put_words(r, ",")) && put_json(r, item);
    json_decref(item);
    r->state = REPLY_ITEMS;
    return good;
}

bool control_reply_step(struct control_reply *r, const struct world *w)
{
    const tick until = tick_add(world_now(w), CONTROL_SLICE);
    bool good = true;
    assert(r->done == r->len);
    r->len = r->done = 0;
    if (r->list == NULL)
        return r->out != NULL && put_json(r, r->out) && end_text(r, "\n");
    for (int i = 0; good && i < CONTROL_STEPS && r->out != NULL && r->len < CONTROL_PIECE; i++) {
        if (r->state != REPLY_PREPARING)
            good = put_item(r);
        else if (r->list->ops->prepare == NULL || !r->list->ops->prepare(r->list))
            good = begin_list(r);
        if (control_reply_waits(r) || world_now(w) >= until)
            break;
    }
    return good;
}

void control_reply_fini(struct control_reply *r)
{
    json_decref(r->out);
    control_list_free(r->list);
    free(r->text);
    *r = (struct control_reply){0};
}

void control_list_all(struct control_list *l, struct json_t *out)
{
    json_t *item;
    while (l->ops->prepare != NULL && l->ops->prepare(l))
        assert(!l->waits);
    if (l->ops->head != NULL)
        l->ops->head(l, out);
    json_t *list = l->ops->key == NULL ? NULL : json_array();
    for (item = NULL; list != NULL && l->ops->next(l, &item); item = NULL)
        if (item != NULL)
            json_array_append_new(list, item);
    if (list != NULL)
        json_object_set_new(out, l->ops->key, list);
    control_list_free(l);
}
