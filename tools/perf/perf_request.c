/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in network byte order; rates in thousandths. Values from the network are checked as those
 * of the command line are. */
#include "tools/perf/perf_request.h"

#include <assert.h>
#include <math.h>

#include "base/cursor.h"
#include "bp/codec/bundle.h"
#include "bp/codec/qos.h"
#include "tools/perf/perf_wire.h"

#define RATE_MAX 1e13 /* as in perf_options_rate */
#define CRC_MAX 3     /* of aap2.proto's crc_type */

const char *perf_answer_text(uint64_t answer)
{
    static const char *const texts[PERF_ANSWERS] = {
        "it sends",
        "its operator does not want it to (--reverse-max 0)",
        "it sends to as many as it may already",
        "that is longer than it may (--reverse-max of the server)",
        "payload or window is more than it takes for others (16 MiB, 65536)",
        "its memory is out",
        "its number did not come back to it"};
    return answer < PERF_ANSWERS ? texts[answer] : "for a reason that this version does not know";
}

void perf_request_write(const struct perf_options *o, uint8_t *out)
{
    struct writer w = writer_of(out, PERF_REQUEST_LEN);
    writer_number(&w, o->mode == PERF_MODE_TIME ? o->time : 0, 8);
    writer_number(&w, o->mode == PERF_MODE_DATA ? o->data : 0, 8);
    writer_number(&w, o->window, 8);
    writer_number(&w, (uint64_t)llround(o->rate * 1e3), 8);
    writer_number(&w, (uint64_t)llround(o->ramp * 1e3), 8);
    writer_number(&w, o->payload, 8);
    writer_number(&w, o->lifetime_ms, 8);
    writer_number(&w, o->ack_timeout, 8);
    writer_number(&w, o->rate_in_bundles, 4);
    writer_number(&w, o->flags & BUNDLE_NO_FRAGMENT, 4);
    writer_number(&w, o->crc, 4);
    writer_number(&w, o->priority, 4);
    writer_number(&w, o->ordinal, 4);
    assert(writer_len(&w) == PERF_REQUEST_LEN);
}

static bool is_right(const struct perf_options *o)
{
    bool amount = (o->time > 0) != (o->data > 0), pace = (o->window > 0) != (o->rate > 0);
    double least = perf_options_rate_min(o->rate_in_bundles);
    bool ramp = o->ramp <= 0 || (o->rate > 0 && o->time > 0 && o->ramp >= least);
    pace = pace && (o->window > 0 || o->rate >= least);
    return amount && pace && ramp && o->rate <= RATE_MAX && o->ramp <= RATE_MAX &&
           o->time < INT64_MAX && o->data <= INT64_MAX && o->payload >= PERF_HEAD &&
           o->lifetime_ms > 0 && o->crc <= CRC_MAX && o->priority <= BUNDLE_PRIORITIES &&
           o->ordinal <= QOS_ORDINAL_MAX && (o->flags & ~(uint64_t)BUNDLE_NO_FRAGMENT) == 0;
}

bool perf_request_parse(struct slice body, struct perf_options *out)
{
    struct reader r = reader_of(body.data, body.len);
    struct perf_options o = *out;
    o.time = reader_number(&r, 8);
    o.data = reader_number(&r, 8);
    o.mode = o.time > 0 ? PERF_MODE_TIME : PERF_MODE_DATA;
    o.window = reader_number(&r, 8);
    o.rate = (double)reader_number(&r, 8) / 1e3;
    o.ramp = (double)reader_number(&r, 8) / 1e3;
    o.payload = reader_number(&r, 8);
    o.lifetime_ms = reader_number(&r, 8);
    o.ack_timeout = reader_number(&r, 8);
    uint64_t in_bundles = reader_number(&r, 4);
    o.rate_in_bundles = in_bundles != 0;
    o.flags = reader_number(&r, 4);
    o.crc = (uint32_t)reader_number(&r, 4);
    o.priority = (uint32_t)reader_number(&r, 4);
    o.ordinal = (uint32_t)reader_number(&r, 4);
    if (r.bad || in_bundles > 1 || !is_right(&o))
        return false;
    *out = o;
    return true;
}
