/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames gen: frames full of numbered packets. What can go wrong: options that do not fit
 * each other, the output. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/arguments.h"
#include "tools/frames/helio_frames.h"

static size_t write_header(const struct frames_options *o, uint64_t n, uint8_t *header)
{
    struct packet p = {.kind = o->packets};
    if (o->packets == PACKET_ENCAP)
        return packet_write_encap(o->protocol, o->payload, header);
    p.length = PACKET_SPACE_HEADER + o->payload;
    p.apid = o->apid;
    p.sequence_flags = 3;
    p.sequence_count = (uint16_t)(n & 0x3fff);
    return packet_write(&p, header);
}

/* With those that were erased. */
static uint64_t count_frames(const struct sink *s)
{
    return s->frames + s->erased;
}

/* Octets of packets that fit into the remaining frames. */
static uint64_t measure_room(const struct frames_options *o, const struct sink *s)
{
    uint64_t zone = frame_layout(&o->plain).zone_len;
    uint64_t now = s->open ? mpdu_pack_room(&s->pack) : zone;
    return now + (o->frames - count_frames(s) - 1) * zone;
}

/* Where a packet would need more frames than there shall be. */
static bool fill_rest(const struct frames_options *o, struct sink *s)
{
    bool good = true;
    while (good && count_frames(s) < o->frames)
        good = sink_fill(s);
    return good;
}

static bool generate_all(const struct frames_options *o, struct sink *s, uint8_t *payload)
{
    uint8_t header[PACKET_HEADER_MAX];
    bool packets = o->to == CONTENT_PACKETS;
    for (uint64_t n = 0; (packets ? n : count_frames(s)) < o->frames; n++) {
        if (o->only_idle) {
            if (!sink_idle(s))
                return false;
            continue;
        }
        size_t len = write_header(o, n, header);
        if (!packets && o->format.kind != FRAME_TC && len + o->payload > measure_room(o, s))
            return fill_rest(o, s);
        frames_numbered_fill(n, o->prbs, payload, (size_t)o->payload);
        if (!sink_packet(s, header, len, slice_of(payload, (size_t)o->payload)))
            return false;
        if (s->too_long > 0) {
            frames_error("--packet %llu: no TC frame of %u octets holds it",
                         (unsigned long long)o->payload, o->plain.length);
            return false;
        }
    }
    return true;
}

int command_gen(const struct frames_options *o)
{
    struct sink s;
    uint8_t header[PACKET_HEADER_MAX];
    if (o->only_idle && (o->format.kind == FRAME_TC || o->to == CONTENT_PACKETS)) {
        frames_error("--only-idle: there are such frames of TM, AOS and USLP alone");
        return EXIT_USAGE;
    }
    if ((o->output == NULL || strcmp(o->output, "-") == 0) && isatty(STDOUT_FILENO) == 1) {
        frames_error("standard output is a terminal; write -o FILE");
        return EXIT_USAGE;
    }
    if (write_header(o, 0, header) == 0) {
        frames_error("--packet %llu: a space packet has at most 65536 octets of data",
                     (unsigned long long)o->payload);
        return EXIT_USAGE;
    }
    uint8_t *payload = malloc((size_t)o->payload);
    if (payload == NULL)
        return EXIT_FAILED;
    if (sink_open(&s, o) != 0) {
        free(payload);
        return argument_file_code(o->output, true);
    }
    bool good = generate_all(o, &s, payload);
    good = sink_close(&s) == 0 && good;
    security_tell(o);
    free(payload);
    return good ? EXIT_DONE : EXIT_FAILED;
}
