/* SPDX-License-Identifier: Apache-2.0 */
/* A file of CLTUs or frames: [length(4)][octets] one behind the other, or of one length each. */
#ifndef TOOLS_SLE_FRAMES_FILE_H
#define TOOLS_SLE_FRAMES_FILE_H

#include "base/buf.h"

struct frames_file {
    struct buf *bytes;
    struct slice *list;
    size_t len;
};
/* `each`: octets of each; 0: lengths are in the file. 0; HELIO_EFORMAT: it is no such file, or
 * empty; HELIO_ESPACE: more than 1 GiB; HELIO_E*. */
int frames_file_read(struct frames_file *f, const char *path, size_t each);
void frames_file_free(struct frames_file *f);

#endif
