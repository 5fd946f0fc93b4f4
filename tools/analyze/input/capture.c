/* SPDX-License-Identifier: Apache-2.0 */
/* Packets are read as long as there is no row. What can go wrong: files that libpcap cannot read,
 * links whose packets are not known here, memory. */
#include "tools/analyze/input/capture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/analyze/input/emu_input.h"
#include "tools/analyze/input/packet.h"
#include "tools/analyze/input/pcap_input.h"
#include "tools/analyze/input/reassembly.h"

#define ETHERNET 1 /* DLT_EN10MB */

/* What enters helio-emu's link or leaves it, one packet read ahead. */
struct side {
    struct stream *in;
    struct emu_input *emu;
    struct pcap_packet ahead;
    bool over;
};

struct capture {
    struct stream *in; /* NULL: side[] */
    struct pcap_input *pcap;
    struct side side[2]; /* before, after */
    struct watch *watch;
    struct reassembly *parts;
    enum watch_place at;
    int link;
    bool over;
    bool cut; /* the file ended within a packet */
    char error[PCAP_INPUT_ERROR_MAX];
};

bool capture_is(const uint8_t *bytes, size_t len)
{
    static const uint8_t magics[][4] = {{0xa1, 0xb2, 0xc3, 0xd4},
                                        {0xd4, 0xc3, 0xb2, 0xa1},
                                        {0xa1, 0xb2, 0x3c, 0x4d},
                                        {0x4d, 0x3c, 0xb2, 0xa1},
                                        {0x0a, 0x0d, 0x0d, 0x0a}};
    for (size_t i = 0; len >= 4 && i < sizeof magics / sizeof magics[0]; i++)
        if (memcmp(bytes, magics[i], 4) == 0)
            return true;
    return false;
}

static ssize_t cookie_read(void *cookie, char *out, size_t len)
{
    return stream_read(cookie, out, len);
}

int capture_open(struct capture **out, struct stream *in, enum watch_place at,
                 const struct watch_options *options, char error[256])
{
    assert(in != NULL && options != NULL);
    struct capture *c = calloc(1, sizeof *c);
    FILE *f = fopencookie(in, "r", (cookie_io_functions_t){.read = cookie_read});
    int rc = HELIO_ENOMEM;
    if (c == NULL || f == NULL) {
        if (f != NULL)
            fclose(f);
        goto fail;
    }
    c->in = in;
    c->at = at;
    rc = pcap_input_open(&c->pcap, f, error);
    if (rc != 0)
        goto fail;
    c->link = pcap_input_link(c->pcap);
    c->watch = watch_new(options);
    c->parts = reassembly_new();
    if (c->watch == NULL || c->parts == NULL) {
        rc = HELIO_ENOMEM;
        goto fail;
    }
    if (packet_link_known(c->link)) {
        assert(c->pcap != NULL && c->watch != NULL && c->parts != NULL);
        *out = c;
        return 0;
    }
    snprintf(error, 256,
             "packets of link type %d are not known here: Ethernet, Linux cooked, loopback and raw "
             "IP are",
             c->link);
    rc = HELIO_EFORMAT;
fail:
    capture_close(c);
    return rc;
}

static int advance_side(struct capture *c, struct side *s)
{
    int rc = emu_input_next(s->emu, &s->ahead, c->error);
    s->over = rc != 1;
    return rc < 0 ? rc : 0;
}

int capture_open_end(struct capture **out, struct stream *before, struct stream *after,
                     unsigned direction, const struct watch_options *options)
{
    assert(before != NULL && after != NULL && direction <= 1);
    struct capture *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    c->link = ETHERNET;
    c->at = WATCH_AUTO;
    c->watch = watch_new(options);
    c->parts = reassembly_new();
    c->side[0] = (struct side){.in = before, .emu = emu_input_new(before, direction)};
    c->side[1] = (struct side){.in = after, .emu = emu_input_new(after, !direction)};
    bool whole = c->watch != NULL && c->parts != NULL && c->side[0].emu != NULL;
    if (!whole || c->side[1].emu == NULL) {
        capture_close(c);
        return HELIO_ENOMEM;
    }
    for (int i = 0; i < 2 && !c->cut; i++)
        c->cut = advance_side(c, &c->side[i]) < 0;
    *out = c;
    return 0;
}

void capture_close(struct capture *c)
{
    if (c == NULL)
        return;
    emu_input_free(c->side[0].emu);
    emu_input_free(c->side[1].emu);
    pcap_input_close(c->pcap);
    watch_free(c->watch);
    reassembly_free(c->parts);
    free(c);
}

/* outgoing: of struct watch_datagram, where the file says it; -1: as the packet has it. */
static int take_packet(struct capture *c, const struct pcap_packet *raw, int outgoing)
{
    assert(raw->have <= raw->len);
    struct watch_counters *n = watch_counters(c->watch);
    struct packet p = {.udp = {.now = raw->now, .at = c->at}};
    int rc = 1;
    n->packets++;
    switch (packet_parse(c->link, raw->bytes, raw->have, raw->len, &p)) {
    case PACKET_OTHER:
        n->other++;
        return 0;
    case PACKET_FRAGMENT:
        n->fragments++;
        rc = reassembly_add(c->parts, &p, &p.udp);
        break;
    case PACKET_UDP:
        break;
    }
    if (outgoing >= 0)
        p.udp.outgoing = outgoing;
    return rc == 1 ? watch_input(c->watch, &p.udp) : rc;
}

/* The earlier of the next packet that entered at this end and the next one that left: 1, 0 at the
 * end, or an error. The other packet is kept for the next call. At equal times the packet that left
 * is first: the other one may be the node's answer to it. */
static int take_side(struct capture *c)
{
    struct side *s = &c->side[0];
    if (s->over || (!c->side[1].over && c->side[1].ahead.now <= s->ahead.now))
        s = &c->side[1];
    if (s->over)
        return 0;
    int rc = take_packet(c, &s->ahead, s == &c->side[0]);
    if (rc == 0)
        c->cut |= advance_side(c, s) < 0;
    return rc < 0 ? rc : 1;
}

static int take_file(struct capture *c)
{
    struct pcap_packet raw;
    int rc = pcap_input_next(c->pcap, &raw, c->error);
    c->cut = rc < 0 && strstr(c->error, "truncated") != NULL;
    if (rc <= 0)
        return rc < 0 && !c->cut ? rc : 0;
    rc = take_packet(c, &raw, -1);
    return rc < 0 ? rc : 1;
}

int capture_next(struct capture *c, const struct seglog_row **row)
{
    int rc;
    while ((rc = watch_row(c->watch, row)) == 0 && !c->over) {
        rc = c->pcap != NULL ? take_file(c) : take_side(c);
        if (rc == HELIO_EIO)
            return rc;
        c->over = rc == 0;
        rc = c->over ? watch_end(c->watch) : rc < 0 ? rc : 0;
        if (rc != 0)
            break;
    }
    assert(rc <= 1);
    return rc < 0 ? HELIO_ENOMEM : rc;
}

const char *capture_error(const struct capture *c)
{
    return c->error;
}

uint64_t capture_cut(const struct capture *c)
{
    bool cut = c->pcap != NULL ? stream_cut(c->in)
                               : stream_cut(c->side[0].in) || stream_cut(c->side[1].in);
    return c->cut || cut ? watch_counters(c->watch)->packets + 1 : 0;
}

void capture_add_counters(const struct capture *c, struct watch_counters *sum)
{
    const struct watch_counters *n = watch_counters(c->watch);
    sum->packets += n->packets;
    sum->segments += n->segments;
    sum->damaged += n->damaged;
    sum->other += n->other;
    sum->fragments += n->fragments;
    sum->fragments_lost += reassembly_lost(c->parts);
    sum->snapped += n->snapped;
    sum->snapped_unusable += n->snapped_unusable;
    sum->pairs += n->pairs;
    sum->undecided += n->undecided;
    sum->one_way += n->one_way;
}

size_t capture_views(const struct capture *c, struct watch_view *out, size_t max)
{
    return watch_views(c->watch, out, max);
}
