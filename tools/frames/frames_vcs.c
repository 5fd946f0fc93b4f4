/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to their virtual channels, and packets out of these. What can go wrong: memory. */
#include <assert.h>
#include <stdlib.h>

#include "tools/frames/helio_frames.h"

bool vcs_init(struct vcs *s, const struct frames_options *o)
{
    *s = (struct vcs){.channel = {.format = o->format, .scid = o->scid}, .o = o, .only = o->vcid};
    if (o->processed == NULL)
        return true;
    s->clear = malloc(FRAME_LENGTH_MAX);
    if (s->clear == NULL)
        frames_error("out of memory");
    return s->clear != NULL;
}

void vcs_fini(struct vcs *s)
{
    for (int i = 0; i < VCS; i++) {
        if (s->vc[i] != NULL)
            free(s->vc[i]->join.buffer);
        free(s->vc[i]);
    }
    free(s->clear);
}

static struct vc *find_vc(struct vcs *s, const struct frame *f)
{
    assert(f->vcid < VCS);
    struct vc **v = &s->vc[f->vcid];
    if (*v != NULL)
        return *v;
    *v = calloc(1, sizeof **v);
    uint8_t *buffer = malloc(PACKET_MAX);
    if (*v == NULL || buffer == NULL) {
        frames_error("out of memory");
        free(buffer);
        free(*v);
        return *v = NULL;
    }
    (*v)->scid = f->scid;
    (*v)->first = f->count;
    (*v)->join = (struct packet_join){.buffer = buffer, .room = PACKET_MAX};
    mpdu_extract_init(&(*v)->extract, PACKET_MAX);
    return *v;
}

static bool take_piece(struct vc *v, const struct packet_piece *piece, vcs_taker *take,
                       void *context)
{
    struct slice payload;
    if (!packet_join(&v->join, piece, &payload) || piece->packet->idle)
        return true;
    v->payload_bytes += payload.len;
    if (piece->packet->kind == PACKET_SPACE)
        v->space++;
    else
        v->protocols[piece->packet->protocol & 7]++;
    return take(context, v, piece->packet, payload);
}

/* Whole packets, from the front of a TC frame. */
static bool input_tc(struct vc *v, const struct frame *f, vcs_taker *take, void *context)
{
    struct packet_reader r;
    struct packet_piece piece;
    struct slice rest = f->zone;
    enum packet_verdict verdict = PACKET_BAD_VERSION;
    packet_reader_init(&r, FRAME_TC_MAX);
    while (f->packets && (verdict = packet_reader_next(&r, &rest, &piece)) == PACKET_OK) {
        v->extract.counts.packets += piece.last && !piece.packet->idle;
        if (!take_piece(v, &piece, take, context))
            return false;
    }
    v->tc_bad += verdict != PACKET_MORE || !packet_reader_idle(&r);
    return true;
}

/* Takes the security out of the frame. False: it is left out, which is counted. A frame with errors
 * stays what it is: its verdict is the channel's. */
static bool remove_security(struct vcs *s, struct slice *frame)
{
    struct frame_format *f = &s->channel.format;
    f->length = s->o->format.length;
    if (s->o->processed == NULL)
        return true;
    const enum sdls_verdict v = security_process(s->o, frame, s->clear);
    if (v == SDLS_FRAME_VERDICT)
        return true;
    if (v != SDLS_OK_VERDICT && v != SDLS_CLEAR_VERDICT)
        return false;
    if (f->kind != FRAME_TC)
        f->length = (uint32_t)frame->len;
    if (frame_format_problem(f) == NULL)
        return true;
    s->channel.verdicts[FRAME_LENGTH_VERDICT]++; /* fill took more than was there */
    return false;
}

bool vcs_input(struct vcs *s, struct slice frame, vcs_taker *take, void *context)
{
    if (!remove_security(s, &frame))
        return true;
    struct frame f;
    struct packet_piece piece;
    enum frame_verdict verdict = frame_input(&s->channel, frame.data, frame.len, &f);
    if (verdict != FRAME_OK_VERDICT && verdict != FRAME_IDLE_VERDICT)
        return true;
    if (s->only >= 0 && f.vcid != s->only) {
        s->channel.verdicts[verdict]--;
        s->channel.verdicts[FRAME_CHANNEL_VERDICT]++;
        return true;
    }
    struct vc *v = find_vc(s, &f);
    if (v == NULL)
        return false;
    v->frames++;
    v->idle_frames += f.only_idle;
    v->last = f.count;
    if (f.kind == FRAME_TC)
        return input_tc(v, &f, take, context);
    mpdu_extract_input(&v->extract, &f);
    while (mpdu_extract_next(&v->extract, &piece))
        if (!take_piece(v, &piece, take, context))
            return false;
    return true;
}
