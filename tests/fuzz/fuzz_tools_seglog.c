/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as rows of a segment log, and what they make of the analyzer: a row that is accepted is
 * written back and accepted again as the same. */
#include <stdlib.h>
#include <string.h>

#include "tools/analyze/analyze.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct seglog_row *row)
{
    const struct csv_columns all = seglog_columns_all();
    char line[EVENT_CSV_MAX], again[EVENT_CSV_MAX];
    struct seglog_row back;
    uint32_t n = event_csv(&row->event, row->node, 0, line);
    if (seglog_row_parse(&all, line, n - 1, &back) != NULL)
        abort();
    if (event_csv(&back.event, back.node, 0, again) != n || memcmp(line, again, n) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_columns columns = seglog_columns_all(), named;
    struct analyze a;
    struct seglog_row row;
    if (analyze_init(&a, NULL, NULL) != 0)
        return 0;
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        const char *line = (const char *)data;
        if (seglog_row_is_header(line, n) && seglog_columns_parse(line, n, &named) == NULL)
            columns = named;
        else if (seglog_row_parse(&columns, line, n, &row) == NULL) {
            check_row(&row);
            (void)analyze_row(&a, &row);
        }
        n += end != NULL;
        data += n;
        size -= n;
    }
    (void)analyze_end(&a);
    analyze_fini(&a);
    return 0;
}
