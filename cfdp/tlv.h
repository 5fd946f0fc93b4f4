/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type-length-value fields of Metadata and Finished PDUs (CCSDS 727.0-B-5 5.4) and the reserved
 * messages to the user (6.2 to 6.4). Slices of parsed values lie in the input. Writers add one TLV
 * to a cursor, whose `bad` says that it did not fit.
 */
#ifndef CFDP_TLV_H
#define CFDP_TLV_H

#include "base/cursor.h"
#include "cfdp/cfdp.h"

enum cfdp_tlv_type {
    CFDP_TLV_REQUEST = 0,
    CFDP_TLV_RESPONSE = 1,
    CFDP_TLV_MESSAGE = 2,
    CFDP_TLV_HANDLER = 4,
    CFDP_TLV_FLOW = 5,
    CFDP_TLV_ENTITY = 6
};
struct cfdp_tlv {
    unsigned type; /* also an unknown one */
    struct slice value;
};
/* The next TLV. False: there is none left, or (*rest not empty) it is malformed. */
bool cfdp_tlv_next(struct slice *rest, struct cfdp_tlv *out);
void cfdp_tlv_write(struct writer *w, unsigned type, struct slice value);

struct cfdp_request {
    unsigned action;            /* enum cfdp_action */
    struct slice first, second; /* second: of actions with two names */
};
bool cfdp_request_parse(struct slice value, struct cfdp_request *out);
void cfdp_request_write(struct writer *w, const struct cfdp_request *r);

struct cfdp_response {
    unsigned action, status;
    struct slice first, second, message;
};
bool cfdp_response_parse(struct slice value, struct cfdp_response *out);
void cfdp_response_write(struct writer *w, const struct cfdp_response *r);
/* The octets of a request's response without a message, as a TLV; 0: it would be too long. */
size_t cfdp_response_len(const struct cfdp_request *q);

bool cfdp_override_parse(struct slice value, unsigned *condition, unsigned *handler);
void cfdp_override_write(struct writer *w, unsigned condition, unsigned handler);

/* ---- reserved messages ---- */

enum cfdp_message_kind {
    CFDP_PROXY_PUT = 0x00,
    CFDP_PROXY_MESSAGE = 0x01,
    CFDP_PROXY_REQUEST = 0x02, /* filestore request */
    CFDP_PROXY_HANDLER = 0x03,
    CFDP_PROXY_MODE = 0x04,
    CFDP_PROXY_FLOW = 0x05,
    CFDP_PROXY_SEGMENTATION = 0x06,
    CFDP_PROXY_PUT_RESPONSE = 0x07,
    CFDP_PROXY_RESPONSE = 0x08, /* filestore response */
    CFDP_PROXY_CANCEL = 0x09,
    CFDP_ORIGINATING_ID = 0x0a,
    CFDP_PROXY_CLOSURE = 0x0b,
    CFDP_LISTING_REQUEST = 0x10,
    CFDP_LISTING_RESPONSE = 0x11
};
struct cfdp_message {
    enum cfdp_message_kind kind;
    uint64_t entity; /* PROXY_PUT: destination */
    struct slice
        first; /* source file; directory; PROXY_MESSAGE, _REQUEST, _RESPONSE, _FLOW: value */
    struct slice second; /* destination file; name of the listing at the requester */
    bool flag; /* PROXY_MODE: unacknowledged; _SEGMENTATION: boundaries preserved; _CLOSURE;
                  _PUT_RESPONSE: incomplete; LISTING_RESPONSE: unsuccessful */
    unsigned condition; /* PROXY_PUT_RESPONSE, PROXY_HANDLER */
    unsigned status;    /* PROXY_PUT_RESPONSE: file status; PROXY_HANDLER: the handler */
    struct cfdp_id id;  /* ORIGINATING_ID */
};
/* 1; 0: no reserved message, or of another kind; HELIO_EFORMAT: it begins as one and is malformed.
 */
int cfdp_message_parse(struct slice value, struct cfdp_message *out);
void cfdp_message_write(struct writer *w, const struct cfdp_message *m);

/* LV: one octet of length and so many octets. */
struct slice cfdp_lv_read(struct reader *r);
void cfdp_lv_write(struct writer *w, struct slice s);

#endif
