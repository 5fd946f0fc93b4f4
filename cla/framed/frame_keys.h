/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of CCSDS frames between an adapter's datagrams and its socket: each adapter
 * that can send so puts this struct into its own, and these rows into its own table. */
#ifndef CLA_FRAME_KEYS_H
#define CLA_FRAME_KEYS_H

#include "base/tick.h"
#include "cla/framed/frame_port.h"
#include "conf/conf_value.h"

enum frame_keys_kind {
    FRAMES_OFF,
    FRAMES_TM,
    FRAMES_USLP,
    FRAMES_AOS,
    FRAMES_TC,
    FRAMES_CLTU, /* TC frames, each in a CLTU */
};

enum frame_keys_marker { FRAME_MARKER_AUTO, FRAME_MARKER_32, FRAME_MARKER_64 };

#define FRAME_KEYS_SAME 64 /* the virtual channel of both directions is the same */

/* Of one direction. */
struct frame_way_keys {
    int kind; /* enum frame_keys_kind; for received frames 0: as sent */
    uint64_t length, vcid;
};

/* Explained by the rows' help texts. */
struct frame_keys {
    struct frame_way_keys out, in;
    uint64_t scid;
    tick fill, idle;
    bool segments, numbers, randomise, clcw;
    int cadu; /* enum frame_code_kind */
    uint64_t cadu_interleave, cadu_marker_errors;
    int cadu_basis, cadu_randomise; /* enum rs_basis, frame_code_randomiser */
    int cadu_marker;                /* enum frame_keys_marker */
    int cadu_symbols;               /* 0: bits, 1: soft */
    int cadu_convolutional;         /* enum frame_code_conv */
    int wire;                       /* enum frame_wire_kind */
    bool marker;
    char *record, *replay;
    char *sdls, *sdls_in, *sdls_numbers, *sdls_received;
    uint64_t replay_rate;
    char *sle_raf, *sle_rcf, *sle_cltu, *sle_user, *sle_provider, *sle_port, *sle_password,
        *sle_provider_password; /* NULL: "" */
    uint64_t sle_version;
    int sle_auth, sle_hash; /* enum sle_auth_level, sle_hash */
    bool sle_master;
    tick sle_reconnect, sle_reconnect_max;
    /* After frame_keys_forget: only those of one virtual channel come; what the texts were. */
    bool one_channel;
    uint64_t wire_mark;
};

#define FRAME_KEYS_AT(at, field) ((at) + offsetof(struct frame_keys, field))

/* clang-format off */
#define FRAME_WAY_KEYS(at, way, way_key, in, kinds, kind_help, length_help, vcid_default, vcid_max, vcid_help) \
    {way_key, OPTION_CHOICE, FRAME_KEYS_AT(at, way.kind), kinds, 0, CONF_MODE_NEEDED, kinds "|tm|uslp|aos|tc|cltu", kind_help}, \
    {"frames.length" in, OPTION_SIZE, FRAME_KEYS_AT(at, way.length), "0", 0, 65507, NULL, length_help}, \
    {"frames.vcid" in, OPTION_COUNT, FRAME_KEYS_AT(at, way.vcid), vcid_default, 0, vcid_max, NULL, vcid_help}

#define SLE_KEYS(at)                                                                               \
    {"sle.raf", OPTION_TEXT, FRAME_KEYS_AT(at, sle_raf), "", 0, 0, NULL,                           \
     "with frames: {port: sle}, the service instance (RAF) by which frames are received; empty: none"},        \
    {"sle.rcf", OPTION_TEXT, FRAME_KEYS_AT(at, sle_rcf), "", 0, 0, NULL,                           \
     "instead of sle.raf, the service instance (RCF) by which those of the " \
     "virtual channel are received; empty: none"}, \
    {"sle.master", OPTION_BOOL, FRAME_KEYS_AT(at, sle_master), "no", 0, 0, NULL,                   \
     "by RCF all virtual channels of the spacecraft are received, for the links " \
     "that have them"},          \
    {"sle.cltu", OPTION_TEXT, FRAME_KEYS_AT(at, sle_cltu), "", 0, 0, NULL,                         \
     "the service instance (FCLTU) by which CLTUs leave; empty: none"},                            \
    {"sle.user", OPTION_TEXT, FRAME_KEYS_AT(at, sle_user), "", 0, 0, NULL,                         \
     "our authority identifier, 3 to 16 characters"},                                              \
    {"sle.provider", OPTION_TEXT, FRAME_KEYS_AT(at, sle_provider), "", 0, 0, NULL,                 \
     "the provider's authority identifier"},                                                       \
    {"sle.port", OPTION_TEXT, FRAME_KEYS_AT(at, sle_port), "PORT1", 0, 0, NULL,                    \
     "the provider's port identifier, as its BIND wants it"},                                      \
    {"sle.version", OPTION_COUNT, FRAME_KEYS_AT(at, sle_version), "5", 2, 5, NULL,                 \
     "version of the services"},                                                                   \
    {"sle.auth", OPTION_CHOICE, FRAME_KEYS_AT(at, sle_auth), "none", 0, 0, "none|bind|all",        \
     "which PDUs have credentials, in both directions: none, BIND and its " \
     "return, all"},                    \
    {"sle.hash", OPTION_CHOICE, FRAME_KEYS_AT(at, sle_hash), "by-version", 0, 0, "by-version|sha1|sha256", \
     "of sent credentials; by-version: SHA-1 up to version 4; received ones may " \
     "have either"},  \
    {"sle.password", OPTION_SECRET, FRAME_KEYS_AT(at, sle_password), "", 0, 0, NULL,                 \
     "our password, octets in hexadecimal"},                                                       \
    {"sle.provider_password", OPTION_SECRET, FRAME_KEYS_AT(at, sle_provider_password), "", 0, 0, NULL, \
     "the provider's password, octets in hexadecimal"},                                            \
    {"sle.reconnect", OPTION_DURATION, FRAME_KEYS_AT(at, sle_reconnect), "1s", 10 * TICK_MS, 3600 * TICK_S, NULL, \
     "pause before a stopped or refused service is bound again; each further " \
     "pause is twice as long"}, \
    {"sle.reconnect_max", OPTION_DURATION, FRAME_KEYS_AT(at, sle_reconnect_max), "1min", 10 * TICK_MS, 3600 * TICK_S, NULL, \
     "longest such pause"}

#define FRAME_KEYS(at)                                                                             \
    FRAME_WAY_KEYS(at, out, "frames", "", "off",                                                             \
     "segments go as encapsulation packets in CCSDS frames of that kind; cltu: TC frames in CLTUs; " \
     "off: each segment in a datagram",                                                            \
     "length of a frame; AOS and TM have at most some 2048, TC has it only as the longest; 0: "    \
     "1115B, TC 1024B", "0", 63,                                                                   \
     "the virtual channel; others' frames are counted, or are for the links that have them"),      \
    FRAME_WAY_KEYS(at, in, "frames.in", "_in", "same",                                                          \
     "the kind of received frames, such as aos where cltu leave",                             \
     "the same of received frames; 0: as frames.length when the kind is the " \
     "same, else as usual",  \
     "64", 64, "the virtual channel of received frames; 64: as frames.vcid"),                      \
    {"frames.scid", OPTION_COUNT, FRAME_KEYS_AT(at, scid), "1", 0, 65535, NULL,                     \
     "the spacecraft's number in frames, of both directions; others' frames are refused"},         \
    {"frames.fill", OPTION_DURATION, FRAME_KEYS_AT(at, fill), "200us", 0, TICK_S, NULL,             \
     "when nothing more is to be sent, a frame that is not full waits so long for more; then it is "    \
     "filled up and leaves"},          \
    {"frames.idle", OPTION_DURATION, FRAME_KEYS_AT(at, idle), "0", 0, 3600 * TICK_S, NULL,          \
     "longest time without a frame; then one of only idle data is sent; 0: none; " \
     "TC has none"},          \
    {"frames.segments", OPTION_BOOL, FRAME_KEYS_AT(at, segments), "no", 0, 0, NULL,                 \
     "TC frames have segment headers: a segment may be longer than a frame"},                      \
    {"frames.numbers", OPTION_BOOL, FRAME_KEYS_AT(at, numbers), "yes", 0, 0, NULL,                  \
     "TC frames are numbered, so that lost ones are noticed; no: 0, as 232.0-B has it for type B"}, \
    {"frames.randomise", OPTION_BOOL, FRAME_KEYS_AT(at, randomise), "no", 0, 0, NULL,               \
     "TC frames in CLTUs are randomised"},                                                         \
    {"frames.clcw", OPTION_BOOL, FRAME_KEYS_AT(at, clcw), "no", 0, 0, NULL,                         \
     "TM, AOS and USLP frames have an operational control field: what was received of TC frames"}, \
    {"frames.sdls", OPTION_FILE, FRAME_KEYS_AT(at, sdls), "", 0, 0, NULL,                           \
     "file of security associations (355.0-B) of frames that leave; empty: they have no security"}, \
    {"frames.sdls_in", OPTION_FILE, FRAME_KEYS_AT(at, sdls_in), "", 0, 0, NULL,                     \
     "the same of received frames: only authentic and new ones are accepted; " \
     "empty: they have no security"}, \
    {"frames.sdls_numbers", OPTION_PLACE, FRAME_KEYS_AT(at, sdls_numbers), "", 0, 0, NULL,          \
     "with frames.sdls, file that keeps the numbers of sent frames; empty: as that file says"},     \
    {"frames.sdls_received", OPTION_PLACE, FRAME_KEYS_AT(at, sdls_received), "", 0, 0, NULL,        \
     "with frames.sdls_in, file that keeps the numbers of received frames; empty: as that file says"}, \
    {"cadu", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu), "off", 0, CONF_MODE_NEEDED, "off|uncoded|rs223|rs239|ldpc1/2|ldpc2/3|ldpc4/5|ldpc7/8|turbo1/2|turbo1/3|turbo1/4|turbo1/6", \
     "TM, USLP and AOS frames are sent as channel access data units (131.0-B), " \
     "each behind a marker. They are uncoded, or have Reed-Solomon (255,223) or " \
     "(255,239), LDPC of rate 1/2, 2/3, 4/5 (AR4JA) or 7/8 (C2), or a turbo code " \
     "of rate 1/2, 1/3, 1/4 or 1/6. The input is a stream of octets, in any pieces"},                   \
    {"cadu.interleave", OPTION_COUNT, FRAME_KEYS_AT(at, cadu_interleave), "5", 1, 8, NULL,         \
     "with Reed-Solomon, codewords of a codeblock; frames.length is a multiple of it"},             \
    {"cadu.basis", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu_basis), "dual", 0, 0, "dual|conventional", \
     "of Reed-Solomon's symbols: dual as in the standard, conventional as some other equipment"},  \
    {"cadu.randomise", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu_randomise), "yes", 0, 0, "no|yes|long", \
     "CADUs are randomised, but for their markers; long: by the sequence of 131071 bits, not that of 255"}, \
    {"cadu.marker", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu_marker), "auto", 0, 0, "auto|32|64",       \
     "bits of the marker: 32 (1ACFFC1D), or 64 (034776C7272895B0) of the LDPC codes AR4JA and of turbo1/2; auto: 64 with these, 96, 128 and 192 with turbo1/3, turbo1/4 and turbo1/6, else 32"}, \
    {"cadu.marker_errors", OPTION_COUNT, FRAME_KEYS_AT(at, cadu_marker_errors), "4", 0, 8, NULL,   \
     "bits of a marker that may be wrong where it is due"},                                        \
    {"cadu.symbols", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu_symbols), "hard", 0, 0, "hard|soft",       \
     "of the modem: bits, eight in an octet; soft: an octet for each bit, 0 is surely a 0, 255 surely a 1"}, \
    {"cadu.convolutional", OPTION_CHOICE, FRAME_KEYS_AT(at, cadu_convolutional), "off", 0, 0, "off|1/2|1/2-plain|2/3|3/4|5/6|7/8", \
     "CADUs, uncoded or with Reed-Solomon, have the convolutional code around them: " \
     "rate 1/2, without inversion (plain), or punctured. It needs frames.idle"}, \
    {"frames.port", OPTION_CHOICE, FRAME_KEYS_AT(at, wire), "datagrams", 0, 0, "datagrams|connect|listen|file|sle", \
     "datagrams: each frame is one; connect, listen: one behind the other on a TCP connection to " \
     "remote, or from its host to local; file: frames.record and frames.replay; sle: services of a provider at remote"}, \
    {"frames.marker", OPTION_BOOL, FRAME_KEYS_AT(at, marker), "no", 0, 0, NULL,                     \
     "by TCP and in files a marker (1ACFFC1D) precedes each TM, USLP or AOS " \
     "frame"},            \
    {"frames.record", OPTION_PLACE, FRAME_KEYS_AT(at, record), "", 0, 0, NULL,                       \
     "with frames: {port: file}, where frames that leave are appended; empty: nowhere"},               \
    {"frames.replay", OPTION_FILE, FRAME_KEYS_AT(at, replay), "", 0, 0, NULL,                       \
     "with frames: {port: file}, a recording of the received frames; empty: none"},         \
    {"frames.replay_rate", OPTION_RATE, FRAME_KEYS_AT(at, replay_rate), "unlimited", 1,             \
     UINT64_C(1000000000000), "unlimited", "of frames.replay, in bits of frames and markers"},             \
    SLE_KEYS(at)

/* Rows of cla_ops.renamed: keys that stood beside the others once. */
#define FRAME_KEYS_RENAMED                                                                         \
    {"frame_length", "frames.length"}, {"frame_vcid", "frames.vcid"},                              \
        {"frame_length_in", "frames.length_in"}, {"frame_vcid_in", "frames.vcid_in"},              \
        {"frame_scid", "frames.scid"}, {"frame_fill", "frames.fill"},                              \
        {"frame_idle", "frames.idle"}, {"frame_segments", "frames.segments"},                      \
        {"frame_numbers", "frames.numbers"}, {"frame_randomise", "frames.randomise"},              \
        {"frame_clcw", "frames.clcw"}, {"frame_port", "frames.port"},                              \
        {"frame_marker", "frames.marker"}, {"frame_record", "frames.record"},                      \
        {"frame_replay", "frames.replay"}, {"frame_replay_rate", "frames.replay_rate"}
/* clang-format on */

/* What the keys say, but addresses, batching and class of service; texts are borrowed. *out is
 * whole even when they contradict each other. */
void frame_keys_config(const struct frame_keys *k, struct frame_port_config *out);

/* Those of Space Link Extension; texts are borrowed. *out is whole even when the keys are wrong. */
void frame_keys_sle(const struct frame_keys *k, struct frame_wire_sle *out);

/* The first key of the physical channel (its port, files, services, security) that differs; NULL:
 * none does. */
const char *frame_keys_wire_key(const struct frame_keys *a, const struct frame_keys *b);

/* Of a copy that outlives the configuration: its texts are no more. */
void frame_keys_forget(struct frame_keys *k);

/* Longest datagram that the frames can transport, octets; without frames 65507. The keys must be
 * valid. */
uint32_t frame_keys_mtu(const struct frame_keys *k);

/* Whether links with these keys, after frame_keys_forget, can have a virtual channel each of one
 * physical channel. */
bool frame_keys_share(const struct frame_keys *a, const struct frame_keys *b);

/* Why they cannot be at one local address, with the key; after frame_keys_forget. NULL: they can.
 */
const char *frame_keys_conflict(const struct frame_keys *k, const struct frame_keys *other,
                                const char **key);

/* As cla_ops.check. 0 or HELIO_EINVAL. */
int frame_keys_check(const struct frame_keys *k, const char **key, char *why, size_t why_cap);

#endif
