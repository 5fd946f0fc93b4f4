/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of what comes in parts. */
#ifndef TOOLS_FILES_DIGEST_H
#define TOOLS_FILES_DIGEST_H

#include "base/slice.h"
#include "tools/files/files_wire.h"

struct files_digest;

/* A new one; NULL: memory is out, or there is no SHA-256 here. */
struct files_digest *files_digest_new(void);
void files_digest_add(struct files_digest *d, struct slice part);
/* The value of all parts; d is freed. False: it could not be computed. */
bool files_digest_end(struct files_digest *d, uint8_t out[FILES_SHA]);

/* Of the first `size` bytes of a file that is open. 0, HELIO_EFORMAT (it is not that long), or what
 * the system says. */
int files_digest_file(int fd, uint64_t size, uint8_t out[FILES_SHA]);

#endif
