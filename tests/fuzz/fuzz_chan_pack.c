/* SPDX-License-Identifier: Apache-2.0 */
/* A compact file, its checksum made right, is a trace that is written back as the same runs, or an
 * error with a message. */
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "channel-emu/chan/chan_pack.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void write_back(const struct trace *t, const struct trace_about *about)
{
    struct trace u;
    uint8_t *file;
    size_t len;
    char error[TRACE_PACK_ERROR_MAX];
    trace_init(&u, 1);
    must(trace_pack(t, about, &file, &len) == 0);
    must(trace_unpack(&u, NULL, slice_of(file, len), false, error) == 0);
    must(u.step == t->step && u.steps == t->steps && u.len == t->len);
    must(memcmp(&u.runs[0].steps, &t->runs[0].steps, sizeof u.runs[0].steps) == 0);
    free(file);
    trace_fini(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace t;
    struct trace_about about;
    char error[TRACE_PACK_ERROR_MAX] = "";
    uint8_t *file = malloc(size + 4);
    must(file != NULL);
    if (size > 0)
        memcpy(file, data, size);
    uint32_t crc = crc32c(0, file, size);
    for (int i = 0; i < 4; i++)
        file[size + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    trace_init(&t, 1);
    int rc = trace_unpack(&t, &about, slice_of(file, size + 4), false, error);
    must(rc == 0 || error[0] != '\0');
    uint64_t sum = 0;
    for (size_t i = 0; i < t.len; i++) {
        must(t.runs[i].steps > 0 && (i == 0 || t.runs[i].bad != t.runs[i - 1].bad));
        sum += t.runs[i].steps;
    }
    must(sum == t.steps && sum <= UINT64_MAX / t.step);
    if (rc == 0)
        write_back(&t, &about);
    trace_fini(&t);
    free(file);
    return 0;
}
