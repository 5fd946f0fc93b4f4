/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LTP engine by itself, memory to memory, without sockets: what ltp_output and ltp_input cost
 * per data segment. One JSON line: nanoseconds per segment for both, with and without the copy of
 * the data that stands for the network, and the blocks' goodput if one core did both ends.
 *
 *   bench_ltp_engine [blocks [block_bytes [segment_bytes [loss_permille]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "ltp/ltp.h"

#define BATCH 64

struct bench {
    struct ltp *l[2];
    struct rng rng;
    tick now;
    uint64_t output_ns, input_ns, segments, done, loss_permille;
    struct ltp_out outs[BATCH];
    uint8_t *heads, *wire;
    uint32_t segment;
};

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void setup(struct bench *b)
{
    for (uint64_t i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = i + 1, .seed = i + 1};
        struct ltp_span span = {
            .peer = 2 - i, .segment_max = b->segment, .rto = TICK_S, .export_sessions = 8};
        if (ltp_new(&b->l[i], &config) < 0 || ltp_span_set(b->l[i], &span, 0) < 0 ||
            ltp_link(b->l[i], 2 - i, true, 0) < 0)
            abort();
    }
    b->heads = calloc(BATCH, 65536);
    b->wire = calloc(BATCH, 65536);
    if (b->heads == NULL || b->wire == NULL)
        abort();
    for (size_t i = 0; i < BATCH; i++)
        b->outs[i] = (struct ltp_out){.head = b->heads + i * 65536, .head_cap = 65536};
}

static void polls(struct bench *b)
{
    struct ltp_notice n;
    for (int i = 0; i < 2; i++) {
        while (ltp_poll(b->l[i], &n) != 0) {
            b->done += n.kind == LTP_EXPORT_DONE;
            buf_drop(n.data);
        }
    }
}

/* One batch from engine `from` to the other; how many segments. */
static int batch(struct bench *b, uint64_t from)
{
    int n = 0;
    size_t lens[BATCH];
    b->now += TICK_US;
    uint64_t t0 = clock_ns();
    while (n < BATCH && ltp_output(b->l[from], 2 - from, b->now, &b->outs[n]) != 0)
        n++;
    uint64_t t1 = clock_ns();
    for (int i = 0; i < n; i++) {
        struct ltp_out *o = &b->outs[i];
        uint8_t *w = b->wire + (size_t)i * 65536;
        memcpy(w, o->head, o->head_len);
        if (o->data.len > 0)
            memcpy(w + o->head_len, o->data.data, o->data.len);
        lens[i] = o->head_len + o->data.len;
    }
    uint64_t t2 = clock_ns();
    for (int i = 0; i < n; i++) {
        if (from == 1 || rng_below(&b->rng, 1000) >= b->loss_permille)
            ltp_input(b->l[1 - from], b->wire + (size_t)i * 65536, lens[i], b->now);
    }
    uint64_t t3 = clock_ns();
    b->output_ns += t1 - t0;
    b->input_ns += t3 - t2;
    b->segments += (uint64_t)n;
    return n;
}

static void run(struct bench *b, uint64_t blocks, size_t block_bytes)
{
    struct buf *data = buf_new(0, block_bytes);
    if (data == NULL)
        abort();
    memset(buf_append(data, block_bytes), 'x', block_bytes);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = data, .red_len = block_bytes};
    struct ltp_session_id id;
    uint64_t sent = 0;
    while (b->done < blocks) {
        while (sent < blocks && ltp_send(b->l[0], &block, b->now, &id) == 0)
            sent++;
        int n = batch(b, 0);
        n += batch(b, 1);
        polls(b);
        if (n == 0) { /* all that is left waits for a timer */
            b->now = tick_min(ltp_deadline(b->l[0]), ltp_deadline(b->l[1]));
            ltp_expire(b->l[0], b->now);
            ltp_expire(b->l[1], b->now);
        }
    }
    buf_drop(data);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    size_t block_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 500000;
    b.segment = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1024;
    b.loss_permille = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    rng_init(&b.rng, 1);
    setup(&b);
    run(&b, blocks, block_bytes);
    double n = (double)b.segments, both = (double)(b.output_ns + b.input_ns);
    printf("{\"segments\": %.0f, \"segment_bytes\": %u, \"output_ns\": %.1f, \"input_ns\": %.1f, "
           "\"goodput_gbps\": %.2f}\n",
           n, b.segment, (double)b.output_ns / n, (double)b.input_ns / n,
           (double)blocks * (double)block_bytes * 8 / both);
    ltp_free(b.l[0]);
    ltp_free(b.l[1]);
    free(b.heads);
    free(b.wire);
    return 0;
}
