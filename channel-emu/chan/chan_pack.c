/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: the statistics and the best divisor of each side are found, the header is printed, the
 * runs are coded behind it and the checksum ends the file. Only memory can fail.
 */
#include "channel-emu/chan/chan_pack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/err.h"
#include "channel-emu/chan/chan_bits.h"
#include "channel-emu/chan/chan_stats.h"

#define HEADER_MAX 2048u

static uint64_t side_bits(const struct trace *t, bool bad, unsigned k)
{
    assert(k <= RICE_K_MAX);
    uint64_t bits = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (t->runs[i].bad == bad)
            bits += rice_len(t->runs[i].steps - 1, k);
    }
    return bits;
}

static unsigned best_k(const struct trace *t, bool bad)
{
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k <= RICE_K_MAX; k++) {
        uint64_t bits = side_bits(t, bad, k);
        if (bits < least) {
            least = bits;
            best = k;
        }
    }
    assert(best <= RICE_K_MAX);
    return best;
}

static int side_line(char *out, size_t room, const char *name, const struct trace_side *s)
{
    return snprintf(out, room,
                    "%s runs=%" PRIu64 " share=%.6f mean_ms=%.4f sd_ms=%.4f median_ms=%.4f "
                    "p90_ms=%.4f max_ms=%.4f\n",
                    name, s->runs, s->share, s->mean_ms, s->sd_ms, s->median_ms, s->p90_ms,
                    s->max_ms);
}

struct layout {
    unsigned k[2]; /* good, bad */
    uint64_t bytes;
    struct trace_side good, bad;
};

static size_t write_header(const struct trace *t, const struct trace_about *a,
                           const struct layout *l, char *out)
{
    assert(t->len > 0 && t->steps >= t->len);
    char seed[24] = "-";
    if (a->seeded)
        snprintf(seed, sizeof seed, "%" PRIu64, a->seed);
    int n = snprintf(out, HEADER_MAX,
                     "helio-trace 1\nstep_ns %" PRIu64 "\nsteps %" PRIu64 "\nruns %zu\n"
                     "first %s\ngenerator %s\nparameters %s\nseed %s\n",
                     t->step, t->steps, t->len, t->runs[0].bad ? "bad" : "good",
                     a->generator[0] == '\0' ? "-" : a->generator,
                     a->parameters[0] == '\0' ? "-" : a->parameters, seed);
    n += side_line(out + n, HEADER_MAX - (size_t)n, "bad", &l->bad);
    n += side_line(out + n, HEADER_MAX - (size_t)n, "good", &l->good);
    n += snprintf(out + n, HEADER_MAX - (size_t)n, "rice good=%u bad=%u bytes=%" PRIu64 "\n\n",
                  l->k[0], l->k[1], l->bytes);
    assert(n > 0 && n < (int)HEADER_MAX);
    return (size_t)n;
}

static void put_crc(uint8_t *at, uint32_t crc)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(crc >> (24 - 8 * i));
}

int trace_pack(const struct trace *t, const struct trace_about *about, uint8_t **out, size_t *len)
{
    static const struct trace_about nothing;
    struct layout l;
    char header[HEADER_MAX];
    if (t->len == 0)
        return HELIO_EINVAL;
    int rc = trace_stats(t, &l.good, &l.bad);
    if (rc < 0)
        return rc;
    l.k[0] = best_k(t, false);
    l.k[1] = best_k(t, true);
    l.bytes = (side_bits(t, false, l.k[0]) + side_bits(t, true, l.k[1]) + 7) / 8;
    size_t head = write_header(t, about == NULL ? &nothing : about, &l, header);
    uint8_t *file = calloc(1, head + l.bytes + 4);
    if (file == NULL)
        return HELIO_ENOMEM;
    memcpy(file, header, head);
    struct bits b = {.out = file + head};
    for (size_t i = 0; i < t->len; i++)
        rice_put(&b, t->runs[i].steps - 1, l.k[t->runs[i].bad]);
    *len = head + l.bytes + 4;
    put_crc(file + *len - 4, crc32c(0, file, *len - 4));
    *out = file;
    return 0;
}
