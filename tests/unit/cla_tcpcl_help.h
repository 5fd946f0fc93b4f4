/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a TCPCL session for tests: what is fed to it, what it writes, what it reports. */
#ifndef TESTS_UNIT_CLA_TCPCL_HELP_H
#define TESTS_UNIT_CLA_TCPCL_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/tcpcl/tcpcl_session.h"
#include "tests/unit/suite.h"

#define OUT_MAX 524288
#define NOTICES_MAX 64

struct end {
    struct tcpcl_session *s;
    struct tcpcl_counters n;
    tick now;
    uint8_t out[OUT_MAX];
    size_t out_len;
    struct tcpcl_notice notices[NOTICES_MAX];
    size_t notices_len;
    bool admit, secure;
};

static inline struct tcpcl_terms terms_of(const char *node)
{
    struct tcpcl_terms t = {.keepalive_s = 30,
                            .segment_mru = 1000,
                            .transfer_mru = 5000,
                            .segment_max = 1000,
                            .held_bytes = 1 << 20};
    snprintf(t.node_id, sizeof t.node_id, "%s", node);
    return t;
}

static inline struct tcpcl_setup setup_of(bool active)
{
    return (struct tcpcl_setup){.active = active,
                                .contact_timeout = 10 * TICK_S,
                                .ending_timeout = 5 * TICK_S,
                                .terms = terms_of(active ? "ipn:1.0" : "ipn:2.0")};
}

static inline void begin_end(struct end *e, const struct tcpcl_setup *setup)
{
    struct tcpcl_setup own = *setup;
    *e = (struct end){.admit = true, .secure = true, .now = 1000};
    own.counters = &e->n;
    e->s = tcpcl_new(&own, e->now);
    ck_assert_ptr_nonnull(e->s);
}

static inline void finish_end(struct end *e)
{
    for (size_t i = 0; i < e->notices_len; i++)
        if (e->notices[i].kind == TCPCL_RECEIVED)
            buf_drop(e->notices[i].bundle);
    tcpcl_check(e->s);
    tcpcl_free(e->s);
}

/* Polls and writes until there is nothing more to do. */
static inline void settle(struct end *e)
{
    bool busy = true;
    while (busy) {
        struct tcpcl_notice n;
        struct slice parts[8];
        busy = false;
        while (tcpcl_poll(e->s, &n, e->now)) {
            struct tcpcl_terms t = terms_of("ipn:2.0");
            busy = true;
            ck_assert_uint_lt(e->notices_len, NOTICES_MAX);
            e->notices[e->notices_len++] = n;
            if (n.kind == TCPCL_CONTACT && e->secure)
                tcpcl_secured(e->s, true, e->now);
            if (n.kind == TCPCL_PEER && e->admit)
                tcpcl_admit(e->s, &t, e->now);
            tcpcl_check(e->s);
        }
        size_t count = tcpcl_output(e->s, parts, 8, e->now), len = 0;
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_le(e->out_len + parts[i].len, OUT_MAX);
            memcpy(e->out + e->out_len, parts[i].data, parts[i].len);
            e->out_len += parts[i].len;
            len += parts[i].len;
        }
        tcpcl_wrote(e->s, len, e->now);
        tcpcl_check(e->s);
        busy = busy || len > 0;
    }
}

/* Gives it bytes, at most `step` at once. */
static inline void feed(struct end *e, const void *data, size_t len, size_t step)
{
    const uint8_t *p = data;
    while (len > 0 && tcpcl_reads(e->s)) {
        size_t room;
        uint8_t *at = tcpcl_space(e->s, &room);
        size_t n = len < room ? len : room;
        n = n < step ? n : step;
        memcpy(at, p, n);
        tcpcl_fed(e->s, n, e->now);
        p += n;
        len -= n;
        settle(e);
    }
}

#define FEED(e, text) feed(e, text, sizeof(text) - 1, SIZE_MAX)

static inline void expect_out(struct end *e, const void *want, size_t len)
{
    settle(e);
    if (e->out_len != len || memcmp(e->out, want, len) != 0) {
        for (size_t i = 0; i < e->out_len; i++)
            fprintf(stderr, "%02x ", e->out[i]);
        ck_abort_msg("%zu bytes came out, %zu are wanted", e->out_len, len);
    }
    e->out_len = 0;
}

#define OUT(e, text) expect_out(e, text, sizeof(text) - 1)

static inline void expect_notice(struct end *e, int kind)
{
    ck_assert_uint_ge(e->notices_len, 1);
    ck_assert_int_eq(e->notices[e->notices_len - 1].kind, kind);
}

static inline const struct tcpcl_notice *find_notice(const struct end *e, int kind)
{
    for (size_t i = 0; i < e->notices_len; i++)
        if ((int)e->notices[i].kind == kind)
            return &e->notices[i];
    return NULL;
}

static inline void expect_over(struct end *e, enum tcpcl_end end)
{
    settle(e);
    expect_notice(e, TCPCL_OVER);
    ck_assert_str_eq(tcpcl_end_text(e->notices[e->notices_len - 1].end), tcpcl_end_text(end));
    ck_assert_int_eq(tcpcl_state(e->s), TCPCL_IN_OVER);
}

#define CONTACT "dtn!\x04\x00"
/* keepalive 30, segment MRU 1000, transfer MRU 5000, 7 bytes of Node ID, no items */
#define INIT(node) "\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07" node "\0\0\0\0"
#define ID(n) "\0\0\0\0\0\0\0" n

static inline void establish(struct end *e, bool active)
{
    struct tcpcl_setup setup = setup_of(active);
    begin_end(e, &setup);
    FEED(e, CONTACT);
    if (active)
        FEED(e, INIT("ipn:2.0"));
    else
        FEED(e, INIT("ipn:1.0"));
    ck_assert_int_eq(tcpcl_state(e->s), TCPCL_IN_UP);
    e->out_len = e->notices_len = 0;
}

static inline struct buf *buf_of(size_t len)
{
    struct buf *b = buf_new(0, len);
    for (size_t i = 0; i < len; i++)
        *buf_append(b, 1) = (uint8_t)('a' + i % 26);
    return b;
}

static inline void send_one(struct end *e, uint64_t key, size_t len)
{
    struct buf *b = buf_of(len);
    ck_assert_int_eq(tcpcl_send(e->s, key, b), 0);
    buf_drop(b);
}

#endif
