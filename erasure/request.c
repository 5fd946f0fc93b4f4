/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the receiver for more repair segments. Copies of a request follow each other, because
 * one can be lost in a fade. What can go wrong: no answer arrives, because the sender no longer
 * keeps the matrix; then the matrix fails after `answer`.
 */
#include "erasure/matrix.h"

#include <assert.h>

void request_plan(const struct erasure_decoder *d, struct matrix *m, unsigned row, tick now)
{
    if (!d->config.requests)
        return;
    m->asked = 0;
    if (row >= m->rows) {
        m->asking = false;
        m->ask = m->rounds < ERASURE_ANSWERS_MAX ? tick_add(now, 2 * d->config.pause) : TICK_NEVER;
    } else {
        tick rest = (m->rows - row - 1) * d->config.each;
        m->ask = row + 1 == m->rows ? now : tick_add(now, tick_add(rest, d->config.pause));
    }
}

static bool can_be_repaired(const struct matrix *m)
{
    return m->data[0] + m->repair[0] >= m->segments;
}

void request_look(struct erasure_decoder *d, struct matrix *m, tick now)
{
    if (m->ask > now)
        return;
    m->ask = TICK_NEVER;
    m->asking = false;
    if (can_be_repaired(m) || m->repair[0] == 0)
        return;
    d->n.requested += !m->requested;
    m->requested = m->asking = true;
    m->rounds += m->asked == 0;
    m->asked++;
    m->latest = tick_max(m->latest, now);
    if (m->asked < ERASURE_REQUEST_COPIES)
        m->ask = tick_add(now, ERASURE_REQUEST_SPACING);
}

/* Rows that it needed: those up to the one that made it repairable, and those that are missing. */
static unsigned rows_needed(const struct matrix *m)
{
    unsigned have = m->data[0] + m->repair[0];
    if (m->repaired == 0 && m->have >= m->segments)
        return 0;
    return m->top + (m->enough || m->have >= m->segments ? 0 : m->segments - have);
}

void request_report(struct erasure_decoder *d, const struct matrix *m)
{
    bool whole = m->have == d->config.span;
    if (!d->config.adaptive || (m->segments == 0 && !whole)) /* nothing says how long it was */
        return;
    if (d->needs_len == NEEDS_MAX) { /* the oldest one is dropped */
        d->needs_at = (d->needs_at + 1) % NEEDS_MAX;
        d->needs_len--;
    }
    unsigned at = (d->needs_at + d->needs_len++) % NEEDS_MAX;
    d->needs[at].matrix = m->number;
    d->needs[at].rows = (uint16_t)rows_needed(m);
}

/* Writes the oldest pending report. */
static size_t write_report(struct erasure_decoder *d, uint8_t packet[ERASURE_HEAD])
{
    struct packet_head h = {
        .need = true, .matrix = d->needs[d->needs_at].matrix, .index = d->needs[d->needs_at].rows};
    assert(d->needs_len > 0);
    d->needs_at = (d->needs_at + 1) % NEEDS_MAX;
    d->needs_len--;
    d->n.reports++;
    h.crc = erasure_packet_crc(&h, slice_of(NULL, 0), slice_of(NULL, 0));
    return erasure_packet_write(&h, packet);
}

static struct matrix *find_asking(const struct erasure_decoder *d)
{
    for (unsigned i = 0; i < d->config.matrices; i++)
        if (d->matrices[i].open && d->matrices[i].asking && !can_be_repaired(&d->matrices[i]))
            return &d->matrices[i];
    return NULL;
}

bool erasure_decoder_requesting(const struct erasure_decoder *d)
{
    return d->needs_len > 0 || find_asking(d) != NULL;
}

size_t erasure_decoder_request(struct erasure_decoder *d, tick now, uint8_t packet[ERASURE_HEAD])
{
    struct matrix *m = find_asking(d);
    if (m == NULL)
        return d->needs_len > 0 ? write_report(d, packet) : 0;
    struct packet_head h = {.request = true, .matrix = m->number};
    h.index = (uint16_t)(m->segments - m->data[0] - m->repair[0]);
    assert(h.index > 0); /* otherwise it could be repaired */
    h.crc = erasure_packet_crc(&h, slice_of(NULL, 0), slice_of(NULL, 0));
    m->asking = false;
    m->latest = tick_max(m->latest, now);
    return erasure_packet_write(&h, packet);
}
