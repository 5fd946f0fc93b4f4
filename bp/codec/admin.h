/* SPDX-License-Identifier: Apache-2.0 */
/* Administrative records: bundle status reports (RFC 9171 §6.1). */
#ifndef BP_ADMIN_H
#define BP_ADMIN_H

#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The status assertions of a report, in the order of RFC 9171 §6.1.1. */
enum status_item {
    STATUS_RECEIVED,
    STATUS_FORWARDED,
    STATUS_DELIVERED,
    STATUS_DELETED,
    STATUS_ITEMS
};

/* §9.5, registry of status report reason codes */
enum status_reason {
    REASON_NONE = 0,
    REASON_LIFETIME_EXPIRED = 1,
    REASON_UNIDIRECTIONAL = 2,
    REASON_TRANSMISSION_CANCELLED = 3,
    REASON_DEPLETED_STORAGE = 4,
    REASON_DESTINATION_UNAVAILABLE = 5,
    REASON_NO_ROUTE = 6,
    REASON_NO_CONTACT = 7,
    REASON_BLOCK_UNINTELLIGIBLE = 8,
    REASON_HOP_LIMIT = 9,
    REASON_TRAFFIC_PARED = 10,
    REASON_BLOCK_UNSUPPORTED = 11,
};
const char *status_reason_text(uint64_t reason); /* static; "unassigned" for others */

struct status_report {
    bool asserted[STATUS_ITEMS];
    bool timed[STATUS_ITEMS]; /* time_ms is present */
    uint64_t time_ms[STATUS_ITEMS];
    uint64_t reason;
    struct bundle_id subject; /* for a fragment: total is not transmitted; 0 after decoding */
    uint64_t subject_bytes;   /* for a fragment: length of its payload */
};

/* Encodes *r into `out`, which has `cap` bytes. Returns the length, or HELIO_ESPACE. 512 bytes
 * always suffice. */
int status_report_encode(const struct status_report *r, uint8_t *out, size_t cap);
/* Decodes an administrative record. Returns 0; HELIO_EFORMAT; HELIO_ENOENT: it is of another
 * type. */
int status_report_decode(const uint8_t *data, size_t len, struct status_report *out);

#ifdef __cplusplus
}
#endif

#endif
