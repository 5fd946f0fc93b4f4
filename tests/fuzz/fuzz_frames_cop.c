/* SPDX-License-Identifier: Apache-2.0 */
/* COP-1 with any events: FOP-1's promises hold after each, data end once, FARM-1 accepts numbers in
 * order. An octet chooses the event, those behind it are what comes with it. */
#include <assert.h>
#include <string.h>

#include "frames/farm.h"
#include "frames/fop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { IDS = 4096 };

struct scene {
    struct fop fop;
    uint8_t ended[IDS]; /* data */
    unsigned next;
    unsigned out[FOP_SERVICES]; /* taken and not answered */
    tick now;
};

static void drain_all(struct scene *s)
{
    struct fop_notice n;
    struct fop_transmission t;
    while (fop_notice(&s->fop, &n)) {
        if (n.kind == FOP_REJECTED || n.kind == FOP_CONFIRMED || n.kind == FOP_FAILED)
            assert(n.id < s->next && s->ended[n.id]++ == 0);
        if (n.kind == FOP_ACCEPTED)
            assert(n.id < s->next && s->ended[n.id] == 0);
    }
    while (fop_transmit(&s->fop, &t))
        s->out[t.service]++;
    fop_check(&s->fop);
}

static void play_fop(struct scene *s, const uint8_t *d)
{
    struct clcw c = {.cop = d[1] & 0x80 ? 2 : 1,
                     .vcid = d[1] & 0x40 ? 1 : 0,
                     .lockout = (d[1] & 1) != 0,
                     .wait = (d[1] & 2) != 0,
                     .retransmit = (d[1] & 4) != 0,
                     .report_value = (uint8_t)(d[1] & 8 ? d[2] : s->fop.nn_r + (d[2] & 7))};
    s->now += d[2] * TICK_MS;
    switch (d[0] % 6) {
    case 0:
    case 1:
        if (s->next < IDS)
            fop_send(&s->fop, s->now, d[1] & 7 ? FOP_AD : FOP_BD, s->next++);
        break;
    case 2:
        fop_direct(&s->fop, s->now, (enum fop_directive)(d[1] % (FOP_DIRECTIVES + 1)), d[2], 0);
        break;
    case 3:
        fop_clcw(&s->fop, s->now, &c);
        break;
    case 4:
        fop_expire(&s->fop, s->now);
        break;
    default:
        if (s->out[d[1] % FOP_SERVICES] > 0) {
            s->out[d[1] % FOP_SERVICES]--;
            fop_response(&s->fop, s->now, (enum fop_service)(d[1] % FOP_SERVICES), d[2] > 20);
        }
    }
    drain_all(s);
}

static void play_farm(struct farm *f, const uint8_t *d)
{
    struct frame frame = {.kind = d[0] & 0x10 ? FRAME_TM : FRAME_TC,
                          .bypass = (d[1] & 1) != 0,
                          .command = (d[1] & 2) != 0,
                          .count = d[1] & 4 ? d[2] : f->v_r,
                          .zone = slice_of(d + 2, d[1] >> 5 & 1)};
    uint8_t before = f->v_r;
    enum farm_verdict v = farm_input(f, &frame, (d[1] & 8) != 0);
    assert(v != FARM_ACCEPTED || frame.bypass ||
           (frame.count == before && f->v_r == (uint8_t)(before + 1)));
    if (d[1] & 0x80)
        farm_release(f);
    struct clcw c = {0}, again;
    farm_report(f, &c);
    assert(clcw_decode(clcw_encode(&c), &again) && again.report_value == f->v_r);
    assert(c.lockout == (f->state == FARM_LOCKOUT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct scene s;
    struct farm farm;
    if (len < 2)
        return 0;
    const struct fop_config c = {.vcid = 0,
                                 .window = (uint8_t)(1 + data[0] % 255),
                                 .limit = (uint8_t)(1 + data[1] % 4),
                                 .timeout_type = data[1] >> 7,
                                 .timer = 100 * TICK_MS};
    memset(&s, 0, sizeof s);
    fop_init(&s.fop, &c);
    farm_init(&farm, 2 + 2 * (data[0] % 127U));
    for (size_t at = 2; at + 3 <= len; at += 3) {
        if (data[at] & 0x80)
            play_farm(&farm, data + at);
        else
            play_fop(&s, data + at);
    }
    return 0;
}
