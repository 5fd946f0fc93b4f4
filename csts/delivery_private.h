/* SPDX-License-Identifier: Apache-2.0 */
/* What delivery.c and delivery_user.c have for the engine. */
#ifndef CSTS_DELIVERY_PRIVATE_H
#define CSTS_DELIVERY_PRIVATE_H

#include "csts/delivery.h"
#include "csts/engine_private.h"

struct delivery {
    struct csts_delivery_config c;
    struct csts_service *service;
    bool active; /* between START and STOP */
    bool ended;  /* the end of the data was notified */
    enum csts_production production;
    struct csts_window window; /* of START */
    uint32_t sequence;         /* of the next datum */
    /* the return buffer: encoded elements, some of which are data */
    uint8_t *octets;
    size_t len, room;
    uint32_t elements, data;
    struct csts_delivery_counts counts;
    struct kept timer; /* KEPT_RELEASE of the return buffer, if it is not empty */
};

/* Is this PDU of the procedure? */
bool assoc_delivery_takes(const struct csts_link *l, const struct csts_pdu *p);
void assoc_delivery_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_delivery_leave(struct csts_service *v); /* the procedure is no longer active */
void assoc_delivery_expire(struct csts_service *v, tick now);
void assoc_delivery_free(struct csts_service *v);

/* delivery_user.c */
void assoc_delivery_note_return(struct csts_link *l, const struct csts_pdu *p);
void assoc_delivery_take_buffer(struct csts_link *l, const struct csts_pdu *p, tick now);
/* The next element of a return buffer becomes a notice, or is passed over. */
void assoc_delivery_next(struct csts_link *l, tick now);

#endif
