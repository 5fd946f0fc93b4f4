/* SPDX-License-Identifier: Apache-2.0 */
/* Only a cooked capture shows at which end it was taken. So the result states the assumed end of
 * each capture, and that two captures of one end cannot be both ends. */
#include "tools/analyze/analyze_result.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>

#include "conf/json_number.h"

#define TOLD_MAX 12 /* pairs of addresses in the text; the JSON has all */

static const char *how_word(enum watch_how how)
{
    switch (how) {
    case WATCH_GIVEN:
        return "given";
    case WATCH_NOTED:
        return "capture";
    case WATCH_BY_TIMES:
        return "times";
    case WATCH_BY_PASSAGE:
        return "passage";
    case WATCH_OPEN:
    case WATCH_ASSUMED:
        break;
    }
    return "assumed";
}

static const char *how_text(enum watch_how how)
{
    switch (how) {
    case WATCH_GIVEN:
        return "--at says so";
    case WATCH_NOTED:
        return "the capture says so";
    case WATCH_BY_TIMES:
        return "by the times to its answers";
    case WATCH_BY_PASSAGE:
        return "by the order in which sessions pass";
    case WATCH_OPEN:
    case WATCH_ASSUMED:
        break;
    }
    return "assumed, nothing says so";
}

static const char *place_word(const struct watch_view *v)
{
    return v->place == WATCH_SENDER ? "sender" : "receiver";
}

static void text_path(FILE *f, const struct watch_view *v)
{
    if (v->sender < WATCH_UNKNOWN)
        fprintf(f, "%" PRIu64 " -> ", v->sender);
    else
        fprintf(f, "? -> ");
    if (v->receiver < WATCH_UNKNOWN)
        fprintf(f, "%" PRIu64, v->receiver);
    else
        fprintf(f, "?");
}

static size_t kept_views(const struct analyze_totals *t)
{
    return t->views_len < INPUT_VIEWS_MAX ? t->views_len : INPUT_VIEWS_MAX;
}

static void text_emulator(FILE *f, const struct input_view *v)
{
    const char *what = v->after ? "leaves" : "enters", *other = v->after ? "enters" : "leaves";
    if (v->emulator && v->partner != NULL)
        fprintf(f, "; helio-emu's capture of what %s its link, and %s of what %s it", what,
                v->partner, other);
    else if (v->emulator)
        fprintf(f,
                "; it is helio-emu's, of what %s its link: one direction is missing. Give "
                "the capture of what %s it as well",
                what, other);
}

static void text_views(FILE *f, const struct analyze_totals *t)
{
    assert(t->captures);
    size_t n = kept_views(t);
    for (size_t i = 0; i < n && i < TOLD_MAX; i++) {
        const struct input_view *v = &t->views[i];
        assert(v->file != NULL && v->at.place != WATCH_AUTO);
        fprintf(f, "\n%s: at the %s's end of ", v->file, place_word(&v->at));
        text_path(f, &v->at);
        fprintf(f, " (%s)", how_text(v->at.how));
        text_emulator(f, v);
        if (v->same != NULL)
            fprintf(f,
                    "; so is %s, of the same time: what both saw counts twice. If they are of both "
                    "ends, say it: --at sender FILE --at receiver FILE",
                    v->same);
    }
    if (t->views_len > TOLD_MAX)
        fprintf(f, "\nand %zu more pairs of addresses", t->views_len - TOLD_MAX);
}

static void text_counters(FILE *f, const struct watch_counters *c)
{
    fprintf(f,
            "\n%" PRIu64 " packets captured: %" PRIu64 " LTP segments, %" PRIu64
            " damaged, %" PRIu64 " other traffic",
            c->packets, c->segments, c->damaged, c->other);
    if (c->fragments > 0)
        fprintf(f, "; %" PRIu64 " IP fragments, %" PRIu64 " datagrams of them not whole",
                c->fragments, c->fragments_lost);
    if (c->snapped > 0)
        fprintf(f, "; %" PRIu64 " packets cut by the capture, %" PRIu64 " of them of no use",
                c->snapped, c->snapped_unusable);
    if (c->undecided > 0)
        fprintf(
            f,
            "; where it was taken is not known for %" PRIu64
            " pairs of addresses (taken for the sender's end; see --at); what this makes of their "
            "losses is inferred",
            c->undecided);
    if (c->one_way > 0)
        fprintf(f,
                "; one direction alone was seen of %" PRIu64
                " pairs of addresses: how their red sessions ended is not known",
                c->one_way);
}

void capture_text(FILE *f, const struct analyze_totals *t)
{
    text_counters(f, &t->capture);
    text_views(f, t);
}

static json_t *engine_json(uint64_t engine)
{
    return engine < WATCH_UNKNOWN ? json_number(engine) : json_null();
}

static json_t *views_json(const struct analyze_totals *t)
{
    json_t *list = json_array();
    size_t n = kept_views(t);
    assert(t->captures || n == 0);
    for (size_t i = 0; i < n; i++) {
        const struct input_view *v = &t->views[i];
        json_t *j = json_object();
        assert(v->file != NULL && v->at.place != WATCH_AUTO);
        json_object_set_new(j, "file", json_string(v->file));
        json_object_set_new(j, "sender", engine_json(v->at.sender));
        json_object_set_new(j, "receiver", engine_json(v->at.receiver));
        json_object_set_new(j, "place", json_string(place_word(&v->at)));
        json_object_set_new(j, "known_by", json_string(how_word(v->at.how)));
        json_object_set_new(j, "emulator",
                            v->emulator ? json_string(v->after ? "after" : "before") : json_null());
        json_object_set_new(j, "partner",
                            v->partner != NULL ? json_string(v->partner) : json_null());
        json_object_set_new(j, "same_end", v->same != NULL ? json_string(v->same) : json_null());
        json_array_append_new(list, j);
    }
    return list;
}

static void set_count(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, json_number(v));
}

struct json_t *capture_json(const struct analyze_totals *t)
{
    const struct watch_counters *c = &t->capture;
    json_t *j = json_object();
    set_count(j, "packets", c->packets);
    set_count(j, "segments", c->segments);
    set_count(j, "damaged", c->damaged);
    set_count(j, "other", c->other);
    set_count(j, "fragments", c->fragments);
    set_count(j, "fragments_lost", c->fragments_lost);
    set_count(j, "snapped", c->snapped);
    set_count(j, "snapped_unusable", c->snapped_unusable);
    set_count(j, "pairs", c->pairs);
    set_count(j, "pairs_undecided", c->undecided);
    set_count(j, "pairs_one_way", c->one_way);
    json_object_set_new(j, "ends", views_json(t));
    return j;
}
