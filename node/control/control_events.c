/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of bundles for somebody who watches them. A question has the number of the last event that
 * was seen; the answer has the later ones, a part of them at a time. What can go wrong: there are
 * more events than questions ask for, and some are not kept any more; the answer has their number.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bp/agent/event_columns.h"
#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/node_events.h"

#define EVENTS_SHOWN 256u /* in one answer */
#define FIELD_MAX (2 * EID_TEXT_MAX)

static const struct {
    const char *name;
    enum bundle_column_kind kind;
} columns[] = {
#define COLUMN(name, kind, value, known, meaning) {#name, BUNDLE_COLUMN_##kind},
    BUNDLE_COLUMNS(COLUMN)
#undef COLUMN
};

/* The next field of the line, without its quotes. Returns where the one after it begins. */
static const char *take_field(const char *p, char out[FIELD_MAX])
{
    const bool quoted = *p == '"';
    size_t len = 0;
    for (p += quoted; *p != '\0' && *p != '\n' && (quoted || *p != ','); p++) {
        if (quoted && *p == '"' && *++p != '"')
            break;
        if (len + 1 < FIELD_MAX)
            out[len++] = *p;
    }
    out[len] = '\0';
    return *p == ',' ? p + 1 : p;
}

static void put_field(const struct node *n, json_t *o, const char *name,
                      enum bundle_column_kind kind, const char *text)
{
    struct eid e;
    if (kind == BUNDLE_COLUMN_NUMBER || kind == BUNDLE_COLUMN_TIME)
        json_put_number(o, name, strtoull(text, NULL, 10));
    else if (kind == BUNDLE_COLUMN_EID && eid_parse(text, &e) == 0)
        control_put_eid(n, o, name, &e);
    else
        json_put_text(o, name, text);
}

/* Without the columns that are empty, and the node's own name. */
static json_t *event_json(const struct node *n, const char *line)
{
    char text[FIELD_MAX];
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        line = take_field(line, text);
        if (*text != '\0' && columns[i].kind != BUNDLE_COLUMN_NODE)
            put_field(n, o, columns[i].name, columns[i].kind, text);
    }
    return o;
}

void control_events(struct node *n, const struct json_t *in, struct json_t *out)
{
    const json_t *after = json_object_get(in, "after");
    json_t *list = json_array();
    uint64_t at = 0, missed = 0;
    if (node_events_want(n) < 0) {
        json_decref(list);
        control_refuse(out, false, "out of memory");
        return;
    }
    const uint64_t last = node_events_last(n);
    at = json_is_integer(after) ? (uint64_t)json_integer_value(after) : last;
    at = at > last ? last : at;
    if (last - at > NODE_EVENTS_KEPT) {
        missed = last - at - NODE_EVENTS_KEPT;
        at += missed;
    }
    for (uint64_t end = last - at > EVENTS_SHOWN ? at + EVENTS_SHOWN : last; at < end; at++) {
        const char *line = node_events_line(n, at + 1);
        if (line != NULL)
            json_array_append_new(list, event_json(n, line));
        else
            missed++;
    }
    json_put_number(out, "last", at);
    json_put_number(out, "missed", missed);
    json_object_set_new(out, "more", json_boolean(at < last));
    json_object_set_new(out, "events", list);
}
