/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bundle of 500 kB costs: its CRC-32C alone, its encoding in place and its decoding, in
 * microseconds, the best of many rounds. JSON on standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc.h"
#include "bp/codec/bundle.h"

enum { PAYLOAD = 500000, ROUNDS = 400 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct result {
    double crc_us, encode_us, decode_us;
};

static void keep_best(double *best, double start)
{
    double took = now_us() - start;
    *best = took < *best ? took : *best;
}

static void measure(struct bundle *b, struct buf *buf, struct result *best)
{
    struct bundle got;
    *best = (struct result){1e9, 1e9, 1e9};
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        volatile uint32_t crc = crc32c(0, buf_data(buf), buf->len);
        (void)crc;
        keep_best(&best->crc_us, start);
        start = now_us();
        if (bundle_encode(b, buf) != 0)
            abort();
        keep_best(&best->encode_us, start);
        start = now_us();
        if (bundle_decode(buf_data(buf), buf->len, BUNDLE_STRICT, &got, NULL) != 0)
            abort();
        keep_best(&best->decode_us, start);
        buf->off = (size_t)(got.payload.data - buf->mem);
        buf->len = got.payload.len;
    }
}

int main(void)
{
    struct bundle b;
    struct result with, without;
    struct buf *buf = buf_new(BUNDLE_HEAD_MAX, PAYLOAD + BUNDLE_TAIL_MAX);
    if (buf == NULL)
        return 1;
    memset(buf_append(buf, PAYLOAD), 0x5a, PAYLOAD);
    bundle_init(&b);
    b.destination = eid_ipn(0, 2, 1);
    b.id.source = b.report_to = eid_ipn(0, 1, 1);
    b.id.time_ms = UINT64_C(800000000000);
    b.has_previous = b.has_age = b.has_hops = true;
    b.previous = eid_ipn(0, 1, 0);
    b.hop_limit = 30;
    measure(&b, buf, &with);
    b.payload_crc = CRC_NONE;
    measure(&b, buf, &without);
    printf("{\"payload_bytes\": %d, \"crc32c_us\": %.2f, \"encode_us\": %.2f, \"decode_us\": %.2f, "
           "\"encode_without_payload_crc_us\": %.2f, \"decode_without_payload_crc_us\": %.2f}\n",
           PAYLOAD, with.crc_us, with.encode_us, with.decode_us, without.encode_us,
           without.decode_us);
    buf_drop(buf);
    return 0;
}
