/* SPDX-License-Identifier: Apache-2.0 */
/* A provider and a user of Monitored Data, joined in memory, in virtual time. */
#ifndef TESTS_UNIT_CSTS_PAIR_H
#define TESTS_UNIT_CSTS_PAIR_H

#include "base/rng.h"
#include "csts/engine.h"
#include "sle/tml.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"

#define RESOURCE "1.3.112.4.4.2.1.46"
enum { TOLD_MAX = 512, REPORT_MAX = 4096 };

struct side {
    struct csts *csts;
    struct csts_link *link;
    struct csts_notice last; /* of each kind the slices are gone: what is needed is copied */
    enum csts_notice_kind told[TOLD_MAX];
    size_t told_len;
    uint32_t reports, values; /* received; values in the last one */
    uint32_t sequence;
    uint8_t number; /* the last octet of the last value */
    struct csts_list_diag refused;
    struct csts_processing processing; /* of the last notification of data processing */
    unsigned processings;
    enum csts_refusal_kind refused_kind;
    char text[64];
    void (*note)(const struct csts_notice *n); /* while its slices are there; NULL: nothing */
};
struct pair {
    struct side provider, user;
    struct csts_service *service;
    tick now;
    bool blocked; /* nothing passes from the provider to the user */
    size_t piece; /* octets that pass at once */
};

static inline struct csts_oid oid_of(const char *text)
{
    struct csts_oid o;
    ck_assert(csts_oid_parse(text, &o));
    return o;
}

static inline struct csts_name name_of(uint32_t instance, const char *id)
{
    return (struct csts_name){.resource = oid_of(RESOURCE), .instance = instance, .id = oid_of(id)};
}

static inline struct csts *new_engine(const char *self, const char *other,
                                      enum sle_auth_level level)
{
    struct csts_config c = {.hash = mix_octets, .unix_ns = 1700000000 * TICK_S, .seed = 1};
    struct sle_peer peer = {.level = level};
    snprintf(c.self.id, sizeof c.self.id, "%s", self);
    snprintf(peer.who.id, sizeof peer.who.id, "%s", other);
    ck_assert(sle_password_read("00112233", &c.self) && sle_password_read("00112233", &peer.who));
    c.backlog_max = 64 << 10;
    c.return_timeout_s = 30;
    struct csts *s = csts_new(&c);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(csts_peer_set(s, &peer), HELIO_OK);
    return s;
}

static inline struct csts_instance_id instance_of(uint32_t number)
{
    return (struct csts_instance_id){.spacecraft = oid_of("1.3.112.4.7.84"),
                                     .facility = oid_of("1.3.112.4.6.9"),
                                     .type = csts_known_oid(CSTS_MONITORED_DATA),
                                     .number = number};
}

/* Parameters 1 and 2 of two instances, of which 1 is in the default list; an event. */
static inline void fill_service(struct csts_service *v)
{
    const struct csts_oid one = oid_of(RESOURCE ".1.1");
    for (uint32_t i = 1; i <= 2; i++) {
        const struct csts_name first = name_of(i, RESOURCE ".1.1"),
                               second = name_of(i, RESOURCE ".1.2");
        ck_assert_int_ge(csts_parameter_add(v, &first), 0);
        ck_assert_int_ge(csts_parameter_add(v, &second), 0);
    }
    const struct csts_name again = name_of(1, RESOURCE ".1.1"), event = name_of(1, RESOURCE ".2.1");
    ck_assert_int_eq(csts_parameter_add(v, &again), HELIO_EINVAL);
    ck_assert_int_eq(csts_event_add(v, &event), 0);
    ck_assert_int_eq(csts_list_add(v, "first", true, &one, 1), HELIO_OK);
    ck_assert_int_eq(csts_list_add(v, "other", true, &one, 1), HELIO_EINVAL);
}

static inline void set_value(struct pair *p, int index, uint8_t number, bool changes)
{
    const uint8_t octets[] = {2, 1, number};
    uint8_t values[64];
    bool changed;
    const struct csts_value v = {CSTS_VALID, {oid_of(RESOURCE ".1.1.1"), slice_of(octets, 3)}};
    const size_t n = csts_values_write(&v, 1, values, sizeof values);
    ck_assert_int_eq(csts_parameter_set(p->service, index, slice_of(values, n), &changed), 0);
    ck_assert_int_eq(changed, changes);
}

static inline struct pair new_pair(enum sle_auth_level level)
{
    struct pair p = {.now = 5 * TICK_S, .piece = SIZE_MAX};
    p.provider.csts = new_engine("STATION", "MISSION", level);
    p.user.csts = new_engine("MISSION", "STATION", level);
    const struct csts_service_config c = {.id = instance_of(1), .initiator = "MISSION"};
    p.service = csts_service_new(p.provider.csts, &c);
    ck_assert_ptr_nonnull(p.service);
    ck_assert_ptr_null(csts_service_new(p.provider.csts, &c));
    fill_service(p.service);
    return p;
}

static inline void free_pair(struct pair *p)
{
    csts_free(p->provider.csts);
    csts_free(p->user.csts);
}

static inline void note_report(struct side *s, const struct csts_notice *n)
{
    struct slice rest = n->report.parameters;
    struct csts_parameter parameter;
    struct csts_value value;
    for (s->values = 0; csts_parameters_next(&rest, &parameter); s->values++)
        if (csts_values_next(&parameter.values, &value) && value.state == CSTS_VALID)
            s->number = value.pdv.data.data[value.pdv.data.len - 1];
}

static inline void note(struct side *s, const struct csts_notice *n)
{
    struct csts_refusal r;
    ck_assert_uint_lt(s->told_len, TOLD_MAX);
    s->told[s->told_len++] = n->kind;
    s->last = *n;
    if (s->note != NULL)
        s->note(n);
    if (n->kind == CSTS_TOLD_REPORT) {
        s->reports++;
        s->sequence = n->pdu.u.transfer.sequence;
    }
    if (n->kind == CSTS_TOLD_PROCESSED) {
        s->processings++;
        s->processing = n->processing;
    }
    if (n->kind == CSTS_TOLD_REPORT || (n->kind == CSTS_TOLD_VALUES && n->pdu.positive))
        note_report(s, n);
    if (!n->pdu.positive && n->pdu.diagnostic.kind == CSTS_DIAGNOSTIC_EXTENSION &&
        csts_refusal_read(&n->pdu.diagnostic.pdv, &r)) {
        s->refused = r.list;
        s->refused_kind = r.kind;
        snprintf(s->text, sizeof s->text, "%.*s", (int)r.text.len, (const char *)r.text.data);
    }
}

static inline void poll_side(struct side *s, tick now)
{
    struct csts_notice n;
    while (s->link != NULL && csts_link_poll(s->link, &n, now))
        note(s, &n);
    csts_check(s->csts);
}

/* One piece from the one to the other; false: there is none. */
static inline bool pass(struct pair *p, struct side *from, struct side *to)
{
    struct slice part;
    size_t room;
    if (from->link == NULL || to->link == NULL || !csts_link_reads(to->link) ||
        csts_link_output(from->link, &part, 1, p->now) == 0)
        return false;
    uint8_t *space = csts_link_space(to->link, &room);
    if (space == NULL) /* memory is out: later */
        return false;
    size_t n = part.len < room ? part.len : room;
    n = n < p->piece ? n : p->piece;
    memcpy(space, part.data, n);
    csts_link_wrote(from->link, n, p->now);
    csts_link_fed(to->link, n, p->now);
    poll_side(to, p->now);
    return true;
}

static inline void end_streams(struct pair *p)
{
    struct side *sides[] = {&p->provider, &p->user};
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = sides[i], *o = sides[1 - i];
        if (s->link == NULL || o->link == NULL)
            continue;
        if (csts_link_stream(s->link) == SLE_STREAM_ABORT && csts_link_state(o->link) != CSTS_ENDED)
            csts_link_urgent(o->link, csts_link_abort_octet(s->link), p->now);
        else if (csts_link_stream(s->link) != SLE_STREAM_KEEP &&
                 csts_link_state(o->link) != CSTS_ENDED)
            csts_link_closed(o->link, p->now);
        poll_side(o, p->now);
    }
}

static inline void pump(struct pair *p)
{
    bool more = true;
    poll_side(&p->provider, p->now);
    poll_side(&p->user, p->now);
    while (more) {
        more = pass(p, &p->user, &p->provider);
        if (!p->blocked)
            more = pass(p, &p->provider, &p->user) || more;
    }
    end_streams(p);
}

static inline void expire_side(struct side *s, tick now)
{
    struct csts_link *l;
    while (csts_expire(s->csts, &l, now))
        poll_side(s, now);
    csts_check_served(s->csts, now);
}

/* Time passes, with all that is due in it. */
static inline void run_until(struct pair *p, tick end)
{
    for (;;) {
        const tick a = csts_deadline(p->provider.csts), b = csts_deadline(p->user.csts);
        const tick due = a < b ? a : b;
        if (due > end)
            break;
        p->now = due > p->now ? due : p->now;
        expire_side(&p->provider, p->now);
        expire_side(&p->user, p->now);
        pump(p);
    }
    p->now = end;
}

static inline void connect_to(struct pair *p, const char *port, struct csts_instance_id id)
{
    struct csts_user_config c = {.responder = "STATION", .id = id};
    snprintf(c.port, sizeof c.port, "%s", port);
    p->user.link = csts_connect(p->user.csts, &c, p->now);
    p->provider.link = csts_accept(p->provider.csts, p->now);
    ck_assert(p->user.link != NULL && p->provider.link != NULL);
    pump(p);
}

static inline void connect_pair(struct pair *p, uint32_t number)
{
    connect_to(p, "MD", instance_of(number));
}

/* An instance of Forward Frame. */
static inline struct csts_instance_id frames_of(uint32_t number)
{
    struct csts_instance_id id = instance_of(number);
    id.type = csts_known_oid(CSTS_FORWARD_FRAME);
    return id;
}

static inline void bind_frames(struct pair *p, uint32_t number)
{
    connect_to(p, "FF", frames_of(number));
    ck_assert_int_eq(csts_link_state(p->user.link), CSTS_BOUND);
}

/* A PDU that the other side does not send. */
static inline void feed_pdu(struct side *to, const struct csts_pdu *pdu, tick now)
{
    uint8_t octets[1024];
    size_t room;
    const size_t n = csts_pdu_write(pdu, octets + SLE_TML_HEADER, sizeof octets - SLE_TML_HEADER);
    ck_assert_uint_gt(n, 0);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, octets);
    memcpy(csts_link_space(to->link, &room), octets, SLE_TML_HEADER + n);
    csts_link_fed(to->link, SLE_TML_HEADER + n, now);
    poll_side(to, now);
}

static inline struct pair bound_pair(void)
{
    struct pair p = new_pair(SLE_AUTH_ALL);
    connect_pair(&p, 1);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    ck_assert_int_eq(csts_link_state(p.provider.link), CSTS_BOUND);
    return p;
}

static const struct csts_list by_default = {.kind = CSTS_LIST_DEFAULT};

#endif
