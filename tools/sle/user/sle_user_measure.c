/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that follow each other are what should be; a higher one is a gap, a lower one arrived
 * twice or late. */
#include "tools/sle/sle_numbered.h"
#include "tools/sle/user/sle_user_run.h"

void measure_init(struct measure *m)
{
    *m = (struct measure){0};
    hist_init(&m->delay);
}

void measure_again(struct measure *m)
{
    struct measure before = *m;
    measure_init(m);
    m->next = before.next;
    m->any = before.any;
    m->delay_before = before.delay_before;
    m->missing = before.missing;
    m->repeated = before.repeated;
    m->wrong = before.wrong;
}

static void take_delay(struct measure *m, int64_t delay)
{
    if (m->any) {
        int64_t d = delay - m->delay_before;
        m->jitter += ((double)(d < 0 ? -d : d) - m->jitter) / 16;
    }
    m->delay_before = delay;
    uint64_t positive = delay > 0 ? (uint64_t)delay : 0;
    hist_add(&m->delay, positive);
    m->second_delay += (double)positive;
    m->second_worst = positive > m->second_worst ? positive : m->second_worst;
}

static void take_number(struct measure *m, uint64_t number)
{
    if (m->any && number > m->next)
        m->missing += number - m->next;
    else if (m->any && number < m->next)
        m->repeated++;
    if (!m->any || number >= m->next)
        m->next = number + 1;
}

static void take_octets(struct measure *m, size_t octets, tick now)
{
    m->frames++;
    m->octets += octets;
    m->second_frames++;
    m->second_octets += octets;
    m->first_ns = m->frames == 1 ? now : m->first_ns;
    m->last_ns = now;
}

void measure_cltu(struct measure *m, size_t octets, tick now, tick delay)
{
    take_octets(m, octets, now);
    take_delay(m, (int64_t)delay);
    m->any = true;
}

int64_t measure_frame(struct measure *m, struct slice frame, bool numbered, tick now, uint64_t wall)
{
    uint64_t number, time;
    take_octets(m, frame.len, now);
    if (!numbered)
        return INT64_MIN;
    if (!numbered_read(frame, &number, &time)) {
        m->wrong++;
        return INT64_MIN;
    }
    int64_t delay = (int64_t)(wall - time);
    take_delay(m, delay);
    take_number(m, number);
    m->any = true;
    return delay;
}
