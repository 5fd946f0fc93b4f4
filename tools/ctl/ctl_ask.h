/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a node's control socket and its answer, in bounded time. */
#ifndef TOOLS_CTL_ASK_H
#define TOOLS_CTL_ASK_H

#include <stdbool.h>

#include "base/tick.h"

struct json_t;

/* The answer to one request line (without its end); NULL: `program` says why on standard error.
 * timeout: of each step that the node is waited for, ns. quiet: nothing is said. */
struct json_t *ctl_ask(const char *program, const char *path, const char *line, tick timeout,
                       bool quiet);

#endif
