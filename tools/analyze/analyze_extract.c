/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are few names, so each row is compared with all of them. What can go wrong: the disk is
 * full (reported at the end); a session with more rows than a page can show (they are counted).
 */
#include "tools/analyze/analyze_extract.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "channel-emu/scenario/drop_columns.h"

#define PATH_BYTES 4096

static FILE *make_file(const char *folder, const char *name, const char *header)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (f != NULL)
        fputs(header, f);
    return f;
}

bool analyze_extract_open(struct analyze_extract *x, const char *folder)
{
    x->segments = make_file(folder, "segments.csv", event_csv_header);
    x->drops = make_file(folder, "drops.csv", drop_row_header);
    x->lacks = make_file(folder, "left-out.csv", "originator,session,rows\n");
    return x->segments != NULL && x->drops != NULL && x->lacks != NULL;
}

static bool is_wanted(struct analyze_extract *x, uint64_t originator, uint64_t number)
{
    assert(x->written <= EXTRACT_TOTAL_MAX);
    for (size_t i = 0; i < x->len; i++) {
        if (x->names[i].number != number || x->names[i].originator != originator)
            continue;
        if (x->rows[i]++ < EXTRACT_ROWS_MAX && x->written < EXTRACT_TOTAL_MAX) {
            x->written++;
            return true;
        }
        x->left_out[i]++;
        return false;
    }
    return false;
}

void analyze_extract_row(struct analyze_extract *x, const struct seglog_row *r)
{
    char line[EVENT_CSV_MAX];
    const struct event *e = &r->event;
    bool matrix = e->kind == EVENT_MATRIX;
    bool segment = !matrix && e->kind != EVENT_LINK;
    if ((matrix && x->matrices++ < EXTRACT_MATRICES_MAX) ||
        (segment && is_wanted(x, e->originator, e->session)))
        fwrite(line, event_csv(&r->event, r->node, 0, line), 1, x->segments);
}

static void put_number(FILE *f, uint64_t v)
{
    fputc(',', f);
    if (v != EVENT_NONE)
        fprintf(f, "%" PRIu64, v);
}

/* How a value of each kind is written to f. */
#define PUT_TIME(v) fprintf(f, "%" PRIu64, v)
#define PUT_NUMBER(v) put_number(f, v)
#define PUT_TYPE(v) fprintf(f, ",%d", v)
#define PUT_DIRECTION(v) fputs((v) ? ",forward" : ",return", f)
#define PUT_REASON(v) fprintf(f, ",%s", drop_reason_word(v))
#define PUT_NAME(v) fputc(',', f)

void analyze_extract_drop(struct analyze_extract *x, const struct drop_event *d)
{
    FILE *f = x->drops;
    if (d->type < 0 || !is_wanted(x, d->originator, d->session))
        return;
    assert(d->type <= 15);
#define PUT(name, kind, value, field, meaning) PUT_##kind(d->field);
    DROP_COLUMNS(PUT)
#undef PUT
    fputc('\n', f);
}

static bool end_file(FILE *f)
{
    if (f == NULL)
        return false;
    bool failed = ferror(f) != 0;
    return fclose(f) == 0 && !failed;
}

bool analyze_extract_close(struct analyze_extract *x)
{
    for (size_t i = 0; i < x->len && x->lacks != NULL; i++)
        if (x->left_out[i] > 0)
            fprintf(x->lacks, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", x->names[i].originator,
                    x->names[i].number, x->left_out[i]);
    bool segments = end_file(x->segments), drops = end_file(x->drops), lacks = end_file(x->lacks);
    return segments && drops && lacks;
}
