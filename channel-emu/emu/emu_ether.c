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

struct slice emu_ether_udp_payload(const uint8_t *frame, size_t len)
{
    size_t at = ADDRESSES;
    while (len >= at + 2 && is_tag(read16(frame + at)))
        at += EMU_ETHER_TAG;
    if (len < at + 2)
        return slice_of(frame, 0);
    unsigned type = read16(frame + at);
    size_t udp = type == TYPE_IPV4   ? after_ipv4(frame, len, at + 2)
                 : type == TYPE_IPV6 ? after_ipv6(frame, len, at + 2)
                                     : 0;
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

bool emu_ether_complete_sum(uint8_t *frame, size_t len, size_t start, size_t offset)
{
    if (start > len || offset > len - start || len - start - offset < 2)
        return false;
    uint64_t sum = 0;
    size_t at = start;
    for (; len - at >= 4; at += 4)
        sum += (uint64_t)read16(frame + at) + read16(frame + at + 2);
    if (len - at >= 2) {
        sum += read16(frame + at);
        at += 2;
    }
    if (at < len)
        sum += (uint64_t)frame[at] << 8;
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    unsigned value = ~(unsigned)sum & 0xffff;
    if (value == 0) /* 0 would mean "none" in UDP; both are zero in the arithmetic */
        value = 0xffff;
    frame[start + offset] = (uint8_t)(value >> 8);
    frame[start + offset + 1] = (uint8_t)value;
    return true;
}
