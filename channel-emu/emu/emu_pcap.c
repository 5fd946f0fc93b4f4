/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpcap's way: it reads a ring of its own, puts VLAN tags back itself, and sends one frame a
 * call. It does not tell where a checksum is missing, nor joined frames by their kind, only by
 * their length. What can go wrong: what libpcap says in words.
 */
#include <errno.h>
#include <pcap.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_ether.h"
#include "channel-emu/emu/emu_port_io.h"
#include "os/clock.h"

#define SNAP_EXTRA 64 /* Ethernet, VLAN tags */

struct capture {
    pcap_t *pcap;
    unsigned queued;
    struct {
        const uint8_t *data;
        size_t len;
    } queue[EMU_PORT_BATCH];
};

static void capture_close(void *io)
{
    struct capture *c = io;
    if (c->pcap != NULL)
        pcap_close(c->pcap);
    free(c);
}

static int activate_capture(struct capture *c, size_t mtu, uint64_t buffer_bytes, char *error)
{
    int bytes = buffer_bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)buffer_bytes;
    pcap_set_snaplen(c->pcap, (int)mtu + SNAP_EXTRA);
    pcap_set_promisc(c->pcap, 1);
    pcap_set_immediate_mode(c->pcap, 1);
    pcap_set_buffer_size(c->pcap, bytes);
    pcap_set_tstamp_precision(c->pcap, PCAP_TSTAMP_PRECISION_NANO);
    if (pcap_activate(c->pcap) < 0 || pcap_setdirection(c->pcap, PCAP_D_IN) < 0) {
        strncpy(error, pcap_geterr(c->pcap), PCAP_ERRBUF_SIZE - 1);
        return -1;
    }
    return pcap_setnonblock(c->pcap, 1, error);
}

static void *capture_open(const char *name, int ifindex, size_t mtu, uint64_t buffer_bytes,
                          FILE *say)
{
    char error[PCAP_ERRBUF_SIZE] = "out of memory";
    struct capture *c = calloc(1, sizeof *c);
    (void)ifindex;
    if (c != NULL)
        c->pcap = pcap_create(name, error);
    if (c == NULL || c->pcap == NULL || activate_capture(c, mtu, buffer_bytes, error) < 0) {
        fprintf(say, "helio-emu: frames of %s may not be read: %s; run as root\n", name, error);
        if (c != NULL)
            capture_close(c);
        return NULL;
    }
    return c;
}

static int capture_fd(const void *io)
{
    return pcap_get_selectable_fd(((const struct capture *)io)->pcap);
}

static int capture_receive(void *io, struct clock_stamps *clock, tick now, struct emu_frame *out)
{
    struct capture *c = io;
    struct pcap_pkthdr *h;
    const u_char *data;
    if (pcap_next_ex(c->pcap, &h, &data) != 1)
        return 0;
    struct timespec stamp = {.tv_sec = h->ts.tv_sec, .tv_nsec = h->ts.tv_usec};
    *out = (struct emu_frame){.data = data,
                              .len = h->len,
                              .there = h->caplen,
                              .arrival = clock_stamps_arrival(clock, &stamp, now),
                              .too_long = h->caplen < h->len,
                              .sum_missing = emu_ether_sum_missing(data, h->caplen)};
    return 1;
}

static void capture_send(void *io, const uint8_t *data, size_t len)
{
    struct capture *c = io;
    c->queue[c->queued].data = data;
    c->queue[c->queued++].len = len;
}

static void capture_forget(void *io)
{
    ((struct capture *)io)->queued = 0;
}

static int capture_flush(void *io, bool *sent)
{
    struct capture *c = io;
    int error = 0;
    for (unsigned i = 0; i < c->queued; i++) {
        sent[i] = pcap_inject(c->pcap, c->queue[i].data, c->queue[i].len) >= 0;
        if (!sent[i])
            error = helio_from_errno(errno);
    }
    c->queued = 0;
    return error;
}

static uint64_t capture_drops(void *io)
{
    struct capture *c = io;
    struct pcap_stat s;
    return pcap_stats(c->pcap, &s) < 0 ? 0 : s.ps_drop;
}

const struct emu_port_io emu_pcap_io = {.open = capture_open,
                                        .close = capture_close,
                                        .fd = capture_fd,
                                        .receive = capture_receive,
                                        .send = capture_send,
                                        .forget = capture_forget,
                                        .flush = capture_flush,
                                        .drops = capture_drops};
