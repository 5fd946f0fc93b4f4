/* SPDX-License-Identifier: Apache-2.0 */
/* What a transfer is called: docs/helio-send.md, "On the wire". Nobody chooses an id: it is a hash,
 * so that one cannot stand for another file. */
#ifndef TOOLS_FILES_ID_H
#define TOOLS_FILES_ID_H

#include "tools/files/files_wire.h"

/* The id of SHA-256, size and name of a head: the same from any sender, and however often. False:
 * no memory. `out` may be the head's own id. */
bool files_id_make(const struct files_head *h, uint8_t out[FILES_ID]);

/* A name for what one source has sent of a transfer. False: no memory. */
bool files_id_of_source(const uint8_t id[FILES_ID], const char *source, uint8_t out[FILES_ID]);

#endif
