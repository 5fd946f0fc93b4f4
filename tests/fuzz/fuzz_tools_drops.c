/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as rows of a drop log, among those of two sessions; what is accepted has its numbers in
 * their ranges. */
#include <stdlib.h>
#include <string.h>

#include "tools/analyze/analyze.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Those of a segment: the columns of matrices follow them. */
#define SEGMENT_COLUMNS                                                                            \
    "t_ns,dir,node,peer,originator,session,type,name,colour,client_service,offset,length,"         \
    "cp_serial,rpt_serial,rs_lower,rs_upper,claims,claimed_bytes,cancel_reason,attempt,cause,"     \
    "udp_len"

static struct csv_columns segment_columns(void)
{
    struct csv_columns columns;
    if (seglog_columns_parse(SEGMENT_COLUMNS, strlen(SEGMENT_COLUMNS), &columns) != NULL)
        abort();
    return columns;
}

static void feed(struct analyze *a, const char *line)
{
    const struct csv_columns all = segment_columns();
    struct seglog_row row;
    if (seglog_row_parse(&all, line, strlen(line), &row) != NULL || analyze_row(a, &row) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_columns columns = drop_columns_all(), named;
    struct analyze a;
    struct drop_event d;
    if (analyze_init(&a, NULL, NULL) != 0)
        return 0;
    a.drops = true;
    a.bin = TICK_S;
    feed(&a, "1,open,1,2,1,7,,,,1,,3000,,,,,,,,,,");
    feed(&a, "2,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,1,first,1024");
    feed(&a, "3,open,2,1,2,8,,,,1,,3000,,,,,,,,,,");
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        const char *line = (const char *)data;
        if (drop_row_is_header(line, n) && drop_columns_parse(line, n, &named) == NULL)
            columns = named;
        else if (drop_row_parse(&columns, line, n, &d) == NULL) {
            if (d.type > 15 || d.type < -1 || d.reason >= DROP_REASONS || d.now == EVENT_NONE)
                abort();
            if (analyze_drop(&a, &d) != 0)
                abort();
        }
        n += end != NULL;
        data += n;
        size -= n;
    }
    if (analyze_end(&a) != 0)
        abort();
    analyze_fini(&a);
    return 0;
}
