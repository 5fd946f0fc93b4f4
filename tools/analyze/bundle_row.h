/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the bundle log (docs/bundle-log.md), read back. */
#ifndef TOOLS_BUNDLE_ROW_H
#define TOOLS_BUNDLE_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "bp/agent/event.h"

/* A text of the line as it stands there, with its quotes if it has any; a view. */
struct bundle_text {
    const char *at;
    size_t len;
};

/* A number that may be missing: any value is one. */
struct bundle_number {
    uint64_t value;
    bool known;
};

struct bundle_row {
    tick now;
    enum bundle_event_kind kind;
    enum bundle_origin from;
    struct bundle_text node, source, destination, link, peer, reason;
    struct bundle_number key, created_ms, sequence, fragment_offset, adu_length;
    struct bundle_number bytes, payload, lifetime_ms, registration, originator, session;
};

#define BUNDLE_LINE_MAX 4096 /* a longer line is malformed */

/* Reads a line without its newline, which must stay as long as *out is used. Returns NULL, or what
 * is wrong with it (static text); *out is then not to be used. */
const char *bundle_row_parse(const char *line, size_t len, struct bundle_row *out);

/* Is it the line with the names of the columns? */
bool bundle_row_is_header(const char *line, size_t len);

#endif
