/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link against any octets: a provider of RAF or FCLTU, or a user of either (the first octet's
 * choice), bound by itself so that the octets come to what is behind; each time the engine's own
 * checks.
 */
#include <assert.h>
#include <stdio.h>

#include "sle/provider.h"
#include "sle/user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define RAF_ID "sagr=A.spack=B.rsl-fg=C.raf=onlt1"
#define CLTU_ID "sagr=A.spack=B.fsl-fg=C.cltu=cltu1"

static void feed_link(struct sle_link *l, const uint8_t *data, size_t len, tick now)
{
    struct sle_notice n;
    struct slice part;
    do {
        size_t room, k = 0;
        if (len > 0 && sle_link_reads(l)) {
            uint8_t *p = sle_link_space(l, &room);
            k = room < len ? room : len;
            memcpy(p, data, k);
            sle_link_fed(l, k, now);
            data += k;
            len -= k;
        }
        while (sle_link_poll(l, &n, now)) {
            struct sle_instance *i = sle_link_instance(l);
            struct sle_cltu_out out;
            if (n.kind == SLE_CLTU_READY && sle_provider_cltu_next(i, &out, now))
                sle_provider_cltu_radiated(i, sle_time_of(now), now);
            if (n.kind == SLE_EVENT_THROWN)
                sle_provider_answer_event(i, n.invoke_id, SLE_OK, now);
        }
        while (sle_link_output(l, &part, 1, now) > 0)
            sle_link_wrote(l, part.len, now);
    } while (len > 0 && sle_link_state(l) != SLE_ENDED && sle_link_reads(l));
}

static void feed_pdu(struct sle_link *l, const struct sle_dialect *d, const struct sle_pdu *p)
{
    uint8_t octets[1024];
    size_t n = sle_pdu_write(d, p, octets + 8, sizeof octets - 8, NULL);
    assert(n > 0);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, octets);
    feed_link(l, octets, n + 8, 1);
}

static struct sle_link *bind_provider(struct sle *s, const char *id, enum sle_service service)
{
    static const char *const initiators[] = {"PEER"};
    struct sle_provider_config c = {
        .id = id, .initiators = initiators, .initiator_count = 1, .cltu_buffer = 9000};
    struct sle_dialect d = {.service = service, .speaker = SLE_FROM_USER, .version = 5};
    struct sle_pdu p = {.kind = SLE_PDU_BIND};
    struct sle_instance *i;
    uint8_t context[SLE_TML_CONTEXT];
    if (sle_provider_add(s, &c, &i) != HELIO_OK)
        return NULL;
    struct sle_link *l = sle_accept(s, 1);
    sle_tml_write_context(30, 3, context);
    feed_link(l, context, sizeof context, 1);
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "PEER");
    snprintf(p.u.bind.port, sizeof p.u.bind.port, "PORT");
    p.u.bind.service = service;
    p.u.bind.version = 5;
    assert(sle_siid_parse(id, &p.u.bind.instance, NULL, NULL) == HELIO_OK);
    feed_pdu(l, &d, &p);
    assert(sle_link_state(l) == SLE_READY);
    return l;
}

static struct sle_link *bind_user(struct sle *s, const char *id, enum sle_service service)
{
    struct sle_user_config c = {.id = id, .responder = "PEER", .responder_port = "PORT"};
    struct sle_dialect d = {.service = service, .speaker = SLE_FROM_PROVIDER, .version = 5};
    struct sle_pdu p = {.kind = SLE_PDU_BIND_RETURN},
                   started = {.kind = SLE_PDU_START_RETURN, .invoke_id = 1};
    struct sle_instance *i;
    if (sle_user_add(s, &c, &i) != HELIO_OK)
        return NULL;
    struct sle_link *l = sle_connect(i, 1);
    snprintf(p.u.bind_return.responder, sizeof p.u.bind_return.responder, "PEER");
    p.u.bind_return.positive = true;
    p.u.bind_return.version = 5;
    feed_pdu(l, &d, &p);
    assert(sle_user_start(i, &(struct sle_start){.quality = SLE_ALL_FRAMES}, 1) == HELIO_OK);
    feed_pdu(l, &d, &started);
    assert(sle_link_state(l) == SLE_ACTIVE);
    for (int k = 0; k < 3; k++)
        (void)sle_user_get(i, SLE_PAR_DELIVERY_MODE, 1);
    if (service == SLE_FCLTU)
        (void)sle_user_cltu(i, &(struct sle_cltu){.data = slice_of("abc", 3)}, NULL, 1);
    return l;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sle_config c = {.self = {.id = "SELF"}, .unix_ns = UINT64_C(1763834391000000000)};
    struct sle_peer peer = {.who = {.id = "PEER"}};
    if (len < 1)
        return 0;
    struct sle *s = sle_new(&c);
    assert(s != NULL && sle_peer_set(s, &peer) == HELIO_OK);
    const char *id = (data[0] & 1) != 0 ? RAF_ID : CLTU_ID;
    enum sle_service service = (data[0] & 1) != 0 ? SLE_RAF : SLE_FCLTU;
    struct sle_link *l = (data[0] & 2) != 0   ? bind_provider(s, id, service)
                         : (data[0] & 4) != 0 ? sle_accept(s, 1)
                                              : bind_user(s, id, service);
    assert(l != NULL);
    feed_link(l, data + 1, len - 1, 1);
    sle_check(s);
    for (int k = 0; k < 4 && sle_deadline(s) != TICK_NEVER; k++) {
        tick now = sle_deadline(s);
        struct sle_due due;
        while (sle_expire(s, &due, now))
            assert(due.link == l || due.instance != NULL);
        sle_check_served(s, now);
        feed_link(l, NULL, 0, now);
        sle_check(s);
    }
    sle_free(s);
    return 0;
}
