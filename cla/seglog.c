/* SPDX-License-Identifier: Apache-2.0 */
/* The writer reports what can go wrong; lines without room are counted there. */
#include "cla/seglog.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int seglog_open(struct seglog **out, const char *path, uint64_t node, uint64_t epoch)
{
    struct slice header = slice_of(event_csv_header, strlen(event_csv_header));
    struct seglog *s = malloc(sizeof *s);
    if (s == NULL)
        return HELIO_ENOMEM;
    *s = (struct seglog){.node = node, .epoch = epoch};
    int r = log_writer_open(&s->file, path, LOG_APPEND | LOG_LINES, header);
    if (r == 0)
        *out = s;
    else
        free(s);
    return r;
}

void seglog_sink(void *context, const struct event *e)
{
    struct seglog *s = context;
    char *room = log_writer_room(s->file, EVENT_CSV_MAX);
    if (room != NULL)
        log_writer_put(s->file, event_csv(e, s->node, s->epoch, room));
}

void seglog_close(struct seglog *s)
{
    if (s == NULL)
        return;
    log_writer_free(s->file);
    free(s);
}
