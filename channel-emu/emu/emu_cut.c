/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each part has the headers of the whole frame, with corrected fields: lengths, the id of an IPv4
 * datagram, TCP's sequence number and flags (FIN and PSH only in the last part, CWR only in the
 * first, RFC 3168 §6.1.2), and checksums (RFC 1071). What can go wrong: headers that are truncated
 * or contradict the frame's length, found before the first part.
 */
#include "channel-emu/emu/emu_cut.h"

#include <assert.h>
#include <string.h>

#include "channel-emu/emu/emu_ether.h"

#define IPV4_HEAD 20u
#define IPV6_HEAD 40u
#define TCP_HEAD 20u
#define UDP_HEAD 8u
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define FLAG_FIN 0x01
#define FLAG_PSH 0x08
#define FLAG_CWR 0x80

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static void put16(uint8_t *p, size_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* The bytes of IP's payload by its header; 0: it is not what we cut. */
static size_t read_ip(struct emu_cut *c, size_t len, int *protocol)
{
    const uint8_t *ip = c->frame + c->ip;
    size_t rest = len - c->ip;
    if (rest >= IPV4_HEAD && ip[0] >> 4 == 4) {
        size_t head = (size_t)(ip[0] & 15) * 4, total = get16(ip + 2);
        *protocol = ip[9];
        c->v6 = false;
        c->transport = c->ip + head;
        return head >= IPV4_HEAD && total > head && total <= rest ? total - head : 0;
    }
    if (rest < IPV6_HEAD || ip[0] >> 4 != 6 || get16(ip + 4) > rest - IPV6_HEAD)
        return 0;
    *protocol = ip[6];
    c->v6 = true;
    c->transport = c->ip + IPV6_HEAD;
    return get16(ip + 4);
}

bool emu_cut_begin(struct emu_cut *c, const uint8_t *frame, size_t len, size_t segment)
{
    int protocol = 0;
    *c = (struct emu_cut){.frame = frame, .segment = segment};
    c->ip = emu_ether_payload(frame, len);
    size_t rest = c->ip == 0 || segment == 0 ? 0 : read_ip(c, len, &protocol);
    c->tcp = protocol == PROTOCOL_TCP;
    size_t head = UDP_HEAD;
    if (rest < UDP_HEAD || (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP))
        return false;
    if (c->tcp)
        head = rest < TCP_HEAD ? 0 : (size_t)(frame[c->transport + 12] >> 4) * 4;
    if (rest < head || (c->tcp && head < TCP_HEAD))
        return false;
    c->payload = c->at = c->transport + head;
    c->end = c->transport + rest;
    assert(c->payload <= c->end && c->end <= len);
    return true;
}

static void put_ip(const struct emu_cut *c, uint8_t *ip, size_t transport_len)
{
    if (c->v6) {
        put16(ip + 4, transport_len);
        return;
    }
    size_t head = c->transport - c->ip;
    put16(ip + 2, head + transport_len);
    put16(ip + 4, get16(ip + 4) + c->number);
    put16(ip + 10, 0);
    put16(ip + 10, emu_ether_sum(ip, head, 0) ^ 0xffffu);
}

static void put_transport(const struct emu_cut *c, uint8_t *ip, uint8_t *head, size_t len)
{
    bool last = c->at + (len - (c->payload - c->transport)) == c->end;
    uint8_t *sum = head + (c->tcp ? 16 : 6);
    if (c->tcp) {
        uint32_t seq = (get16(head + 4) << 16 | get16(head + 6)) + (uint32_t)(c->at - c->payload);
        put16(head + 4, seq >> 16);
        put16(head + 6, seq & 0xffff);
        if (!last)
            head[13] &= (uint8_t) ~(FLAG_FIN | FLAG_PSH);
        if (c->number > 0)
            head[13] &= (uint8_t)~FLAG_CWR;
    } else {
        put16(head + 4, len);
    }
    put16(sum, 0);
    unsigned pseudo = emu_ether_pseudo_sum(ip, c->tcp ? PROTOCOL_TCP : PROTOCOL_UDP, len);
    unsigned value = emu_ether_sum(head, len, pseudo) ^ 0xffffu;
    put16(sum, value == 0 && !c->tcp ? 0xffffu : value); /* 0 means "none" in UDP */
}

size_t emu_cut_next(struct emu_cut *c, uint8_t *out)
{
    if (c->at == c->end && c->number > 0)
        return 0;
    size_t rest = c->end - c->at, n = rest < c->segment ? rest : c->segment;
    size_t transport_len = c->payload - c->transport + n;
    memcpy(out, c->frame, c->payload);
    memcpy(out + c->payload, c->frame + c->at, n);
    put_ip(c, out + c->ip, transport_len);
    put_transport(c, out + c->ip, out + c->transport, transport_len);
    c->at += n;
    c->number++;
    assert(c->at <= c->end);
    return c->payload + n;
}
