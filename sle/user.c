/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user: invocations out, returns and data in. Each invocation has the next id, and a place in a
 * ring by that id until it is answered; all wait equally long, so that the oldest one is the first
 * to time out.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sle/engine_private.h"

enum { RING_MIN = 64, RING_MAX = 65536, FIRST_WINDOW = 65536 };

/* ---- the ring ---- */

static struct awaited *awaited_at(struct sle_link *l, uint16_t id)
{
    return &l->awaited[id & (l->awaited_room - 1)];
}

static int grow_ring(struct sle_link *l)
{
    uint32_t room = l->awaited_room == 0 ? RING_MIN : 2 * l->awaited_room;
    assert((room & (room - 1)) == 0);
    if (room > RING_MAX)
        return HELIO_EAGAIN;
    struct awaited *ring = calloc(room, sizeof *ring);
    if (ring == NULL)
        return HELIO_ENOMEM;
    for (uint16_t id = l->first_id; id != l->next_id; id++)
        ring[id & (room - 1)] = *awaited_at(l, id);
    free(l->awaited);
    l->awaited = ring;
    l->awaited_room = room;
    return HELIO_OK;
}

/* Sends an invocation; *cltu: of TRANSFER-DATA. */
static int invoke(struct sle_link *l, struct sle_pdu *p, tick now)
{
    uint32_t used = (uint16_t)(l->next_id - l->first_id);
    if (used == UINT16_MAX)
        return HELIO_EAGAIN;
    if (used == l->awaited_room || l->awaited_room == 0) {
        int e = grow_ring(l);
        if (e != HELIO_OK)
            return e;
    }
    p->invoke_id = l->next_id;
    int e = link_send(l, p, now);
    if (e != HELIO_OK)
        return e;
    struct awaited *a = awaited_at(l, l->next_id++);
    assert(a->kind == 0);
    a->kind = (uint8_t)p->kind;
    a->due = tick_add(now, l->instance->return_timeout_s * TICK_S);
    l->awaited_count++;
    kept_by(&l->sle->isp, link_kept(&l->isp, KEPT_RETURN), a->due);
    assert(l->awaited_count <= (uint16_t)(l->next_id - l->first_id));
    return HELIO_OK;
}

/* Takes what was awaited under this id out to *a; false: nothing was, or something else. */
static bool take_awaited(struct sle_link *l, const struct sle_pdu *p, enum sle_pdu_kind kind,
                         struct awaited *a)
{
    uint16_t behind = (uint16_t)(p->invoke_id - l->first_id);
    if (l->awaited_count == 0 || behind >= (uint16_t)(l->next_id - l->first_id))
        return false;
    struct awaited *place = awaited_at(l, p->invoke_id);
    if (place->kind != kind)
        return false;
    *a = *place;
    place->kind = 0;
    l->awaited_count--;
    while (l->first_id != l->next_id && awaited_at(l, l->first_id)->kind == 0)
        l->first_id++;
    assert((l->awaited_count == 0) == (l->first_id == l->next_id));
    return true;
}

/* ---- operations ---- */

static bool start_ok(const struct sle_instance *i, const struct sle_start *s)
{
    switch (i->service) {
    case SLE_RAF:
        return s->quality <= SLE_ALL_FRAMES;
    case SLE_RCF:
        return sle_gvcid_ok(s->gvcid);
    case SLE_ROCF:
        return sle_gvcid_ok(s->gvcid) && s->word <= SLE_NOT_CLCW &&
               (s->tc_vcid <= 63 || s->tc_vcid == SLE_TC_VC_NONE) && s->update <= SLE_CHANGE_BASED;
    case SLE_FCLTU:
        return true;
    }
    return false;
}

static struct sle_link *link_in(const struct sle_instance *i, bool ready, bool active)
{
    struct sle_link *l = i->link;
    if (i->provides || l == NULL)
        return NULL;
    return (ready && l->state == SLE_READY) || (active && l->state == SLE_ACTIVE) ? l : NULL;
}

static bool is_crowded(const struct sle_instance *i, const struct sle_link *l)
{
    return l->awaited_count - i->u.cltus >= i->u.c.outstanding_max;
}

int sle_user_start(struct sle_instance *i, const struct sle_start *start, tick now)
{
    struct sle_link *l = link_in(i, true, false);
    struct sle_pdu p = {.kind = SLE_PDU_START, .u.start = *start};
    if (l == NULL)
        return HELIO_ESTOPPED;
    if (!start_ok(i, start))
        return HELIO_EINVAL;
    int e = invoke(l, &p, now);
    if (e != HELIO_OK)
        return e;
    assert(l->state == SLE_READY);
    l->state = SLE_STARTING;
    i->u.next_cltu = start->first_cltu;
    return HELIO_OK;
}

int sle_user_stop(struct sle_instance *i, tick now)
{
    struct sle_link *l = link_in(i, false, true);
    struct sle_pdu p = {.kind = SLE_PDU_STOP};
    if (l == NULL)
        return HELIO_ESTOPPED;
    int e = invoke(l, &p, now);
    if (e == HELIO_OK)
        l->state = SLE_STOPPING;
    return e;
}

int sle_user_unbind(struct sle_instance *i, enum sle_unbind reason, tick now)
{
    return i->provides ? HELIO_ESTOPPED : unbind_send(i, reason, now);
}

static int operate(struct sle_instance *i, struct sle_pdu *p, tick now)
{
    struct sle_link *l = link_in(i, true, true);
    if (l == NULL)
        return HELIO_ESTOPPED;
    return is_crowded(i, l) ? HELIO_EAGAIN : invoke(l, p, now);
}

int sle_user_schedule(struct sle_instance *i, const struct sle_schedule *schedule, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_SCHEDULE, .u.schedule = *schedule};
    return schedule->report > SLE_REPORT_STOP ? HELIO_EINVAL : operate(i, &p, now);
}

int sle_user_get(struct sle_instance *i, enum sle_parameter parameter, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_GET, .u.parameter = parameter};
    return (unsigned)parameter > UINT16_MAX ? HELIO_EINVAL : operate(i, &p, now);
}

int sle_user_event(struct sle_instance *i, const struct sle_event *event, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_EVENT, .u.event = *event};
    if (i->service != SLE_FCLTU || event->event < 1 || event->event > UINT16_MAX ||
        event->qualifier.len < 1 || event->qualifier.len > SLE_QUALIFIER_MAX)
        return HELIO_EINVAL;
    return operate(i, &p, now);
}

uint64_t sle_user_cltu_room(const struct sle_instance *i)
{
    const struct user *u = &i->u;
    return u->available > u->in_flight ? u->available - u->in_flight : 0;
}

int sle_user_cltu(struct sle_instance *i, const struct sle_cltu *cltu, uint32_t *id, tick now)
{
    struct sle_link *l = link_in(i, false, true);
    struct user *u = &i->u;
    struct sle_pdu p = {.kind = SLE_PDU_CLTU, .u.cltu = *cltu};
    size_t len = cltu->data.len;
    if (i->service != SLE_FCLTU || len < 1 || len > SLE_FRAME_MAX)
        return HELIO_EINVAL;
    if (l == NULL)
        return HELIO_ESTOPPED;
    if (u->resync || u->cltus >= u->c.cltus_max ||
        (u->cltus > 0 && !u->c.cltu_blind && sle_user_cltu_room(i) < len))
        return HELIO_EAGAIN;
    p.u.cltu.id = u->next_cltu;
    int e = invoke(l, &p, now);
    if (e != HELIO_OK)
        return e;
    struct awaited *a = awaited_at(l, p.invoke_id);
    a->cltu_id = u->next_cltu++;
    a->octets = (uint32_t)len;
    u->in_flight += len;
    u->cltus++;
    if (id != NULL)
        *id = a->cltu_id;
    return HELIO_OK;
}

/* ---- returns ---- */

static void take_start_return(struct sle_link *l, const struct sle_pdu *p)
{
    struct user *u = &l->instance->u;
    assert(l->state == SLE_STARTING);
    struct sle_notice *n = link_notice(l, SLE_STARTED);
    n->diag = p->diag;
    n->invoke_id = p->invoke_id;
    n->u.start_return = p->u.start_return;
    l->state = p->diag == SLE_OK ? SLE_ACTIVE : SLE_READY;
    u->available = FIRST_WINDOW;
    u->in_flight = u->cltus = 0;
    u->resync = false;
}

static void take_stop_return(struct sle_link *l, const struct sle_pdu *p)
{
    assert(l->state == SLE_STOPPING);
    struct sle_notice *n = link_notice(l, SLE_STOPPED);
    n->diag = p->diag;
    n->invoke_id = p->invoke_id;
    l->state = p->diag == SLE_OK ? SLE_READY : SLE_ACTIVE;
}

static void take_cltu_return(struct sle_link *l, const struct sle_pdu *p, const struct awaited *a)
{
    struct user *u = &l->instance->u;
    struct sle_notice *n = link_notice(l, SLE_CLTU_ANSWER);
    n->diag = p->diag;
    n->invoke_id = p->invoke_id;
    n->cltu_id = a->cltu_id;
    n->u.cltu_return = p->u.cltu_return;
    u->available = p->u.cltu_return.buffer_available;
    if (u->cltus == 0)
        return; /* of before the last START */
    u->in_flight -= a->octets < u->in_flight ? a->octets : u->in_flight;
    u->cltus--;
    if (p->diag == SLE_OK) {
        COUNT(l, cltus, 1);
    } else {
        COUNT(l, cltus_refused, 1);
        u->resync = true;
    }
    if (u->cltus == 0 && u->resync) {
        u->resync = false;
        u->next_cltu = p->u.cltu_return.next_id;
    }
}

static void take_answer(struct sle_link *l, const struct sle_pdu *p, enum sle_notice_kind kind)
{
    struct sle_notice *n = link_notice(l, kind);
    n->diag = p->diag;
    n->invoke_id = p->invoke_id;
    if (kind == SLE_PARAMETER)
        n->u.value = p->u.value;
    if (kind == SLE_EVENT_ANSWER)
        n->u.event_return = p->u.event_return;
}

static void take_return(struct sle_link *l, const struct sle_pdu *p, tick now)
{
    struct awaited a;
    if (!take_awaited(l, p, (enum sle_pdu_kind)(p->kind - 1), &a)) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    if (p->diag != SLE_OK)
        COUNT(l, returns_negative, 1);
    switch (p->kind) {
    case SLE_PDU_START_RETURN:
        take_start_return(l, p);
        break;
    case SLE_PDU_STOP_RETURN:
        take_stop_return(l, p);
        break;
    case SLE_PDU_CLTU_RETURN:
        take_cltu_return(l, p, &a);
        break;
    case SLE_PDU_SCHEDULE_RETURN:
        take_answer(l, p, SLE_SCHEDULED);
        break;
    case SLE_PDU_GET_RETURN:
        take_answer(l, p, SLE_PARAMETER);
        break;
    default:
        take_answer(l, p, SLE_EVENT_ANSWER);
    }
}

static_assert(SLE_PDU_START_RETURN == SLE_PDU_START + 1 &&
                  SLE_PDU_STOP_RETURN == SLE_PDU_STOP + 1 &&
                  SLE_PDU_SCHEDULE_RETURN == SLE_PDU_SCHEDULE + 1 &&
                  SLE_PDU_GET_RETURN == SLE_PDU_GET + 1 &&
                  SLE_PDU_CLTU_RETURN == SLE_PDU_CLTU + 1 &&
                  SLE_PDU_EVENT_RETURN == SLE_PDU_EVENT + 1,
              "a return is behind its invocation");

static void take_status(struct sle_link *l, const struct sle_pdu *p)
{
    link_notice(l, SLE_STATUS)->u.status = p->u.status;
    if (l->instance->service == SLE_FCLTU)
        l->instance->u.available = p->u.status.buffer_available;
    COUNT(l, reports, 1);
}

void user_take(struct sle_link *l, const struct sle_pdu *p, tick now)
{
    assert(link_bound(l) && !l->instance->provides);
    switch (p->kind) {
    case SLE_PDU_BUFFER:
        if (l->state != SLE_ACTIVE && l->state != SLE_STOPPING) {
            link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        } else {
            COUNT(l, buffers, 1);
            l->buffer = p->u.buffer;
        }
        break;
    case SLE_PDU_STATUS:
        take_status(l, p);
        break;
    case SLE_PDU_NOTIFY:
        link_notice(l, SLE_NOTIFIED)->u.async = p->u.async;
        COUNT(l, notifies, 1);
        break;
    default:
        take_return(l, p, now);
    }
}

/* ---- setting up ---- */

int sle_user_add(struct sle *s, const struct sle_user_config *config, struct sle_instance **out)
{
    struct sle_siid id;
    enum sle_service service;
    enum sle_mode mode;
    unsigned version = config->version == 0 ? SLE_VERSION_MAX : config->version;
    if (sle_siid_parse(config->id, &id, &service, &mode) != HELIO_OK ||
        !sle_authority_ok(config->responder) || !sle_port_name_ok(config->responder_port) ||
        version < SLE_VERSION_MIN || version > SLE_VERSION_MAX || config->return_timeout_s > 600 ||
        (config->respond && service == SLE_FCLTU))
        return HELIO_EINVAL;
    if (sle_instance_find(s, id.text) != NULL)
        return HELIO_EEXIST;
    struct sle_instance *i = calloc(1, sizeof *i);
    if (i == NULL || (i->initiators = malloc(sizeof *i->initiators)) == NULL ||
        kept_reserve(&s->isp, KEPT_OF_INSTANCE) != HELIO_OK) {
        free(i == NULL ? NULL : i->initiators);
        free(i);
        return HELIO_ENOMEM;
    }
    *i = (struct sle_instance){
        .sle = s, .id = id, .service = service, .mode = mode, .initiators = i->initiators};
    for (unsigned k = KEPT_OF_LINK; k < KEPT_END; k++)
        kept_init(instance_kept(i, (enum kept_kind)k), k,
                  k == KEPT_CLTU ? KEPT_PRODUCES : KEPT_SENDS);
    i->initiator_count = 1;
    snprintf(i->initiators[0], sizeof i->initiators[0], "%s", config->responder);
    snprintf(i->port, sizeof i->port, "%s", config->responder_port);
    /* As a responder any version that the provider may choose, up to this one. */
    i->versions = config->respond ? (2u << version) - 4 : 1u << version;
    i->return_timeout_s = config->return_timeout_s == 0 ? 30 : config->return_timeout_s;
    i->u.c = *config;
    i->u.c.outstanding_max = config->outstanding_max == 0 ? 1024 : config->outstanding_max;
    i->u.c.cltus_max = config->cltus_max == 0 ? 32768 : config->cltus_max;
    i->u.c.id = i->u.c.responder = i->u.c.responder_port = NULL;
    list_init(&i->p.f.queue);
    assert(i->versions != 0 && i->return_timeout_s > 0 && i->link == NULL);
    list_add_tail(&s->instances, &i->node);
    *out = i;
    return HELIO_OK;
}
