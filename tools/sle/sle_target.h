/* SPDX-License-Identifier: Apache-2.0 */
/* Where radiated CLTUs and frames go: datagrams to an address, or a file of [length(4)][octets]. */
#ifndef TOOLS_SLE_TARGET_H
#define TOOLS_SLE_TARGET_H

#include "tools/sle/sle_datagrams.h"

struct target {
    int fd; /* a file; -1: none */
    struct datagrams udp;
};

void target_init(struct target *t); /* goes nowhere */
/* `path` is the file's, unless there is an address. 0 or HELIO_E*; then it goes nowhere. */
int target_open(struct target *t, struct world *w, const char *path, const struct address *to);
void target_close(struct target *t);
/* At most TARGET_MAX octets. 0, or HELIO_E*: the file did not take it, or datagrams_send failed. */
enum { TARGET_MAX = 65536 };
int target_put(struct target *t, struct slice data);

#endif
