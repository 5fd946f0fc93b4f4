/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle log's line. A reason is written as one word: lower case, with underscores for what is
 * neither letter nor digit. Nothing can fail: every field has a longest form, and
 * BUNDLE_EVENT_CSV_MAX holds them all.
 */
#include "bp/agent/event.h"

#include <assert.h>
#include <string.h>

#include "base/csv.h"

#define REASON_MAX 64

const char bundle_event_csv_header[] =
    "t_ns,event,node,key,source,created_ms,sequence,fragment_offset,adu_length,destination,bytes,"
    "payload,lifetime_ms,from,link,peer,registration,originator,session,reason\n";

static_assert(BUNDLE_EVENT_CSV_MAX >= 4 * (2 * EID_TEXT_MAX + 3) + 2 * BUNDLE_LINK_MAX + 3 +
                                          REASON_MAX + 11 * (CSV_NUMBER_MAX + 1) + 32,
              "the longest line");

const char *bundle_event_word(enum bundle_event_kind kind)
{
#define EVENT_WORD(name, text) [BUNDLE_##name] = text,
    static const char *const words[BUNDLE_EVENT_COUNT] = {BUNDLE_EVENTS(EVENT_WORD)};
#undef EVENT_WORD
    assert(kind < BUNDLE_EVENT_COUNT);
    return words[kind];
}

const char *bundle_origin_word(enum bundle_origin from)
{
    static const char *const words[] = {"node", "application", "link"};
    assert(from <= BUNDLE_FROM_LINK);
    return words[from];
}

static char *put_eid(char *p, const struct eid *e)
{
    char text[EID_TEXT_MAX];
    if (e == NULL)
        return csv_word(p, "");
    size_t len = eid_text(e, text);
    return csv_text(p, text, len);
}

static char *put_id(char *p, const struct bundle_id *id)
{
    if (id == NULL)
        return csv_word(p, ",,,,");
    p = put_eid(p, &id->source);
    p = csv_known(p, id->time_ms, true);
    p = csv_known(p, id->sequence, true);
    p = csv_known(p, id->offset, id->fragment);
    return csv_known(p, id->total, id->fragment);
}

static char *put_reason(char *p, const char *reason)
{
    *p++ = ',';
    for (size_t i = 0; reason != NULL && reason[i] != '\0' && i < REASON_MAX; i++) {
        char c = reason[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        *p++ = plain ? c : '_';
    }
    return p;
}

uint32_t bundle_event_csv(const struct bundle_event *e, const char *node, const char *link,
                          uint64_t epoch, char out[BUNDLE_EVENT_CSV_MAX])
{
    const bool applies =
        e->kind == BUNDLE_HANDED || e->kind == BUNDLE_DELIVERED || e->kind == BUNDLE_DECLINED;
    assert(strlen(node) < EID_TEXT_MAX);
    char *p = csv_number(out, e->now + epoch);
    p = csv_word(p, bundle_event_word(e->kind));
    p = csv_text(p, node, strlen(node));
    p = csv_known(p, e->key, e->key != 0);
    p = put_id(p, e->id);
    p = put_eid(p, e->destination);
    p = csv_known(p, e->bytes, e->bytes != 0);
    p = csv_known(p, e->payload, e->id != NULL);
    p = csv_known(p, e->lifetime_ms, e->id != NULL);
    p = csv_word(p, bundle_origin_word(e->from));
    p = csv_text(p, link == NULL ? "" : link, link == NULL ? 0 : strnlen(link, BUNDLE_LINK_MAX));
    p = put_eid(p, e->peer == NULL || eid_is_none(e->peer) ? NULL : e->peer);
    p = csv_known(p, e->registration, applies);
    p = csv_known(p, e->originator, e->has_session);
    p = csv_known(p, e->session, e->has_session);
    p = put_reason(p, e->reason);
    *p++ = '\n';
    assert(p - out <= BUNDLE_EVENT_CSV_MAX);
    return (uint32_t)(p - out);
}
