/* SPDX-License-Identifier: Apache-2.0 */
/* Written bit by bit into a buffer of fixed size; what does not fit is left out. */
#include "tests/sim/frame_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "ltp/segment.h"

struct text {
    char *at;
    size_t room;
};

__attribute__((format(printf, 2, 3))) static void add_text(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += len;
    t->room -= len;
}

void frame_text(const uint8_t *data, size_t len, char out[FRAME_TEXT])
{
    static const char *const types[] = {
        "data", "data cp", "data cp eorp", "data cp eob", "green", "5",   "6",  "green eob",
        "RS",   "RA",      "10",           "11",          "CS",    "CAS", "CR", "CAR"};
    struct text t = {out, FRAME_TEXT};
    struct ltp_segment s;
    if (segment_parse(&s, data, len) != VERDICT_OK) {
        add_text(&t, "malformed");
        return;
    }
    add_text(&t, "%s %" PRIu64, types[s.type], s.id.number);
    if (segment_is_data(&s))
        add_text(&t, " [%" PRIu64 ", %" PRIu64 ")", s.offset, s.offset + s.data.len);
    if (s.type == LTP_RS || segment_is_checkpoint(&s))
        add_text(&t, " cp %" PRIu64, s.cp_serial);
    if (s.type == LTP_RS || s.type == LTP_RA || segment_is_checkpoint(&s))
        add_text(&t, " rpt %" PRIu64, s.rpt_serial);
    if (s.type == LTP_RS)
        add_text(&t, " scope [%" PRIu64 ", %" PRIu64 ")", s.lower, s.upper);
    if (s.type == LTP_CS || s.type == LTP_CR)
        add_text(&t, " reason %u", s.reason);
    struct slice at = s.claims;
    struct range r;
    while (s.type == LTP_RS && segment_claim(&s, &at, &r))
        add_text(&t, " %" PRIu64 "-%" PRIu64, r.lo, r.hi);
}
