/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of export and import sessions: their place in the table, their promised notices
 * and their closed record. Opening reserves all three, or fails with nothing changed.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

static uint64_t session_key(const struct ltp *l, struct ltp_session_id id, bool is_export)
{
    return hash_mix(l->sessions.seed + (is_export ? 1 : 0), id.originator, id.number);
}

struct session *ltp_session_find(const struct ltp *l, struct ltp_session_id id, bool is_export)
{
    for (struct hash_node *n = hash_find(&l->sessions, session_key(l, id, is_export)); n != NULL;
         n = hash_next(n)) {
        struct session *s = container_of(n, struct session, node);
        if (s->id.originator == id.originator && s->id.number == id.number &&
            s->is_export == is_export)
            return s;
    }
    return NULL;
}

int ltp_session_open(struct ltp *l, struct session *s, uint8_t notices)
{
    assert(s->memory == NULL && s->peer != NULL);
    s->memory = ltp_closed_new(s->peer, s->id, s->is_export);
    if (s->memory == NULL)
        return HELIO_ENOMEM;
    int rc = ltp_notice_promise(l, s, notices);
    if (rc < 0) {
        free(s->memory);
        s->memory = NULL;
        return rc;
    }
    assert(ltp_session_find(l, s->id, s->is_export) == NULL);
    hash_add(&l->sessions, &s->node, session_key(l, s->id, s->is_export));
    if (s->is_export) {
        l->exports++;
        s->peer->exports++;
    } else {
        l->imports++;
        ltp_pool_add(l, POOL_SESSIONS, s->peer, 1);
        s->peer->imports++;
        l->unconfigured.imports += s->peer->unconfigured != NULL;
    }
    return 0;
}

void ltp_session_forget(struct ltp *l, struct session *s)
{
    assert(s->is_export ? l->exports > 0 && s->peer->exports > 0
                        : l->imports > 0 && s->peer->imports > 0);
    hash_sub(&l->sessions, &s->node);
    ltp_notice_release(l, s);
    free(s->memory); /* unless it was made a record, which clears it */
    s->memory = NULL;
    if (s->is_export) {
        l->exports--;
        s->peer->exports--;
    } else {
        l->imports--;
        ltp_pool_sub(l, POOL_SESSIONS, s->peer, 1);
        s->peer->imports--;
        l->unconfigured.imports -= s->peer->unconfigured != NULL;
    }
}

bool ltp_service_known(const struct ltp *l, uint64_t client_service)
{
    for (size_t i = 0; i < l->service_count; i++) {
        if (l->services[i] == client_service)
            return true;
    }
    return false;
}

static struct ltp_session_info info_of(const struct session *s)
{
    assert(s->peer != NULL && s->memory != NULL);
    struct ltp_session_info info = {.id = s->id,
                                    .peer = s->peer->span.peer,
                                    .client_service = s->client_service,
                                    .is_export = s->is_export,
                                    .opened = s->opened};
    if (s->is_export) {
        const struct export_session *e = container_of(s, struct export_session, s);
        info.length = e->length;
        info.red_len = e->red_len;
        info.done = e->incarnations == 0 ? 0 : ranges_bytes(&e->incarnation[0].claimed);
        info.held = e->length;
    } else {
        const struct import *im = container_of(s, struct import, s);
        info.length = im->length;
        info.red_len = im->red_len;
        info.done = ranges_bytes(&im->got);
        info.held = ltp_part_held(&im->red) + ltp_part_held(&im->green);
    }
    return info;
}

int ltp_session_get(const struct ltp *l, struct ltp_session_id id, struct ltp_session_info *out)
{
    struct session *s = ltp_session_find(l, id, id.originator == l->config.engine);
    if (s == NULL)
        s = ltp_session_find(l, id, false);
    if (s == NULL)
        return HELIO_ENOENT;
    *out = info_of(s);
    return 0;
}

size_t ltp_sessions(const struct ltp *l, struct ltp_session_info *out, size_t max)
{
    size_t i = 0;
    for (struct hash_node *n = NULL; i < max && (n = hash_walk(&l->sessions, n)) != NULL; i++)
        out[i] = info_of(container_of(n, struct session, node));
    return l->sessions.len;
}
