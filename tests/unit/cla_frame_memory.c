/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in CADUs without memory: each allocation of opening a port fails once, and each copy of a
 * frame that arrives. What was begun is free again; a frame without memory is counted as lost. */
#include "frame_port_help.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

static struct frame_keys cadu_keys(int wire, int symbols)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 0);
    k.cadu = FRAME_CODE_RS_223;
    k.cadu_interleave = 5;
    k.wire = wire;
    k.cadu_symbols = symbols % 2;
    k.cadu_convolutional = symbols / 2; /* enum frame_code_conv */
    return k;
}

/* False: the countdown has not come to its end. */
static bool open_once(int wire, int symbols, long n)
{
    struct frame_keys k = cadu_keys(wire, symbols);
    struct frame_port_config c;
    struct end e = {0};
    begin_world();
    frame_keys_config(&k, &c);
    ck_assert_int_eq(address_parse("127.0.0.1:2", &c.wire.local), 0);
    ck_assert_int_eq(address_parse("127.0.0.1:1", &c.wire.remote), 0);
    memory.countdown = n;
    int r = frame_port_open(&w.v.world, &e.port, &c, NULL, on_ready, &e);
    bool reached = memory.countdown < 0;
    memory.countdown = -1;
    ck_assert_int_eq(r, reached ? HELIO_ENOMEM : 0);
    if (r == 0) {
        port_close(e.port, on_closed, &e);
        virtual_fire_soon(&w.v);
        virtual_settle(&w.v);
        ck_assert(e.closed);
    }
    virtual_fini(&w.v);
    return reached;
}

START_TEST(opening)
{
    for (int wire = FRAME_WIRE_UDP; wire <= FRAME_WIRE_LISTEN; wire++)
        for (int symbols = 0; symbols < 4; symbols++) {
            long n = 0;
            while (open_once(wire, symbols, n))
                n++;
            ck_assert_int_gt(n, 8);
        }
}
END_TEST

/* Without assertions, which have memory of their own. */
static void take_arrivals(void *context, bool readable, bool writable)
{
    struct end *e = context;
    struct slice got;
    (void)writable;
    while (readable && udp_fill(e->port->io, 1 << 20))
        while (udp_next(e->port->io, &got))
            e->got++;
}

/* Of 20 frames that arrive at once the copy of one has no room. */
START_TEST(arriving)
{
    static uint8_t stream[20 * 1279];
    struct frame_keys k = cadu_keys(FRAME_WIRE_UDP, 0);
    for (long n = 0; n < 20; n++) {
        begin(&k);
        w.b.port->ready = take_arrivals;
        for (uint8_t i = 0; i < 20; i++) { /* each fills a frame */
            uint8_t bytes[900] = {i};
            send_bytes(&w.a, bytes, sizeof bytes);
            ck_assert(udp_flush(w.a.port->io));
            memcpy(stream + (size_t)i * 1279, w.flight[i].bytes, 1279);
        }
        ck_assert_uint_eq(w.flying, 20);
        w.arrived = w.flying;
        struct virtual_port *to = virtual_port_at(&w.v, 2);
        memory.countdown = n;
        virtual_arrive(to, &w.a.self, slice_of(stream, sizeof stream));
        long left = memory.countdown;
        memory.countdown = -1;
        struct frame_port_counters b = count_of(&w.b);
        ck_assert(left == -1 && w.b.got == 19);
        ck_assert(b.line.unread == 1 && b.received.frames == 19 && b.wire.in == 20);
        end_world();
    }
}
END_TEST

SUITE(cla_frame_memory, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, opening);
    tcase_add_test(t, arriving);
}
