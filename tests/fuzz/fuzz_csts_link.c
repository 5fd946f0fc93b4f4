/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send: octets in pieces to a provider (first octet even) or a user (odd), of
 * Monitored Data or (its second bit) of Forward Frame (its third bit: timely), with time between
 * them. The engine's own checks hold after each piece. */
#include <assert.h>

#include "csts/forward.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct csts_oid oid_of(const char *text)
{
    struct csts_oid o = {0};
    const bool parsed = csts_oid_parse(text, &o);
    assert(parsed);
    (void)parsed;
    return o;
}

static struct csts *new_engine(bool provides)
{
    struct csts_config c = {.unix_ns = 1700000000 * TICK_S, .seed = 1, .backlog_max = 4096};
    struct sle_peer peer = {.level = SLE_AUTH_NONE};
    memcpy(c.self.id, provides ? "STATION" : "MISSION", 8);
    memcpy(peer.who.id, provides ? "MISSION" : "STATION", 8);
    struct csts *s = csts_new(&c);
    assert(s != NULL && csts_peer_set(s, &peer) == HELIO_OK);
    return s;
}

enum { USER = 1, FORWARD = 2, TIMELY = 4 };

static struct csts_instance_id instance(uint8_t how)
{
    return (struct csts_instance_id){
        .spacecraft = oid_of("1.3.112.4.7.84"),
        .facility = oid_of("1.3.112.4.6.9"),
        .type = csts_known_oid((how & FORWARD) != 0 ? CSTS_FORWARD_FRAME : CSTS_MONITORED_DATA),
        .number = 1};
}

static struct csts_service *fill(struct csts *s, uint8_t how)
{
    const struct csts_forward_config forward = {.timely = (how & TIMELY) != 0,
                                                .queue_max = 1024,
                                                .latency = 60 * TICK_MS,
                                                .units_max = 4,
                                                .resource = oid_of("1.3.112.4.4.2.1.46"),
                                                .production = CSTS_OPERATIONAL};
    const struct csts_service_config c = {.id = instance(how),
                                          .version = 1}; /* as the corpus has */
    struct csts_service *v = csts_service_new(s, &c);
    const struct csts_name parameter = {.resource = oid_of("1.3.112.4.4.2.1.46"),
                                        .instance = 2,
                                        .id = oid_of("1.3.112.4.4.2.1.46.1.7")};
    assert(v != NULL && csts_parameter_add(v, &parameter) == 0);
    assert(csts_event_add(v, &parameter) == 0);
    assert(csts_list_add(v, "all", true, &parameter.id, 1) == HELIO_OK);
    if ((how & FORWARD) != 0)
        assert(csts_forward_set(v, &forward) == HELIO_OK);
    return v;
}

/* The host's turn: a frame is radiated, or production is interrupted. */
static void work(struct csts_link *l, struct csts_service *v, uint8_t how, tick now)
{
    static const struct csts_list list = {.kind = CSTS_LIST_DEFAULT};
    static const uint8_t octets[40];
    const struct csts_unit units[] = {{1, true, slice_of(octets, 40)},
                                      {2, false, slice_of(octets, 1)}};
    struct csts_unit u;
    if (v == NULL && (how & FORWARD) != 0) {
        (void)csts_start_forward(l, now);
        (void)csts_send_frames(l, units, 1 + now / TICK_MS % 2, now);
    } else if (v == NULL && csts_link_state(l) == CSTS_BOUND) {
        (void)csts_start_report(l, 0, 100, true, &list, now);
    } else if (v != NULL && (how & FORWARD) != 0) {
        if (csts_forward_next(v, &u, now) && u.id % 4 != 3)
            csts_forward_done(v, u.id % 4 != 2, now);
        csts_forward_production(v, CSTS_INTERRUPTED, now);
        csts_forward_production(v, CSTS_OPERATIONAL, now);
    } else if (v != NULL) {
        (void)csts_event_raise(v, 0, slice_of(NULL, 0), now);
    }
}

static void settle(struct csts *s, struct csts_link *l, tick now)
{
    struct csts_notice n;
    struct slice part;
    struct csts_link *due;
    while (csts_link_poll(l, &n, now))
        ;
    while (csts_link_output(l, &part, 1, now) > 0)
        csts_link_wrote(l, part.len > 3 ? part.len / 2 : part.len, now);
    while (csts_expire(s, &due, now))
        ;
    csts_check(s);
    csts_check_served(s, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    tick now = TICK_S;
    if (len < 2)
        return 0;
    const uint8_t how = data[0];
    const bool provides = (how & USER) == 0;
    const struct csts_user_config user = {
        .responder = "STATION", .port = "MD", .id = instance(how), .version = 1};
    const size_t piece = 1u + data[1];
    struct csts *s = new_engine(provides);
    struct csts_service *v = provides ? fill(s, how) : NULL;
    struct csts_link *l = provides ? csts_accept(s, now) : csts_connect(s, &user, now);
    assert(l != NULL);
    settle(s, l, now);
    for (size_t at = 2; at < len && csts_link_reads(l);) {
        size_t room;
        uint8_t *space = csts_link_space(l, &room);
        size_t n = len - at < piece ? len - at : piece;
        n = n < room ? n : room;
        memcpy(space, data + at, n);
        csts_link_fed(l, n, now);
        at += n;
        settle(s, l, now);
        now += 50 * TICK_MS;
        work(l, v, how, now);
        settle(s, l, now);
    }
    csts_link_closed(l, now);
    settle(s, l, now + 1000 * TICK_S);
    csts_free(s);
    return 0;
}
