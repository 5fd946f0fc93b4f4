/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTP segments (RFC 5326 §3 with erratum 1657) as a struct: the wire format and nothing else.
 * Offsets of claims are relative to the report's lower bound on the wire, and absolute here.
 */
#ifndef LTP_SEGMENT_H
#define LTP_SEGMENT_H

#include "base/ranges.h"
#include "base/slice.h"
#include "ltp/ltp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 5326 §3.1.1: segment types. 5, 6, 10 and 11 are undefined. */
enum ltp_type {
    LTP_RED = 0,
    LTP_RED_CP = 1,
    LTP_RED_CP_EORP = 2,
    LTP_RED_CP_EOB = 3, /* end of the red part and of the block */
    LTP_GREEN_DATA = 4,
    LTP_GREEN_EOB = 7,
    LTP_RS = 8,
    LTP_RA = 9,
    LTP_CS = 12,  /* the sender cancels */
    LTP_CAS = 13, /* acknowledgement to the sender */
    LTP_CR = 14,  /* the receiver cancels */
    LTP_CAR = 15, /* acknowledgement to the receiver */
};

struct ltp_segment {
    uint8_t type;
    struct ltp_session_id id;
    uint8_t header_count, trailer_count; /* extensions, 0..15 */
    struct slice headers, trailers;      /* their bytes: tag, SDNV length, value; one by one */

    uint64_t client_service, offset; /* data segments (types 0..7) */
    struct slice data;
    uint64_t cp_serial;  /* types 1..3 and RS (0 there: no checkpoint asked for it) */
    uint64_t rpt_serial; /* types 1..3 (0: answers no report), RS and RA */

    uint64_t lower, upper; /* RS: its scope, [lower, upper) */
    uint64_t claim_count;
    struct slice claims; /* as on the wire; read with segment_claim */

    uint8_t reason; /* CS, CR */
    bool padded;    /* RS: octets follow its claims */
};

struct extension {
    uint8_t tag;
    struct slice value;
};

/* The next one of a parsed segment's headers or trailers; begin with *at = s->headers. False after
 * the last. */
bool segment_extension(struct slice *at, struct extension *out);

static inline bool segment_is_data(const struct ltp_segment *s)
{
    return s->type < LTP_RS;
}

static inline bool segment_is_red(const struct ltp_segment *s)
{
    return s->type < LTP_GREEN_DATA;
}

static inline bool segment_is_checkpoint(const struct ltp_segment *s)
{
    return s->type >= LTP_RED_CP && s->type <= LTP_RED_CP_EOB;
}

/*
 * Reads one whole datagram. The slices of *out point into it. Octets behind a report segment
 * without trailers are ignored (`padded`): ION 4.1.3 sends such in all parts of an answer but the
 * first one. Returns VERDICT_OK, or with *out unspecified: TRUNCATED, TRAILING, BAD_VERSION,
 * BAD_TYPE, BAD_SDNV, BAD_FIELD (a data segment's end beyond 2^64 - 1, an empty one, a serial of 0
 * where it must not be), BAD_REPORT (an empty or inverted scope, a claim that is empty or outside
 * the scope).
 */
enum verdict segment_parse(struct ltp_segment *out, const uint8_t *data, size_t len);

/* The same for the segment that `data` begins with; *used is its length when it is OK. In captures
 * several datagrams of one sender may be joined. */
enum verdict segment_parse_first(struct ltp_segment *out, const uint8_t *data, size_t len,
                                 size_t *used);

/* Writes it into out. Returns its length; 0 when that is more than cap. */
size_t segment_write(const struct ltp_segment *s, uint8_t *out, size_t cap);

/* The next claim of a parsed report, absolute; begin with *at = s->claims. False after the last. */
bool segment_claim(const struct ltp_segment *s, struct slice *at, struct range *out);

/* Writes a report whose s->claim_count claims are given as absolute ranges, and points s->claims at
 * them in out. Returns its length; 0 when that is more than cap. */
size_t segment_write_report(struct ltp_segment *s, const struct range *claims, uint8_t *out,
                            size_t cap);

#ifdef __cplusplus
}
#endif

#endif
