/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence numbers make a set of few ranges, since sessions of a link overtake each other only a
 * little. What can go wrong: a sender that leaves very many gaps, and the file's disk. */
#include "tools/perf/perf_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct perf_session *perf_session_new(const char *peer, uint64_t id)
{
    struct perf_session *s = calloc(1, sizeof *s);
    if (s == NULL || strlen(peer) >= PERF_PEER_MAX) {
        free(s);
        return NULL;
    }
    memcpy(s->peer, peer, strlen(peer) + 1);
    s->id = id;
    list_init(&s->order);
    ranges_init(&s->seen);
    hist_init(&s->delay);
    return s;
}

void perf_session_free(struct perf_session *s)
{
    ranges_fini(&s->seen);
    perf_file_free(s->file);
    free(s);
}

static int problem(struct perf_session *s, int error)
{
    if (s->file_problem[0] == '\0')
        snprintf(s->file_problem, sizeof s->file_problem, "%s", helio_strerror(error));
    return HELIO_EAGAIN;
}

static int take_piece(struct perf_session *s, const struct perf_options *o,
                      const struct perf_head *h, struct slice body)
{
    int rc = 0;
    if (h->total > o->file_max)
        return problem(s, helio_from_errno(EFBIG));
    if (s->file == NULL)
        rc = perf_file_new(&s->file, o->output, s->id, h->name, h->total);
    if (rc == 0)
        rc = perf_file_write(s->file, h->offset, body);
    return rc == 0 ? 0 : problem(s, rc);
}

static void try_finish(struct perf_session *s)
{
    if (s->file == NULL || !perf_session_whole(s) || s->report.file_done != 0 ||
        s->file_problem[0] != '\0')
        return;
    int rc = perf_file_finish(s->file, s->file_crc);
    if (rc == 0)
        s->report.file_done = 1;
    else
        (void)problem(s, rc);
}

int perf_session_data(struct perf_session *s, const struct perf_options *o,
                      const struct perf_head *h, struct slice body, uint64_t payload, tick time)
{
    if (h->seq >= UINT64_MAX - 1 || ranges_has(&s->seen, h->seq, h->seq + 1)) {
        s->report.duplicates++;
        return 0;
    }
    bool piece = (h->flags & PERF_FILE) != 0 && o->output != NULL;
    if (piece && take_piece(s, o, h, body) != 0) {
        s->refused++;
        return HELIO_EAGAIN;
    }
    if (ranges_add(&s->seen, h->seq, h->seq + 1, PERF_SEEN_MAX) < 0) {
        s->refused++;
        return HELIO_EAGAIN;
    }
    struct perf_report *r = &s->report;
    r->bundles++;
    r->bytes += payload;
    r->first = r->bundles == 1 ? time : r->first;
    r->last = time;
    s->reordered += h->seq < s->next;
    s->next = h->seq >= s->next ? h->seq + 1 : s->next;
    s->early += time < h->time;
    hist_add(&s->delay, time > h->time ? time - h->time : 0);
    r->delay_mean_ns = (uint64_t)s->delay.mean;
    try_finish(s);
    return 1;
}

void perf_session_end(struct perf_session *s, const struct perf_head *h)
{
    s->ended = true;
    s->expected = h->total;
    s->file_crc = h->file_crc;
    try_finish(s);
}

void perf_session_detail(const struct perf_session *s, tick now, struct perf_report *out)
{
    out->detailed = true;
    out->early = s->early;
    out->delay_min = s->delay.count > 0 ? s->delay.min : 0;
    out->delay_p50 = hist_quantile(&s->delay, 0.5);
    out->delay_p90 = hist_quantile(&s->delay, 0.9);
    out->delay_p99 = hist_quantile(&s->delay, 0.99);
    out->delay_max = s->delay.max;
    out->now = now;
}

bool perf_session_whole(const struct perf_session *s)
{
    return s->ended && s->report.bundles >= s->expected;
}

uint64_t perf_session_lost(const struct perf_session *s)
{
    uint64_t sent = s->ended && s->expected > s->next ? s->expected : s->next;
    return sent - s->report.bundles;
}

double perf_session_goodput(const struct perf_session *s)
{
    const struct perf_report *r = &s->report;
    if (r->bundles < 2 || r->last <= r->first)
        return 0;
    double bits = 8 * (double)r->bytes * (double)(r->bundles - 1) / (double)r->bundles;
    return bits * 1e9 / (double)(r->last - r->first);
}
