/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of pcap are in the byte order of the machine, those of the network are not. A
 * datagram whose headers do not fit a 16-bit length is the caller's mistake. Nothing else can go
 * wrong but what the writer counts. */
#include "channel-emu/emu/emu_capture.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#define ETHERNET 14u
#define IPV4 20u
#define IPV6 40u
#define UDP 8u
#define RECORD 16u

int emu_capture_open(struct log_writer **out, const char *path)
{
    /* magic of nanosecond stamps, version 2.4, UTC, -, snapshot length, link type 1: Ethernet */
    static const struct {
        uint32_t magic;
        uint16_t version[2];
        uint32_t rest[4];
    } head = {0xa1b23c4d, {2, 4}, {0, 0, EMU_CAPTURE_MAX, 1}};
    _Static_assert(sizeof head == 24, "the header of pcap");
    return log_writer_open(out, path, 0, slice_of(&head, sizeof head));
}

static void put_record(uint8_t *p, tick wall, size_t held, size_t whole)
{
    const uint32_t head[4] = {(uint32_t)(wall / TICK_S), (uint32_t)(wall % TICK_S), (uint32_t)held,
                              (uint32_t)whole};
    memcpy(p, head, sizeof head);
}

void emu_capture_frame(struct log_writer *w, tick wall, const uint8_t *data, size_t len)
{
    size_t held = len < EMU_CAPTURE_MAX ? len : EMU_CAPTURE_MAX;
    uint8_t *p = log_writer_room(w, RECORD + held);
    if (p == NULL)
        return;
    put_record(p, wall, held, len);
    memcpy(p + RECORD, data, held);
    log_writer_put(w, RECORD + held);
}

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* RFC 1071 */
static uint64_t sum_words(uint64_t s, const uint8_t *p, size_t len)
{
    for (; len > 1; p += 2, len -= 2)
        s += (uint64_t)p[0] << 8 | p[1];
    return len > 0 ? s + ((uint64_t)p[0] << 8) : s;
}

static uint16_t fold_sum(uint64_t s)
{
    while (s > UINT16_MAX)
        s = (s & UINT16_MAX) + (s >> 16);
    return (uint16_t)~s;
}

static void put_ip4(uint8_t *ip, const struct address *from, const struct address *to,
                    size_t payload)
{
    memset(ip, 0, IPV4);
    ip[0] = 0x45;
    put16(ip + 2, IPV4 + UDP + payload);
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    memcpy(ip + 12, &from->v4.sin_addr, 4);
    memcpy(ip + 16, &to->v4.sin_addr, 4);
    put16(ip + 10, fold_sum(sum_words(0, ip, IPV4)));
}

static void put_ip6(uint8_t *ip, const struct address *from, const struct address *to,
                    size_t payload)
{
    memset(ip, 0, IPV6);
    ip[0] = 0x60;
    put16(ip + 4, UDP + payload);
    ip[6] = IPPROTO_UDP;
    ip[7] = 64;
    memcpy(ip + 8, &from->v6.sin6_addr, 16);
    memcpy(ip + 24, &to->v6.sin6_addr, 16);
}

/* The pseudo header of IPv4 and IPv6 sums to the addresses, the protocol and the length. */
static void put_udp(uint8_t *udp, const uint8_t *addresses, size_t addresses_len,
                    const struct address *from, const struct address *to, const uint8_t *data,
                    size_t len)
{
    put16(udp, address_port(from));
    put16(udp + 2, address_port(to));
    put16(udp + 4, UDP + len);
    put16(udp + 6, 0);
    memcpy(udp + UDP, data, len);
    uint64_t s = sum_words(IPPROTO_UDP + UDP + len, addresses, addresses_len);
    uint16_t check = fold_sum(sum_words(s, udp, UDP + len));
    put16(udp + 6, check == 0 ? UINT16_MAX : check);
}

void emu_capture_udp(struct log_writer *w, tick wall, const struct address *from,
                     const struct address *to, const uint8_t *data, size_t len)
{
    bool six = from->sa.sa_family == AF_INET6;
    size_t ip_len = six ? IPV6 : IPV4, whole = ETHERNET + ip_len + UDP + len;
    assert(len <= (six ? 65527 : 65507) && from->sa.sa_family == to->sa.sa_family);
    uint8_t *p = log_writer_room(w, RECORD + whole);
    if (p == NULL)
        return;
    put_record(p, wall, whole, whole);
    uint8_t *ether = p + RECORD, *ip = ether + ETHERNET;
    memset(ether, 0, ETHERNET);
    put16(ether + 12, six ? 0x86dd : 0x0800);
    if (six)
        put_ip6(ip, from, to, len);
    else
        put_ip4(ip, from, to, len);
    put_udp(ip + ip_len, six ? ip + 8 : ip + 12, six ? 32 : 8, from, to, data, len);
    log_writer_put(w, RECORD + whole);
}
