/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of Space Data Link Security over restarts: sequence numbers and IVs that are sent, or
 * the last ones that were received, in a note (os/ivs_note.h). Of those that are sent a step is
 * reserved before it is used, so that a program that is killed does not use one twice; one that
 * ends well gives the rest back. A note has one user at a time: it is locked by NAME.lock.
 */
#ifndef CLA_FRAMED_SDLS_NUMBERS_H
#define CLA_FRAMED_SDLS_NUMBERS_H

#include "frames/sdls.h"

#define SDLS_NUMBERS_STEP 65536 /* numbers that a kill may lose at most */

struct sdls_numbers;
enum sdls_numbers_use { SDLS_SENT, SDLS_RECEIVED };

/*
 * Reads the note at `path`, which is made when it is first written, and sets `next`, `end` and the
 * reservations of `s`, or `begun` and `last`. `s` outlives it, and its associations stay. 0, or an
 * error with its reason in `why`, which begins with the path.
 */
int sdls_numbers_open(struct sdls_numbers **out, const char *path, enum sdls_numbers_use use,
                      struct sdls *s, char *why, size_t why_cap);

/* Notes where the numbers are and frees it; NULL is allowed. Likewise. */
int sdls_numbers_close(struct sdls_numbers *n, char *why, size_t why_cap);

#endif
