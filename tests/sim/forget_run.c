/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case, played and judged. It must hold:
 *
 *   - a delivered block was complete in one run of the receiver, byte by byte;
 *   - every session ends;
 *   - when the sender's user sends a cancelled block again, it is delivered in the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/forget.h"
#include "tests/sim/forgetful.h"
#include "tests/sim/frame_text.h"
#include "tests/sim/model_sender.h"
#include "tests/sim/ours.h"

#define SEGMENT 64 /* bytes; some ten of them are the header */
#define DELAY (900 * TICK_US)
#define RTO (5 * TICK_MS)
#define RETRIES 6
#define STORE_TIME (TICK_MS / 2)
#define IDLE (100 * TICK_MS) /* an import without arrivals; and its memory, when it is closed */
#define GAP (5 * IDLE)
#define SENDS 16
#define PAUSE (2 * IDLE) /* before it is sent again */
#define LATE (3 * RTO)
#define END (600 * TICK_S)
#define STEPS_MAX 4000

enum { SENDER, RECEIVER };

/* Ours with ours; our sender and a receiver of `receivers`; a model's sender and our receiver. */
const char *const forget_peers[] = {
    "ours",      "start-random",     "start-from-1",     "own-random", "own-from-1",
    "own-next",  "stretches-random", "stretches-from-1", "ion-like",   "ion-own",
    "hdtn-like", "claims-1",         "uniting",          NULL};

/* As in forget_peers, from the second to the last but one. One combination is missing, because no
 * sender can save a block from it: its scope begins at the start, and its serials continue exactly
 * where those of its earlier run ended. */
static const struct forgetful_config receivers[] = {
    {"start-random", FORGETFUL_FROM_START, FORGETFUL_RANDOM, FORGETFUL_SAME, 20, RTO, RETRIES, 0},
    {"start-from-1", FORGETFUL_FROM_START, FORGETFUL_FROM_1, FORGETFUL_SAME, 20, RTO, RETRIES, 0},
    {"own-random", FORGETFUL_OWN, FORGETFUL_RANDOM, FORGETFUL_SAME, 20, RTO, RETRIES, 0},
    {"own-from-1", FORGETFUL_OWN, FORGETFUL_FROM_1, FORGETFUL_SAME, 20, RTO, RETRIES, 0},
    {"own-next", FORGETFUL_OWN, FORGETFUL_NEXT, FORGETFUL_SAME, 20, RTO, RETRIES, 0},
    {"stretches-random", FORGETFUL_STRETCHES, FORGETFUL_RANDOM, FORGETFUL_SAME, 20, RTO, RETRIES,
     0},
    {"stretches-from-1", FORGETFUL_STRETCHES, FORGETFUL_FROM_1, FORGETFUL_SAME, 20, RTO, RETRIES,
     0},
    {"ion-like", FORGETFUL_FROM_START, FORGETFUL_RANDOM, FORGETFUL_ANEW, 20, RTO, RETRIES, 0},
    {"ion-own", FORGETFUL_OWN, FORGETFUL_FROM_1, FORGETFUL_ANEW, 20, RTO, RETRIES, 0},
    {"hdtn-like", FORGETFUL_FROM_START, FORGETFUL_RANDOM, FORGETFUL_IGNORED, 20, RTO, RETRIES,
     TICK_MS},
    {"claims-1", FORGETFUL_FROM_START, FORGETFUL_RANDOM, FORGETFUL_SAME, 1, RTO, RETRIES, 0},
};
#define RECEIVERS (sizeof receivers / sizeof *receivers)

struct play {
    const struct forget_case *c;
    struct duo duo;
    struct ours ours[2];
    struct forgetful receiver;
    struct model_sender sender;
    struct buf *block;
    unsigned stored; /* equal blocks, by runs of the receiver */
    bool damaged, forgot, show;
    uint64_t seed;
    const char *wrong;
};

static bool model_receives(const struct forget_case *c)
{
    return c->peers >= 1 && c->peers <= RECEIVERS;
}

static bool model_sends(const struct forget_case *c)
{
    return c->peers > RECEIVERS;
}

bool forget_applies(const struct forget_case *c)
{
    bool gap = c->how >= FORGET_GAP_NONE;
    if (model_receives(c))
        return !c->orange && !c->late_store && c->how == FORGET_RECEIVER;
    if (model_sends(c))
        return !c->orange && c->plain && c->how != FORGET_SENDER && c->how != FORGET_GAP_SENDER &&
               c->how != FORGET_GAP_BOTH;
    return !c->late_store || (!gap && !c->orange);
}

static void on_stored(void *context, struct slice data)
{
    struct play *p = context;
    struct slice all = buf_slice(p->block);
    if (data.len == all.len && memcmp(data.data, all.data, all.len) == 0)
        p->stored++;
    else
        p->damaged = true;
    if (p->show)
        printf("%9.3f ms    the receiver has the block\n", (double)p->duo.now / 1e6);
}

static void make_block(struct play *p)
{
    const struct forget_case *c = p->c;
    size_t full = SEGMENT - 12;
    size_t len = (c->segments - 1) * full + 30;
    if (!c->plain && !c->orange) /* the last one has one byte */
        len = c->segments == 1 ? 1 : (c->segments - 2) * full + 31;
    p->block = buf_new(0, len);
    uint8_t *at = buf_append(p->block, len);
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)(i * 7 + i / 251);
}

static void make_ours(struct play *p, size_t which)
{
    const struct forget_case *c = p->c;
    struct ours *o = &p->ours[which];
    o->config = (struct ltp_config){.engine = which + 1, .closed_time = IDLE};
    o->span = (struct ltp_span){.peer = 2 - which,
                                .segment_max = SEGMENT,
                                .rto = RTO,
                                .retries_max = RETRIES,
                                .idle_timeout = IDLE,
                                .confirm_import = true,
                                .recovery = c->plain ? ltp_recovery_plain : ltp_recovery_default};
    o->orange = c->orange;
    o->block = which == SENDER ? p->block : NULL;
    o->sends_max = SENDS;
    o->pause = PAUSE;
    o->store_time = c->late_store ? STORE_TIME : 0;
    o->stored = on_stored;
    o->context = p;
}

static void start_end(struct play *p, size_t which, bool again)
{
    if (p->duo.end[which].ops == &ours_ops)
        ours_start(&p->ours[which], ++p->seed * 7919, p->duo.now);
    else if (which == RECEIVER && again)
        forgetful_forget(&p->receiver);
    else if (which == SENDER)
        model_sender_send(&p->sender);
}

/* Its memory ages: another session has ended. */
static void age_memory(struct play *p)
{
    static const uint8_t cancel[] = {LTP_CS, 1, 0x7f, 0, LTP_USR_CNCLD};
    if (p->duo.end[RECEIVER].ops == &ours_ops)
        ltp_input(p->ours[RECEIVER].ltp, cancel, sizeof cancel, p->duo.now);
}

static void begin_gap(struct play *p)
{
    enum forget_how how = p->c->how;
    p->duo.dark_until = p->duo.now + GAP;
    if (how == FORGET_GAP_SENDER || how == FORGET_GAP_BOTH)
        ours_link(&p->ours[SENDER], false, p->duo.now);
    if (how == FORGET_GAP_RECEIVER || how == FORGET_GAP_BOTH)
        ours_link(&p->ours[RECEIVER], false, p->duo.now);
}

static void end_gap(struct play *p)
{
    enum forget_how how = p->c->how;
    age_memory(p);
    if (how == FORGET_GAP_RECEIVER || how == FORGET_GAP_BOTH)
        ours_link(&p->ours[RECEIVER], true, p->duo.now);
    duo_drain(&p->duo, RECEIVER);
    if (how == FORGET_GAP_SENDER || how == FORGET_GAP_BOTH)
        ours_link(&p->ours[SENDER], true, p->duo.now);
    duo_drain(&p->duo, SENDER);
}

static void on_touch(void *context, size_t end)
{
    struct play *p = context;
    size_t who = p->c->how == FORGET_SENDER ? SENDER : RECEIVER;
    if (end != who || p->forgot || p->duo.touched[end] != p->c->step)
        return;
    p->forgot = true;
    if (p->show)
        printf("%9.3f ms    now\n", (double)p->duo.now / 1e6);
    if (p->c->how >= FORGET_GAP_NONE) {
        begin_gap(p);
        return;
    }
    start_end(p, who, true);
    duo_drain(&p->duo, who);
}

static void on_frame(void *context, size_t from, size_t number, bool lost, const uint8_t *data,
                     size_t len)
{
    const struct play *p = context;
    char text[FRAME_TEXT];
    frame_text(data, len, text);
    printf("%9.3f ms %3zu %s %s%s\n", (double)p->duo.now / 1e6, number,
           from == SENDER ? "->" : "<-", text,
           lost                   ? "  LOST"
           : number == p->c->late ? "  LATE"
                                  : "");
}

static void build_case(struct play *p)
{
    const struct forget_case *c = p->c;
    make_block(p);
    p->duo.delay = DELAY;
    p->duo.lost = c->lost;
    p->duo.lost_len = c->lost_len;
    p->duo.late = c->late;
    p->duo.later = LATE;
    p->duo.touch = on_touch;
    p->duo.tell = p->show ? on_frame : NULL;
    p->duo.context = p;
    duo_init(&p->duo);
    for (size_t i = 0; i < 2; i++) {
        make_ours(p, i);
        p->duo.end[i] = (struct duo_end){&ours_ops, &p->ours[i]};
    }
    if (model_receives(c)) {
        forgetful_init(&p->receiver, &receivers[c->peers - 1], 11);
        p->receiver.block = on_stored;
        p->receiver.context = p;
        p->duo.end[RECEIVER] = (struct duo_end){&forgetful_ops, &p->receiver};
    }
    if (model_sends(c)) {
        struct model_sender_config k = {1, SEGMENT - 12, RTO, RETRIES, PAUSE, SENDS};
        model_sender_init(&p->sender, &k, buf_slice(p->block), 100);
        p->duo.end[SENDER] = (struct duo_end){&model_sender_ops, &p->sender};
    }
    for (size_t i = 0; i < 2; i++)
        start_end(p, i, false);
    duo_drain(&p->duo, SENDER);
}

static bool is_done(const struct play *p)
{
    return model_sends(p->c) ? p->sender.done : p->ours[SENDER].done;
}

static bool is_open(const struct play *p)
{
    return model_sends(p->c) ? p->sender.open : p->ours[SENDER].open;
}

static void judge_step(struct play *p)
{
    if (p->damaged)
        p->wrong = "the receiver has another block";
    else if (is_done(p) && p->stored == 0)
        p->wrong = "LOST: done at the sender, and no life of the receiver had all of it";
}

static void play_case(struct play *p)
{
    size_t steps = 0;
    while (p->wrong == NULL && steps++ < STEPS_MAX && p->duo.now < END) {
        bool dark = p->duo.now < p->duo.dark_until;
        if (!duo_step(&p->duo, dark ? p->duo.dark_until : END)) {
            if (!dark)
                break;
            end_gap(p);
        }
        judge_step(p);
    }
    if (p->wrong != NULL)
        return;
    if (p->duo.overrun > 0 || steps >= STEPS_MAX)
        p->wrong = "it does not come to an end";
    else if (is_open(p))
        p->wrong = "the session at the sender never ends";
    else if (!is_done(p) && !p->c->orange)
        p->wrong = "sent again and again, and never delivered";
    for (size_t i = 0; i < 2 && p->wrong == NULL; i++)
        if (p->duo.end[i].ops == &ours_ops && !ltp_idle(p->ours[i].ltp))
            p->wrong = i == SENDER ? "the sender keeps something for ever"
                                   : "the receiver keeps something for ever";
}

struct forget_result forget_run(const struct forget_case *c, bool show)
{
    struct play *p = calloc(1, sizeof *p);
    if (p == NULL)
        abort();
    p->c = c;
    p->show = show;
    build_case(p);
    play_case(p);
    struct forget_result r = {.forgot = p->forgot,
                              .frames = p->duo.sent,
                              .dark_from = p->duo.dark_from,
                              .dark_to = p->duo.dark_to,
                              .done = is_done(p),
                              .sessions = model_sends(c) ? p->sender.sends : p->ours[SENDER].sends,
                              .wrong = p->wrong};
    for (size_t i = 0; i < 2; i++)
        ours_stop(&p->ours[i]);
    forgetful_fini(&p->receiver);
    model_sender_fini(&p->sender);
    buf_drop(p->block);
    duo_fini(&p->duo);
    free(p);
    return r;
}

static const char *const hows[] = {"receiver",   "sender",       "gap-none",
                                   "gap-sender", "gap-receiver", "gap-both"};

void forget_text(const struct forget_case *c, char *out, size_t cap)
{
    int n = snprintf(out, cap, "%s %s %s %s %s %u %zu", forget_peers[c->peers], hows[c->how],
                     c->plain ? "plain" : "default", c->orange ? "orange" : "red",
                     c->late_store ? "late" : "at-once", c->segments, c->step);
    if (c->late != SIZE_MAX)
        n += snprintf(out + n, cap - (size_t)n, " late=%zu", c->late);
    for (size_t i = 0; i < c->lost_len; i++)
        n += snprintf(out + n, cap - (size_t)n, " %zu", c->lost[i]);
}

static bool find_word(const char *const *words, size_t count, const char *word, size_t *out)
{
    for (size_t i = 0; i < count && words[i] != NULL; i++) {
        if (strcmp(words[i], word) != 0)
            continue;
        *out = i;
        return true;
    }
    return false;
}

bool forget_parse(const char *text, struct forget_case *out)
{
    char peers[32], how[32], recovery[16], colour[16], store[16];
    size_t index;
    *out = (struct forget_case){.late = SIZE_MAX};
    const char *late = strstr(text, " late=");
    int used = 0;
    if (sscanf(text, "%31s %31s %15s %15s %15s %u %zu%n", peers, how, recovery, colour, store,
               &out->segments, &out->step, &used) < 7 ||
        out->segments < 1 || out->segments > FORGET_SEGMENTS)
        return false;
    if (late != NULL && sscanf(late, " late=%zu%n", &out->late, &used) == 1)
        text = late;
    int n = sscanf(text + used, "%zu %zu %zu", &out->lost[0], &out->lost[1], &out->lost[2]);
    out->lost_len = n > 0 ? (size_t)n : 0;
    if (!find_word(forget_peers, SIZE_MAX, peers, &out->peers) ||
        !find_word(hows, FORGET_HOWS, how, &index))
        return false;
    out->how = (enum forget_how)index;
    out->plain = strcmp(recovery, "plain") == 0;
    out->orange = strcmp(colour, "orange") == 0;
    out->late_store = strcmp(store, "late") == 0;
    return true;
}
