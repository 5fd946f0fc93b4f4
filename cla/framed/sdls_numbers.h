/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Persistent numbers of Space Data Link Security in a note (os/log/ivs_note.h): sequence numbers
 * and IVs of sent frames, or the latest ones of received frames. Numbers to send are reserved in
 * steps before use, so that a killed program does not use one twice; an orderly end releases the
 * rest. A note has one user at a time: it is locked by NAME.lock.
 */
#ifndef CLA_FRAMED_SDLS_NUMBERS_H
#define CLA_FRAMED_SDLS_NUMBERS_H

#include "base/tick.h"
#include "frames/sdls.h"

#define SDLS_NUMBERS_STEP 65536 /* numbers that a kill may lose at most */

struct sdls_numbers;
enum sdls_numbers_use {
    SDLS_SENT,
    SDLS_RECEIVED, /* noted when the program ends */
    /* and before they are accepted, in steps of about a second: after a kill frames of the rest of
     * a step are refused, and no frame twice accepted */
    SDLS_RECEIVED_AHEAD
};

/*
 * Reads the note at `path`, which is created when it is first written. Sets `next`, `end` and the
 * reservations of `s`, or `begun` and `last`. `s` and its associations must exist as long as *out.
 * Returns 0, or an error with its reason in `why`, which begins with the path.
 */
int sdls_numbers_open(struct sdls_numbers **out, const char *path, enum sdls_numbers_use use,
                      struct sdls *s, char *why, size_t why_cap);

/* Checks by reading whether the note could be opened; it is neither locked nor changed. Returns the
 * same. */
int sdls_numbers_check(const char *path, enum sdls_numbers_use use, char *why, size_t why_cap);

/* SDLS_RECEIVED_AHEAD: what time it is, before frames are processed. */
void sdls_numbers_time(struct sdls_numbers *n, tick now);

/* Notes where the numbers are and frees it; NULL is allowed. Likewise. */
int sdls_numbers_close(struct sdls_numbers *n, char *why, size_t why_cap);

#endif
