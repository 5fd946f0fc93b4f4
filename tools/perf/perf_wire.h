/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What helio-perf puts at the start of its bundles' payloads. All numbers are in network byte
 * order. The check value covers the whole payload with its own four bytes as zero.
 */
#ifndef TOOLS_PERF_WIRE_H
#define TOOLS_PERF_WIRE_H

#include <stdbool.h>

#include "base/slice.h"
#include "base/tick.h"

#define PERF_HEAD 64            /* bytes of every header */
#define PERF_NAME_MAX 200       /* of a file's name, which follows the header of its pieces */
#define PERF_REPORT 64          /* bytes of a report, which follows the header of an ack */
#define PERF_DETAILS 56         /* more bytes of it, in the answer to an end */
#define PERF_SEQ_END UINT64_MAX /* in an ack: it answers PERF_END */

enum perf_kind {
    PERF_DATA = 1,    /* `seq`, from 0; the body is filling, or a piece of a file */
    PERF_END = 2,     /* the client has sent `total` bundles; always acknowledged */
    PERF_ACK = 3,     /* of `seq`; `time` is that of the bundle which it answers */
    PERF_REQUEST = 4, /* requests the server to send to the source (perf_request.h); `seq` is that
                         of its last answer, or 0 */
    PERF_ANSWER = 5,  /* to that: `time` is the request's, `total` an enum perf_answer, `offset` the
                         server's CLOCK_REALTIME, ns */
};

enum perf_flag {
    PERF_WANT_ACK = 1,
    PERF_WANT_DETAILS = 4, /* END: the answer's report shall have them */
    PERF_STOP = 8,         /* REQUEST: stop */
    PERF_FILE = 2, /* a piece of a file: `offset` of `total` bytes, name behind the header */
};

struct perf_head {
    enum perf_kind kind;
    uint32_t flags;
    uint64_t session; /* random, chosen by the client */
    uint64_t seq;
    tick time;         /* CLOCK_REALTIME when it was sent, ns */
    uint64_t total;    /* END: bundles; data of a file: its bytes; else 0 */
    uint64_t offset;   /* of a piece in its file */
    uint32_t file_crc; /* END of a file: CRC-32C of all of it */
    struct slice name; /* of the file, empty without one */
};

/* What the server knows of a session, sent back with every ack. */
struct perf_report {
    uint64_t bundles; /* different ones, with right check values */
    uint64_t bytes;   /* their payloads */
    uint64_t duplicates, wrong_crc;
    tick first, last;                  /* arrivals, CLOCK_REALTIME */
    uint64_t delay_mean_ns, file_done; /* file_done: 1 when the file is whole and verified */
    bool detailed;                     /* the rest is known, too */
    uint64_t early; /* bundles that arrived before they were sent, by the clocks of both ends */
    tick delay_min, delay_p50, delay_p90, delay_p99, delay_max; /* one-way delays by these clocks */
    tick now;                                                   /* CLOCK_REALTIME */
};

/* What a check value needs of the bytes that it goes on over. */
struct perf_body {
    uint64_t len;
    uint32_t crc, shift; /* crc32c, and crc32c_shift(len) */
};
struct perf_body perf_body_of(struct slice bytes);

/* Writes the header and the name after it; the check value covers header, name and body. Returns
 * the length of header and name. */
size_t perf_write(const struct perf_head *h, const struct perf_body *body, uint8_t *out);

/* Writes an ack with its report: PERF_HEAD + PERF_REPORT bytes, and PERF_DETAILS when there are.
 * Returns how many. */
size_t perf_write_ack(const struct perf_head *h, const struct perf_report *r, uint8_t *out);

enum perf_verdict { PERF_OK, PERF_FOREIGN, PERF_WRONG_CRC };

/* Reads a payload. FOREIGN: not ours (magic, version, kind, lengths). WRONG_CRC: *out is what the
 * damaged header says. *body is what follows header and name. */
enum perf_verdict perf_parse(struct slice payload, struct perf_head *out, struct slice *body);

/* Reads the report of an ack's body, with details where they follow. False when it is too short. */
bool perf_parse_report(struct slice body, struct perf_report *out);

/* A name that is safe as a file in one folder: only letters, digits, '.', '_' and '-', no '.' at
 * its start, never empty. out has PERF_NAME_MAX + 1 bytes. */
void perf_safe_name(struct slice name, char *out);

#endif
