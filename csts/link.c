/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link of the Cross Support Transfer Services: an ISP1 link (sle/isp1.h), whose PDUs are those of
 * 921.1-B-2. Transport mapping, credentials and the end are as with Space Link Extension.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/delivery_private.h"
#include "csts/forward_private.h"

static void end_link(struct isp1_link *isp, tick now)
{
    struct csts_link *l = container_of(isp, struct csts_link, isp);
    (void)now;
    l->state = CSTS_ENDED;
    l->awaited_count = 0;
    l->forwards = l->delivers = false;
    l->elements = slice_of(NULL, 0);
    assoc_note_pending(l);
    assoc_provider_leave(l);
    assert(l->service == NULL);
}

static const struct isp1_service service = {
    .take_pdu = assoc_take_pdu, .ended = end_link, .return_timeout = CSTS_ABORT_RETURN_TIMEOUT};

static_assert((size_t)ISP1_COUNT * sizeof(uint64_t) <= sizeof(struct csts_counts),
              "CSTS_COUNTS begins with ISP1_COUNTS");

bool assoc_engine_init(struct csts *s, const struct sle_config *config)
{
    return isp1_init(&s->isp, config, &service, (uint64_t *)&s->counts);
}

static struct csts_link *new_link(struct csts *s, tick now)
{
    struct csts_link *l = calloc(1, sizeof *l);
    if (l == NULL || !isp1_link_init(&l->isp, &s->isp, CSTS_PROCEDURES_MAX, now)) {
        free(l);
        return NULL;
    }
    l->csts = s;
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++) {
        kept_init(&l->procedures[i].timer, KEPT_REPORT, KEPT_SENDS);
        l->procedures[i].link = l;
    }
    return l;
}

struct csts_link *csts_accept(struct csts *s, tick now)
{
    struct csts_link *l = new_link(s, now);
    if (l == NULL)
        return NULL;
    l->isp.answers_max = s->config.backlog_max;
    isp1_accept(&l->isp, now);
    return l;
}

struct csts_link *csts_connect(struct csts *s, const struct csts_user_config *config, tick now)
{
    struct isp1_peer *peer = isp1_peer(&s->isp, config->responder);
    struct csts_link *l = peer == NULL ? NULL : new_link(s, now);
    if (l == NULL)
        return NULL;
    l->user = *config;
    if (l->user.version == 0)
        l->user.version = CSTS_VERSION;
    l->isp.forgets = true;
    if (isp1_connect(&l->isp, peer, now) != HELIO_OK) {
        csts_link_free(l);
        return NULL;
    }
    assoc_bind_send(l, now);
    return l;
}

void csts_link_free(struct csts_link *l)
{
    isp1_link_fini(&l->isp);
    free(l);
}

struct isp1_link *csts_link_isp1(struct csts_link *l)
{
    return &l->isp;
}

enum csts_state csts_link_state(const struct csts_link *l)
{
    return l->state;
}

const char *csts_link_peer(const struct csts_link *l)
{
    return l->isp.peer_id;
}

bool csts_link_reads(const struct csts_link *l)
{
    return isp1_reads(&l->isp);
}

uint8_t *csts_link_space(struct csts_link *l, size_t *len)
{
    return isp1_space(&l->isp, len);
}

void csts_link_fed(struct csts_link *l, size_t len, tick now)
{
    isp1_fed(&l->isp, len, now);
}

void csts_link_urgent(struct csts_link *l, uint8_t octet, tick now)
{
    isp1_urgent(&l->isp, octet, now);
}

void csts_link_closed(struct csts_link *l, tick now)
{
    (void)now;
    isp1_closed(&l->isp);
}

size_t csts_link_output(struct csts_link *l, struct slice *parts, size_t max, tick now)
{
    return isp1_output(&l->isp, parts, max, now);
}

void csts_link_wrote(struct csts_link *l, size_t octets, tick now)
{
    isp1_wrote(&l->isp, octets, now);
}

size_t csts_link_backlog(const struct csts_link *l)
{
    return l->isp.queue_octets;
}

enum sle_stream csts_link_stream(const struct csts_link *l)
{
    return l->isp.stream;
}

uint8_t csts_link_abort_octet(const struct csts_link *l)
{
    assert(l->isp.stream == SLE_STREAM_ABORT);
    return (uint8_t)l->isp.abort;
}

void csts_link_abort(struct csts_link *l, enum csts_abort diagnostic, tick now)
{
    if (l->state == CSTS_BOUND || l->state == CSTS_UNBINDING)
        assoc_abort(l, (unsigned)diagnostic & 0xff, now);
    else
        isp1_end(&l->isp, SLE_END_ABORTED, SLE_STREAM_RESET, (unsigned)diagnostic, now);
}

void assoc_abort(struct csts_link *l, unsigned diagnostic, tick now)
{
    isp1_abort(&l->isp, SLE_END_ABORTED, diagnostic, now);
}

void assoc_refuse(struct csts_link *l, tick now)
{
    assoc_abort(l, CSTS_ABORT_PROTOCOL_ERROR, now);
}

/* ---- what goes out ---- */

/* Octets that hold any PDU: its slices, and the rest, of which a BIND has most. */
static size_t room_for(const struct csts_pdu *p)
{
    size_t n = 2048 + p->credentials.len;
    if (p->extension.used)
        n += p->extension.pdv.data.len;
    if (csts_pdu_is_return(p->kind))
        return n + p->diagnostic.text.len + p->diagnostic.appellation.len +
               p->diagnostic.pdv.data.len;
    switch (p->kind) {
    case CSTS_PDU_GET:
        return n + p->u.list.text.len + p->u.list.items.len;
    case CSTS_PDU_EXECUTE_DIRECTIVE:
        return n + p->u.directive.named.len + p->u.directive.pdv.data.len;
    case CSTS_PDU_NOTIFY:
        return n + p->u.notify.values.len + p->u.notify.pdv.data.len;
    case CSTS_PDU_TRANSFER_DATA:
        return n + p->u.transfer.data.opaque.len + p->u.transfer.data.pdv.data.len;
    case CSTS_PDU_PROCESS_DATA:
        return n + p->u.process.data.opaque.len + p->u.process.data.pdv.data.len;
    case CSTS_PDU_FORWARD_BUFFER:
    case CSTS_PDU_RETURN_BUFFER:
        return n + p->u.buffer.len;
    default:
        return n;
    }
}

/* Behind the tag and length at `at` of what we wrote. */
static size_t skip_head(const uint8_t *octets, size_t at)
{
    at += (octets[at] & 0x1f) == 0x1f ? 2 : 1;
    return at + 1 + (octets[at] < 0x80 ? 0 : octets[at] & 0x7f);
}

/* Credentials are the first member of the first SEQUENCE, but for the returns, which are that
 * SEQUENCE. */
static size_t find_credentials(const uint8_t *octets, enum csts_pdu_kind kind)
{
    size_t at = skip_head(octets, SLE_TML_HEADER);
    if (!csts_pdu_is_return(kind) || kind == CSTS_PDU_BIND_RETURN)
        at = skip_head(octets, at);
    assert(octets[at] == 0x81);
    return skip_head(octets, at);
}

/* Octets of the element at `at`, with its head. */
static size_t element_len(const uint8_t *octets, size_t at)
{
    const size_t body = skip_head(octets, at);
    size_t len = 0;
    if (octets[at + 1] < 0x80)
        return body - at + octets[at + 1];
    for (size_t i = at + 2; i < body; i++)
        len = len << 8 | octets[i];
    return body - at + len;
}

static bool is_buffer(enum csts_pdu_kind kind)
{
    return kind == CSTS_PDU_FORWARD_BUFFER || kind == CSTS_PDU_RETURN_BUFFER;
}

/* Each element of a buffer has credentials; other PDUs have one. False: memory is out. */
static bool note_stamps(struct out *o, enum csts_pdu_kind kind, size_t len, size_t credentials)
{
    uint8_t *octets = out_place(o);
    if (credentials == 0)
        return true;
    if (!is_buffer(kind)) {
        o->stamps[o->stamp_count++] = octets + find_credentials(octets, kind);
        return true;
    }
    for (size_t at = skip_head(octets, SLE_TML_HEADER); at < len; at += element_len(octets, at)) {
        const size_t member = skip_head(octets, skip_head(octets, at));
        assert(octets[member] == 0x81);
        if (!out_reserve(o, len))
            return false;
        o->stamps[o->stamp_count++] = octets + skip_head(octets, member);
    }
    return true;
}

int assoc_send(struct csts_link *l, struct csts_pdu *p, tick now)
{
    static const uint8_t blank[52];
    const bool binding = p->kind == CSTS_PDU_BIND || p->kind == CSTS_PDU_BIND_RETURN;
    if (l->state == CSTS_ENDED)
        return HELIO_ESTOPPED;
    const size_t credentials = isp1_credentials_len(&l->isp, binding);
    if (!is_buffer(p->kind))
        p->credentials = slice_of(blank, credentials);
    const size_t room = SLE_TML_HEADER + room_for(p);
    struct out *o = out_new(room);
    const size_t n = o == NULL || !out_reserve(o, room)
                         ? 0
                         : csts_pdu_write(p, out_place(o) + SLE_TML_HEADER, room - SLE_TML_HEADER);
    if (n == 0) {
        out_free(o);
        isp1_end(&l->isp, SLE_END_MEMORY, SLE_STREAM_RESET, SLE_ABORT_UNKNOWN, now);
        return HELIO_ENOMEM;
    }
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, out_place(o));
    if (!note_stamps(o, p->kind, SLE_TML_HEADER + n, credentials)) {
        out_free(o);
        isp1_end(&l->isp, SLE_END_MEMORY, SLE_STREAM_RESET, SLE_ABORT_UNKNOWN, now);
        return HELIO_ENOMEM;
    }
    out_add(o, SLE_TML_HEADER + n);
    isp1_enqueue(&l->isp, o);
    isp1_count(&l->isp, ISP1_pdus_out, 1);
    return HELIO_OK;
}

/* ---- notices ---- */

void assoc_note_pending(struct csts_link *l)
{
    l->isp.notices = l->told || l->elements.len > 0;
}

struct csts_notice *assoc_notice(struct csts_link *l, enum csts_notice_kind kind,
                                 const struct csts_pdu *pdu)
{
    assert(!l->told);
    l->told = true;
    assoc_note_pending(l);
    memset(&l->notice, 0, sizeof l->notice);
    l->notice.kind = kind;
    if (pdu != NULL)
        l->notice.pdu = *pdu;
    return &l->notice;
}

static bool give_over(struct csts_link *l, struct csts_notice *out)
{
    if (l->isp.over_told)
        return false;
    memset(out, 0, sizeof *out);
    out->kind = CSTS_TOLD_OVER;
    out->end = l->isp.end;
    out->abort = l->isp.abort;
    out->bind_diag = l->isp.bind_diag;
    l->isp.over_told = true;
    return true;
}

bool csts_link_poll(struct csts_link *l, struct csts_notice *out, tick now)
{
    for (;;) {
        if (l->told) {
            *out = l->notice;
            l->told = false;
            assoc_note_pending(l);
            return true;
        }
        if (l->state == CSTS_ENDED)
            return give_over(l, out);
        if (l->elements.len > 0)
            assoc_delivery_next(l, now);
        else if (!isp1_step(&l->isp, now))
            return false;
    }
}

/* ---- times ---- */

static bool serve_link(struct csts_link *l, unsigned kind, tick now)
{
    if (kind != KEPT_RETURN)
        return isp1_serve(&l->isp, kind, now);
    assert(assoc_user_due(l) <= now);
    assoc_abort(l, CSTS_ABORT_RETURN_TIMEOUT, now);
    return true;
}

bool csts_expire(struct csts *s, struct csts_link **link, tick now)
{
    struct kept *k;
    while ((k = kept_next(&s->isp, now)) != NULL) {
        if (k->kind == KEPT_REPORT) {
            struct procedure *q = container_of(k, struct procedure, timer);
            *link = q->link;
            assoc_provider_report(q, now);
            return true;
        }
        if (k->kind == KEPT_LATENCY) {
            struct csts_service *v = container_of(k, struct forward, timer)->service;
            *link = v->link;
            return assoc_forward_expire(v, now);
        }
        if (k->kind == KEPT_RELEASE) {
            struct csts_service *v = container_of(k, struct delivery, timer)->service;
            *link = v->link;
            assoc_delivery_expire(v, now);
            return true;
        }
        *link = container_of(isp1_link_of(k), struct csts_link, isp);
        if (serve_link(*link, k->kind, now))
            return true;
    }
    return false;
}
