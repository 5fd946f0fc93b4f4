/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV of powers, line by line through chan_powers. What can go wrong is told with file and line.
 */
#include "channel-emu/trace/trace_powers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"
#include "channel-emu/trace/trace_line.h"

static int read_lines(gzFile file, struct powers_text *t)
{
    struct trace_line l = {.file = file};
    int rc = 0, code;
    while (rc == 0 && trace_line_next(&l)) {
        if (!trace_line_binary(&l)) {
            rc = powers_text_line(t, l.text, l.len);
        } else {
            t->line++;
            snprintf(t->error, sizeof t->error, "%s", TRACE_LINE_BINARY);
            rc = HELIO_EFORMAT;
        }
    }
    const char *why = gzerror(file, &code);
    if (rc == 0 && code != Z_OK && code != Z_STREAM_END) {
        snprintf(t->error, sizeof t->error, "%s", code == Z_ERRNO ? strerror(errno) : why);
        return HELIO_EIO;
    }
    return rc == 0 ? powers_text_end(t) : rc;
}

int trace_powers_read(struct powers *p, const char *path, const char *column, bool decibels,
                      char *error)
{
    struct powers_text t;
    powers_text_init(&t, p, column, decibels);
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        int why = helio_from_errno(errno);
        snprintf(error, TRACE_FILE_ERROR_MAX, "%s: cannot be opened: %s", path,
                 helio_strerror(why));
        return why;
    }
    int rc = read_lines(file, &t);
    gzclose(file);
    snprintf(error, TRACE_FILE_ERROR_MAX, "%s:%" PRIu64 ": %s", path, t.line,
             rc == HELIO_ENOMEM ? helio_strerror(rc) : t.error);
    return rc;
}
