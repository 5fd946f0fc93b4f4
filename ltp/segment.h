/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTP segments (RFC 5326 §3 with erratum 1657) as a struct: only the wire format. Offsets of claims
 * are relative to the report's lower bound on the wire, and absolute here.
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

/* A header or trailer extension (RFC 5326 §3.1.4): tag and value. */
struct extension {
    uint8_t tag;
    struct slice value;
};

/* Iterates over a parsed segment's header or trailer extensions; begin with *at = s->headers or
 * s->trailers. False after the last. */
bool segment_extension(struct slice *at, struct extension *out);

/* Has it data: red, green or orange? */
static inline bool segment_is_data(const struct ltp_segment *s)
{
    return s->type < LTP_RS;
}

/* Has it red data? */
static inline bool segment_is_red(const struct ltp_segment *s)
{
    return s->type < LTP_GREEN_DATA;
}

/* Is it a checkpoint (RFC 5326 §3.1.1)? */
static inline bool segment_is_checkpoint(const struct ltp_segment *s)
{
    return s->type >= LTP_RED_CP && s->type <= LTP_RED_CP_EOB;
}

/*
 * Parses one whole datagram. The slices of *out point into it. Octets after a report segment
 * without trailers are ignored (`padded`): ION 4.1.3 sends such octets in all parts of a divided
 * report except the first.
 *
 * Returns VERDICT_OK; or, with *out unspecified: TRUNCATED, TRAILING, BAD_VERSION, BAD_TYPE,
 * BAD_SDNV, BAD_FIELD (a data segment that is empty or ends beyond 2^64 - 1, a forbidden serial
 * number 0), BAD_REPORT (an empty or inverted scope, a claim that is empty or outside the scope).
 */
enum verdict segment_parse(struct ltp_segment *out, const uint8_t *data, size_t len);

/* Parses the segment at the start of `data`; *used is its length with VERDICT_OK. For captures in
 * which several datagrams of one sender are joined. */
enum verdict segment_parse_first(struct ltp_segment *out, const uint8_t *data, size_t len,
                                 size_t *used);

/* Writes the segment into out. Returns its length; 0: it exceeds cap. */
size_t segment_write(const struct ltp_segment *s, uint8_t *out, size_t cap);

/* Reads the next claim of a parsed report, with absolute offsets; begin with *at = s->claims. False
 * after the last. */
bool segment_claim(const struct ltp_segment *s, struct slice *at, struct range *out);

/* Writes a report with s->claim_count claims, given as absolute ranges, and points s->claims at
 * them in out. Returns its length; 0: it exceeds cap. */
size_t segment_write_report(struct ltp_segment *s, const struct range *claims, uint8_t *out,
                            size_t cap);

#ifdef __cplusplus
}
#endif

#endif
