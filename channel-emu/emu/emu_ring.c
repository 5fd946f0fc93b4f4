/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AF_PACKET: the kernel writes frames into a shared ring (TPACKET_V2: each frame is available at
 * once; V3 passes blocks by a timer of milliseconds), and accepts many with one sendmmsg. A slot
 * belongs to the emulator from when its status says so until the next frame is requested.
 *
 * A virtio_net_hdr precedes the frame: it marks super-packets and missing checksums. Its ten bytes
 * are also the room for the addresses when a VLAN tag is restored. A joined frame that does not fit
 * into a slot is copied by the kernel into the socket's queue (PACKET_COPY_THRESH), read from
 * there, and divided.
 *
 * What can go wrong: a full ring (the kernel counts), frames that the kernel does not accept (tried
 * again while it lacks buffers, then reported), an interface that goes down or is removed (the
 * socket reports it once; the interface's state shows it).
 *
 * The system calls are here, because no other program has packet sockets.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_cut.h"
#include "channel-emu/emu/emu_ether.h"
#include "channel-emu/emu/emu_port_io.h"
#include "os/clock.h"

#define BLOCK_BYTES (UINT64_C(1) << 19)
#define BLOCKS_MIN 4u
#define BLOCKS_MAX 4096u
#define SLOT_EXTRA 160u /* the kernel's headers, Ethernet and VLAN in a slot */
#define COPY_HEAD 16u   /* in front of a copied frame: its virtio_net_hdr, or a VLAN tag */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif
#define TRIES_MAX 3 /* to send when the kernel has no buffer */

struct ring {
    int fd, out_fd; /* what is sent has no virtio_net_hdr */
    uint8_t *map;
    size_t map_bytes;
    size_t slot_bytes, slots_per_block, slots, next;
    struct tpacket2_hdr *lent;
    uint64_t drops;
    unsigned queued;
    struct mmsghdr heads[EMU_PORT_BATCH];
    struct iovec parts[EMU_PORT_BATCH];
    struct emu_cut cut; /* of a joined frame, while `cutting` */
    bool cutting;
    tick cut_arrival;
    uint8_t joined[COPY_HEAD + EMU_CUT_MAX]; /* one that fits in no slot, with room for a tag */
    uint8_t part[EMU_CUT_MAX];
};

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

static int set_up(int fd, int ifindex)
{
    struct packet_mreq all = {.mr_ifindex = ifindex, .mr_type = PACKET_MR_PROMISC};
    if (set_option(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2) < 0 ||
        set_option(fd, SOL_PACKET, PACKET_VNET_HDR, 1) < 0 ||
        set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) < 0 ||
        set_option(fd, SOL_PACKET, PACKET_COPY_THRESH, 1) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0)
        return -1;
    return 0;
}

/* What the kernel may hold at a socket: `force` goes beyond the machine's limit, where permitted.
 */
static void set_room(int fd, int force, int within, uint64_t buffer_bytes)
{
    int bytes = buffer_bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)buffer_bytes;
    if (set_option(fd, SOL_SOCKET, force, bytes) < 0)
        set_option(fd, SOL_SOCKET, within, bytes);
}

/* A socket that receives nothing. */
static int open_out(int ifindex, uint64_t buffer_bytes)
{
    struct sockaddr_ll local = {.sll_family = AF_PACKET, .sll_ifindex = ifindex};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    set_room(fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
    if (bind(fd, (const struct sockaddr *)&local, sizeof local) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int map_ring(struct ring *r, size_t mtu, uint64_t buffer_bytes)
{
    uint64_t blocks = buffer_bytes / BLOCK_BYTES;
    blocks = blocks < BLOCKS_MIN ? BLOCKS_MIN : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    r->slot_bytes =
        (mtu + SLOT_EXTRA + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT * TPACKET_ALIGNMENT;
    r->slots_per_block = BLOCK_BYTES / r->slot_bytes;
    r->slots = r->slots_per_block * blocks;
    struct tpacket_req q = {.tp_block_size = (unsigned)BLOCK_BYTES,
                            .tp_block_nr = (unsigned)blocks,
                            .tp_frame_size = (unsigned)r->slot_bytes,
                            .tp_frame_nr = (unsigned)r->slots};
    if (setsockopt(r->fd, SOL_PACKET, PACKET_RX_RING, &q, sizeof q) < 0)
        return -1;
    r->map_bytes = BLOCK_BYTES * blocks;
    void *map = mmap(NULL, r->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (map == MAP_FAILED)
        return -1;
    r->map = map;
    return 0;
}

static void ring_close(void *io)
{
    struct ring *r = io;
    if (r->map != NULL)
        munmap(r->map, r->map_bytes);
    if (r->fd >= 0)
        close(r->fd);
    if (r->out_fd >= 0)
        close(r->out_fd);
    free(r);
}

/* Bound last, so that only frames of this interface ever reach the ring. */
static void *ring_open(const char *name, int ifindex, size_t mtu, uint64_t buffer_bytes, FILE *say)
{
    struct sockaddr_ll local = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
    struct ring *r = calloc(1, sizeof *r);
    if (r == NULL) {
        fprintf(say, "helio-emu: interface '%s': out of memory\n", name);
        return NULL;
    }
    r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    r->out_fd = open_out(ifindex, buffer_bytes);
    if (r->fd < 0 || r->out_fd < 0) {
        fprintf(say,
                "helio-emu: frames of %s may not be read: %s; run as root, or as root:\n"
                "  setcap cap_net_raw,cap_net_admin+ep $(command -v helio-emu)\n",
                name, strerror(errno));
        ring_close(r);
        return NULL;
    }
    /* Joined frames wait there and not in the ring: the default is room for a few of them. */
    set_room(r->fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
    if (set_up(r->fd, ifindex) < 0 || map_ring(r, mtu, buffer_bytes) < 0 ||
        bind(r->fd, (const struct sockaddr *)&local, sizeof local) < 0) {
        fprintf(say, "helio-emu: %s cannot be opened for frames: %s\n", name, strerror(errno));
        ring_close(r);
        return NULL;
    }
    return r;
}

static int ring_fd(const void *io)
{
    return ((const struct ring *)io)->fd;
}

static struct tpacket2_hdr *slot(const struct ring *r, size_t i)
{
    uint8_t *at = r->map + i / r->slots_per_block * BLOCK_BYTES;
    return (struct tpacket2_hdr *)(void *)(at + i % r->slots_per_block * r->slot_bytes);
}

/* Reads a frame that did not fit into its slot; the slot has its length. Returns its bytes, with
 * room for a tag before them; NULL: there was no room for the copy either. */
static uint8_t *read_copy(struct ring *r, struct virtio_net_hdr *v, size_t *len)
{
    struct iovec parts[2] = {{.iov_base = v, .iov_len = sizeof *v},
                             {.iov_base = r->joined + COPY_HEAD, .iov_len = EMU_CUT_MAX}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = recvmsg(r->fd, &m, MSG_DONTWAIT);
    if (n < (ssize_t)(sizeof *v + EMU_ETHER_HEAD) || (m.msg_flags & MSG_TRUNC) != 0)
        return NULL;
    *len = (size_t)n - sizeof *v;
    return r->joined + COPY_HEAD;
}

static bool is_joined(const struct virtio_net_hdr *v)
{
    unsigned type = v->gso_type & (unsigned)~VIRTIO_NET_HDR_GSO_ECN;
    return type == VIRTIO_NET_HDR_GSO_TCPV4 || type == VIRTIO_NET_HDR_GSO_TCPV6 ||
           type == VIRTIO_NET_HDR_GSO_UDP_L4;
}

/* Puts right what the kernel left out; what it joined is cut. */
static void restore_device(struct ring *r, struct tpacket2_hdr *h, uint32_t status,
                           struct emu_frame *out)
{
    struct virtio_net_hdr v;
    uint8_t *data = (uint8_t *)h + h->tp_mac;
    size_t there = h->tp_snaplen;
    memcpy(&v, data - sizeof v, sizeof v);
    if ((status & TP_STATUS_COPY) != 0) {
        uint8_t *copy = read_copy(r, &v, &there);
        data = copy == NULL ? data : copy;
    }
    out->too_long = there < h->tp_len;
    out->sum_missing = false;
    if ((v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0 && !out->too_long)
        emu_ether_complete_sum(data, there, v.csum_start, v.csum_offset);
    out->len = h->tp_len;
    out->there = there;
    if ((status & TP_STATUS_VLAN_VALID) != 0 && there >= EMU_ETHER_HEAD) {
        bool known = (status & TP_STATUS_VLAN_TPID_VALID) != 0;
        data = emu_ether_put_tag(data, known ? h->tp_vlan_tpid : ETH_P_8021Q, h->tp_vlan_tci);
        out->len += EMU_ETHER_TAG;
        out->there += EMU_ETHER_TAG;
    }
    out->data = data;
    if (v.gso_type == VIRTIO_NET_HDR_GSO_NONE || out->too_long)
        return;
    r->cutting = is_joined(&v) && emu_cut_begin(&r->cut, data, out->there, v.gso_size);
    out->too_long = !r->cutting;
}

/* The next part of a joined frame; whether there is one. */
static bool take_part(struct ring *r, struct emu_frame *out)
{
    size_t len = r->cutting ? emu_cut_next(&r->cut, r->part) : 0;
    r->cutting = len > 0;
    *out = (struct emu_frame){.data = r->part, .len = len, .there = len, .arrival = r->cut_arrival};
    return r->cutting;
}

static int ring_receive(void *io, struct clock_stamps *clock, tick now, struct emu_frame *out)
{
    struct ring *r = io;
    if (take_part(r, out))
        return 1;
    if (r->lent != NULL) {
        __atomic_store_n(&r->lent->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        r->lent = NULL;
    }
    struct tpacket2_hdr *h = slot(r, r->next);
    uint32_t status = __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);
    if ((status & TP_STATUS_USER) == 0)
        return 0;
    struct timespec stamp = {.tv_sec = h->tp_sec, .tv_nsec = h->tp_nsec};
    r->lent = h;
    r->next = r->next + 1 == r->slots ? 0 : r->next + 1;
    restore_device(r, h, status, out);
    out->arrival = r->cut_arrival = clock_stamps_arrival(clock, &stamp, now);
    if (r->cutting)
        (void)take_part(r, out);
    return 1;
}

static void ring_send(void *io, const uint8_t *data, size_t len)
{
    struct ring *r = io;
    struct iovec *v = &r->parts[r->queued];
    *v = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    r->heads[r->queued].msg_hdr = (struct msghdr){.msg_iov = v, .msg_iovlen = 1};
    r->queued++;
}

static void ring_forget(void *io)
{
    ((struct ring *)io)->queued = 0;
}

static int ring_flush(void *io, bool *sent)
{
    struct ring *r = io;
    int tries = 0, error = 0;
    for (unsigned done = 0; done < r->queued;) {
        int n = sendmmsg(r->out_fd, r->heads + done, r->queued - done, MSG_DONTWAIT);
        for (int i = 0; i < n; i++)
            sent[done++] = true;
        if (n > 0) {
            tries = 0;
        } else if (errno != EINTR &&
                   ((errno != EAGAIN && errno != ENOBUFS) || ++tries == TRIES_MAX)) {
            sent[done++] = false;
            error = helio_from_errno(errno);
            tries = 0;
        }
    }
    r->queued = 0;
    return error;
}

/* The kernel forgets its count when it is read. */
static uint64_t ring_drops(void *io)
{
    struct ring *r = io;
    struct tpacket_stats s = {0};
    socklen_t len = sizeof s;
    if (getsockopt(r->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
        r->drops += s.tp_drops;
    return r->drops;
}

const struct emu_port_io emu_ring_io = {.open = ring_open,
                                        .close = ring_close,
                                        .fd = ring_fd,
                                        .receive = ring_receive,
                                        .send = ring_send,
                                        .forget = ring_forget,
                                        .flush = ring_flush,
                                        .drops = ring_drops};
