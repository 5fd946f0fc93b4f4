/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of pcapng have the byte order of the machine, network headers do not. A datagram whose
 * headers exceed a 16-bit length is an error of the caller. The writer counts everything else that
 * can go wrong. */
#include "channel-emu/emu/emu_capture.h"

#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define ETHERNET 14u
#define IPV4 20u
#define IPV6 40u
#define UDP 8u
#define RECORD 28u /* of a packet's block, before the frame */
#define SECTION 28u
#define OPTIONS 160u

/* Fields of a file's beginning, in the order of bytes of the machine. */
struct head {
    uint8_t bytes[SECTION + 2 * (20 + OPTIONS)];
    size_t len;
};

static void put_words(struct head *h, const void *words, size_t len)
{
    assert(h->len + len <= sizeof h->bytes);
    if (len > 0) /* `words` may be NULL then */
        memcpy(h->bytes + h->len, words, len);
    h->len += len;
}

static void put_option(struct head *h, uint16_t code, const void *value, size_t len)
{
    const uint16_t option[2] = {code, (uint16_t)len};
    static const uint8_t none[4];
    put_words(h, option, sizeof option);
    put_words(h, value, len);
    put_words(h, none, (4 - len % 4) % 4);
}

/* An interface: its name, what it is, nanoseconds. */
static void put_interface(struct head *h, const char *name, bool after, uint64_t run)
{
    static const uint8_t nanoseconds = 9;
    char text[OPTIONS];
    size_t begin = h->len;
    const uint32_t block[4] = {1, 0, 1, EMU_CAPTURE_MAX}; /* link type 1: Ethernet */
    int n = snprintf(text, sizeof text, "helio-emu %s %" PRIx64 ": what %s the link, %s direction",
                     after ? "after" : "before", run, after ? "leaves" : "enters", name);
    put_words(h, block, sizeof block);
    put_option(h, 2, name, strlen(name));
    put_option(h, 3, text, (size_t)n);
    put_option(h, 9, &nanoseconds, 1);
    put_option(h, 0, NULL, 0);
    uint32_t len = (uint32_t)(h->len - begin + 4);
    put_words(h, &len, sizeof len);
    memcpy(h->bytes + begin + 4, &len, sizeof len);
}

int emu_capture_open(struct log_writer **out, const char *path, bool after, uint64_t run,
                     unsigned flags)
{
    /* type, length, order of bytes, version 1.0, a section of unknown length, length */
    static const uint32_t section[SECTION / 4] = {0x0a0d0d0a, SECTION,    0x1a2b3c4d, 1,
                                                  UINT32_MAX, UINT32_MAX, SECTION};
    struct head h = {.len = 0};
    put_words(&h, section, sizeof section);
    put_interface(&h, "forward", after, run);
    put_interface(&h, "return", after, run);
    return log_writer_open(out, path, flags, slice_of(h.bytes, h.len));
}

/* Of a packet's block: whole words, and its length once more. */
static size_t block_len(size_t held)
{
    return RECORD + ((held + 3) & ~(size_t)3) + 4;
}

static void put_record(uint8_t *p, int dir, tick wall, size_t held, size_t whole)
{
    const uint32_t len = (uint32_t)block_len(held);
    const uint32_t head[RECORD / 4] = {6,
                                       len,
                                       (uint32_t)dir,
                                       (uint32_t)(wall >> 32),
                                       (uint32_t)wall,
                                       (uint32_t)held,
                                       (uint32_t)whole};
    memcpy(p, head, sizeof head);
    if (held % 4 != 0)
        memset(p + len - 8, 0, 4); /* what fills up the last word; the frame comes later */
    memcpy(p + len - 4, &len, sizeof len);
}

void emu_capture_frame(struct log_writer *w, int dir, tick wall, const uint8_t *data, size_t len)
{
    size_t held = len < EMU_CAPTURE_MAX ? len : EMU_CAPTURE_MAX;
    uint8_t *p = log_writer_room(w, block_len(held));
    if (p == NULL)
        return;
    put_record(p, dir, wall, held, len);
    memcpy(p + RECORD, data, held);
    log_writer_put(w, block_len(held));
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

void emu_capture_udp(struct log_writer *w, int dir, tick wall, const struct address *from,
                     const struct address *to, const uint8_t *data, size_t len)
{
    bool six = from->sa.sa_family == AF_INET6;
    size_t ip_len = six ? IPV6 : IPV4, whole = ETHERNET + ip_len + UDP + len;
    assert(len <= (six ? 65527 : 65507) && from->sa.sa_family == to->sa.sa_family);
    uint8_t *p = log_writer_room(w, block_len(whole));
    if (p == NULL)
        return;
    put_record(p, dir, wall, whole, whole);
    uint8_t *ether = p + RECORD, *ip = ether + ETHERNET;
    memset(ether, 0, ETHERNET);
    put16(ether + 12, six ? 0x86dd : 0x0800);
    if (six)
        put_ip6(ip, from, to, len);
    else
        put_ip4(ip, from, to, len);
    put_udp(ip + ip_len, six ? ip + 8 : ip + 12, six ? 32 : 8, from, to, data, len);
    log_writer_put(w, block_len(whole));
}
