/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses by LTP segment type: which of the checkpoints, reports, … that pass a link are to be
 * dropped, so that each recovery path can be provoked. Pure: the link's owner reads a frame's
 * fields, asks here, and gives the frame to chan_input_rule. Every transmission counts, repetitions
 * too.
 */
#ifndef CHANNEL_EMU_LTP_RULES_H
#define CHANNEL_EMU_LTP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ltp/event.h"

/* Fields of a frame for the drop log; a missing value is EVENT_NONE. */
struct ltp_fields {
    int type; /* 0..15, RFC 5326 §3.1.1 */
    uint64_t originator, session;
    uint64_t offset, data_length; /* data segments */
    uint64_t cp_serial;           /* checkpoints, reports */
    uint64_t rpt_serial;          /* checkpoints, reports and their acknowledgements */
};

/* False when the bytes are not one whole, valid LTP segment. */
bool ltp_fields_read(struct ltp_fields *f, const uint8_t *data, size_t len);

#define LTP_RULE_LIST_MAX 64u
#define LTP_RULES_MAX 64u
/* Sessions with separate counts; a further one replaces the session with the longest silence. */
#define LTP_RULES_SESSIONS_MAX 65536u

/* Of the segments that match, counted from 1 on, those with a number in the list, if there is one;
 * else every so-many-th of those from `first` to `last`. */
struct ltp_rule {
    uint16_t types;               /* one bit per segment type, 1 << type; not 0 */
    uint64_t originator, session; /* only of these; EVENT_NONE: of any */
    bool per_session;             /* each session counts by itself, else all together */
    uint64_t first, last;         /* >= 1; last EVENT_NONE: no end */
    uint64_t every;               /* >= 1; 1: each */
    uint32_t list_len;            /* 0..LTP_RULE_LIST_MAX */
    uint64_t list[LTP_RULE_LIST_MAX];
};

/*
 * Reads the text of a rule, `TYPE[+TYPE…][:KEY=VALUE[,KEY=VALUE…]]`, see docs/channel.md:
 * `report:first=2`, `checkpoint+report:every=10,originator=1`, `ack:list=1+3,per=session`.
 * 0, or HELIO_EFORMAT with what is wrong and what would be right in `error` (a C string).
 */
#define LTP_RULE_ERROR_MAX 256u
int ltp_rule_parse(struct ltp_rule *rule, const char *text, char error[LTP_RULE_ERROR_MAX]);

struct ltp_rules;
/* Copies the rules. 0, HELIO_ENOMEM, HELIO_EINVAL (more than LTP_RULES_MAX, or a rule without
 * types, with an ordinal of 0, or with too long a list). */
int ltp_rules_new(struct ltp_rules **out, const struct ltp_rule *rules, size_t count);
void ltp_rules_free(struct ltp_rules *r);

/* One more segment passes: does any rule drop it? Counts it with each rule that it matches. Without
 * memory for a new session no rule that counts per session drops its segment. */
bool ltp_rules_drop(struct ltp_rules *r, const struct ltp_fields *f);

/* Of a rule, by its index: segments that matched, and those of them that it wanted dropped. */
struct ltp_rule_count {
    uint64_t matched, dropped;
};
struct ltp_rule_count ltp_rules_count(const struct ltp_rules *r, size_t rule);

/* Sessions whose counts were lost: too many at once, or no memory. */
uint64_t ltp_rules_forgotten(const struct ltp_rules *r);

#endif
