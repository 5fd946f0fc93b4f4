/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is two addresses of six bytes, tags of four (802.1Q, 802.1ad) and the type of the rest.
 * What can go wrong: frames that end early are simply not what was asked for.
 */
#include "channel-emu/emu/emu_ether.h"

#include <string.h>

#define ADDRESSES 12u
#define TYPE_ARP 0x0806
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define IPV4_HEAD 20u
#define IPV4_FRAGMENT 0x3fff /* more fragments, offset */
#define UDP_HEAD 8u
#define TCP_HEAD 20u
#define NEXT_TCP 6
#define NEXT_UDP 17
#define IPV6_HEAD 40u
#define NEXT_ICMPV6 58
#define ND_FIRST 133 /* RFC 4861 §4: router solicitation … redirect */
#define ND_LAST 137

static unsigned read16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static bool is_tag(unsigned type)
{
    return type == 0x8100 || type == 0x88a8;
}

bool emu_ether_is_signalling(const uint8_t *frame, size_t len)
{
    size_t at = ADDRESSES;
    while (len >= at + 2 && is_tag(read16(frame + at)))
        at += EMU_ETHER_TAG;
    if (len < at + 2)
        return false;
    unsigned type = read16(frame + at);
    at += 2;
    if (type != TYPE_IPV6)
        return type == TYPE_ARP;
    return len > at + IPV6_HEAD && frame[at + 6] == NEXT_ICMPV6 &&
           frame[at + IPV6_HEAD] >= ND_FIRST && frame[at + IPV6_HEAD] <= ND_LAST;
}

/* RFC 791: the header's length, no fragment. Returns the place of UDP, 0 when there is none. */
static size_t after_ipv4(const uint8_t *frame, size_t len, size_t at)
{
    if (len < at + IPV4_HEAD || frame[at] >> 4 != 4 || frame[at + 9] != NEXT_UDP ||
        (read16(frame + at + 6) & IPV4_FRAGMENT) != 0)
        return 0;
    return at + (size_t)(frame[at] & 15) * 4;
}

static size_t after_ipv6(const uint8_t *frame, size_t len, size_t at)
{
    bool udp = len >= at + IPV6_HEAD && frame[at] >> 4 == 6 && frame[at + 6] == NEXT_UDP;
    return udp ? at + IPV6_HEAD : 0;
}

size_t emu_ether_payload(const uint8_t *frame, size_t len)
{
    size_t at = ADDRESSES;
    while (len >= at + 2 && is_tag(read16(frame + at)))
        at += EMU_ETHER_TAG;
    unsigned type = len < at + 2 ? 0 : read16(frame + at);
    return type == TYPE_IPV4 || type == TYPE_IPV6 ? at + 2 : 0;
}

/* Where the IP header lies, whole but for options; 0: there is none. */
static size_t find_ip(const uint8_t *frame, size_t len)
{
    size_t at = emu_ether_payload(frame, len);
    if (at == 0)
        return 0;
    bool v4 = read16(frame + at - 2) == TYPE_IPV4;
    bool whole = len >= at + (v4 ? IPV4_HEAD : IPV6_HEAD) && frame[at] >> 4 == (v4 ? 4 : 6);
    return whole ? at : 0;
}

unsigned emu_ether_ecn(const uint8_t *frame, size_t len)
{
    size_t at = find_ip(frame, len);
    if (at == 0)
        return 0;
    return frame[at] >> 4 == 4 ? frame[at + 1] & 3u : frame[at + 1] >> 4 & 3u;
}

void emu_ether_mark(uint8_t *frame, size_t len)
{
    unsigned ecn = emu_ether_ecn(frame, len);
    if (ecn == 0 || ecn == 3)
        return;
    uint8_t *ip = frame + find_ip(frame, len);
    if (*ip >> 4 == 6) {
        ip[1] |= 0x30;
        return;
    }
    unsigned before = read16(ip);
    ip[1] |= 3;
    unsigned sum = (read16(ip + 10) ^ 0xffffu) + (before ^ 0xffffu) + read16(ip);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ((sum & 0xffff) + (sum >> 16)) ^ 0xffffu;
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
}

struct slice emu_ether_udp_payload(const uint8_t *frame, size_t len)
{
    size_t at = emu_ether_payload(frame, len);
    if (at == 0)
        return slice_of(frame, 0);
    size_t udp = read16(frame + at - 2) == TYPE_IPV4 ? after_ipv4(frame, len, at)
                                                     : after_ipv6(frame, len, at);
    if (udp == 0 || len < udp + UDP_HEAD)
        return slice_of(frame, 0);
    size_t whole = read16(frame + udp + 4);
    if (whole < UDP_HEAD || whole > len - udp)
        return slice_of(frame, 0);
    return slice_of(frame + udp + UDP_HEAD, whole - UDP_HEAD);
}

bool emu_ether_too_long(size_t len, size_t mtu)
{
    return len > mtu + EMU_ETHER_HEAD + 2 * EMU_ETHER_TAG;
}

uint8_t *emu_ether_put_tag(uint8_t *frame, uint16_t tpid, uint16_t tci)
{
    uint8_t *start = frame - EMU_ETHER_TAG;
    memmove(start, frame, ADDRESSES);
    start[ADDRESSES] = (uint8_t)(tpid >> 8);
    start[ADDRESSES + 1] = (uint8_t)tpid;
    start[ADDRESSES + 2] = (uint8_t)(tci >> 8);
    start[ADDRESSES + 3] = (uint8_t)tci;
    return start;
}

unsigned emu_ether_sum(const uint8_t *data, size_t len, unsigned before)
{
    uint64_t sum = before;
    size_t at = 0;
    for (; len - at >= 4; at += 4)
        sum += (uint64_t)read16(data + at) + read16(data + at + 2);
    if (len - at >= 2) {
        sum += read16(data + at);
        at += 2;
    }
    if (at < len)
        sum += (uint64_t)data[at] << 8;
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (unsigned)sum;
}

unsigned emu_ether_pseudo_sum(const uint8_t *ip, uint8_t protocol, size_t len)
{
    bool v6 = ip[0] >> 4 == 6;
    uint8_t rest[8] = {(uint8_t)(len >> 24),
                       (uint8_t)(len >> 16),
                       (uint8_t)(len >> 8),
                       (uint8_t)len,
                       0,
                       0,
                       0,
                       protocol};
    return emu_ether_sum(rest, sizeof rest, emu_ether_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, 0));
}

/* TCP or UDP in it, whole: where, how long, and its protocol; 0: there is none. */
static size_t find_transport(const uint8_t *ip, size_t rest, size_t *len, uint8_t *protocol)
{
    size_t head = IPV6_HEAD;
    if (rest >= IPV4_HEAD && ip[0] >> 4 == 4) {
        head = (size_t)(ip[0] & 15) * 4;
        *len = read16(ip + 2) - head;
        *protocol = ip[9];
        if (head < IPV4_HEAD || read16(ip + 2) < head || (read16(ip + 6) & IPV4_FRAGMENT) != 0)
            return 0;
    } else if (rest >= IPV6_HEAD && ip[0] >> 4 == 6) {
        *len = read16(ip + 4);
        *protocol = ip[6];
    } else {
        return 0;
    }
    bool known =
        (*protocol == NEXT_UDP && *len >= UDP_HEAD) || (*protocol == NEXT_TCP && *len >= TCP_HEAD);
    return known && head <= rest && *len <= rest - head ? head : 0;
}

bool emu_ether_sum_missing(const uint8_t *frame, size_t len)
{
    size_t at = emu_ether_payload(frame, len), whole = 0;
    uint8_t protocol = 0;
    size_t head = at == 0 ? 0 : find_transport(frame + at, len - at, &whole, &protocol);
    if (head == 0)
        return false;
    const uint8_t *transport = frame + at + head;
    unsigned pseudo = emu_ether_pseudo_sum(frame + at, protocol, whole);
    return read16(transport + (protocol == NEXT_UDP ? 6 : 16)) == pseudo &&
           emu_ether_sum(transport, whole, pseudo) != 0xffff;
}

bool emu_ether_complete_sum(uint8_t *frame, size_t len, size_t start, size_t offset)
{
    if (start > len || offset > len - start || len - start - offset < 2)
        return false;
    unsigned value = emu_ether_sum(frame + start, len - start, 0) ^ 0xffffu;
    if (value == 0) /* 0 would mean "none" in UDP; both are zero in the arithmetic */
        value = 0xffff;
    frame[start + offset] = (uint8_t)(value >> 8);
    frame[start + offset + 1] = (uint8_t)value;
    return true;
}
