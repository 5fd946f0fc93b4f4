/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle log's line. Its columns come from the table in event_columns.h. A reason is written as
 * one word: lower case, with underscores for what is neither letter nor digit. Nothing can fail:
 * every field has a longest form, and BUNDLE_EVENT_CSV_MAX holds them all.
 */
#include "bp/agent/event.h"

#include <assert.h>
#include <string.h>

#include "base/csv.h"
#include "bp/agent/event_columns.h"

#define REASON_MAX 64

#define COMMA_NAME(name, kind, value, known, meaning) "," #name
const char bundle_event_csv_header[] = "t_ns" BUNDLE_COLUMNS_AFTER_TIME(COMMA_NAME) "\n";

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

static char *put_link(char *p, const char *link)
{
    return csv_text(p, link == NULL ? "" : link, link == NULL ? 0 : strnlen(link, BUNDLE_LINK_MAX));
}

/* The columns of each kind; t_ns is the first and has no comma before it. */
#define PUT_TIME(value, known) csv_number(p, value)
#define PUT_EVENT(value, known) csv_word(p, bundle_event_word(value))
#define PUT_ORIGIN(value, known) csv_word(p, bundle_origin_word(value))
#define PUT_NUMBER(value, known) csv_known(p, (known) ? (value) : 0, known)
#define PUT_EID(value, known) put_eid(p, (known) ? (value) : NULL)
#define PUT_NODE(value, known) csv_text(p, value, strlen(value))
#define PUT_LINK(value, known) put_link(p, value)
#define PUT_REASON(value, known) put_reason(p, value)
#define PUT(name, kind, value, known, meaning) p = PUT_##kind(value, known);

uint32_t bundle_event_csv(const struct bundle_event *e, const char *node, const char *link,
                          uint64_t epoch, char out[BUNDLE_EVENT_CSV_MAX])
{
    char *p = out;
    assert(strlen(node) < EID_TEXT_MAX);
    BUNDLE_COLUMNS(PUT)
    *p++ = '\n';
    assert(p - out <= BUNDLE_EVENT_CSV_MAX);
    return (uint32_t)(p - out);
}
