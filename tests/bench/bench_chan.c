/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link model by itself: what a frame of 1,070 bytes costs from chan_input to chan_output, copy
 * included, with single features and with all at once; and with the line shared by one channel or
 * eight. One JSON line: nanoseconds of processor time
 * per frame, the least of three runs.
 *
 *   bench_chan [frames]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "channel-emu/chan/chan_shared.h"

#define SPACING 8560 /* ns, a frame at 1 Gbit/s */
#define TABLE 1000

static double clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run(const struct chan_config *k, uint64_t frames)
{
    static const uint8_t frame[1070];
    double best = 0;
    for (int i = 0; i < 3; i++) {
        struct chan *c;
        struct chan_out out;
        if (chan_new(&c, k) != 0)
            abort();
        double start = clock_ns();
        for (uint64_t n = 0; n < frames; n++) {
            chan_input(c, frame, sizeof frame, 1, n * SPACING);
            while (chan_output(c, n * SPACING, &out) == 1)
                ;
        }
        double took = (clock_ns() - start) / (double)frames;
        best = i == 0 || took < best ? took : best;
        chan_free(c);
    }
    return best;
}

/* One after another, each on `members` channels in turn. Outputs are asked of the channel that is
 * due, as a loop would that sleeps until then. */
static double run_shared(const struct chan_config *k, size_t members, uint64_t frames)
{
    static const uint8_t frame[1070];
    double best = 0;
    for (int i = 0; i < 3; i++) {
        struct chan *c[8];
        struct chan_shared *line;
        struct chan_out out;
        struct chan_config of_line = *k;
        of_line.rate_bps = 0;
        if (chan_shared_new(&line, &(struct chan_shared_config){.rate_bps = k->rate_bps}) != 0)
            abort();
        of_line.shared = line;
        for (size_t m = 0; m < members; m++) {
            if (chan_new(&c[m], &of_line) != 0)
                abort();
        }
        double start = clock_ns();
        for (uint64_t n = 0; n < frames; n++) {
            chan_input(c[n % members], frame, sizeof frame, 1, n * SPACING);
            for (size_t m = 0; m < members; m++) {
                while (chan_deadline(c[m]) <= n * SPACING &&
                       chan_output(c[m], n * SPACING, &out) == 1)
                    ;
            }
        }
        double took = (clock_ns() - start) / (double)frames;
        best = i == 0 || took < best ? took : best;
        for (size_t m = 0; m < members; m++)
            chan_free(c[m]);
        chan_shared_free(line);
    }
    return best;
}

int main(int argc, char **argv)
{
    uint64_t frames = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    struct chan_window windows[TABLE];
    struct chan_point points[TABLE];
    struct trace t;
    trace_init(&t, 100 * TICK_US);
    for (uint64_t i = 0; i < 100000; i++) {
        if (trace_add(&t, i % 2, i % 2 ? 10 : 180) != 0)
            abort();
    }
    for (tick i = 0; i < TABLE; i++) {
        windows[i] = (struct chan_window){i * 100 * TICK_MS, i * 100 * TICK_MS + 90 * TICK_MS};
        points[i] = (struct chan_point){i * 100 * TICK_MS, TICK_MS + i * 100};
    }
    const struct chan_config line = {.rate_bps = 1000000000, .delay = TICK_MS};
    struct chan_config traced = line, jittered = line, bursts = line, bits = line, all = line;
    traced.trace = all.trace = &t;
    jittered.jitter = 100 * TICK_US;
    bursts.burst = all.burst = (struct chan_burst){10 * TICK_MS, TICK_MS, 0, 1};
    bits.bit_error_rate = all.bit_error_rate = 1e-9;
    all.points = points;
    all.windows = windows;
    all.point_count = all.window_count = TABLE;
    all.hold = true;
    all.queue_bytes = 1000000;
    all.loss = all.duplicate = 1e-3;
    printf("{\"frames\": %llu, \"line_ns\": %.1f, \"trace_ns\": %.1f, \"jitter_ns\": %.1f, "
           "\"burst_ns\": %.1f, \"bit_errors_ns\": %.1f, \"all_ns\": %.1f, \"shared_1_ns\": %.1f, "
           "\"shared_8_ns\": %.1f}\n",
           (unsigned long long)frames, run(&line, frames), run(&traced, frames),
           run(&jittered, frames), run(&bursts, frames), run(&bits, frames), run(&all, frames),
           run_shared(&line, 1, frames), run_shared(&line, 8, frames));
    trace_fini(&t);
    return 0;
}
