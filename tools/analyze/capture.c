/* SPDX-License-Identifier: Apache-2.0 */
/* Packets are read as long as there is no row. What can go wrong: files that libpcap cannot read,
 * links whose packets are not known here, memory. */
#include "tools/analyze/capture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/analyze/packet.h"
#include "tools/analyze/pcap_input.h"
#include "tools/analyze/reassembly.h"

struct capture {
    struct stream *in;
    struct pcap_input *pcap;
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

void capture_close(struct capture *c)
{
    if (c == NULL)
        return;
    pcap_input_close(c->pcap);
    watch_free(c->watch);
    reassembly_free(c->parts);
    free(c);
}

static int take_packet(struct capture *c, const struct pcap_packet *raw)
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
    return rc == 1 ? watch_input(c->watch, &p.udp) : rc;
}

int capture_next(struct capture *c, const struct seglog_row **row)
{
    int rc;
    while ((rc = watch_row(c->watch, row)) == 0 && !c->over) {
        struct pcap_packet raw;
        rc = pcap_input_next(c->pcap, &raw, c->error);
        c->cut = rc < 0 && strstr(c->error, "truncated") != NULL;
        if (rc < 0 && !c->cut)
            return rc;
        c->over = rc <= 0;
        rc = c->over ? watch_end(c->watch) : take_packet(c, &raw);
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
    return c->cut || stream_cut(c->in) ? watch_counters(c->watch)->packets + 1 : 0;
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
