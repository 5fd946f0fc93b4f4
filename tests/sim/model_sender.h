/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sender of another implementation: plain RFC 5326 with a fixed timer, one block at a time. It
 * adds up the claims of all reports of a session. So it trusts a receiver that has lost the session
 * in between: that receiver must not lose the block.
 */
#ifndef TESTS_SIM_MODEL_SENDER_H
#define TESTS_SIM_MODEL_SENDER_H

#include "base/buf.h"
#include "ltp/segment.h"
#include "tests/sim/duo.h"

#define MODEL_CHECKPOINTS 32 /* unanswered at once */

struct model_sender_config {
    uint64_t engine;
    size_t segment; /* bytes of data of a segment */
    tick rto;
    uint32_t retries;
    tick pause;         /* before a block that was cancelled is sent again */
    uint32_t sends_max; /* in all */
};

struct model_checkpoint {
    uint64_t serial, rpt_serial;
    struct range data;
    uint32_t sent;
    tick due; /* TICK_NEVER: it waits for output */
};

struct model_sender {
    struct model_sender_config config;
    struct slice block;
    struct ltp_session_id id;
    bool open, done;
    uint32_t sends;
    tick again_at; /* TICK_NEVER: it is not */
    struct ranges claimed, to_send;
    uint64_t rpt_serial; /* that the checkpoint behind to_send answers */
    uint64_t serial;     /* of the last checkpoint */
    struct model_checkpoint at[MODEL_CHECKPOINTS];
    size_t len;
    uint64_t acks[64]; /* report serials to be acknowledged */
    size_t acks_len;
    struct ltp_session_id car[16]; /* cancels to be acknowledged */
    size_t car_len;
    bool cancel; /* to be sent, once */
};

void model_sender_init(struct model_sender *m, const struct model_sender_config *config,
                       struct slice block, uint64_t number);
void model_sender_fini(struct model_sender *m);

/* Sends the block in a new session, or the first one. The earlier session has ended. */
void model_sender_send(struct model_sender *m);

extern const struct duo_ops model_sender_ops; /* self: struct model_sender */

#endif
