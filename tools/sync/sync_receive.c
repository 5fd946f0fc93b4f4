/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving end at a node. What can go wrong: the folder or its disk (the bundle stays at the
 * node, and this ends). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "tools/sync/sync_run.h"

#define FULL_PAUSE (50 * TICK_MS) /* while the node takes no answers */

static void on_told(void *context, enum sync_told what, const char *name, uint64_t bytes,
                    const char *source)
{
    const struct sync_receive *r = context;
    char text[FILES_NAME_MAX * PRINTABLE_EACH], from[FILES_SOURCE_MAX * PRINTABLE_EACH];
    const bool plain = r->options->json == NULL || strcmp(r->options->json, "-") != 0;
    if (r->options->quiet)
        return;
    FILE *out = plain ? stdout : stderr;
    printable(name, strlen(name), text, sizeof text);
    printable(source, strlen(source), from, sizeof from);
    if (what == SYNC_TOLD_FILE)
        fprintf(out, "%s  %llu bytes from %s\n", text, (unsigned long long)bytes, from);
    else if (what == SYNC_TOLD_REMOVED)
        fprintf(out, "%s  removed\n", text);
    else
        fprintf(out, "%s  %s\n", text,
                what == SYNC_TOLD_KEPT ? "kept: it is not what was delivered"
                                       : "what was here, and not delivered, has another name now");
    fflush(out);
}

/* The first one; all are counted. */
static void tell_other(const char *source)
{
    char from[AAP2_EID_MAX * PRINTABLE_EACH];
    printable(source, strlen(source), from, sizeof from);
    fprintf(stderr, "helio-sync: from %s: --from does not have this source; refused\n", from);
}

static int push_reply(struct sync_receive *r, const char *peer, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = len > 0 ? malloc(len) : NULL;
    if (len == 0)
        return 0;
    if (copy == NULL)
        return HELIO_ENOMEM;
    memcpy(copy, bytes, len);
    sync_node_push(&r->node, peer, slice_of(copy, len), copy);
    return 0;
}

static int take_delivery(void *context, const char *source, const char *neighbour,
                         struct slice payload)
{
    struct sync_receive *r = context;
    const uint64_t others = r->copy.counts.others;
    struct sync_outcome *o = &r->outcome;
    int rc = sync_copy_take(&r->copy, source, neighbour, payload, world_now(r->node.link.world), o);
    if (others == 0 && r->copy.counts.others > 0)
        tell_other(source);
    rc = rc == 0 ? push_reply(r, source, o->files.receipt, o->files.receipt_len) : rc;
    rc = rc == 0 ? push_reply(r, source, o->answers, o->answers_len) : rc;
    if (rc != 0) {
        char why[AAP2_WHY_MAX];
        snprintf(why, sizeof why, "%s; what was not taken stays at the node", helio_strerror(rc));
        sync_node_fail(&r->node, r->options->path, why);
    }
    return rc;
}

static void fill_node(void *context, tick now)
{
    (void)context;
    (void)now;
}

static void note_answered(void *context, bool taken)
{
    (void)context;
    (void)taken;
}

static void note_lost(void *context)
{
    (void)context;
}

/* What could not be settled at its arrival. When the next turn is due. */
static tick settle_more(struct sync_receive *r, tick now)
{
    struct sync_outcome *o = &r->outcome;
    char peer[AAP2_EID_MAX];
    const bool busy = sync_copy_busy(&r->copy);
    if (busy && sync_node_full(&r->node))
        return tick_add(now, FULL_PAUSE);
    int rc = sync_copy_turn(&r->copy, peer, o);
    rc = rc == 0 ? push_reply(r, peer, o->answers, o->answers_len) : rc;
    if (rc != 0)
        sync_node_fail(&r->node, r->options->path, helio_strerror(rc));
    return busy ? now : tick_add(now, 60 * TICK_S);
}

static tick end_turn(void *context, bool up, tick now)
{
    struct sync_receive *r = context;
    if (up && !r->node.begun && !r->options->quiet)
        fprintf(stderr, "helio-sync: %s keeps %s equal to its sources\n", r->node.link.endpoint,
                r->options->path);
    r->node.begun = r->node.begun || up;
    return settle_more(r, now);
}

static void on_end(void *context)
{
    struct sync_receive *r = context;
    r->over(r->context);
}

int sync_receive_init(struct sync_receive *r, struct world *w, const struct sync_options *o,
                      const uint64_t seed[2], void (*over)(void *context), void *context)
{
    static const struct sync_node_user user = {.take = take_delivery,
                                               .fill = fill_node,
                                               .answered = note_answered,
                                               .lost = note_lost,
                                               .turned = end_turn,
                                               .over = on_end};
    *r = (struct sync_receive){.options = o, .over = over, .context = context};
    sync_node_init(&r->node, w, &o->link, seed[0], o->payload_max, &user, r);
    int rc = sync_copy_init(&r->copy, o->path, &o->copy, seed[1], on_told, r);
    if (rc == HELIO_EEXIST)
        fprintf(stderr, "helio-sync: another helio-sync receive has %s\n", o->path);
    else if (rc != 0)
        fprintf(stderr, "helio-sync: %s: %s\n", o->path, helio_strerror(rc));
    return rc;
}

void sync_receive_fini(struct sync_receive *r)
{
    sync_node_fini(&r->node);
    sync_copy_fini(&r->copy);
}

json_t *sync_receive_json(const struct sync_receive *r)
{
    static const char *const names[SYNC_REASONS] = {NULL,    "name",  "size",   "room",
                                                    "other", "place", "content"};
    const struct sync_copy_counts *c = &r->copy.counts;
    const uint64_t names_len = r->copy.table.names.len;
    const uint64_t damaged = c->damaged + r->copy.receiver.counts.damaged;
    json_t *refused = json_object();
    for (int i = 1; i < SYNC_REASONS; i++)
        json_object_set_new(refused, names[i], json_integer((json_int_t)c->refused[i]));
    return json_pack(
        "{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "role", "receive",
        "endpoint", r->node.link.endpoint, "names", (json_int_t)names_len, "total",
        (json_int_t)r->copy.table.bytes, "messages", (json_int_t)c->messages, "files",
        (json_int_t)c->placed, "bytes", (json_int_t)c->bytes, "copied", (json_int_t)c->copied,
        "removed", (json_int_t)c->removed, "kept", (json_int_t)c->kept, "aside",
        (json_int_t)c->aside, "others", (json_int_t)c->others, "damaged", (json_int_t)damaged,
        "foreign", (json_int_t)c->foreign, "repeated", (json_int_t)r->copy.receiver.counts.repeated,
        "reconnects", (json_int_t)r->node.link.reconnects, "refused", refused);
}
