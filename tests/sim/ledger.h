/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests' book of blocks: what was sent by which engine, what arrived, and how both ends say
 * that each session ended. Contents are drawn from a seed, so that a mixed-up byte shows.
 */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include "ltp/ltp.h"

struct ledger_entry {
    struct ltp_session_id id;
    size_t from, to;   /* nodes */
    uint32_t lives[2]; /* how often sender and receiver had been restarted before */
    struct buf *data;  /* the block */
    uint64_t red_len;
    uint32_t red_arrived;   /* red parts delivered */
    uint64_t green_arrived; /* bytes */
    tick all_sent;          /* for the user; TICK_NEVER: not yet */
    bool orange;            /* likewise */
    bool whole;             /* all of it was green, and arrived in one notice */
    bool done, cancelled;   /* what the sender's engine said; lost is cancelled */
    enum ltp_reason reason;
    bool remote;
    uint32_t import_cancelled;                   /* notices at the receiver */
    bool user_cancelled, accepted, lost_service; /* for the user */
};

struct ledger {
    struct ledger_entry *entries;
    size_t len, cap;
};

void ledger_init(struct ledger *g);
void ledger_fini(struct ledger *g);

/* A block of `len` bytes drawn from `seed`, with one reference. Aborts without memory. */
struct buf *ledger_block(uint64_t seed, size_t len);

/* Books a block that was sent; takes over the reference. */
struct ledger_entry *ledger_add(struct ledger *g, struct ltp_session_id id, struct buf *data);

/* The entry of a session, the latest one of that name; NULL when there is none. */
struct ledger_entry *ledger_find(const struct ledger *g, struct ltp_session_id id);

/* Books a notice. Returns NULL, or a static text that says what is wrong with it (bytes that
 * differ, data of no known block, a second end …). */
const char *ledger_notice(struct ledger *g, const struct ltp_notice *n);

#endif
