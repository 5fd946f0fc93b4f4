/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The erasure code of a local endpoint (erasure/erasure.h), between the LTP engine and the port. It
 * has one sender and one receiver: a link with `erasure` has its local address for itself.
 */
#ifndef CLA_LTP_CODED_H
#define CLA_LTP_CODED_H

#include "base/tick.h"
#include "cla/ltp/ltp_config.h"
#include "erasure/erasure.h"
#include "os/net/address.h"

struct json_t;
struct link;
struct ltp_endpoint;
struct cla_gauges;

struct ltp_coded {
    struct erasure_config config;
    struct erasure_encoder *encoder;
    struct erasure_decoder *decoder;
    bool checks_source;  /* only the address of `remote` may send, as `source` says */
    uint64_t foreign;    /* packets from elsewhere */
    tick quiet;          /* until then no more is said of them */
    struct gf16 *field;  /* of ERASURE_RS */
    struct address from; /* of the last packet that fits; repaired segments are from there */
    uint8_t key[ADDRESS_KEY_MAX];
    size_t key_len;
};

/* 0 and *out; NULL there when the link has no erasure code. HELIO_ENOMEM. What happens to its
 * matrices is logged as of the endpoint's link. */
int coded_new(struct ltp_coded **out, const struct ltp_link_config *k, uint32_t random,
              struct ltp_endpoint *h);
void coded_free(struct ltp_coded *c); /* NULL is allowed */

/* Bytes before a segment, which coded_add writes; 0 for NULL. */
static inline uint32_t coded_head(const struct ltp_coded *c)
{
    return c == NULL ? 0 : ERASURE_HEAD;
}

/* Is a packet pending: a repair segment, or a request for some? False for NULL. */
static inline bool coded_pending(const struct ltp_coded *c)
{
    return c != NULL &&
           (erasure_encoder_pending(c->encoder) || erasure_decoder_requesting(c->decoder));
}

/* Must segments wait, until the repair segments of the matrix before them are computed? False for
 * NULL. */
static inline bool coded_holds(const struct ltp_coded *c)
{
    return c != NULL && erasure_encoder_computing(c->encoder);
}

/* Writes the next packet, requests first; memory as for erasure_encoder_output. Returns its length,
 * 0 when none is pending. */
size_t coded_output(struct ltp_coded *c, tick now, uint8_t *packet);

/* The time for coded_expire; TICK_NEVER for NULL. */
tick coded_deadline(const struct ltp_coded *c);
/* Repaired segments go to the engine. */
void coded_expire(struct ltp_endpoint *h);

/* A datagram that arrived: its segment, and those that it repairs, go to the engine. */
void coded_input(struct ltp_endpoint *h, struct slice datagram, const struct address *from,
                 struct slice source);

/* Its figures in *out; NULL changes nothing. */
void coded_gauges(const struct ltp_coded *c, struct cla_gauges *out);
/* Adds an object `erasure`. */
void coded_status(const struct ltp_coded *c, struct json_t *object);

#endif
