/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames' commands, what their options say, and what the commands share: a file that is read
 * frame by frame, a file that packets or frames are written to, packets out of all virtual
 * channels. */
#ifndef TOOLS_FRAMES_HELIO_FRAMES_H
#define TOOLS_FRAMES_HELIO_FRAMES_H

#include <stdio.h>

#include "base/rng.h"
#include "frames/cadu.h"
#include "frames/conv_stream.h"
#include "frames/fop.h"
#include "frames/mpdu_extract.h"
#include "frames/mpdu_pack.h"
#include "frames/sdls.h"
#include "os/net/address.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { VCS = 64, PACKET_MAX = 1 << 20 };

/* What is in a file. */
enum content {
    CONTENT_FRAMES,  /* frames one after the other; TC frames end as their length says */
    CONTENT_CADU,    /* each behind its marker, coded or not, at any bit */
    CONTENT_CLTU,    /* TC frames in CLTUs */
    CONTENT_PACKETS, /* packets one after the other */
    CONTENT_MODEM,   /* frames behind the heads of docs/helio-sle.md; written alone */
    CONTENTS
};

/* Of fop and farm: telecommands with COP-1. */
struct cop_options {
    struct address local, remote;
    uint32_t tc_length;          /* octets of the longest TC frame */
    uint64_t rate;               /* of telecommands, bit/s; 0: unlimited */
    uint8_t window, limit;       /* fop: K; transmissions of a frame */
    tick timer;                  /* fop: T1 */
    enum fop_directive initiate; /* fop */
    uint8_t number;              /* fop: V(S) at the beginning */
    bool segments;               /* of TC frames */
    bool expedited, resume;      /* fop: type BD; resumes a suspended service */
    uint8_t farm_window;         /* farm: W */
    tick interval, linger;       /* farm: between reports; silence behind the last packet */
    double busy;                 /* farm: share of reports with no buffer for data */
};

struct command;

struct frames_options {
    const struct command *command;
    const char *input, *output; /* NULL or "-": standard input and output */
    enum content from, to;
    struct frame_format format;
    int32_t scid, vcid; /* -1: any */
    uint8_t map;
    bool packs; /* makes frames of packets */
    bool json;
    bool randomised;           /* what is read */
    bool randomise;            /* what is written */
    enum pn_sequence sequence; /* of both */
    unsigned rs;               /* of CADUs: data symbols of a codeword, 223 or 239; 0: no code */
    unsigned depth;            /* codewords of a codeblock */
    enum rs_basis basis;
    bool ldpc_coded; /* CADUs by an LDPC code of that rate, in that memory */
    enum ldpc_rate ldpc_rate;
    struct cadu_ldpc *ldpc;
    bool turbo_coded; /* likewise by a turbo code */
    enum turbo_rate turbo_rate;
    struct cadu_turbo *turbo;
    bool coded; /* CADUs by a convolutional code */
    bool soft;  /* its symbols have an octet each */
    struct conv_format convolutional;
    bool upright;            /* without inversion of its second generator */
    enum cadu_marker marker; /* of what is read and written */
    unsigned marker_errors;
    bool keep_erred; /* frames that could not be decoded are read, too */
    double erase;    /* share of frames that are left out */
    double errors;   /* share of bits that are inverted in what is written */
    uint64_t seed;
    /* gen, info --numbered */
    uint64_t frames, payload;
    enum packet_kind packets;
    uint8_t protocol;
    uint16_t apid;
    bool prbs, numbered, only_idle, each;
    struct cop_options cop;
    const char *sdls;                      /* file of security associations; NULL: none */
    bool secured;                          /* convert: frames that are read have security */
    struct frame_format plain;             /* of frames without it; `format` is with it */
    struct sdls_file *applied, *processed; /* open; at most one of them */
};

/* Each returns an exit code. */
int command_gen(const struct frames_options *o);
int command_info(const struct frames_options *o);
int command_convert(const struct frames_options *o);
int command_fop(const struct frames_options *o);
int command_farm(const struct frames_options *o);

/* ---- security of frames (--sdls) ---- */

/* Applies security to the frame, in `room` of FRAME_LENGTH_MAX. False: it is left out, which is
 * counted, or with !*good cannot be sent at all, which was reported. Without --sdls nothing
 * happens. */
bool security_apply(const struct frames_options *o, struct slice *frame, uint8_t *room, bool *good);
/* With o->processed: the frame without its security, in `room`, if the verdict permits it. */
enum sdls_verdict security_process(const struct frames_options *o, struct slice *frame,
                                   uint8_t *room);
/* By verdicts; NULL: no --sdls. */
const uint64_t *security_counts(const struct frames_options *o);
/* What was left out, and what has no security. */
void security_tell(const struct frames_options *o);

/* "helio-frames: …" on standard error. */
void frames_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Do CADUs have soft symbols of an LDPC or turbo code? */
bool frames_soft_cadus(const struct frames_options *o);

/* What CADUs look like; fills in *rs for a code. */
struct cadu_format frames_cadu_format(const struct frames_options *o, struct rs *rs);

/* ---- files that are read ---- */

enum { SYMBOLS_PIECE = 1 << 16 }; /* octets of symbols that are read at once */

struct source {
    const struct frames_options *o;
    FILE *file;
    uint8_t *data; /* of room: bytes that were read and not used are [at, len) */
    size_t room, at, len;
    uint8_t *frame;             /* without randomiser, out of its CLTU */
    size_t frame_at, frame_len; /* TC frames behind each other in one CLTU */
    bool failed, ended;
    struct sink *sink; /* is flushed before it is waited for the file; NULL: none */
    uint64_t octets, frames;
    uint64_t skipped; /* octets that belong to nothing: no marker, no start sequence, a rest */
    uint64_t erased, bad_cltus, corrected;
    struct rng rng;
    struct rs rs;
    struct conv_reader *symbols; /* of a convolutional code; NULL: there is none */
    uint8_t *piece;              /* symbols of the file; those that are not decoded yet */
    struct slice symbols_left;
    struct cadu_reader cadus; /* and what was read last */
    uint8_t *softs, *kept; /* symbols of codes that are decoded by them; read, and in the reader */
    size_t softs_at, softs_len;
    struct cadu unit;
    uint64_t qualities[3], corrected_frames, dropped; /* dropped: could not be decoded */
    unsigned worst;                                   /* symbols corrected in one codeword */
};

/* 0, or -1 after reporting the error. */
int frames_source_open(struct source *s, const struct frames_options *o);
/* The next frame, valid until the next call. False: the file has ended, or cannot be read, which
 * was reported. */
bool source_frame(struct source *s, struct slice *frame);
/* Octets as they are, for packets. */
bool source_octets(struct source *s, struct slice *octets);
void source_close(struct source *s);

/* ---- files that are written ---- */

struct sink {
    const struct frames_options *o;
    FILE *file;
    uint8_t *frame; /* of the format's length */
    uint8_t *coded, *symbols, *secured;
    struct slice slice;
    struct mpdu_pack pack;
    bool open; /* a frame is begun */
    struct frame tc;
    struct rs rs;
    struct cadu_format cadu;
    struct conv_writer writer;
    enum cadu_quality quality; /* of the frame that is written next, as the user knows it */
    uint64_t last_time;        /* of heads, Unix time in ns */
    struct rng rng;
    uint64_t next_error; /* bits until one is inverted */
    bool half;           /* the last CADU has left half an octet: `rest`, its upper bits */
    uint8_t rest;
    uint64_t frames, packets, too_long, erased; /* too_long: packets that no TC frame holds */
    bool failed;
};

int sink_open(struct sink *s, const struct frames_options *o);
/* A packet; into frames, or unchanged. False: it cannot be written, which was reported. */
bool sink_packet(struct sink *s, const uint8_t *header, size_t header_len, struct slice payload);
/* The same with the header that the packet has. */
bool sink_whole_packet(struct sink *s, const struct packet *p, struct slice payload);
/* A whole frame. */
bool sink_frame(struct sink *s, struct slice frame);
/* A frame of only idle data, with the next count. */
bool sink_idle(struct sink *s);
/* Fills and writes the frame that is begun, or a new one. Not of TC frames. */
bool sink_fill(struct sink *s);
/* Fills and writes the last frame. 0, or -1 after reporting the error. */
int sink_close(struct sink *s);
/* What was written leaves. An error is reported, and fails the next call. */
void sink_flush(struct sink *s);

/* ---- packets of all virtual channels ---- */

struct vc {
    struct mpdu_extract extract;
    struct packet_join join;
    uint16_t scid;
    uint64_t frames, idle_frames, first, last, payload_bytes;
    uint64_t protocols[8], space;
    uint64_t tc_bad; /* zones of TC frames that are no packets */
};

struct vcs {
    struct frame_channel channel;
    const struct frames_options *o;
    int32_t only;   /* a virtual channel; -1: all */
    uint8_t *clear; /* a frame without security */
    struct vc *vc[VCS];
};

/* A whole packet of channel v; false ends the reading. */
typedef bool vcs_taker(void *context, struct vc *v, const struct packet *p, struct slice payload);

/* False: no memory, which was reported; call vcs_fini all the same. */
bool vcs_init(struct vcs *s, const struct frames_options *o);
/* Gives the packets of this frame to `take`. False: that returned false, or no memory, which is
 * reported. */
bool vcs_input(struct vcs *s, struct slice frame, vcs_taker *take, void *context);
void vcs_fini(struct vcs *s);

/* ---- numbered packets ---- */

struct numbered {
    uint64_t next, packets, missing, damaged;
};

/* The payload of packet n: n in 8 octets, then counted octets or a pseudo-random sequence. */
void frames_numbered_fill(uint64_t n, bool prbs, uint8_t *out, size_t len);
void numbered_check(struct numbered *c, bool prbs, struct slice payload);

#endif
