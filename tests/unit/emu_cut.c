/* SPDX-License-Identifier: Apache-2.0 */
/* Joined frames are cut as a device would cut them; what is not whole is refused. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_cut.h"
#include "channel-emu/emu/emu_ether.h"
#include "tests/unit/suite.h"

#define PAYLOAD 2500u

struct joined {
    uint8_t frame[4096];
    size_t len, ip, transport, payload;
};

static void put(uint8_t *p, unsigned bytes, uint64_t v)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

static uint64_t get(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

/* With a VLAN tag when tagged; TCP with 12 bytes of options, all flags. */
static struct joined make(bool v6, bool tcp, bool tagged)
{
    struct joined j = {.ip = tagged ? 18 : 14};
    size_t head = tcp ? 32 : 8;
    j.transport = j.ip + (v6 ? 40 : 20);
    j.payload = j.transport + head;
    j.len = j.payload + PAYLOAD;
    if (tagged)
        put(j.frame + 12, 4, 0x81000007);
    put(j.frame + j.ip - 2, 2, v6 ? 0x86dd : 0x0800);
    uint8_t *ip = j.frame + j.ip, *t = j.frame + j.transport;
    for (size_t i = 8; i < 40 && v6; i++)
        ip[i] = (uint8_t)i;
    put(ip, 4, v6 ? 0x60000000 : 0x45000000 + 20 + head + PAYLOAD);
    if (v6) {
        put(ip + 4, 4, (head + PAYLOAD) << 16 | (tcp ? 6u : 17u) << 8 | 64);
    } else {
        put(ip + 4, 8, UINT64_C(0xffff4000) << 32 | (tcp ? 0x40060000 : 0x40110000));
        put(ip + 12, 8, 0x0a4d00010a4d0002);
    }
    put(t, 4, 0x12345678);
    if (tcp) {
        put(t + 4, 4, 0xfffffff0); /* it wraps */
        t[12] = 0x80;
        t[13] = 0xff;
    } else {
        put(t + 4, 2, head + PAYLOAD);
    }
    for (size_t i = 0; i < PAYLOAD; i++)
        j.frame[j.payload + i] = (uint8_t)(i * 7);
    return j;
}

static void check_part(const struct joined *j, bool v6, bool tcp, const uint8_t *part, size_t len,
                       unsigned number, size_t at)
{
    const uint8_t *ip = part + j->ip, *t = part + j->transport;
    size_t transport_len = len - j->transport;
    bool last = at + len - j->payload == PAYLOAD;
    ck_assert_mem_eq(part, j->frame, j->ip);
    ck_assert_mem_eq(part + j->payload, j->frame + j->payload + at, len - j->payload);
    if (v6) {
        ck_assert_uint_eq(get(ip + 4, 2), transport_len);
        ck_assert_mem_eq(ip + 8, j->frame + j->ip + 8, 32);
    } else {
        ck_assert_uint_eq(get(ip + 2, 2), len - j->ip);
        ck_assert_uint_eq(get(ip + 4, 2), (0xffff + number) & 0xffff);
        ck_assert_uint_eq(emu_ether_sum(ip, 20, 0), 0xffff);
    }
    if (tcp) {
        unsigned flags = 0xffu & ~(last ? 0u : 0x09u) & ~(number == 0 ? 0u : 0x80u);
        ck_assert_uint_eq(get(t + 4, 4), (0xfffffff0 + at) & 0xffffffff);
        ck_assert_uint_eq(t[13], flags);
    } else {
        ck_assert_uint_eq(get(t + 4, 2), transport_len);
    }
    unsigned pseudo = emu_ether_pseudo_sum(ip, tcp ? 6 : 17, transport_len);
    ck_assert_uint_eq(emu_ether_sum(t, transport_len, pseudo), 0xffff);
    ck_assert(!emu_ether_sum_missing(part, len));
}

/* _i: the bits of v6, tcp, tagged */
START_TEST(parts_are_frames)
{
    bool v6 = _i & 1, tcp = _i & 2;
    struct joined j = make(v6, tcp, _i & 4);
    struct emu_cut c;
    uint8_t part[4096];
    size_t at = 0, len;
    unsigned number = 0;
    ck_assert(emu_cut_begin(&c, j.frame, j.len, 700));
    while ((len = emu_cut_next(&c, part)) > 0) {
        check_part(&j, v6, tcp, part, len, number++, at);
        at += len - j.payload;
    }
    ck_assert_uint_eq(at, PAYLOAD);
    ck_assert_uint_eq(number, 4);
    ck_assert_uint_eq(emu_cut_next(&c, part), 0);
}
END_TEST

START_TEST(what_is_not_whole_is_refused)
{
    struct emu_cut c;
    for (int i = 0; i < 8; i++) {
        struct joined j = make(i & 1, i & 2, i & 4);
        for (size_t len = 0; len < j.len; len += len < j.payload ? 1 : 97) {
            uint8_t *exact = malloc(len + 1); /* reading beyond is found by the sanitizer */
            ck_assert_ptr_nonnull(exact);
            memcpy(exact, j.frame, len);
            ck_assert(!emu_cut_begin(&c, exact, len, 700));
            (void)emu_ether_sum_missing(exact, len);
            free(exact);
        }
        ck_assert(!emu_cut_begin(&c, j.frame, j.len, 0));
        if (i & 2) {
            j.frame[j.transport + 12] = 0x40;
            ck_assert(!emu_cut_begin(&c, j.frame, j.len, 700));
        }
        j.frame[j.ip + (i & 1 ? 6 : 9)] = 1; /* ICMP */
        ck_assert(!emu_cut_begin(&c, j.frame, j.len, 700));
    }
}
END_TEST

/* As a kernel leaves it: the sum of the pseudo header. A wrong sum is another thing. */
START_TEST(a_missing_sum_is_known)
{
    for (int i = 0; i < 8; i++) {
        bool tcp = i & 2;
        struct joined j = make(i & 1, tcp, i & 4);
        size_t len = j.len - j.transport;
        uint8_t *sum = j.frame + j.transport + (tcp ? 16 : 6);
        put(sum, 2, emu_ether_pseudo_sum(j.frame + j.ip, tcp ? 6 : 17, len));
        ck_assert(emu_ether_sum_missing(j.frame, j.len));
        ck_assert(emu_ether_complete_sum(j.frame, j.len, j.transport, tcp ? 16 : 6));
        ck_assert(!emu_ether_sum_missing(j.frame, j.len));
        sum[0] ^= 1;
        ck_assert(!emu_ether_sum_missing(j.frame, j.len));
    }
}
END_TEST

/* _i: IPv6, tagged, ECN field */
START_TEST(a_mark_keeps_the_header_whole)
{
    bool v6 = (_i & 1) != 0;
    unsigned ecn = (unsigned)_i >> 2;
    struct joined j = make(v6, false, (_i & 2) != 0);
    uint8_t *ip = j.frame + j.ip;
    ip[1] = (uint8_t)(v6 ? ecn << 4 | 0x8f : 0xb8 | ecn); /* other bits stay */
    if (!v6) {
        put(ip + 10, 2, 0);
        ck_assert(emu_ether_complete_sum(j.frame, j.ip + 20, j.ip, 10));
    }
    ck_assert_uint_eq(emu_ether_ecn(j.frame, j.len), ecn);
    ck_assert_uint_eq(emu_ether_ecn(j.frame, j.ip + (v6 ? 39 : 19)), 0);
    emu_ether_mark(j.frame, j.len);
    ck_assert_uint_eq(emu_ether_ecn(j.frame, j.len), ecn == 0 ? 0 : 3);
    ck_assert_uint_eq(ip[1], v6 ? 0x8f | (ecn == 0 ? 0 : 0x30) : 0xb8 | (ecn == 0 ? 0 : 3));
    if (!v6)
        ck_assert_uint_eq(emu_ether_sum(ip, 20, 0), 0xffff);
    j.frame[j.ip - 1] = 6; /* ARP has none */
    ck_assert_uint_eq(emu_ether_ecn(j.frame, j.len), 0);
    emu_ether_mark(j.frame, j.len);
}
END_TEST

SUITE(emu_cut, t)
{
    tcase_add_loop_test(t, parts_are_frames, 0, 8);
    tcase_add_test(t, what_is_not_whole_is_refused);
    tcase_add_test(t, a_missing_sum_is_known);
    tcase_add_loop_test(t, a_mark_keeps_the_header_whole, 0, 16);
}
