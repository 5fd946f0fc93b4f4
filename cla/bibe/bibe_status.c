/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself, and its invariants between two turns. Memory that runs out leaves
 * fields away. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>
#include <jansson.h>

#include "cla/bibe/bibe_link.h"
#include "conf/json_number.h"

void bibe_status(struct cla *c, struct json_t *object)
{
    const struct bibe_link *l = container_of(c, struct bibe_link, cla);
    json_object_set_new(object, "up", json_boolean(l->up));
    json_put_number(object, "window", c->limits.window);
    json_put_number(object, "bundles_sending", l->sending_len);
    json_put_number(object, "bundles_arriving", l->arrivals_len);
    json_put_number(object, "bundles_sent", l->n.bundles_sent);
    json_put_number(object, "bundles_failed", l->n.bundles_failed);
    json_put_number(object, "encapsulated", l->n.encapsulated);
    json_put_number(object, "bundles_received", l->n.bundles_received);
    json_put_number(object, "bundles_refused", l->n.bundles_refused);
    json_put_number(object, "segments_received", l->n.segments);
    json_put_number(object, "transfers", l->joins.len);
    json_put_number(object, "transfers_bytes", l->joins.bytes);
    json_put_number(object, "transfers_received_bytes", l->joins.got);
    json_put_number(object, "transfers_expired", l->n.notes[BIBE_NOTE_EXPIRED]);
    json_put_number(object, "put_off", l->n.notes[BIBE_NOTE_PUT_OFF]);
    bibe_custody_status(l, object);
    json_t *thrown = json_object();
    for (enum bibe_note kind = 0; kind < BIBE_NOTE_COUNT; kind++)
        if (bibe_note_word(kind) != NULL)
            json_put_number(thrown, bibe_note_word(kind), l->n.notes[kind]);
    json_object_set_new(object, "thrown_away", thrown);
}

void bibe_gauges(const struct cla *c, struct cla_gauges *out)
{
    const struct bibe_link *l = container_of((struct cla *)(uintptr_t)c, struct bibe_link, cla);
    out->heard = l->heard;
    out->off = !l->allowed;
    bibe_custody_gauges(l, out);
}

void bibe_check_self(const struct cla *c)
{
    const struct bibe_link *l = container_of((struct cla *)(uintptr_t)c, struct bibe_link, cla);
    uint64_t sending = 0, arrivals = 0, waiting = 0;
    bool kicked = alarm_due(&l->alarm) == 0 || alarm_due(&l->alarm) <= world_now(l->env.world);
    list_for_each (it, &l->sending) {
        const struct bibe_sending *s = container_of(it, struct bibe_sending, node);
        assert(s->sent <= s->bundle->len);
        assert(s->open > 0 || kicked); /* a transfer that waits for no answer has a turn */
        sending++;
    }
    list_for_each (it, &l->arrivals) {
        const struct bibe_arrival *a = container_of(it, struct bibe_arrival, node);
        assert(a->bundle == NULL || kicked || alarm_due(&l->alarm) <= a->at);
        assert(a->has_key ? a->kept == NULL : a->kept != NULL);
        waiting += !a->has_key && a->bundle != NULL ? a->kept->len : 0;
        arrivals++;
    }
    assert(sending == l->sending_len && arrivals == l->arrivals_len);
    assert(waiting == l->waiting_bytes && l->reserved == waiting + l->joins.charged);
    assert(c->limits.window >= 1 && c->limits.bundle_max == 0);
    bibe_joins_check(&l->joins);
    if (l->custody != NULL)
        custody_check(l->custody);
}
