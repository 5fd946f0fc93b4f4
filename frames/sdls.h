/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space Data Link Security (CCSDS 355.0-B-2) for TM, AOS, USLP and TC frames: authentication and
 * authenticated encryption of the data field, and anti-replay protection.
 *
 *     primary header … | security header     | data field | security trailer | OCF, FECF
 *                        SPI, IV, sequence                   MAC
 *                        number, pad length
 *
 * sdls_apply makes a secured, longer frame; sdls_process restores the frame without security. The
 * code is pure: the caller passes the cryptography as a table of functions.
 */
#ifndef FRAMES_SDLS_H
#define FRAMES_SDLS_H

#include "base/crypto.h"
#include "frames/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 4.2.2.4; encryption without authentication is not implemented. */
enum sdls_service { SDLS_AUTHENTICATION, SDLS_AUTHENTICATED_ENCRYPTION };
enum sdls_algorithm {
    SDLS_CMAC, /* AES-CMAC with a key of 16 or 32 octets (annex E2, for TC) */
    SDLS_HMAC, /* HMAC with SHA-256 and a key of 16 to 64 octets */
    /* AES-GCM with a key of 16 or 32 octets (annexes E1, E3, E4); to authenticate: GMAC */
    SDLS_GCM,
};

#define SDLS_KEY_MAX 64        /* octets */
#define SDLS_MAC_MAX 32        /* octets */
#define SDLS_IV 12             /* octets of an IV of AES-GCM; the others have none */
#define SDLS_SPI_MAX 65534     /* 0 and 65535 are reserved (4.1.1.2) */
#define SDLS_PRIMARY_MAX 14    /* octets of the longest primary header, USLP's */
#define SDLS_OVERHEAD_MAX 64   /* octets of security header and trailer are fewer */
#define SDLS_ASSOCIATIONS 1024 /* at most */

/* A security association (4.2.2). It is of one direction and has one sender. */
struct sdls_association {
    uint16_t spi; /* security parameter index: 1 to SDLS_SPI_MAX */
    enum sdls_service service;
    enum sdls_algorithm algorithm;
    uint64_t vcids;       /* virtual channels: a bit for each; not 63 of AOS and USLP */
    uint8_t iv_len;       /* octets: SDLS_IV for GCM, else 0 */
    uint8_t sequence_len; /* octets of the sequence number, 0 to 8; 0 of GCM alone: its IV counts */
    uint8_t pad_len;      /* octets of the pad length, 0 to 2; only with encryption */
    uint8_t mac_len;      /* octets: CMAC 8 to 16, HMAC 8 to 32, GCM 16 */
    uint32_t sender;      /* first four octets of each IV that we make */
    uint64_t window;      /* a received number is above the last one by at most this; not 0 */
    uint8_t mask[SDLS_PRIMARY_MAX]; /* more bits of the primary header that the MAC covers */
    uint8_t key[SDLS_KEY_MAX];
    uint8_t key_len;
    /* sending: numbers in [next, end) may be used; next is not 0. Receiving, with `note`: numbers
     * below `end` may be accepted */
    uint64_t next, end;
    bool begun;    /* receiving: there was a frame, or `last` was given */
    uint64_t last; /* receiving: number of the last frame that was accepted */
};

/* What became of a frame. */
#define SDLS_VERDICTS(X)                                                                           \
    X(OK, "ok")                                                                                    \
    X(CLEAR, "clear")       /* unchanged: no association has its channel, or it is of type C */    \
    X(FRAME, "frame")       /* not a good frame of the format (frame_parse) */                     \
    X(LENGTH, "length")     /* no room for security, or for data */                                \
    X(SPI, "spi")           /* received: an association that there is not */                       \
    X(CHANNEL, "channel")   /* received: an association of other virtual channels */               \
    X(MAC, "mac")           /* received: the MAC is wrong: another key, or altered */              \
    X(SENDER, "sender")     /* received: an IV of another sender */                                \
    X(REPLAYED, "replayed") /* received: the number is not above the last one */                   \
    X(AHEAD, "ahead")       /* received: the number is beyond the window */                        \
    X(PADDING, "padding")   /* received: more fill than data */                                    \
    X(NUMBERS, "numbers")   /* numbers are used up, or cannot be noted */                          \
    X(CRYPTO, "crypto")     /* the table's function failed */

#define SDLS_VERDICT_ENUM(name, text) SDLS_##name##_VERDICT,
enum sdls_verdict { SDLS_VERDICTS(SDLS_VERDICT_ENUM) SDLS_VERDICT_COUNT };
#undef SDLS_VERDICT_ENUM

/* A static text of one word. */
const char *sdls_verdict_name(enum sdls_verdict v);

/* The security of one physical channel. The user fills in all above the counts. */
struct sdls {
    struct frame_format format;  /* of frames with security; TC: of the longest */
    struct sdls_association *at; /* the user's; of several for a channel the first one sends */
    size_t len;
    const struct crypto *crypto; /* the user's */
    /* Reserves numbers in [next, end) persistently: a number is never used twice, also not after a
     * restart. False: it failed. NULL: it always fails. */
    bool (*reserve)(void *self, struct sdls_association *a);
    /* A frame with number n >= a->end is authentic and will be accepted: raises `end` above n, for
     * good: after a restart no number below it is accepted. False: it cannot, and the frame is
     * refused. NULL: nothing is noted. */
    bool (*note)(void *self, struct sdls_association *a, uint64_t n);
    void *self; /* of both */
    uint64_t applied[SDLS_VERDICT_COUNT], processed[SDLS_VERDICT_COUNT];
    uint8_t payload[FRAME_LENGTH_MAX]; /* private: the authentication payload of one frame */
};

/* NULL, or a text that says what is wrong with it. */
const char *sdls_association_problem(const struct sdls_association *a);
/* The same for the format with all associations; *which is the index of the wrong one. */
const char *sdls_problem(const struct sdls *s, size_t *which);

/* Octets of security header and trailer of frames that are sent on the virtual channel; 0: they
 * are clear. */
uint32_t sdls_overhead(const struct sdls *s, uint8_t vcid);

/*
 * ApplySecurity (4.2.3). `frame` is a whole frame of the format, shorter by the overhead of its
 * channel (sdls_overhead), with a valid header; octets after a TC frame are ignored.
 * SDLS_OK_VERDICT and SDLS_CLEAR_VERDICT write *len octets to `out`, which has `room` octets and
 * must not overlap `frame`; the FECF is computed again. With other verdicts the frame must not be
 * sent: *len is 0. The verdict is counted.
 */
enum sdls_verdict sdls_apply(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                             size_t *len);

/* ProcessSecurity (4.2.4): the reverse, for a received frame. `room` is at least the length of the
 * received frame. Only accepted frames change `last` of the association. */
enum sdls_verdict sdls_process(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                               size_t *len);

#ifdef __cplusplus
}
#endif

#endif
