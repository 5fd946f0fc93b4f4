/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of CCSDS frames between an adapter's datagrams and its socket: each adapter
 * that can send so puts this struct into its own, and these rows into its own table. */
#ifndef CLA_FRAME_KEYS_H
#define CLA_FRAME_KEYS_H

#include "base/tick.h"
#include "cla/frame_port.h"
#include "conf/conf_value.h"

enum frame_keys_kind { FRAMES_OFF, FRAMES_TM, FRAMES_USLP, FRAMES_AOS };

/* Explained by the rows' help texts. */
struct frame_keys {
    int kind;
    uint64_t length, scid, vcid;
    tick fill;
};

#define FRAME_KEYS_AT(at, field) ((at) + offsetof(struct frame_keys, field))

/* clang-format off */
#define FRAME_KEYS(at)                                                                             \
    {"frames", OPTION_CHOICE, FRAME_KEYS_AT(at, kind), "off", 0, 0, "off|tm|uslp|aos",             \
     "segments go as encapsulation packets in CCSDS frames of that kind, each frame in a datagram; " \
     "off: each segment in a datagram"},                                                           \
    {"frame_length", OPTION_SIZE, FRAME_KEYS_AT(at, length), "1115B", 16, 65507, NULL,             \
     "length of a frame; AOS and TM have at most some 2048"},                                      \
    {"frame_scid", OPTION_COUNT, FRAME_KEYS_AT(at, scid), "1", 0, 65535, NULL,                     \
     "the spacecraft's number in frames, of both directions; others' frames are refused"},         \
    {"frame_vcid", OPTION_COUNT, FRAME_KEYS_AT(at, vcid), "0", 0, 62, NULL,                        \
     "the virtual channel, of both directions; others' frames are refused"},                       \
    {"frame_fill", OPTION_DURATION, FRAME_KEYS_AT(at, fill), "200us", 0, TICK_S, NULL,             \
     "a frame that is not full waits so long for more; then it is filled up and leaves"}
/* clang-format on */

/* What the keys say. *out is whole even when they contradict each other. */
void frame_keys_config(const struct frame_keys *k, struct frame_port_config *out);

/* As cla_ops.check. 0 or HELIO_EINVAL. */
int frame_keys_check(const struct frame_keys *k, const char **key, char *why, size_t why_cap);

#endif
