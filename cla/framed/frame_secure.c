/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, memory and log lines of Space Data Link Security; the pure engine (frames/sdls.h) does the
 * work. What can go wrong: the files, at open; later a medium that cannot store numbers, and frames
 * that are not authentic or replayed, which are counted by reason.
 */
#include "cla/framed/frame_secure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "cla/framed/sdls_file.h"
#include "cla/framed/sdls_numbers.h"

#define SAY_PAUSE (60 * TICK_S)
#define TM_IDLE_VCID 7

struct frame_secure {
    struct sdls_file *send, *receive; /* NULL: that direction has no security */
    uint8_t *sealed, *opened;
    size_t sealed_room, opened_room;
    bool shut;                         /* nothing is accepted: received numbers cannot be noted */
    uint64_t clear;                    /* frames without security on a link's virtual channel */
    tick quiet[2][SDLS_VERDICT_COUNT]; /* until then no more is said of it: sending, receiving */
    void (*say)(void *context, int level, const char *text);
    void *context;
};

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

bool frame_secure_is_off(const struct frame_secure_config *c)
{
    return !is_given(c->send.file) && !is_given(c->receive.file);
}

static struct sdls_file_config file_config(const struct frame_secure_way *way, bool sends,
                                           bool check)
{
    return (struct sdls_file_config){.path = way->file,
                                     .use = sends ? SDLS_FILE_SEND : SDLS_FILE_RECEIVE_AHEAD,
                                     .note = way->note,
                                     .check = check};
}

/* Opens the file of one direction, if it has one, and memory for a frame. */
static int open_way(const struct frame_secure_way *way, bool sends, const struct frame_format *f,
                    struct sdls_file **file, uint8_t **room, char why[FRAME_SECURE_WHY])
{
    const struct sdls_file_config c = file_config(way, sends, false);
    if (!is_given(way->file))
        return 0;
    *room = malloc(f->length);
    if (*room != NULL)
        return sdls_file_read(file, &c, f, why, FRAME_SECURE_WHY);
    snprintf(why, FRAME_SECURE_WHY, "out of memory");
    return HELIO_ENOMEM;
}

int frame_secure_open(struct frame_secure **out, const struct frame_secure_config *c,
                      const struct frame_format *send, const struct frame_format *receive,
                      void (*say)(void *context, int level, const char *text), void *context)
{
    char why[FRAME_SECURE_WHY] = "out of memory";
    struct frame_secure *s = calloc(1, sizeof *s);
    int r = s == NULL ? HELIO_ENOMEM : 0;
    assert(!frame_secure_is_off(c) && say != NULL);
    *out = s;
    if (r == 0) {
        s->say = say;
        s->context = context;
        s->sealed_room = send->length;
        s->opened_room = receive->length;
        r = open_way(&c->send, true, send, &s->send, &s->sealed, why);
    }
    if (r == 0)
        r = open_way(&c->receive, false, receive, &s->receive, &s->opened, why);
    if (r == 0)
        return 0;
    if (c->why != NULL)
        snprintf(c->why, FRAME_SECURE_WHY, "%s", why);
    if (s != NULL)
        frame_secure_close(s);
    *out = NULL;
    return r;
}

void frame_secure_close(struct frame_secure *s)
{
    char why[FRAME_SECURE_WHY];
    if (s == NULL)
        return;
    if (sdls_file_end(s->send, why, sizeof why) < 0)
        s->say(s->context, 0, why);
    if (sdls_file_end(s->receive, why, sizeof why) < 0)
        s->say(s->context, 0, why);
    free(s->sealed);
    free(s->opened);
    free(s);
}

uint32_t frame_secure_overhead(const struct frame_secure *s, uint8_t vcid)
{
    assert(vcid < 64);
    return s->send == NULL ? 0 : sdls_overhead(&s->send->sdls, vcid);
}

bool frame_secure_receives(const struct frame_secure *s)
{
    return s->receive != NULL;
}

/* ---- log lines ---- */

static const char *explain_refusal(enum sdls_verdict v)
{
    switch (v) {
    case SDLS_CLEAR_VERDICT:
        return "they have no security";
    case SDLS_SPI_VERDICT:
        return "frames.sdls_in has no association with their SPI";
    case SDLS_CHANNEL_VERDICT:
        return "their association is of other virtual channels";
    case SDLS_MAC_VERDICT:
        return "their MAC is wrong: the peer has another key, or they were altered or forged";
    case SDLS_SENDER_VERDICT:
        return "their IV is another sender's";
    case SDLS_REPLAYED_VERDICT:
        return "their numbers were used before: they were replayed, or received out of order";
    case SDLS_AHEAD_VERDICT:
        return "their numbers are beyond the window: too many frames were lost";
    case SDLS_NUMBERS_VERDICT:
        return "their numbers cannot be noted; see the medium of the note";
    case SDLS_CRYPTO_VERDICT:
        return "the cryptography failed";
    case SDLS_OK_VERDICT:
    case SDLS_FRAME_VERDICT:
    case SDLS_LENGTH_VERDICT:
    case SDLS_PADDING_VERDICT:
    case SDLS_VERDICT_COUNT:
    default:
        return "they have no room for security, or for data";
    }
}

static const char *explain_failure(enum sdls_verdict v)
{
    return v == SDLS_NUMBERS_VERDICT
               ? "the numbers of the key are used up, or cannot be noted; see "
                 "the medium of the note, or replace the key"
           : v == SDLS_CRYPTO_VERDICT ? "the cryptography failed"
                                      : "security does not fit them";
}

static void tell_verdict(struct frame_secure *s, tick now, bool sending, enum sdls_verdict v,
                         uint64_t count)
{
    char text[320];
    tick *quiet = &s->quiet[!sending][v];
    assert((unsigned)v < SDLS_VERDICT_COUNT && v != SDLS_OK_VERDICT && count > 0);
    if (now < *quiet)
        return;
    *quiet = tick_add(now, SAY_PAUSE);
    if (sending)
        snprintf(text, sizeof text, "frames are not sent (%" PRIu64 " so far, %s): %s", count,
                 sdls_verdict_name(v), explain_failure(v));
    else
        snprintf(text, sizeof text,
                 "frames are refused by Space Data Link Security (%" PRIu64 " so far, %s): %s",
                 count, sdls_verdict_name(v), explain_refusal(v));
    s->say(s->context, sending ? 0 : 1, text);
}

/* ---- frames ---- */

bool frame_secure_apply(struct frame_secure *s, tick now, struct slice *frame)
{
    size_t len;
    assert(frame->len > 0);
    if (s->send == NULL)
        return true;
    const enum sdls_verdict v = sdls_apply(&s->send->sdls, *frame, s->sealed, s->sealed_room, &len);
    if (v != SDLS_OK_VERDICT && v != SDLS_CLEAR_VERDICT) {
        tell_verdict(s, now, true, v, s->send->sdls.applied[v]);
        return false;
    }
    assert(len > 0 && len <= s->sealed_room);
    *frame = slice_of(s->sealed, len);
    return true;
}

enum frame_secure_result frame_secure_process(struct frame_secure *s, tick now, struct slice *frame)
{
    size_t len;
    assert(s->receive == NULL || s->shut || s->receive->received != NULL); /* its note is open */
    if (s->receive == NULL)
        return FRAME_SECURE_CLEAR;
    if (s->shut) {
        uint64_t *refused = &s->receive->sdls.processed[SDLS_NUMBERS_VERDICT];
        tell_verdict(s, now, false, SDLS_NUMBERS_VERDICT, ++*refused);
        return FRAME_SECURE_REFUSED;
    }
    sdls_numbers_time(s->receive->received, now);
    const enum sdls_verdict v =
        sdls_process(&s->receive->sdls, *frame, s->opened, s->opened_room, &len);
    if (v == SDLS_CLEAR_VERDICT || v == SDLS_FRAME_VERDICT)
        return FRAME_SECURE_CLEAR; /* what is wrong with it is found without security */
    if (v != SDLS_OK_VERDICT) {
        tell_verdict(s, now, false, v, s->receive->sdls.processed[v]);
        return FRAME_SECURE_REFUSED;
    }
    assert(len > 0 && len <= s->opened_room);
    *frame = slice_of(s->opened, len);
    return FRAME_SECURE_OPEN;
}

void frame_secure_refuse_clear(struct frame_secure *s, tick now)
{
    assert(s->receive != NULL);
    tell_verdict(s, now, false, SDLS_CLEAR_VERDICT, ++s->clear);
}

void frame_secure_count(const struct frame_secure *s, struct frame_secure_counts *out)
{
    *out = (struct frame_secure_counts){.sends = s->send != NULL, .receives = s->receive != NULL};
    if (s->send != NULL)
        memcpy(out->applied, s->send->sdls.applied, sizeof out->applied);
    if (s->receive != NULL)
        memcpy(out->processed, s->receive->sdls.processed, sizeof out->processed);
    out->processed[SDLS_CLEAR_VERDICT] = s->clear; /* clear frames of other channels are no loss */
}

/* ---- the configuration ---- */

/* Frames of the virtual channel need an association, and space for data. */
static bool check_channel(const struct sdls_file *f, const char *path, uint8_t vcid, char *why,
                          size_t why_cap)
{
    assert(vcid < 64 && f->sent == NULL && f->received == NULL);
    if (sdls_overhead(&f->sdls, vcid) > 0)
        return true;
    snprintf(why, why_cap,
             "%s: no association has virtual channel %u of this link; add it to vcids", path, vcid);
    return false;
}

/* With one key for both directions a reflected frame would be authentic. */
static bool check_apart(const struct sdls_file *send, const struct sdls_file *receive, char *why,
                        size_t why_cap)
{
    assert(send->sdls.len > 0 && receive->sdls.len > 0);
    for (size_t i = 0; i < send->sdls.len; i++)
        for (size_t j = 0; j < receive->sdls.len; j++) {
            const struct sdls_association *a = &send->sdls.at[i], *b = &receive->sdls.at[j];
            if (a->key_len != b->key_len || !secret_same(a->key, b->key, a->key_len))
                continue;
            snprintf(why, why_cap,
                     "the key of SPI %u is that of SPI %u in frames.sdls; each direction needs its "
                     "own",
                     b->spi, a->spi);
            return false;
        }
    return true;
}

static const char *check_send(const struct sdls_file *f, const struct frame_secure_config *c,
                              const struct frame_secure_use *use, char *why, size_t why_cap)
{
    if (!check_channel(f, c->send.file, use->send_vcid, why, why_cap))
        return "frames.sdls";
    if (use->idle && use->send->kind == FRAME_TM && sdls_overhead(&f->sdls, TM_IDLE_VCID) > 0) {
        snprintf(why, why_cap,
                 "%s: an association has virtual channel 7, where frames.idle sends its TM frames "
                 "in the clear; remove it from vcids",
                 c->send.file);
        return "frames.sdls";
    }
    return NULL;
}

const char *frame_secure_problem(const struct frame_secure_config *c,
                                 const struct frame_secure_use *use, char *why, size_t why_cap)
{
    const struct sdls_file_config out = file_config(&c->send, true, true);
    const struct sdls_file_config in = file_config(&c->receive, false, true);
    struct sdls_file *send = NULL, *receive = NULL;
    const char *key = NULL;
    assert(!frame_secure_is_off(c) && use->send_vcid < 64 && use->receive_vcid < 64);
    char ignored[FRAME_SECURE_WHY];
    if (is_given(c->send.file) && sdls_file_read(&send, &out, use->send, why, why_cap) < 0)
        key = "frames.sdls";
    if (key == NULL && is_given(c->receive.file) &&
        sdls_file_read(&receive, &in, use->receive, why, why_cap) < 0)
        key = "frames.sdls_in";
    if (key == NULL && send != NULL)
        key = check_send(send, c, use, why, why_cap);
    if (key == NULL && receive != NULL &&
        (!check_channel(receive, c->receive.file, use->receive_vcid, why, why_cap) ||
         (send != NULL && !check_apart(send, receive, why, why_cap))))
        key = "frames.sdls_in";
    (void)sdls_file_end(send, ignored, sizeof ignored);
    (void)sdls_file_end(receive, ignored, sizeof ignored);
    return key;
}

/* ---- the files, read again ---- */

/* Frames are laid out by what security takes of them, and senders have laid some out. */
static bool fits_layout(const struct sdls_file *was, const struct sdls_file *fresh,
                        const char *path, char *why, size_t why_cap)
{
    for (uint8_t v = 0; v < 64; v++) {
        const uint32_t old = sdls_overhead(&was->sdls, v), now = sdls_overhead(&fresh->sdls, v);
        if (old == now)
            continue;
        snprintf(why, why_cap,
                 "%s: security of virtual channel %u would take %u octets of a frame instead of "
                 "%u; for that the link must be removed and added again",
                 path, v, now, old);
        return false;
    }
    return true;
}

/* Has the file other associations than what is in force? 1, 0, or an error with its text. */
static int look_at_way(const struct sdls_file *was, const struct frame_secure_way *way, bool sends,
                       char *why, size_t why_cap)
{
    const struct sdls_file_config c = file_config(way, sends, true);
    struct sdls_file *fresh = NULL;
    char ignored[FRAME_SECURE_WHY];
    if (was == NULL)
        return 0;
    int r = sdls_file_read(&fresh, &c, &was->sdls.format, why, why_cap);
    if (r == 0 && sends && !fits_layout(was, fresh, way->file, why, why_cap))
        r = HELIO_EINVAL;
    else if (r == 0)
        r = !sdls_file_same(was, fresh);
    (void)sdls_file_end(fresh, ignored, sizeof ignored);
    return r;
}

static int renew_way(struct sdls_file **file, const struct frame_secure_way *way, bool sends,
                     char *why, size_t why_cap)
{
    const struct sdls_file_config c = file_config(way, sends, false);
    return sdls_file_renew(file, &c, why, why_cap);
}

int frame_secure_renew(struct frame_secure *s, const struct frame_secure_config *c,
                       const struct frame_secure_use *use, bool *changed, char *why, size_t why_cap)
{
    *changed = false;
    assert(is_given(c->send.file) == (s->send != NULL));
    assert(is_given(c->receive.file) == (s->receive != NULL));
    if (frame_secure_problem(c, use, why, why_cap) != NULL)
        return HELIO_EINVAL;
    int send = look_at_way(s->send, &c->send, true, why, why_cap);
    int receive = send < 0 ? send : look_at_way(s->receive, &c->receive, false, why, why_cap);
    if (receive < 0)
        return receive;
    send = send != 0 || (s->send != NULL && s->send->sent == NULL);
    receive = receive != 0 || s->shut;
    int r = send ? renew_way(&s->send, &c->send, true, why, why_cap) : 0;
    if (r == 0 && receive) {
        r = renew_way(&s->receive, &c->receive, false, why, why_cap);
        s->shut = r != 0;
    }
    *changed = r == 0 && (send || receive);
    assert(r != 0 || (!s->shut && (s->send == NULL || s->send->sent != NULL)));
    return r;
}
