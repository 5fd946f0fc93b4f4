/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Administrative records of Bundle-in-Bundle Encapsulation with custody transfer
 * (draft-ietf-dtn-bibect): the BIBE protocol data unit (BPDU), which encapsulates a bundle, and the
 * custody signal, which answers BPDUs by their transmission IDs.
 *
 *     BPDU     [type, [transmission ID, retransmission time, encapsulated bundle]]
 *     signal   [type, [disposition, [[first transmission ID, number of IDs], …]]]
 *
 * Both are read whatever their type is: the draft's, or that of ION.
 */
#ifndef BP_CUSTODY_H
#define BP_CUSTODY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ranges.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The record types that are written. */
enum custody_form {
    CUSTODY_DRAFT, /* 3 and 4 */
    CUSTODY_ION    /* 7 and 8, as ION writes them */
};

/* Dispositions of a custody signal. */
enum custody_disposition {
    CUSTODY_ACCEPTED = 0,
    CUSTODY_NO_INFORMATION = 1,
    CUSTODY_REDUNDANT = 3, /* the bundle was received before */
    CUSTODY_DEPLETED = 4,  /* depleted storage */
    CUSTODY_BAD_DESTINATION = 5,
    CUSTODY_NO_ROUTE = 6,
    CUSTODY_NO_CONTACT = 7,
    CUSTODY_BAD_BLOCK = 8,
    CUSTODY_DISPOSITIONS = 9 /* number of the values above */
};

const char *custody_disposition_text(uint64_t disposition); /* static; "unassigned" for others */
/* The peer has the bundle: accepted, or redundant. */
bool custody_is_accepted(uint64_t disposition);

#define CUSTODY_HEAD_MAX 40   /* longest head of a BPDU, bytes */
#define CUSTODY_RANGES_MAX 64 /* sequences of IDs in a signal that is written */
#define CUSTODY_SIGNAL_MAX (16 + 19 * CUSTODY_RANGES_MAX)
#define CUSTODY_READ_MAX 1024 /* sequences in a signal that is read */

struct custody_record {
    bool signal;
    /* BPDU */
    uint64_t id;         /* transmission ID; 0: custody is not requested */
    uint64_t again_at;   /* retransmission time, in the sender's unit */
    struct slice bundle; /* a view of the record */
    /* signal */
    uint64_t disposition;
    size_t len; /* sequences */
};

/* Writes the head of a BPDU in front of the bundle in `data`. Returns 0, or HELIO_ESPACE: there are
 * not CUSTODY_HEAD_MAX bytes of head room. */
int custody_bpdu_write(enum custody_form form, uint64_t id, uint64_t again_at, struct buf *data);

/* Writes a signal with the sequences `at`, 1 to CUSTODY_RANGES_MAX, into CUSTODY_SIGNAL_MAX bytes.
 * Returns its length. */
size_t custody_signal_write(enum custody_form form, uint64_t disposition, const struct range *at,
                            size_t len, uint8_t *out);

/*
 * Reads a record. The sequences of a signal go to `at`, which has room for CUSTODY_READ_MAX of
 * them. Returns 0; HELIO_ENOENT: a record of another type; HELIO_EFORMAT: malformed, a sequence
 * that is empty, has the ID 0 or exceeds 64 bits, or too many of them.
 */
int custody_read(struct slice payload, struct custody_record *out, struct range *at);
/* The same for a BPDU; a signal is of another type. */
int custody_read_bpdu(struct slice payload, struct custody_record *out);

#ifdef __cplusplus
}
#endif

#endif
