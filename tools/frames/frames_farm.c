/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-frames farm: a spacecraft's end of COP-1. FARM-1 accepts TC frames, their packets go to a
 * file, and frames of only idle data return its state in their CLCWs. What can go wrong: the output
 * file, the network's addresses. Frames that are wrong are counted.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "frames/cltu.h"
#include "frames/farm.h"
#include "frames/tc_extract.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "tools/frames/frames_cop.h"

enum { DATAGRAM_MAX = 65536 };

struct receiver {
    const struct frames_options *o;
    struct frames_options packets; /* of the sink: packets as they are */
    struct farm farm;
    struct cop_port port;
    struct frame_channel channel;
    struct tc_extract extract;
    struct sink sink;
    struct rs rs;
    struct cadu_format cadu;
    struct numbered numbered;
    uint8_t *octets, *joined, *telemetry, *unit; /* decoded CLTUs; segments; what is sent */
    tick heard;                                  /* when the last TC frame arrived */
    bool busy, failed;
    uint64_t verdicts[FARM_EXECUTED + 1], cltus_bad, telemetry_count, lockouts;
};

static bool take_packets(struct receiver *r, const struct frame *f)
{
    struct packet_piece piece;
    if (tc_extract_input(&r->extract, f) != FRAME_OK_VERDICT)
        return true;
    while (tc_extract_next(&r->extract, &piece)) {
        if (r->o->numbered)
            numbered_check(&r->numbered, r->o->prbs, piece.data);
        if (!sink_whole_packet(&r->sink, piece.packet, piece.data))
            return false;
    }
    return true;
}

/* What is no good frame of this virtual channel does not reach its FARM-1, but E9: it is invalid.
 */
static void take_frame(struct receiver *r, const uint8_t *data, size_t len)
{
    struct frame f;
    bool locked = r->farm.state == FARM_LOCKOUT;
    enum frame_verdict v = frame_input(&r->channel, data, len, &f);
    if (v == FRAME_OK_VERDICT && f.vcid != r->o->vcid)
        return;
    r->heard = clock_now();
    enum farm_verdict verdict = v == FRAME_OK_VERDICT ? farm_input(&r->farm, &f, !r->busy)
                                                      : farm_event(&r->farm, FARM_E9, 0);
    r->verdicts[verdict]++;
    r->lockouts += !locked && r->farm.state == FARM_LOCKOUT;
    if (verdict == FARM_ACCEPTED && !take_packets(r, &f))
        r->failed = true;
}

/* Frames of a CLTU's octets, one behind the other; the rest is fill. */
static void take_frames(struct receiver *r, const uint8_t *data, size_t len)
{
    while (len > 5) {
        size_t n = (size_t)((data[2] & 3) << 8 | data[3]) + 1;
        if (n <= 5 || n > len)
            return;
        take_frame(r, data, n);
        data += n;
        len -= n;
    }
}

static void take_datagram(struct receiver *r, struct slice d)
{
    struct cltu c;
    if (r->o->from != CONTENT_CLTU) {
        take_frame(r, d.data, d.len);
        return;
    }
    while (d.len > 0) {
        enum cltu_verdict v =
            cltu_read(d.data, d.len, BCH_CORRECT, r->o->randomised, r->octets, DATAGRAM_MAX, &c);
        r->cltus_bad += v != CLTU_OK && v != CLTU_NO_START;
        take_frames(r, r->octets, c.len);
        d = slice_of(d.data + c.used, d.len - c.used);
    }
}

static void report_state(struct receiver *r)
{
    const struct frames_options *o = r->o;
    struct clcw c = {.vcid = (uint8_t)o->vcid};
    farm_report(&r->farm, &c);
    const uint64_t wrap = (UINT64_C(1) << frame_count_bits(&o->format)) - 1;
    struct frame f = {.kind = o->format.kind,
                      .scid = (uint16_t)o->scid,
                      .vcid = 0,
                      .count = r->telemetry_count & wrap,
                      .master_count = (uint8_t)(r->telemetry_count & 0xff),
                      .has_ocf = true,
                      .ocf = clcw_encode(&c)};
    frame_write_idle(&o->format, &f, r->telemetry);
    r->telemetry_count++;
    if (o->to != CONTENT_CADU) {
        cop_port_send(&r->port, slice_of(r->telemetry, o->format.length));
        return;
    }
    cadu_write(&r->cadu, r->telemetry, r->unit);
    cop_port_send(&r->port, slice_of(r->unit, cadu_len(&r->cadu)));
}

/* The on-board user has no buffer for a share of the intervals. */
static void draw_buffer(struct receiver *r)
{
    bool was = r->busy;
    r->busy = rng_chance(&r->port.rng, r->o->cop.busy);
    if (was && !r->busy)
        farm_release(&r->farm);
}

static bool is_done(const struct receiver *r, tick now)
{
    return r->o->frames > 0 && r->extract.counts.packets >= r->o->frames &&
           now >= r->heard + r->o->cop.linger;
}

static void run_receiver(struct receiver *r)
{
    struct slice d;
    tick now = clock_now(), next = now;
    while (!r->port.interrupted && !r->failed && !is_done(r, now)) {
        if (now >= next) {
            draw_buffer(r);
            report_state(r);
            next = now + r->o->cop.interval;
        }
        cop_port_wait(&r->port, next);
        while (!r->failed && cop_port_next(&r->port, &d))
            take_datagram(r, d);
        now = clock_now();
    }
}

static bool is_complete(const struct receiver *r)
{
    return !r->failed && (r->o->frames == 0 || r->extract.counts.packets >= r->o->frames) &&
           (!r->o->numbered || (r->numbered.missing == 0 && r->numbered.damaged == 0));
}

static void print_result(const struct receiver *r)
{
    static const char *const states[FARM_STATES] = {"open", "wait", "lockout"};
    json_t *j = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:i,s:b}", "packets",
        (json_int_t)r->extract.counts.packets, "accepted", (json_int_t)r->verdicts[FARM_ACCEPTED],
        "discarded", (json_int_t)r->verdicts[FARM_DISCARDED], "commands",
        (json_int_t)r->verdicts[FARM_EXECUTED], "erased", (json_int_t)r->port.counts.erased,
        "bad_cltus", (json_int_t)r->cltus_bad, "lockouts", (json_int_t)r->lockouts, "reports",
        (json_int_t)r->telemetry_count, "missing", (json_int_t)r->numbered.missing, "damaged",
        (json_int_t)r->numbered.damaged, "state", states[r->farm.state], "v_r", (int)r->farm.v_r,
        "complete", is_complete(r));
    FILE *out = r->o->output == NULL ? stderr : stdout; /* packets are on standard output */
    if (r->o->json)
        json_dumpf(j, out, JSON_INDENT(2));
    else
        fprintf(out,
                "%" PRIu64 " packets; frames: %" PRIu64 " accepted, %" PRIu64 " discarded, %" PRIu64
                " erased; %" PRIu64 " control commands; state %s, V(R) %u",
                r->extract.counts.packets, r->verdicts[FARM_ACCEPTED], r->verdicts[FARM_DISCARDED],
                r->port.counts.erased, r->verdicts[FARM_EXECUTED], states[r->farm.state],
                (unsigned)r->farm.v_r);
    fputc('\n', out);
    json_decref(j);
}

static bool alloc_receiver(struct receiver *r)
{
    r->octets = malloc(DATAGRAM_MAX);
    r->joined = malloc(PACKET_MAX);
    r->telemetry = malloc(r->o->format.length);
    r->unit = malloc(cadu_len(&r->cadu));
    if (r->octets != NULL && r->joined != NULL && r->telemetry != NULL && r->unit != NULL)
        return true;
    frames_error("out of memory");
    return false;
}

static void free_receiver(struct receiver *r)
{
    free(r->octets);
    free(r->joined);
    free(r->telemetry);
    free(r->unit);
}

int command_farm(const struct frames_options *o)
{
    struct receiver r = {.o = o,
                         .packets = *o,
                         .channel = {.format = cop_tc_format(o), .scid = o->scid},
                         .heard = clock_now()};
    int code = EXIT_FAILED;
    r.packets.to = CONTENT_PACKETS;
    r.packets.map = 0; /* of telecommands */
    r.packets.vcid = 0;
    r.cadu = frames_cadu_format(o, &r.rs);
    r.cadu.randomised = o->randomise;
    farm_init(&r.farm, o->cop.farm_window);
    if (alloc_receiver(&r) && cop_port_open(&r.port, o) == 0) {
        const struct tc_extract_config c = {
            .accepted = true, .map = o->map, .buffer = r.joined, .room = PACKET_MAX};
        tc_extract_init(&r.extract, &c);
        if (sink_open(&r.sink, &r.packets) != 0) {
            code = argument_file_code(o->output, true);
        } else {
            run_receiver(&r);
            r.failed = sink_close(&r.sink) != 0 || r.failed;
            print_result(&r);
            code = is_complete(&r) ? EXIT_DONE : EXIT_FAILED;
        }
        cop_port_close(&r.port);
    }
    free_receiver(&r);
    return code;
}
