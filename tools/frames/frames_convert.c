/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames convert: bare frames, CADUs, CLTUs and packets, into each other. What can go wrong:
 * files; units that are left out are counted and reported. */
#include <inttypes.h>
#include <stdlib.h>

#include "os/arguments.h"
#include "tools/frames/helio_frames.h"

static bool write_packet(void *context, struct vc *v, const struct packet *p, struct slice payload)
{
    (void)v;
    return sink_whole_packet(context, p, payload);
}

static bool is_chosen(struct vcs *vcs, const struct frames_options *o, struct slice frame)
{
    struct frame f;
    if (o->vcid < 0 && o->scid < 0)
        return true;
    enum frame_verdict v = frame_input(&vcs->channel, frame.data, frame.len, &f);
    return (v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT) && (o->vcid < 0 || f.vcid == o->vcid);
}

/* False: the frame is left out, which is counted. Frames that have no security are longer than
 * those that had it, so that a file of one length has no place for them. */
static bool take_security(struct vcs *vcs, struct slice *frame)
{
    const struct frames_options *o = vcs->o;
    if (o->processed == NULL)
        return true;
    enum sdls_verdict v = security_process(o, frame, vcs->clear);
    if (o->format.kind == FRAME_TC)
        return v == SDLS_OK_VERDICT || v == SDLS_CLEAR_VERDICT;
    if (v == SDLS_OK_VERDICT && frame->len != o->plain.length)
        vcs->channel.verdicts[FRAME_LENGTH_VERDICT]++;
    return v == SDLS_OK_VERDICT && frame->len == o->plain.length;
}

/* Frames stay what they are but for security: nothing of them is looked at, but to choose a
 * channel. */
static bool copy_frames(struct source *from, struct sink *to, struct vcs *vcs)
{
    struct slice frame;
    if (to->o->applied != NULL)
        vcs->channel.format = to->o->plain;
    while (source_frame(from, &frame)) {
        if (!is_chosen(vcs, to->o, frame) || !take_security(vcs, &frame))
            continue;
        to->quality = from->unit.quality;
        if (!sink_frame(to, frame))
            return false;
    }
    return !from->failed;
}

static bool extract_packets(struct source *from, struct sink *to, struct vcs *vcs)
{
    struct slice frame;
    while (source_frame(from, &frame))
        if (!vcs_input(vcs, frame, write_packet, to))
            return false;
    return !from->failed;
}

static bool pack_packets(struct source *from, struct sink *to)
{
    struct slice octets, payload;
    struct packet_piece piece;
    struct packet_reader r;
    enum packet_verdict v = PACKET_MORE;
    struct packet_join join = {.buffer = malloc(PACKET_MAX), .room = PACKET_MAX};
    bool good = join.buffer != NULL;
    packet_reader_init(&r, PACKET_MAX);
    while (good && v == PACKET_MORE && source_octets(from, &octets)) {
        while (good && (v = packet_reader_next(&r, &octets, &piece)) == PACKET_OK)
            if (packet_join(&join, &piece, &payload) && !piece.packet->idle)
                good = write_packet(to, NULL, piece.packet, payload);
    }
    if (good && v != PACKET_MORE) {
        frames_error("packet %" PRIu64 " of the input is none (%s): the rest is not read",
                     to->packets, packet_verdict_name(v));
        good = false;
    } else if (good && !packet_reader_idle(&r)) {
        frames_error("the input ends within a packet");
        good = false;
    }
    free(join.buffer);
    return good && !from->failed;
}

static void tell_losses(const struct source *from, const struct sink *to, const struct vcs *vcs)
{
    uint64_t bad = 0;
    for (int v = 0; v < FRAME_VERDICT_COUNT; v++)
        if (v != FRAME_OK_VERDICT && v != FRAME_IDLE_VERDICT && v != FRAME_CHANNEL_VERDICT)
            bad += vcs->channel.verdicts[v];
    if (bad > 0)
        frames_error("%" PRIu64 " frames with errors were left out", bad);
    if (from->dropped > 0)
        frames_error("%" PRIu64 " frames could not be decoded and were left out", from->dropped);
    if (from->skipped > 0)
        frames_error("%" PRIu64 " octets of the input belong to no frame", from->skipped);
    if (from->bad_cltus > 0)
        frames_error("%" PRIu64 " CLTUs were not read to their end", from->bad_cltus);
    if (to->too_long > 0)
        frames_error("%" PRIu64 " packets are too long for a TC frame", to->too_long);
}

int command_convert(const struct frames_options *o)
{
    struct source from;
    struct sink to;
    struct vcs vcs;
    if (frames_source_open(&from, o) != 0)
        return argument_file_code(o->input, false);
    if (sink_open(&to, o) != 0) {
        source_close(&from);
        return argument_file_code(o->output, true);
    }
    from.sink = &to;
    bool good = !vcs_init(&vcs, o)           ? false
                : o->from == CONTENT_PACKETS ? pack_packets(&from, &to)
                : o->to == CONTENT_PACKETS   ? extract_packets(&from, &to, &vcs)
                                             : copy_frames(&from, &to, &vcs);
    good = sink_close(&to) == 0 && good;
    tell_losses(&from, &to, &vcs);
    security_tell(o);
    vcs_fini(&vcs);
    source_close(&from);
    return good ? EXIT_DONE : EXIT_FAILED;
}
