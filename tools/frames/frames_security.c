/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --sdls: security of the frames that are written, or that are read. Frames of a fixed length are
 * shorter without it, so that those of one file need associations that take as much. What can go
 * wrong: the file of associations; the numbers; frames that are not authentic, which are counted.
 */
#include <assert.h>
#include <inttypes.h>

#include "cla/framed/sdls_file.h"
#include "tools/frames/frames_options.h"

static void say_line(const char *line)
{
    frames_error("%s", line);
}

/* Frames that are read have it, not those that are written. */
static bool is_read(const struct command *c, const struct frames_options *o)
{
    return c->run == command_info ||
           (c->run == command_convert &&
            (o->from != CONTENT_PACKETS && (o->to == CONTENT_PACKETS || o->secured)));
}

void frames_check_security(struct argp_state *state, const struct frames_options *o)
{
    bool frames = o->command->run == command_convert && o->from != CONTENT_PACKETS &&
                  o->to != CONTENT_PACKETS;
    if (o->sdls == NULL && o->secured)
        argp_error(state, "--secured: --sdls with the file of associations is missing");
    if (o->sdls == NULL)
        return;
    if (o->to == CONTENT_PACKETS && o->command->run != command_convert)
        argp_error(state, "--sdls: packets have no security; --to frames, for example");
    if (o->from == CONTENT_PACKETS && o->to == CONTENT_PACKETS)
        argp_error(state, "--sdls: frames have security, not packets");
    if (o->secured && !is_read(o->command, o))
        argp_error(state, "--secured: it is of frames that are read");
    if (frames && o->secured && o->to == CONTENT_CADU)
        argp_error(state, "--secured: CADUs have frames with security; --to frames, for example");
    if (frames && !o->secured && o->from == CONTENT_CADU)
        argp_error(state, "--sdls: write --from frames, of frames without security; those that "
                          "have it are --secured");
}

/* Octets that security takes of each frame; -1, which was said: there are several answers. */
static int find_overhead(const struct command *c, const struct frames_options *o,
                         const struct sdls *s)
{
    const bool written = c->run == command_gen || o->from == CONTENT_PACKETS;
    const int32_t vcid = o->vcid < 0 && written ? 0 : o->vcid;
    if (vcid >= 0 && sdls_overhead(s, (uint8_t)vcid) == 0) {
        frames_error("--vcid %d: no association in %s has this virtual channel", vcid, o->sdls);
        return -1;
    }
    if (vcid >= 0)
        return (int)sdls_overhead(s, (uint8_t)vcid);
    uint32_t one = 0;
    for (unsigned v = 0; v < VCS; v++) {
        const uint32_t more = sdls_overhead(s, (uint8_t)v);
        if (more > 0 && one > 0 && more != one) {
            frames_error("--sdls %s: virtual channels have security of different lengths; choose "
                         "one with --vcid",
                         o->sdls);
            return -1;
        }
        one = more > 0 ? more : one;
    }
    return (int)one;
}

/* The format without security, where frames of only one length can be. */
static bool find_plain(const struct command *c, struct frames_options *o, const struct sdls *s)
{
    if (c->run == command_info || o->to == CONTENT_PACKETS)
        return true;
    if (o->format.kind == FRAME_TC && c->run == command_convert && o->from != CONTENT_PACKETS)
        return true; /* each has its own length */
    const int more = find_overhead(c, o, s);
    if (more < 0)
        return false;
    o->plain.length -= (uint32_t)more;
    const struct mpdu_pack_config config = {.format = o->plain, .idle = PACKET_ENCAP};
    if (o->format.kind == FRAME_TC || mpdu_pack_problem(&config) == NULL)
        return true;
    frames_error("--length %u: %s", o->format.length, mpdu_pack_problem(&config));
    return false;
}

int frames_security_open(const struct command *c, struct frames_options *o)
{
    struct sdls_file *f;
    o->plain = o->format;
    if (o->sdls == NULL)
        return EXIT_DONE;
    const bool read = is_read(c, o);
    if (sdls_file_open(&f, o->sdls, read ? SDLS_FILE_RECEIVE : SDLS_FILE_SEND, &o->format,
                       say_line) < 0)
        return EXIT_USAGE;
    if (!find_plain(c, o, &f->sdls)) {
        (void)sdls_file_close(f, say_line);
        return EXIT_USAGE;
    }
    *(read ? &o->processed : &o->applied) = f;
    return EXIT_DONE;
}

int frames_security_close(struct frames_options *o)
{
    struct sdls_file *f = o->applied != NULL ? o->applied : o->processed;
    o->applied = o->processed = NULL;
    return sdls_file_close(f, say_line) < 0 ? EXIT_FAILED : EXIT_DONE;
}

bool security_apply(const struct frames_options *o, struct slice *frame, uint8_t *room, bool *good)
{
    size_t len;
    *good = true;
    if (o->applied == NULL)
        return true;
    const enum sdls_verdict v = sdls_apply(&o->applied->sdls, *frame, room, FRAME_LENGTH_MAX, &len);
    *frame = slice_of(room, len);
    if (v == SDLS_NUMBERS_VERDICT)
        frames_error("--sdls %s: there are no more numbers for this key, or they cannot be noted",
                     o->sdls);
    if (v == SDLS_CRYPTO_VERDICT)
        frames_error("--sdls %s: the cryptography failed", o->sdls);
    *good = v != SDLS_NUMBERS_VERDICT && v != SDLS_CRYPTO_VERDICT;
    return v == SDLS_OK_VERDICT || v == SDLS_CLEAR_VERDICT;
}

enum sdls_verdict security_process(const struct frames_options *o, struct slice *frame,
                                   uint8_t *room)
{
    size_t len;
    assert(o->processed != NULL);
    const enum sdls_verdict v =
        sdls_process(&o->processed->sdls, *frame, room, FRAME_LENGTH_MAX, &len);
    if (len > 0)
        *frame = slice_of(room, len);
    return v;
}

const uint64_t *security_counts(const struct frames_options *o)
{
    return o->applied != NULL     ? o->applied->sdls.applied
           : o->processed != NULL ? o->processed->sdls.processed
                                  : NULL;
}

void security_tell(const struct frames_options *o)
{
    const uint64_t *counts = security_counts(o);
    const bool lost =
        o->processed != NULL && o->to != CONTENT_PACKETS && o->format.kind != FRAME_TC;
    for (unsigned v = 0; counts != NULL && v < SDLS_VERDICT_COUNT; v++) {
        if (v == SDLS_CLEAR_VERDICT && counts[v] > 0)
            frames_error("%" PRIu64 " frames have no security%s", counts[v],
                         lost ? ", and so another length, and were left out" : "");
        else if (v != SDLS_OK_VERDICT && counts[v] > 0)
            frames_error("%" PRIu64 " frames were left out by security (%s)", counts[v],
                         sdls_verdict_name((enum sdls_verdict)v));
    }
}
