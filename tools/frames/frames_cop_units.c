/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-frames fop sends and hears: a file of packets as the data of TC frames, and telemetry
 * frames. What can go wrong: the file; a packet that is none, or fits no frame. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "os/arguments.h"
#include "tools/frames/frames_cop.h"

enum { SLIP_MAX = 4, WHOLE = 3, FIRST = 1, MIDDLE = 0, LAST = 2 };

struct frame_format cop_tc_format(const struct frames_options *o)
{
    return (struct frame_format){.kind = FRAME_TC,
                                 .length = o->cop.tc_length,
                                 .fecf = o->format.fecf,
                                 .segments = o->cop.segments};
}

static bool add_unit(struct cop_units *u, size_t at, size_t len, uint8_t sequence)
{
    if (u->count == u->room) {
        size_t room = 2 * u->room + 64;
        struct cop_unit *more = realloc(u->units, room * sizeof *more);
        if (more == NULL) {
            frames_error("out of memory");
            return false;
        }
        u->units = more;
        u->room = room;
    }
    u->units[u->count++] = (struct cop_unit){at, (uint16_t)len, sequence};
    return true;
}

static bool add_packet(struct cop_units *u, size_t at, size_t len, const struct frame_format *f)
{
    size_t zone = frame_layout(f).zone_len;
    u->packets++;
    if (len <= zone)
        return add_unit(u, at, len, WHOLE);
    if (!f->segments) {
        frames_error("packet %" PRIu64 " of the input has %zu octets, a TC frame holds %zu: "
                     "--segments or a larger --tc-length is needed",
                     u->packets, len, zone);
        return false;
    }
    for (size_t done = 0; done < len; done += zone) {
        size_t piece = len - done < zone ? len - done : zone;
        uint8_t sequence = done == 0 ? FIRST : done + piece == len ? LAST : MIDDLE;
        if (!add_unit(u, at + done, piece, sequence))
            return false;
    }
    return true;
}

/* The whole file is in memory: the engine refers to data by numbers, and asks for them again. */
static bool read_all(struct cop_units *u, const struct frames_options *o, FILE *file)
{
    size_t n, room = 0;
    do {
        if (u->len == room) {
            room = room == 0 ? 1 << 16 : 2 * room;
            uint8_t *more = room > 2 * (size_t)COP_INPUT_MAX ? NULL : realloc(u->data, room);
            if (more == NULL) {
                frames_error("%s: more than fits into memory; at most %d MiB are sent at once",
                             o->input, COP_INPUT_MAX >> 20);
                return false;
            }
            u->data = more;
        }
        n = fread(u->data + u->len, 1, room - u->len, file);
        u->len += n;
    } while (n > 0);
    if (ferror(file))
        frames_error("%s: %s", o->input, strerror(errno));
    else if (u->len > COP_INPUT_MAX)
        frames_error("%s: at most %d MiB are sent at once", o->input, COP_INPUT_MAX >> 20);
    return !ferror(file) && u->len <= COP_INPUT_MAX;
}

static bool cut_packets(struct cop_units *u, const struct frames_options *o)
{
    const struct frame_format f = cop_tc_format(o);
    struct packet p;
    for (size_t at = 0; at < u->len; at += (size_t)p.length) {
        enum packet_verdict v = packet_read(&p, u->data + at, u->len - at);
        if (v != PACKET_OK || p.length > u->len - at) {
            frames_error("packet %" PRIu64 " of %s is none (%s)", u->packets, o->input,
                         v == PACKET_OK ? "the input ends within it" : packet_verdict_name(v));
            return false;
        }
        if (!p.idle && !add_packet(u, at, (size_t)p.length, &f))
            return false;
    }
    return true;
}

int cop_units_read(struct cop_units *u, const struct frames_options *o)
{
    *u = (struct cop_units){0};
    bool standard = strcmp(o->input, "-") == 0;
    FILE *file = standard ? stdin : fopen(o->input, "rb");
    if (file == NULL) {
        frames_error("%s: %s", o->input, strerror(errno));
        return argument_file_code(o->input, false);
    }
    bool good = read_all(u, o, file);
    if (!standard)
        fclose(file);
    return good && cut_packets(u, o) ? EXIT_DONE : EXIT_FAILED;
}

void cop_units_free(struct cop_units *u)
{
    free(u->data);
    free(u->units);
}

int cop_telemetry_open(struct cop_telemetry *t, const struct frames_options *o)
{
    *t = (struct cop_telemetry){.o = o, .channel = {.format = o->format, .scid = o->scid}};
    if (o->from != CONTENT_CADU)
        return 0;
    struct cadu_format f = frames_cadu_format(o, &t->rs);
    size_t room = cadu_reader_room(&f) + UDP_DATAGRAM_MAX;
    t->buffer = malloc(room);
    t->block = malloc(cadu_len(&f));
    if (t->buffer == NULL || t->block == NULL) {
        frames_error("out of memory");
        cop_telemetry_close(t);
        return -1;
    }
    cadu_reader_init(&t->cadus, &f, o->marker_errors, SLIP_MAX, t->buffer, room, t->block);
    return 0;
}

void cop_telemetry_close(struct cop_telemetry *t)
{
    free(t->buffer);
    free(t->block);
}

static void take_frame(struct cop_telemetry *t, struct slice data, cop_clcw_taker *take,
                       void *context)
{
    struct frame f;
    struct clcw c;
    enum frame_verdict v = frame_input(&t->channel, data.data, data.len, &f);
    if (v != FRAME_OK_VERDICT && v != FRAME_IDLE_VERDICT)
        return;
    t->frames++;
    if (!f.has_ocf || !clcw_decode(f.ocf, &c))
        return;
    t->clcws++;
    take(context, &c);
}

void cop_telemetry_input(struct cop_telemetry *t, struct slice datagram, cop_clcw_taker *take,
                         void *context)
{
    struct cadu unit;
    size_t room;
    if (t->o->from != CONTENT_CADU) {
        take_frame(t, datagram, take, context);
        return;
    }
    while (datagram.len > 0) {
        uint8_t *to = cadu_reader_space(&t->cadus, &room);
        size_t n = datagram.len < room ? datagram.len : room;
        memcpy(to, datagram.data, n);
        cadu_reader_fed(&t->cadus, n);
        datagram = slice_of(datagram.data + n, datagram.len - n);
        while (cadu_reader_next(&t->cadus, &unit))
            if (unit.quality != CADU_ERRED)
                take_frame(t, unit.frame, take, context);
    }
}
