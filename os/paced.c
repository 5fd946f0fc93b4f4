/* SPDX-License-Identifier: Apache-2.0 */
/* A step takes as long as it takes: the pause after it follows from that. It is measured as
 * processor time, so that a busy machine does not make pauses longer. Nothing can go wrong. */
#include "os/paced.h"

#include <assert.h>

static void run_step(struct paced *q)
{
    struct list *party = list_first(&q->asking);
    const tick began = world_processor(q->world);
    list_sub(party);
    if (q->step(q->context, party))
        list_add_tail(&q->asking, party);
    pace_made(&q->pace, world_now(q->world), world_processor(q->world) - began);
}

/* Not before whatever else is ready. */
static void set_alarm(struct paced *q)
{
    const bool may = pace_may(&q->pace, world_now(q->world));
    alarm_set(&q->alarm, list_empty(&q->asking) ? TICK_NEVER : may ? 0 : q->pace.next);
}

static void on_alarm(void *context)
{
    struct paced *q = context;
    if (!list_empty(&q->asking) && pace_may(&q->pace, world_now(q->world)))
        run_step(q);
    set_alarm(q);
}

void paced_init(struct paced *q, struct world *w, unsigned share, tick least,
                bool (*step)(void *context, struct list *party), void *context)
{
    assert(share > 0 && least > 0);
    *q = (struct paced){
        .world = w, .pace = {.share = share, .least = least}, .step = step, .context = context};
    list_init(&q->asking);
    alarm_init(&q->alarm, w, ALARM_NODE, on_alarm, q);
}

void paced_fini(struct paced *q)
{
    assert(list_empty(&q->asking));
    alarm_fini(&q->alarm);
}

void paced_add(struct paced *q, struct list *party)
{
    const bool first = list_empty(&q->asking);
    if (!list_empty(party))
        return;
    list_add_tail(&q->asking, party);
    if (first)
        on_alarm(q);
}
