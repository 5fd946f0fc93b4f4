/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The note is written at the start, after each step, every ten minutes, and at the end. Within one
 * boot any of them is exact; over a reboot the last one has the value of the wall clock. What can
 * go wrong: no note, a damaged one, a machine without boot ids; then less is known, and
 * life_clock_begin handles it.
 */
#include "node/node_clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/node.h"
#include "node/storage.h"
#include "os/process/process.h"

#define NOTE_EVERY 600 /* seconds */

static struct life_clock read_clocks(const struct node *n)
{
    struct agent_now now = node_now(n);
    struct life_clock c = {.mono_ms = now.now / TICK_MS, .dtn_ms = now.dtn_ms};
    memcpy(c.boot, n->clock.boot, sizeof c.boot);
    c.life_ms = agent_life_ms(n->agent, now);
    return c;
}

const char *node_clock_span(int64_t ms, char out[CLOCK_SPAN_MAX])
{
    const double s = (double)(ms < 0 ? -ms : ms) / 1000;
    if (s < 600)
        snprintf(out, CLOCK_SPAN_MAX, "%.3g s", s);
    else if (s < 86400)
        snprintf(out, CLOCK_SPAN_MAX, "%.3g h", s / 3600);
    else if (s < 366 * 86400.0)
        snprintf(out, CLOCK_SPAN_MAX, "%.4g days", s / 86400);
    else
        snprintf(out, CLOCK_SPAN_MAX, "%.4g years", s / 86400 / 365.25);
    return out;
}

static void count_step(struct node *n, int64_t step_ms, const char *when, const char *what)
{
    char text[CLOCK_SPAN_MAX];
    n->clock.steps++;
    n->clock.step_ms = step_ms;
    say(&n->say, LEVEL_WARNING, "clock: it is %s %s of where it %s; %s",
        node_clock_span(step_ms, text), step_ms > 0 ? "ahead" : "behind", when, what);
}

static bool recall_clock(struct node *n, struct life_clock *out)
{
    uint8_t value[STORE_NOTE_MAX];
    size_t len;
    struct store *s = n->storage == NULL ? NULL : storage_store(n->storage);
    return s != NULL && s->ops->recall(s, STORAGE_CLOCK, value, &len) == 0 &&
           life_clock_read(value, len, out) == 0;
}

void node_clock_begin(struct node *n)
{
    struct life_clock before;
    int64_t step_ms;
    static_assert(MACHINE_BOOT_BYTES == LIFE_CLOCK_BOOT, "a boot's name");
    machine_boot(n->clock.boot);
    struct life_clock now = read_clocks(n);
    bool known = recall_clock(n, &before);
    n->earlier_life = known; /* each start leaves a note */
    enum life_clock_start start = life_clock_begin(&now, known ? &before : NULL, &step_ms);
    agent_restore_clock(n->agent, now.life_ms, node_now(n));
    n->clock.offset_ms = life_clock_offset(now.mono_ms, now.dtn_ms);
    if (now.dtn_ms == 0)
        say(&n->say, LEVEL_WARNING,
            "clock: it is before the year 2000, so none: bundles get an age instead of a creation "
            "time");
    if (step_ms != 0)
        count_step(n, step_ms, "was when the node last noted it",
                   start == LIFE_CLOCK_GOES_ON
                       ? "lifetimes of bundles count the time that has passed"
                       : "it is not known how long the node was off: lifetimes of bundles count "
                         "only the time since the boot");
    else if (start == LIFE_CLOCK_UNKNOWN)
        say(&n->say, LEVEL_WARNING,
            "clock: it is not known how long the node was off: lifetimes of bundles count only the "
            "time since the boot");
}

void node_clock_note(struct node *n)
{
    uint8_t value[LIFE_CLOCK_NOTE];
    if (n->storage == NULL)
        return;
    struct life_clock c = read_clocks(n);
    life_clock_write(&c, value);
    if (storage_note(n->storage, STORAGE_CLOCK, slice_of(value, sizeof value)) < 0)
        return; /* the one before serves */
    storage_submit(n->storage);
}

void node_clock_tick(struct node *n)
{
    struct agent_now now = node_now(n);
    int64_t step_ms = life_clock_step(&n->clock.offset_ms, now.now / TICK_MS, now.dtn_ms);
    if (step_ms != 0)
        count_step(n, step_ms, "was a second ago",
                   "it decides whether arriving bundles have expired; lifetimes of the others "
                   "count the time that has passed");
    if (step_ms != 0 || ++n->clock.ticks % NOTE_EVERY == 0)
        node_clock_note(n);
}
