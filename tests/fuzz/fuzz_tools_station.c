/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users send to a station (a provider of Space Link Extension with its sources and uplinks):
 * any octets on two connections, or PDUs that follow each other as they should with octets of the
 * input in them. Two octets choose what is sent, and on which connection. The station's invariants
 * are checked after each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sle/pdu.h"
#include "sle/tml.h"
#include "tests/fuzz/virtual_peer.h"
#include "tools/sle/station.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PEERS 2
#define MOVES 40

static const char *const ids[] = {
    "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "sagr=1.spack=1.rsl-fg=1.rcf=onlt1",
    "sagr=1.spack=1.rsl-fg=1.rocf=onlt1", "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"};
static const enum sle_service services[] = {SLE_RAF, SLE_RCF, SLE_ROCF, SLE_FCLTU};

static const char text[] =
    "id: STATION\nlisten: '127.0.0.1:5100'\nusers: [{id: CENTRE}, {id: OTHER}]\n"
    "sources: [{name: x, rate: 100kbit/s, frame: 64, format: aos, control_words: yes}]\n"
    "instances:\n"
    "  - {id: sagr=1.spack=1.rsl-fg=1.raf=onlc1, users: CENTRE OTHER, source: x, buffer: 4, "
    "latency: 100ms}\n"
    "  - {id: sagr=1.spack=1.rsl-fg=1.rcf=onlt1, users: CENTRE, source: x, gvcids: 1.171.*}\n"
    "  - {id: sagr=1.spack=1.rsl-fg=1.rocf=onlt1, users: CENTRE OTHER, source: x, gvcids: "
    "1.171.*}\n"
    "  - id: sagr=1.spack=1.fsl-fg=1.cltu=cltu1\n"
    "    users: CENTRE OTHER\n"
    "    cltu_buffer: 4096\n"
    "    uplink_rate: 64kbit/s\n"
    "    events: [{id: 1, actions: interrupt radiate resume, order: eb90}, {id: 2, actions: "
    "halt}]\n";

struct run {
    struct rng rng;
    struct virtual_world v;
    struct station *station;
    struct feed f;
    unsigned service[PEERS];
};

static struct raw_peer peers[PEERS];

static const struct settings *settings_once(void)
{
    static struct settings s;
    static struct conf_errors errors;
    static bool parsed;
    if (!parsed) {
        conf_errors_init(&errors, "station.yaml");
        if (settings_parse(&s, text, strlen(text), &errors) != 0) {
            fprintf(stderr, "%s\n", errors.text[0]);
            abort();
        }
        parsed = true;
    }
    return &s;
}

static void check(void *context)
{
    station_assert(((struct run *)context)->station);
}

static void connect_peer(struct run *r, struct raw_peer *p)
{
    uint8_t context[SLE_TML_CONTEXT];
    struct address at;
    peer_close(p);
    (void)address_parse("127.0.0.1:5100", &at);
    const struct stream_place place = {.address = &at};
    peer_connect(p, &r->v, &place);
    sle_tml_write_context(30, 3, context);
    peer_write(p, context, sizeof context);
}

static void write_pdu(struct run *r, unsigned i, const struct sle_pdu *pdu)
{
    static uint8_t octets[4096];
    const struct sle_dialect d = {
        .service = services[r->service[i]], .speaker = SLE_FROM_USER, .version = 5};
    const size_t n = sle_pdu_write(&d, pdu, octets + 8, sizeof octets - 8, NULL);
    if (n == 0)
        return;
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, octets);
    const uint8_t how = feed_octet(&r->f); /* one octet of it may be another one */
    if (how >= 0xc0)
        octets[8 + feed_octet(&r->f) % n] ^= feed_octet(&r->f);
    peer_write(&peers[i], octets, n + 8);
}

static void write_bind(struct run *r, unsigned i)
{
    struct sle_pdu p = {.kind = SLE_PDU_BIND};
    r->service[i] = feed_octet(&r->f) % 4;
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "%s",
             feed_octet(&r->f) & 1 ? "OTHER" : "CENTRE");
    snprintf(p.u.bind.port, sizeof p.u.bind.port, "PORT");
    p.u.bind.service = services[r->service[i]];
    p.u.bind.version = 5;
    if (sle_siid_parse(ids[r->service[i]], &p.u.bind.instance, NULL, NULL) == 0)
        write_pdu(r, i, &p);
}

static void start(struct run *r, unsigned i)
{
    struct sle_pdu p = {.kind = SLE_PDU_START, .invoke_id = feed_octet(&r->f)};
    p.u.start.quality = SLE_ALL_FRAMES;
    p.u.start.gvcid = (struct sle_gvcid){.version = 1, .scid = 171, .vcid = SLE_MASTER};
    p.u.start.first_cltu = feed_octet(&r->f) & 3;
    write_pdu(r, i, &p);
}

/* A PDU without content that matters here, of any kind. */
static void any_pdu(struct run *r, unsigned i)
{
    static const enum sle_pdu_kind kinds[] = {SLE_PDU_STOP, SLE_PDU_UNBIND, SLE_PDU_GET,
                                              SLE_PDU_SCHEDULE, SLE_PDU_PEER_ABORT};
    struct sle_pdu p = {.kind = kinds[feed_octet(&r->f) % 5], .invoke_id = feed_octet(&r->f)};
    if (p.kind == SLE_PDU_GET)
        p.u.parameter = SLE_PAR_DELIVERY_MODE;
    write_pdu(r, i, &p);
}

static void uplink(struct run *r, unsigned i)
{
    struct sle_pdu p = {.kind = SLE_PDU_CLTU, .invoke_id = feed_octet(&r->f)};
    p.u.cltu.id = feed_octet(&r->f) & 7;
    p.u.cltu.data = feed_slice(&r->f, feed_octet(&r->f));
    if (p.u.cltu.data.len > 0 && services[r->service[i]] == SLE_FCLTU)
        write_pdu(r, i, &p);
}

static void throw_event(struct run *r, unsigned i)
{
    struct sle_pdu p = {.kind = SLE_PDU_EVENT, .invoke_id = feed_octet(&r->f)};
    p.u.event.invocation = feed_octet(&r->f) & 7;
    p.u.event.event = 1 + (feed_octet(&r->f) & 3);
    p.u.event.qualifier = feed_slice(&r->f, 1 + (feed_octet(&r->f) & 3));
    if (p.u.event.qualifier.len > 0 && services[r->service[i]] == SLE_FCLTU)
        write_pdu(r, i, &p);
}

static void move(struct run *r)
{
    const uint8_t what = feed_octet(&r->f), who = feed_octet(&r->f);
    const unsigned i = who & 1;
    struct slice part;
    if (peers[i].stream == NULL)
        connect_peer(r, &peers[i]);
    switch (what % 9) {
    case 0:
        connect_peer(r, &peers[i]);
        break;
    case 1:
    case 2:
        write_bind(r, i);
        break;
    case 3:
        start(r, i);
        break;
    case 4:
        any_pdu(r, i);
        break;
    case 5:
        uplink(r, i);
        break;
    case 6:
        throw_event(r, i);
        break;
    case 7:
        part = feed_slice(&r->f, feed_octet(&r->f));
        peer_write(&peers[i], part.data, part.len);
        break;
    default:
        world_play(&r->v, feed_octet(&r->f) * 10 * TICK_MS, check, r);
        break;
    }
    if (who < 128)
        world_play(&r->v, 0, check, r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct run r = {.f = {data, data + len}};
    rng_init(&r.rng, 1);
    virtual_init(&r.v, UINT64_C(1763834391) * TICK_S, &r.rng, 0);
    memset(peers, 0, sizeof peers);
    r.station = station_open(&r.v.world, settings_once(), LEVEL_ERROR);
    assert(r.station != NULL && station_is_open(r.station));
    for (int i = 0; i < MOVES && r.f.p < r.f.end; i++)
        move(&r);
    world_play(&r.v, 100 * TICK_MS, check, &r);
    json_decref(station_json(r.station));
    for (unsigned i = 0; i < PEERS; i++)
        peer_close(&peers[i]);
    world_play(&r.v, TICK_S, check, &r);
    station_end(r.station);
    world_play(&r.v, TICK_S, NULL, NULL);
    virtual_fire_soon(&r.v);
    virtual_settle(&r.v);
    station_free(r.station);
    virtual_fini(&r.v);
    return 0;
}
