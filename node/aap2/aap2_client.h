/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's connection to its node over AAP 2.0. Nothing blocks: the connection is opened, tells
 * when the node has said its name, is registered, and tells when it may be used; messages are
 * queued and flushed, what arrives is asked for. Many ADUs may be in transmission before the first
 * is answered; answers come in the order of what they answer, and the caller keeps count. A failed
 * connection is closed and a new one opened: what had not been answered by then has to be sent
 * again.
 */
#ifndef NODE_AAP2_CLIENT_H
#define NODE_AAP2_CLIENT_H

#include "bp/codec/eid.h"
#include "node/aap2/aap2_wire.h"
#include "os/world.h"

#define AAP2_WHY_MAX 256 /* of a text that says why something failed */
#define AAP2_EID_MAX EID_TEXT_MAX
#define AAP2_HEAD_MAX 512 /* of the part of an ADU that is copied */
#define AAP2_QUEUE 64     /* messages waiting to be written */

struct aap2_client;

enum aap2_state {
    AAP2_GREETING,    /* the node has not said its name yet */
    AAP2_WELCOMED,    /* it has: aap2_client_register is next */
    AAP2_REGISTERING, /* it has not answered yet */
    AAP2_OPEN,
    AAP2_FAILED,
};

/*
 * Begins to connect to the node's UNIX socket. `ready` is called from the world's loop when the
 * state is another one, when something arrived, and when there is room to write; it may close the
 * connection. timeout: for each answer of the node until the connection is open (2 s at most when
 * the path is a control socket's by its name, which is reported). Returns 0,
 * HELIO_EIO, HELIO_ENOMEM; then `why` says it in words.
 */
int aap2_client_open(struct aap2_client **out, struct world *w, const char *path, tick timeout,
                     void (*ready)(void *context), void *context, char why[AAP2_WHY_MAX]);
void aap2_client_close(struct aap2_client *c); /* NULL is allowed */

enum aap2_state aap2_client_state(const struct aap2_client *c);

/* AAP2_FAILED: HELIO_EIO (the node is gone, or silent), HELIO_EFORMAT, HELIO_ENOMEM, HELIO_EEXIST
 * (another application has the endpoint), HELIO_EINVAL (the node said no); and that in words. */
int aap2_client_error(const struct aap2_client *c);
const char *aap2_client_why(const struct aap2_client *c);

/* The node's EID, as it welcomed us. */
const char *aap2_client_node(const struct aap2_client *c);

/* The EID of `service` at `node`: ipn:N.SERVICE or dtn://name/SERVICE. Returns 0 or HELIO_EINVAL
 * (too long, or not a node's EID). */
int aap2_endpoint(const char *node, const char *service, char out[AAP2_EID_MAX]);

/* What the connection is to be. A secret shared by two connections lets both have one endpoint: one
 * to send from it and one to receive for it. */
struct aap2_registration {
    bool subscriber;
    const char *endpoint;
    const char *secret;
    uint32_t window; /* subscriber: deliveries not yet answered; 0 = 1 */
    /* Subscriber: longest payload, bytes. A longer one arrives empty, with its true length in
     * adu->payload_length: it is answered like any other. */
    uint64_t payload_max;
};

/* Registers, once welcomed. AAP2_OPEN or AAP2_FAILED follows. */
void aap2_client_register(struct aap2_client *c, const struct aap2_registration *r);

/* An ADU to send: head and body together are its payload. */
struct aap2_adu {
    const char *destination;
    uint64_t lifetime_ms;  /* 0: the node's default */
    uint32_t crc_type;     /* of aap2.proto: 0 the node's default, 1 none, 2 CRC-16, 3 CRC-32C */
    uint32_t priority;     /* likewise: 0 none given, 1 bulk, 2 normal, 3 expedited */
    uint32_t ordinal;      /* of an expedited one: 0 to 254 */
    uint64_t flags;        /* of the bundle (RFC 9171 §4.2.3): reports, no fragments */
    const char *report_to; /* whom reports go to; NULL: our endpoint */
    struct slice head;     /* copied, AAP2_HEAD_MAX at most */
    struct slice body;     /* borrowed until the connection is flushed or closed */
};

/* Queues an ADU. Returns 0, HELIO_EAGAIN (queue full), HELIO_EINVAL (head or EID too long). */
int aap2_client_send(struct aap2_client *c, const struct aap2_adu *adu);

/* Queues the answer to the oldest delivery not yet answered. Returns 0 or HELIO_EAGAIN. */
int aap2_client_answer(struct aap2_client *c, bool success);

/* Writes what there is room for. 0, or an error: the connection has failed. */
int aap2_client_flush(struct aap2_client *c);

bool aap2_client_queued(const struct aap2_client *c); /* not all is flushed */
bool aap2_client_full(const struct aap2_client *c);   /* send would give HELIO_EAGAIN */

/* What arrived. One of them is set; both are the caller's. */
struct aap2_arrival {
    Aap2__AAPResponse *response; /* to an ADU of ours */
    Aap2__AAPMessage *message;   /* a delivery, when it is an ADU; payload is then set */
    struct buf *payload;
};

/* The next arrival: 1, 0 when there is none now, or the error of a failed connection. What is not
 * asked for stays there, and no more is read until it is. Keepalives are answered here. */
int aap2_client_next(struct aap2_client *c, struct aap2_arrival *out);
void aap2_arrival_fini(struct aap2_arrival *a);

/* The connection's own invariants, asserted. NULL is allowed. */
void aap2_client_check(const struct aap2_client *c);

#endif
