/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about received bundles that were dropped or postponed: the protocol has no other
 * report. A line is written in a turn of the link, with the counts since the last line of its kind.
 * What can go wrong: there is no log.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/allowance.h"
#include "cla/bibe/bibe_link.h"

#define NOTE_PAUSE (10 * TICK_S)

const char *bibe_note_word(enum bibe_note kind)
{
#define NOTE_WORD(name, word, text) [BIBE_NOTE_##name] = word,
    static const char *const words[BIBE_NOTE_COUNT] = {BIBE_NOTES(NOTE_WORD)};
#undef NOTE_WORD
    assert((unsigned)kind < BIBE_NOTE_COUNT);
    return words[kind];
}

static const char *text_of(enum bibe_note kind)
{
#define NOTE_TEXT(name, word, text) [BIBE_NOTE_##name] = text,
    static const char *const texts[BIBE_NOTE_COUNT] = {BIBE_NOTES(NOTE_TEXT)};
#undef NOTE_TEXT
    assert((unsigned)kind < BIBE_NOTE_COUNT);
    return texts[kind];
}

void bibe_note(struct bibe_link *l, enum bibe_note kind, uint64_t amount)
{
    assert((unsigned)kind < BIBE_NOTE_COUNT);
    if (amount == 0)
        return;
    l->n.notes[kind] += amount;
    bibe_kick(l);
}

static void say_note(struct bibe_link *l, enum bibe_note kind)
{
    const uint64_t fresh = l->n.notes[kind] - l->told_notes[kind];
    l->told_notes[kind] = l->n.notes[kind];
    cla_say(&l->cla, 1, "%" PRIu64 " %s", fresh, text_of(kind));
}

tick bibe_tell(struct bibe_link *l)
{
    const tick now = world_now(l->env.world);
    tick due = TICK_NEVER;
    for (enum bibe_note kind = 0; kind < BIBE_NOTE_COUNT; kind++) {
        if (l->n.notes[kind] == l->told_notes[kind])
            continue;
        if (allowance_take(&l->spent[kind], NOTE_PAUSE, 1, now))
            say_note(l, kind);
        else
            due = tick_min(due, l->spent[kind]);
    }
    return due;
}
