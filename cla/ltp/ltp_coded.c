/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each received segment is passed to the LTP engine at once. Repaired segments follow as soon as a
 * codeword has enough symbols.
 *
 * What can go wrong: the peer has no erasure code, or another span, depth or number of rows. Its
 * packets are counted and dropped, and logged at most once a minute.
 */
#include "cla/ltp/ltp_coded.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/ltp/ltp_link.h"
#include "conf/json_number.h"

#define SAY_PAUSE (60 * TICK_S)

/* A row of the segment log. */
static void log_matrix(void *context, const struct erasure_event *m)
{
    static const enum event_matrix causes[] = {
        [ERASURE_SENT] = MATRIX_SENT,     [ERASURE_ANSWERED] = MATRIX_ANSWERED,
        [ERASURE_WHOLE] = MATRIX_WHOLE,   [ERASURE_REPAIRED] = MATRIX_REPAIRED,
        [ERASURE_FAILED] = MATRIX_FAILED, [ERASURE_DISPLACED] = MATRIX_DISPLACED};
    const struct ltp_endpoint *h = context;
    if (list_empty(&h->common.links))
        return;
    const struct link *l = container_of(list_first(&h->common.links), struct link, cla.node);
    bool sender = m->outcome == ERASURE_SENT || m->outcome == ERASURE_ANSWERED;
    struct event e = event_make(EVENT_MATRIX, h->now);
    if (l->env.sink == NULL)
        return;
    e.cause = (int)causes[m->outcome];
    e.has_peer = true;
    e.peer = l->peer;
    e.originator = sender ? h->engine_number : l->peer;
    e.matrix = m->matrix;
    e.segments = m->segments;
    e.repairs = m->repairs;
    if (!sender) {
        e.repaired = m->repaired;
        e.missing = m->missing;
        e.delay = m->repaired > 0 ? m->delay : EVENT_NONE;
    }
    l->env.sink(l->env.sink_context, &e);
}

int coded_new(struct ltp_coded **out, const struct ltp_link_config *k, uint32_t random,
              struct ltp_endpoint *h)
{
    *out = NULL;
    if (k->erasure == LTP_LINK_ERASURE_OFF)
        return 0;
    struct ltp_coded *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    const char *problem = ltp_link_erasure(k, &c->config);
    assert(problem == NULL); /* ltp_link_check has looked */
    (void)problem;
    c->config.math = &GF_FASTEST;
    c->config.math16 = gf16_fastest();
    if (c->config.codec == ERASURE_RS) {
        c->config.field = c->field = malloc(sizeof *c->field);
        if (c->field == NULL) {
            coded_free(c);
            return HELIO_ENOMEM;
        }
        gf16_init(c->field);
    }
    c->config.first = random;
    c->config.sink = log_matrix;
    c->config.sink_context = h;
    c->checks_source = k->frames.out.kind == FRAMES_OFF && k->source != ADDRESS_CHECK_ANY;
    int r = erasure_encoder_new(&c->encoder, &c->config);
    r = r == 0 ? erasure_decoder_new(&c->decoder, &c->config) : r;
    if (r != 0) {
        coded_free(c);
        return r;
    }
    *out = c;
    return 0;
}

void coded_free(struct ltp_coded *c)
{
    if (c == NULL)
        return;
    erasure_encoder_free(c->encoder);
    erasure_decoder_free(c->decoder);
    free(c->field);
    free(c);
}

tick coded_deadline(const struct ltp_coded *c)
{
    return c == NULL ? TICK_NEVER
                     : tick_min(erasure_encoder_deadline(c->encoder),
                                erasure_decoder_deadline(c->decoder));
}

void coded_expire(struct ltp_endpoint *h)
{
    struct ltp_coded *c = h->coded;
    struct slice segment, source = slice_of(c->key, c->key_len);
    assert(c != NULL);
    erasure_encoder_expire(c->encoder, h->now);
    erasure_decoder_expire(c->decoder, h->now);
    while (erasure_decoder_next(c->decoder, &segment))
        ltp_endpoint_segment(h, segment, &c->from, source);
}

size_t coded_output(struct ltp_coded *c, tick now, uint8_t *packet)
{
    assert(c != NULL && packet != NULL);
    size_t len = erasure_decoder_request(c->decoder, now, packet);
    return len > 0 ? len : erasure_encoder_output(c->encoder, packet);
}

/* Packets that only another configuration explains. */
static uint64_t count_mismatches(const struct ltp_coded *c)
{
    const uint64_t *v = erasure_decoder_counters(c->decoder)->verdicts;
    return v[ERASURE_UNCODED] + v[ERASURE_MALFORMED] + v[ERASURE_MISMATCH];
}

static const char *codec_name(const struct ltp_coded *c)
{
    return c->config.codec == ERASURE_RS ? "rs" : "rs8";
}

static void say_mismatch(struct ltp_endpoint *h, enum erasure_verdict v)
{
    struct ltp_coded *c = h->coded;
    uint64_t all = count_mismatches(c);
    assert(all > 0);
    if (h->now < c->quiet || list_empty(&h->common.links))
        return;
    c->quiet = tick_add(h->now, SAY_PAUSE);
    cla_say(local_endpoint_link(&h->common), 1,
            "%s (%" PRIu64
            " packets so far); both ends need the same erasure keys, here %s, a span of %u "
            "segments, depth %u, %u rows%s",
            v == ERASURE_UNCODED ? "the peer sends segments without erasure code"
                                 : "packets of the peer have another erasure code",
            all, codec_name(c), c->config.span, c->config.depth, c->config.rows,
            c->config.requests ? ", requests" : "");
}

void coded_input(struct ltp_endpoint *h, struct slice datagram, const struct address *from,
                 struct slice source)
{
    struct ltp_coded *c = h->coded;
    struct slice segment;
    assert(c != NULL && c->decoder != NULL);
    if (c->checks_source && !list_empty(&h->common.links)) {
        const struct link *l = container_of(list_first(&h->common.links), struct link, cla.node);
        if (!address_passes(from, &l->to.address, (enum address_check)l->config->source)) {
            c->foreign++;
            return;
        }
    }
    enum erasure_verdict v = erasure_decoder_input(c->decoder, datagram, h->now, &segment);
    if (v == ERASURE_REQUEST)
        erasure_encoder_request(c->encoder, datagram, h->now);
    if ((v == ERASURE_REQUEST || erasure_decoder_requesting(c->decoder)) &&
        !list_empty(&h->common.links))
        link_touch(container_of(list_first(&h->common.links), struct link, cla.node));
    if (v == ERASURE_SEGMENT || v == ERASURE_REPAIR) {
        assert(source.len <= sizeof c->key);
        c->from = *from;
        c->key_len = source.len;
        if (source.len > 0)
            memcpy(c->key, source.data, source.len);
    }
    if (segment.len > 0)
        ltp_endpoint_segment(h, segment, from, source);
    while (erasure_decoder_next(c->decoder, &segment))
        ltp_endpoint_segment(h, segment, from, source);
    if (v == ERASURE_UNCODED || v == ERASURE_MALFORMED || v == ERASURE_MISMATCH)
        say_mismatch(h, v);
}

void coded_gauges(const struct ltp_coded *c, struct cla_gauges *out)
{
    if (c == NULL)
        return;
    assert(out != NULL && !out->coded);
    const struct erasure_received *r = erasure_decoder_counters(c->decoder);
    out->coded = true;
    out->repairs_sent = erasure_encoder_counters(c->encoder)->repairs;
    out->repaired = r->segments_repaired;
    out->unrepaired = r->segments_lost + r->segments_corrupt;
    out->matrices_repaired = r->repaired;
    out->matrices_failed = r->failed;
    out->repair_delay = r->delay_sum;
    out->code_mismatches = count_mismatches(c);
}

void coded_status(const struct ltp_coded *c, struct json_t *object)
{
    assert(c != NULL && object != NULL);
    const struct erasure_sent *s = erasure_encoder_counters(c->encoder);
    const struct erasure_received *r = erasure_decoder_counters(c->decoder);
    json_t *o = json_object(), *sent = json_object(), *received = json_object();
    json_object_set_new(o, "codec", json_string(codec_name(c)));
    json_put_number(o, "span", c->config.span);
    json_put_number(o, "depth", c->config.depth);
    json_put_number(o, "rows", c->config.rows);
    json_object_set_new(o, "requests", json_boolean(c->config.requests));
    json_object_set_new(o, "adaptive", json_boolean(c->config.adaptive));
    json_object_set_new(
        o, "arithmetic",
        json_string(c->config.codec == ERASURE_RS ? c->config.math16->name : c->config.math->name));
    json_put_number(o, "wait_ns", c->config.wait);
    json_put_number(sent, "segments", s->segments);
    json_put_number(sent, "repair_segments", s->repairs);
    json_put_number(sent, "repair_bytes", s->repair_octets);
    json_put_number(sent, "matrices", s->matrices);
    json_put_number(sent, "short_matrices", s->short_matrices);
    json_put_number(sent, "repair_segments_unsent", s->unsent);
    json_put_number(sent, "requests", s->requests);
    json_put_number(sent, "requests_answered", s->answered);
    json_put_number(sent, "requests_too_late", s->too_late);
    json_put_number(sent, "repair_segments_requested", s->more);
    json_put_number(sent, "reports", s->reports);
    json_put_number(sent, "rows", s->rows);
    json_put_number(received, "segments", r->verdicts[ERASURE_SEGMENT]);
    json_put_number(received, "repair_segments", r->verdicts[ERASURE_REPAIR]);
    json_put_number(received, "duplicates", r->verdicts[ERASURE_DUPLICATE]);
    json_put_number(received, "late", r->verdicts[ERASURE_LATE]);
    json_put_number(received, "corrupted", r->verdicts[ERASURE_BAD_CRC]);
    json_put_number(received, "mismatches", count_mismatches(c));
    json_put_number(received, "foreign", c->foreign);
    json_put_number(received, "matrices_whole", r->whole);
    json_put_number(received, "matrices_repaired", r->repaired);
    json_put_number(received, "matrices_requested", r->requested);
    json_put_number(received, "matrices_requested_repaired", r->requested_repaired);
    json_put_number(received, "reports", r->reports);
    json_put_number(received, "matrices_failed", r->failed);
    json_put_number(received, "matrices_displaced", r->displaced);
    json_put_number(received, "segments_repaired", r->segments_repaired);
    json_put_number(received, "segments_lost", r->segments_lost);
    json_put_number(received, "segments_corrupt", r->segments_corrupt);
    json_put_number(received, "delay_mean_ns",
                    r->segments_repaired == 0 ? 0 : r->delay_sum / r->segments_repaired);
    json_put_number(received, "delay_max_ns", r->delay_max);
    json_object_set_new(o, "sent", sent);
    json_object_set_new(o, "received", received);
    json_object_set_new(object, "erasure", o);
}
