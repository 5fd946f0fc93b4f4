/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_reports FOLDER: writes administrative records of every kind that a node sends, as
 * N.record, for other people's decoders to read. The times and names are those that
 * dissect_bundle_test.py expects.
 */
#include <stdio.h>
#include <string.h>

#include "bp/codec/admin.h"

#define TIME_MS UINT64_C(757382400000)

static int write_record(const char *folder, unsigned n, const struct status_report *r)
{
    uint8_t record[512];
    char path[4096];
    int len = status_report_encode(r, record, sizeof record);
    snprintf(path, sizeof path, "%s/%u.record", folder, n);
    FILE *f = len > 0 ? fopen(path, "wb") : NULL;
    if (f == NULL)
        return 1;
    size_t written = fwrite(record, 1, (size_t)len, f);
    return fclose(f) != 0 || written != (size_t)len;
}

/* Record n: each item by itself with and without time, for each reason and kind of source. */
static struct status_report draw(unsigned n, const struct eid *sources, size_t sources_len)
{
    struct status_report r = {.reason = n % (REASON_BLOCK_UNSUPPORTED + 1)};
    r.subject.source = sources[n % sources_len];
    r.subject.time_ms = TIME_MS;
    r.subject.sequence = n;
    r.asserted[n % STATUS_ITEMS] = true;
    r.timed[n % STATUS_ITEMS] = n / STATUS_ITEMS % 2 == 1;
    r.time_ms[n % STATUS_ITEMS] = TIME_MS + n;
    if (n % 5 == 4) {
        r.subject.fragment = true;
        r.subject.offset = 1000;
        r.subject_bytes = 70000;
    }
    return r;
}

int main(int argc, char **argv)
{
    struct eid sources[3];
    if (argc != 2 || eid_parse("ipn:1.1", &sources[0]) != 0 ||
        eid_parse("dtn://node/app", &sources[1]) != 0 ||
        eid_parse("ipn:977000.100.1", &sources[2]) != 0)
        return 2;
    for (unsigned n = 0; n < 24; n++) {
        struct status_report r = draw(n, sources, 3);
        if (write_record(argv[1], n, &r) != 0) {
            perror(argv[1]);
            return 1;
        }
    }
    return 0;
}
