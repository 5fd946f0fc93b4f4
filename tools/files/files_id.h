/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a transfer: docs/helio-send.md, "On the wire". An id is a hash and cannot be chosen, so
 * a file cannot have the id of another. */
#ifndef TOOLS_FILES_ID_H
#define TOOLS_FILES_ID_H

#include "base/slice.h"
#include "tools/files/files_wire.h"

struct files_digest;

/* The id of SHA-256, size and name of a head: the same from any sender, and however often. False:
 * no memory. `out` may be the head's own id. */
bool files_id_make(const struct files_head *h, uint8_t out[FILES_ID]);

/* A name for what one source has sent of a transfer. False: no memory. */
bool files_id_of_source(const uint8_t id[FILES_ID], const char *source, uint8_t out[FILES_ID]);

/* ---- SHA-256 of data in parts ---- */

/* A new one; NULL: memory is out, or there is no SHA-256 here. */
struct files_digest *files_digest_new(void);
void files_digest_add(struct files_digest *d, struct slice part);
/* The value of all parts; d is freed. False: it could not be computed. */
bool files_digest_end(struct files_digest *d, uint8_t out[FILES_SHA]);

/* Adds bytes [from, to) of a file that is open. 0, HELIO_EFORMAT (it is not that long), or what the
 * system says. */
int files_digest_part(struct files_digest *d, int fd, uint64_t from, uint64_t to);
/* Of the first `size` bytes of a file that is open. As files_digest_part. */
int files_digest_file(int fd, uint64_t size, uint8_t out[FILES_SHA]);

#endif
