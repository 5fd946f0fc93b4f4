/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver of another implementation that may lose its state: it does what RFC 5326 requires of a
 * receiver of red blocks. Where the RFC leaves a choice, or where deployed receivers deviate, it
 * does as configured. It shares only the wire format with our engine, and knows nothing of its
 * earlier runs. model_receiver.h has the limits of those implementations instead.
 */
#ifndef TESTS_SIM_FORGETFUL_H
#define TESTS_SIM_FORGETFUL_H

#include "base/buf.h"
#include "base/rng.h"
#include "ltp/segment.h"
#include "tests/sim/duo.h"

#define FORGETFUL_SESSIONS 16 /* at once, open and closed; the oldest is dropped */
#define FORGETFUL_REPORTS 64  /* of a session; further ones are not made */

/* The scope of the answer to a checkpoint that names a report which this run never issued. */
enum forgetful_scope {
    FORGETFUL_FROM_START, /* all up to the checkpoint's end */
    FORGETFUL_OWN,        /* from the checkpoint's own segment on */
    FORGETFUL_STRETCHES /* only what has arrived, a report for each stretch: nothing is ever missing
                         */
};

enum forgetful_serials {
    FORGETFUL_RANDOM, /* the first one of a session is random */
    FORGETFUL_FROM_1, /* it is 1, in each run */
    FORGETFUL_NEXT    /* it follows the last one of the earlier run by chance */
};

/* Of a checkpoint that was answered already. */
enum forgetful_copies {
    FORGETFUL_SAME,   /* its report is sent again, if not acknowledged */
    FORGETFUL_ANEW,   /* a new report with a new serial, while the block is not whole */
    FORGETFUL_IGNORED /* nothing: the report's own timer will do */
};

struct forgetful_config {
    const char *name;
    enum forgetful_scope scope;
    enum forgetful_serials serials;
    enum forgetful_copies copies;
    uint32_t claims_max; /* of a report */
    tick rto;            /* of reports and cancels */
    uint32_t retries;
    tick deferred; /* between a checkpoint and its report */
};

struct forgetful_report {
    uint64_t serial, cp_serial;
    struct range scope;
    bool acked;
    uint32_t sent;
    tick due; /* TICK_NEVER: it waits for output, or no timer runs */
    bool queued;
    size_t count;
    struct range *claims;
};

struct forgetful_import {
    struct ltp_session_id id;
    bool used, closed, cancelling, delivered;
    struct ranges got;
    uint8_t *bytes;
    size_t room;
    uint64_t red_len; /* UINT64_MAX: not known */
    uint64_t primary; /* where the next primary report begins */
    uint64_t serial;  /* of the next report */
    struct forgetful_report reports[FORGETFUL_REPORTS];
    size_t reports_len;
    uint32_t cancels;
    tick cancel_due;
    bool cancel_queued;
};

struct forgetful {
    struct forgetful_config config;
    struct rng rng;
    uint64_t last_serial; /* of all runs */
    struct forgetful_import at[FORGETFUL_SESSIONS];
    size_t next; /* place for the next session */
    struct {     /* cancels and their acknowledgements that wait to be sent */
        uint8_t type;
        struct ltp_session_id id;
    } acks[64];
    size_t acks_len;
    /* A block is whole; `data` is the model's. */
    void (*block)(void *context, struct slice data);
    void *context;
};

void forgetful_init(struct forgetful *m, const struct forgetful_config *config, uint64_t seed);
void forgetful_fini(struct forgetful *m);
void forgetful_forget(struct forgetful *m);

extern const struct duo_ops forgetful_ops; /* self: struct forgetful */

#endif
