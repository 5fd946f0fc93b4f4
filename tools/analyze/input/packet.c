/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer by layer: each takes its header off and says what follows. Anything that does not fit is
 * other traffic. Bytes that were not captured are a difference between `have` and `len`, never
 * read.
 */
#include "tools/analyze/input/packet.h"

#include <assert.h>
#include <string.h>

/* libpcap's numbers of link types */
enum {
    LINK_NULL = 0,
    LINK_ETHERNET = 1,
    LINK_RAW = 12,
    LINK_RAW_FILE = 101,
    LINK_LOOP = 108,
    LINK_COOKED = 113,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_COOKED2 = 276
};

enum { UDP = 17, HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };
enum { ETHER_IPV4 = 0x0800, ETHER_IPV6 = 0x86dd, LOOPBACK = 772, OUTGOING = 4 };

struct layer {
    const uint8_t *p;
    size_t have, len;
};

static unsigned get_16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get_32(const uint8_t *p)
{
    return (uint32_t)get_16(p) << 16 | get_16(p + 2);
}

/* Takes n bytes off; false when they are not there. */
static bool take_bytes(struct layer *l, size_t n)
{
    assert(l->have <= l->len);
    if (n > l->have || n > l->len)
        return false;
    l->p += n;
    l->have -= n;
    l->len -= n;
    return true;
}

/* The frame's padding is not the packet's. */
static void limit_layer(struct layer *l, size_t len)
{
    l->len = len < l->len ? len : l->len;
    assert(l->len <= len);
    l->have = l->have < l->len ? l->have : l->len;
}

bool packet_link_known(int link)
{
    static const int known[] = {LINK_NULL,   LINK_ETHERNET, LINK_RAW,  LINK_RAW_FILE, LINK_LOOP,
                                LINK_COOKED, LINK_IPV4,     LINK_IPV6, LINK_COOKED2};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == link)
            return true;
    return false;
}

/* The ether type, past VLAN tags (802.1Q, 802.1ad); 0 when there is none. */
static unsigned ether_type(struct layer *l, unsigned type)
{
    while (type == 0x8100 || type == 0x88a8 || type == 0x9100) {
        if (l->have < 4)
            return 0;
        type = get_16(l->p + 2);
        if (!take_bytes(l, 4))
            return 0;
    }
    return type;
}

/* On the loopback device every packet is captured twice: as outgoing and as incoming. One is
 * enough, and neither shows at which end it was captured. */
static bool read_cooked(unsigned device, unsigned way, struct packet *out)
{
    if (device == LOOPBACK)
        return way != OUTGOING;
    out->udp.outgoing = way == OUTGOING ? 1 : way == 0 ? 0 : -1;
    return true;
}

static unsigned link_type(int link, struct layer *l, struct packet *out)
{
    unsigned type = 0, family;
    const uint8_t *p = l->p;
    switch (link) {
    case LINK_ETHERNET:
        return take_bytes(l, 14) ? ether_type(l, get_16(p + 12)) : 0;
    case LINK_COOKED:
        return take_bytes(l, 16) && read_cooked(get_16(p + 2), get_16(p), out)
                   ? ether_type(l, get_16(p + 14))
                   : 0;
    case LINK_COOKED2:
        return take_bytes(l, 20) && read_cooked(get_16(p + 8), p[10], out)
                   ? ether_type(l, get_16(p))
                   : 0;
    case LINK_NULL:
    case LINK_LOOP:
        if (!take_bytes(l, 4))
            return 0;
        /* the order of bytes is that of the capturing machine */
        family = get_16(p) != 0 ? (unsigned)p[1] << 8 | p[0] : get_16(p + 2);
        if (family == 2)
            type = ETHER_IPV4;
        else if (family == 10 || family == 24 || family == 28 || family == 30)
            type = ETHER_IPV6;
        return type;
    default:
        if (l->have == 0)
            return 0;
        return *p >> 4 == 4 ? ETHER_IPV4 : *p >> 4 == 6 ? ETHER_IPV6 : 0;
    }
}

bool packet_udp(struct watch_datagram *d, const uint8_t *data, size_t have, size_t len)
{
    if (have < 8 || len < 8)
        return false;
    size_t whole = get_16(data + 4);
    if (whole < 8 || whole > len)
        return false;
    d->from.port = (uint16_t)get_16(data);
    d->to.port = (uint16_t)get_16(data + 2);
    d->data = data + 8;
    d->len = whole - 8;
    d->have = have - 8 < d->len ? have - 8 : d->len;
    return true;
}

static enum packet_kind read_transport(struct layer *l, bool fragment, struct packet *out)
{
    assert(l->have <= l->len);
    if (!fragment)
        return packet_udp(&out->udp, l->p, l->have, l->len) ? PACKET_UDP : PACKET_OTHER;
    out->udp.data = l->p;
    out->udp.have = l->have;
    out->udp.len = l->len;
    return PACKET_FRAGMENT;
}

static enum packet_kind read_ipv4(struct layer *l, struct packet *out)
{
    assert(l->have <= l->len);
    const uint8_t *p = l->p;
    size_t header = l->have > 0 ? 4 * (size_t)(*p & 0x0f) : 0;
    if (header < 20 || *p >> 4 != 4 || l->have < header || p[9] != UDP)
        return PACKET_OTHER;
    unsigned whole = get_16(p + 2), part = get_16(p + 6);
    if (whole != 0) /* 0: left to the network card */
        limit_layer(l, whole);
    if (!take_bytes(l, header))
        return PACKET_OTHER;
    out->udp.from.family = out->udp.to.family = 4;
    memcpy(out->udp.from.ip, p + 12, 4);
    memcpy(out->udp.to.ip, p + 16, 4);
    out->id = get_16(p + 4);
    out->offset = 8 * (size_t)(part & 0x1fff);
    out->more = (part & 0x2000) != 0;
    return read_transport(l, out->more || out->offset > 0, out);
}

/* The headers between IPv6 and UDP; false: another protocol. */
static bool skip_extensions(struct layer *l, uint8_t next, bool *fragment, struct packet *out)
{
    while (next != UDP) {
        const uint8_t *p = l->p;
        if (l->have < 8)
            return false;
        size_t length = next == FRAGMENT ? 8 : 8 * ((size_t)p[1] + 1);
        if (next == FRAGMENT) {
            unsigned part = get_16(p + 2);
            out->offset = part & 0xfff8;
            out->more = (part & 1) != 0;
            out->id = get_32(p + 4);
            *fragment = out->more || out->offset > 0;
        } else if (next != HOP_BY_HOP && next != ROUTING && next != DESTINATION) {
            return false;
        }
        next = p[0];
        if (!take_bytes(l, length))
            return false;
    }
    return true;
}

static enum packet_kind read_ipv6(struct layer *l, struct packet *out)
{
    assert(l->have <= l->len);
    const uint8_t *p = l->p;
    bool fragment = false;
    if (l->have < 40 || *p >> 4 != 6)
        return PACKET_OTHER;
    unsigned payload = get_16(p + 4);
    if (payload != 0)
        limit_layer(l, 40 + (size_t)payload);
    if (!take_bytes(l, 40) || !skip_extensions(l, p[6], &fragment, out))
        return PACKET_OTHER;
    out->udp.from.family = out->udp.to.family = 6;
    memcpy(out->udp.from.ip, p + 8, 16);
    memcpy(out->udp.to.ip, p + 24, 16);
    return read_transport(l, fragment, out);
}

enum packet_kind packet_parse(int link, const uint8_t *bytes, size_t have, size_t len,
                              struct packet *out)
{
    struct layer l = {bytes, have < len ? have : len, len};
    *out = (struct packet){.udp = {.now = out->udp.now, .at = out->udp.at, .outgoing = -1}};
    unsigned type = link_type(link, &l, out);
    if (type == ETHER_IPV4)
        return read_ipv4(&l, out);
    return type == ETHER_IPV6 ? read_ipv6(&l, out) : PACKET_OTHER;
}
