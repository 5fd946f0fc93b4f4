/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link of Space Link Extension: an ISP1 link (sle/isp1.h) and the instance for which it is bound.
 * When the ISP1 link ends, the two are parted.
 */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

const char *sle_state_text(enum sle_state state)
{
    static const char *const texts[] = {"unbound", "binding",  "ready",     "starting",
                                        "active",  "stopping", "unbinding", "ended"};
    assert(state <= SLE_ENDED);
    return texts[state];
}

const char *sle_end_text(enum sle_end end)
{
    static const char *const texts[] = {"unbound",
                                        "the BIND was refused",
                                        "credentials were wrong",
                                        "aborted by this side",
                                        "aborted by peer",
                                        "the transport mapping's rules",
                                        "the connection has ended",
                                        "out of memory",
                                        "credentials of another association: a replay"};
    assert(end <= SLE_END_REPLAY);
    return texts[end];
}

const char *sle_notice_text(enum sle_notice_kind kind)
{
    static const char *const texts[] = {
        "bound",     "unbound",     "over",          "started by user", "stopped by user",
        "room",      "CLTU ready",  "CLTUs cleared", "event thrown",    "started",
        "stopped",   "frame",       "sync",          "status",          "scheduled",
        "parameter", "CLTU answer", "event answer",  "notified"};
    static_assert(sizeof texts / sizeof texts[0] == SLE_NOTICE_COUNT, "a text for each");
    assert(kind < SLE_NOTICE_COUNT);
    return texts[kind];
}

static void end_link(struct isp1_link *isp, tick now);
static void take_written(struct isp1_link *isp, struct out *o, tick now);
static void take_dropped(struct isp1_link *isp, struct out *o);

const struct isp1_service link_service = {.take_pdu = link_take_pdu,
                                          .ended = end_link,
                                          .written = take_written,
                                          .dropped = take_dropped,
                                          .return_timeout = SLE_ABORT_RETURN_TIMEOUT};

static void take_written(struct isp1_link *isp, struct out *o, tick now)
{
    buffer_written(container_of(isp, struct sle_link, isp), o, now);
}

static void take_dropped(struct isp1_link *isp, struct out *o)
{
    buffer_dropped(container_of(isp, struct sle_link, isp)->instance, o);
}

static struct sle_link *new_link(struct sle *s, tick now)
{
    struct sle_link *l = calloc(1, sizeof *l);
    if (l == NULL || !isp1_link_init(&l->isp, &s->isp, 0, now)) {
        free(l);
        return NULL;
    }
    l->sle = s;
    l->isp.by_version = SLE_SHA1;
    l->dialect_in.version = l->dialect_out.version = SLE_VERSION_MIN;
    l->dialect_in.any_bind = true;
    l->first_id = l->next_id = 1;
    assert(l->state == SLE_UNBOUND_STATE && l->instance == NULL && s->isp.link_count >= 1);
    return l;
}

struct sle_link *sle_accept(struct sle *s, tick now)
{
    struct sle_link *l = new_link(s, now);
    if (l != NULL)
        isp1_accept(&l->isp, now);
    return l;
}

struct isp1_link *sle_link_isp1(struct sle_link *l)
{
    return &l->isp;
}

void sle_link_use(struct sle_link *l, void *host)
{
    l->isp.host = host;
}

void *sle_link_host(const struct sle_link *l)
{
    return l->isp.host;
}

void link_speak(struct sle_link *l, uint8_t version)
{
    l->dialect_out.version = version;
    l->isp.by_version = version >= 5 ? SLE_SHA256 : SLE_SHA1;
}

void link_attach(struct sle_link *l, struct sle_instance *i, uint8_t version)
{
    assert(i->link == NULL && l->instance == NULL);
    assert(version >= SLE_VERSION_MIN && version <= SLE_VERSION_MAX);
    i->link = l;
    l->instance = i;
    l->dialect_in = l->dialect_out =
        (struct sle_dialect){.service = i->service, .version = version};
    l->dialect_in.speaker = i->provides ? SLE_FROM_USER : SLE_FROM_PROVIDER;
    l->dialect_out.speaker = i->provides ? SLE_FROM_PROVIDER : SLE_FROM_USER;
    link_speak(l, version);
    l->isp.instance_counts = (uint64_t *)&i->counts;
    l->isp.forgets = !i->provides;
    l->isp.answers_max = i->provides ? ANSWERS_MAX : 0;
}

static bool may_initiate(const struct sle_instance *i)
{
    if (i->link != NULL)
        return false;
    return i->provides ? i->p.c.initiate && i->service != SLE_FCLTU : !i->u.c.respond;
}

struct sle_link *sle_connect(struct sle_instance *i, tick now)
{
    struct isp1_peer *peer = isp1_peer(&i->sle->isp, i->initiators[0]);
    if (!may_initiate(i) || peer == NULL)
        return NULL;
    struct sle_link *l = new_link(i->sle, now);
    if (l == NULL)
        return NULL;
    unsigned version = SLE_VERSION_MAX;
    while ((i->versions >> version & 1) == 0)
        version--;
    link_attach(l, i, (uint8_t)version);
    if (isp1_connect(&l->isp, peer, now) != HELIO_OK) {
        sle_link_free(l);
        return NULL;
    }
    bind_send(l, now);
    assert(l->state == SLE_BINDING || l->state == SLE_ENDED);
    return l;
}

/* Parts the link from its instance. */
static void leave_instance(struct sle_link *l, tick now)
{
    struct sle_instance *i = l->instance;
    if (i == NULL || i->link != l)
        return;
    if (i->provides)
        provider_leave(i, now);
    i->u.in_flight = i->u.cltus = 0;
    i->u.resync = false;
    i->p.queued = 0;
    i->link = NULL;
    assert(i->p.fill == NULL && !i->p.refused);
}

static void end_link(struct isp1_link *isp, tick now)
{
    struct sle_link *l = container_of(isp, struct sle_link, isp);
    l->state = SLE_ENDED;
    l->buffer = slice_of(NULL, 0);
    leave_instance(l, now);
    assert(l->instance == NULL || l->instance->link != l);
}

void sle_link_free(struct sle_link *l)
{
    l->state = SLE_ENDED;
    isp1_link_fini(&l->isp);
    free(l->awaited);
    free(l);
}

void sle_link_abort(struct sle_link *l, enum sle_abort diagnostic, tick now)
{
    if (l->state == SLE_ENDED)
        return;
    if (link_bound(l) || l->state == SLE_UNBINDING)
        link_abort(l, SLE_END_ABORTED, (unsigned)diagnostic & 0xff, now);
    else
        isp1_end(&l->isp, SLE_END_ABORTED, SLE_STREAM_RESET, (unsigned)diagnostic, now);
}

void sle_link_urgent(struct sle_link *l, uint8_t octet, tick now)
{
    isp1_urgent(&l->isp, octet, now);
}

void sle_link_closed(struct sle_link *l, tick now)
{
    (void)now;
    isp1_closed(&l->isp);
}

enum sle_state sle_link_state(const struct sle_link *l)
{
    return l->state;
}

struct sle_instance *sle_link_instance(const struct sle_link *l)
{
    return l->instance;
}

const char *sle_link_peer(const struct sle_link *l)
{
    return l->isp.peer_id;
}

uint8_t sle_link_version(const struct sle_link *l)
{
    return l->instance == NULL ? 0 : l->dialect_in.version;
}

enum sle_stream sle_link_stream(const struct sle_link *l)
{
    return l->isp.stream;
}

uint8_t sle_link_abort_octet(const struct sle_link *l)
{
    assert(l->isp.stream == SLE_STREAM_ABORT);
    return (uint8_t)l->isp.abort;
}

struct sle_notice *link_notice(struct sle_link *l, enum sle_notice_kind kind)
{
    assert(l->notice_count < NOTICES_MAX);
    struct sle_notice *n = &l->notices[l->notice_count++];
    memset(n, 0, sizeof *n);
    n->kind = kind;
    l->isp.notices++;
    return n;
}

/* ---- times ---- */

static tick return_due(const struct sle_link *l)
{
    return l->awaited_count == 0 ? TICK_NEVER : l->awaited[l->first_id & (l->awaited_room - 1)].due;
}

tick link_due(const struct sle_link *l, unsigned kind)
{
    if (kind == KEPT_RETURN)
        return l->state == SLE_ENDED ? TICK_NEVER : return_due(l);
    if (kind == KEPT_ASSOCIATE) /* the agenda alone knows until when */
        return l->state == SLE_BINDING || l->state == SLE_UNBINDING ? TICK_NEVER - 1 : TICK_NEVER;
    return isp1_due(&l->isp, kind);
}

bool link_serve(struct sle_link *l, unsigned kind, tick now)
{
    if (kind != KEPT_RETURN)
        return isp1_serve(&l->isp, kind, now);
    if (return_due(l) > now) { /* the one it was kept for has come */
        kept_set(&l->sle->isp, link_kept(&l->isp, kind), return_due(l));
        return false;
    }
    link_abort(l, SLE_END_ABORTED, SLE_ABORT_RETURN_TIMEOUT, now);
    return true;
}
