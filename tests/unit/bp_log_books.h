/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Books that are kept from the lines of a bundle log alone, read as the text that they are: how
 * often each event came with each reason, and the state of each bundle by its key. The agent's
 * counters must be the same numbers.
 */
#ifndef BP_LOG_BOOKS_H
#define BP_LOG_BOOKS_H

#include <ctype.h>
#include <string.h>

#include "bp/agent/agent.h"
#include "tests/unit/suite.h"

#define LOG_KEYS 8192
#define LOG_COLUMNS 20

enum log_state { LOG_NONE, LOG_NEW, LOG_HERE, LOG_GIVEN, LOG_GONE };

struct log_books {
    uint64_t events[BUNDLE_EVENT_COUNT];
    uint64_t refused[REFUSE_COUNT], refused_late, ended[END_COUNT];
    uint64_t stored_of_links;
    enum log_state state[LOG_KEYS];
    bool whole[LOG_KEYS];
};

static inline int log_word(const char *text, bool end)
{
    for (int i = 0; i < (end ? (int)END_COUNT : (int)REFUSE_COUNT); i++) {
        char word[64];
        size_t len = strlen(text);
        ck_assert_uint_lt(len, sizeof word);
        for (size_t k = 0; k <= len; k++)
            word[k] = (char)toupper((unsigned char)text[k]);
        if (strcmp(end ? agent_end_text((enum agent_end)i) : word,
                   end ? text : agent_refusal_word((enum agent_refusal)i)) == 0)
            return i;
    }
    ck_abort_msg("no such reason: %s", text);
    return -1;
}

/* The order in which things may happen to one bundle. */
static inline void log_step(struct log_books *b, enum bundle_event_kind kind, uint64_t key)
{
    ck_assert_uint_lt(key, LOG_KEYS);
    enum log_state *s = &b->state[key];
    switch (kind) {
    case BUNDLE_ACCEPTED:
        ck_assert_int_eq(*s, LOG_NONE);
        *s = LOG_NEW;
        break;
    case BUNDLE_RESTORED:
        ck_assert_int_eq(*s, LOG_NONE);
        *s = LOG_HERE;
        break;
    case BUNDLE_ASSEMBLED:
        ck_assert_int_eq(*s, LOG_NONE);
        *s = LOG_HERE;
        b->whole[key] = true;
        break;
    case BUNDLE_STORED:
        ck_assert_int_eq(*s, LOG_NEW);
        *s = LOG_HERE;
        break;
    case BUNDLE_REFUSED:
        ck_assert_int_eq(*s, LOG_NEW);
        *s = LOG_GONE;
        break;
    case BUNDLE_WAITING:
    case BUNDLE_QUEUED:
    case BUNDLE_UNREAD:
        ck_assert_int_eq(*s, LOG_HERE);
        break;
    case BUNDLE_SENT:
    case BUNDLE_HANDED:
        ck_assert_int_eq(*s, LOG_HERE);
        *s = LOG_GIVEN;
        break;
    case BUNDLE_CARRIED:
    case BUNDLE_ACKNOWLEDGED:
        ck_assert_int_eq(*s, LOG_GIVEN);
        break;
    case BUNDLE_FAILED:
    case BUNDLE_LOST:
    case BUNDLE_FRAGMENTED:
    case BUNDLE_DECLINED:
        ck_assert_int_eq(*s, LOG_GIVEN);
        *s = LOG_HERE;
        break;
    case BUNDLE_DELIVERED:
        ck_assert(*s == LOG_GIVEN || *s == LOG_HERE); /* the agent is its own application */
        break;
    case BUNDLE_ENDED:
        ck_assert(*s == LOG_HERE || *s == LOG_GIVEN);
        *s = LOG_GONE;
        break;
    default:
        ck_abort_msg("%s has no key", bundle_event_word(kind));
    }
}

static inline void log_take(void *context, const struct bundle_event *e)
{
    struct log_books *b = context;
    char line[BUNDLE_EVENT_CSV_MAX + 1], *column[LOG_COLUMNS], *p = line;
    uint32_t len = bundle_event_csv(e, "ipn:2.0", NULL, 0, line);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(line[len - 1], '\n');
    line[len - 1] = '\0';
    int n = 0;
    for (char *at; (at = strsep(&p, ",")) != NULL; n++) {
        ck_assert_int_lt(n, LOG_COLUMNS);
        column[n] = at;
    }
    ck_assert_int_eq(n, LOG_COLUMNS);
    int kind = 0;
    while (strcmp(bundle_event_word((enum bundle_event_kind)kind), column[1]) != 0)
        kind++;
    uint64_t key = strtoull(column[3], NULL, 10);
    if (column[3][0] != '\0')
        log_step(b, (enum bundle_event_kind)kind, key);
    b->events[kind]++;
    if (kind == BUNDLE_REFUSED) {
        b->refused[log_word(column[19], false)]++;
        b->refused_late += column[3][0] != '\0';
    } else if (kind == BUNDLE_ENDED && !b->whole[key]) {
        b->ended[log_word(column[19], true)]++;
    } else if (kind == BUNDLE_STORED) {
        b->stored_of_links += strcmp(column[13], "link") == 0;
    }
}

static inline uint64_t log_held(const struct log_books *b)
{
    uint64_t held = 0;
    for (int i = 0; i < LOG_KEYS; i++)
        held += b->state[i] != LOG_NONE && b->state[i] != LOG_GONE && !b->whole[i];
    return held;
}

static inline void log_compare(const struct log_books *b, const struct agent_counters *c)
{
    ck_assert_mem_eq(b->refused, c->refused, sizeof b->refused);
    ck_assert_mem_eq(b->ended, c->ended, sizeof b->ended);
    ck_assert_uint_eq(c->offered, b->events[BUNDLE_ACCEPTED] + b->events[BUNDLE_CONSUMED] +
                                      b->events[BUNDLE_REFUSED] - b->refused_late);
    ck_assert_uint_eq(c->consumed, b->events[BUNDLE_CONSUMED]);
    ck_assert_uint_eq(c->received, b->stored_of_links);
    ck_assert_uint_eq(c->received + c->accepted_local, b->events[BUNDLE_STORED]);
    ck_assert_uint_eq(c->restored, b->events[BUNDLE_RESTORED]);
    ck_assert_uint_eq(c->delivered, b->events[BUNDLE_DELIVERED]);
    ck_assert_uint_eq(c->send_failures, b->events[BUNDLE_FAILED]);
    ck_assert_uint_eq(c->lost, b->events[BUNDLE_LOST]);
    ck_assert_uint_eq(c->load_failures, b->events[BUNDLE_UNREAD]);
    ck_assert_uint_eq(c->reports_sent, b->events[BUNDLE_REPORTED]);
    ck_assert_uint_eq(c->bundles, log_held(b));
}

#endif
