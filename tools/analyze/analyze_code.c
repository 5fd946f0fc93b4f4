/* SPDX-License-Identifier: Apache-2.0 */
/* A log of the sender has what was transmitted, and one of the receiver what became of it. What is
 * not known is null, and has no line. */
#include "tools/analyze/analyze_code.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>

#include "conf/json_number.h"
#include "tools/analyze/analyze.h"
#include "tools/analyze/analyze_result.h"
#include "tools/analyze/analyze_table.h"

void analyze_code_init(struct analyze_code *c)
{
    hist_init_exact(&c->delay, HIST_EXACT_MAX);
}

void analyze_code_fini(struct analyze_code *c)
{
    hist_fini(&c->delay);
}

static uint64_t known(uint64_t v)
{
    return v == EVENT_NONE ? 0 : v;
}

void analyze_code_add(struct analyze_code *c, const struct event *e)
{
    assert(e->kind == EVENT_MATRIX && e->cause >= 0 && e->cause <= MATRIX_DISPLACED);
    if (e->cause == MATRIX_SENT || e->cause == MATRIX_ANSWERED) {
        bool answer = e->cause == MATRIX_ANSWERED;
        c->sent += !answer;
        c->answers += answer;
        c->segments_sent += answer ? 0 : known(e->segments);
        c->repairs_sent += known(e->repairs);
        c->more_sent += answer ? known(e->repairs) : 0;
        return;
    }
    c->ended[e->cause]++;
    c->segments += known(e->segments);
    c->repairs += known(e->repairs);
    c->repaired += known(e->repaired);
    c->missing += known(e->missing);
    if (e->delay != EVENT_NONE)
        hist_add(&c->delay, e->delay);
}

uint64_t analyze_code_ended(const struct analyze_code *c)
{
    uint64_t sum = 0;
    for (int i = MATRIX_WHOLE; i <= MATRIX_DISPLACED; i++)
        sum += c->ended[i];
    return sum;
}

static bool is_there(const struct analyze_code *c)
{
    return c->sent + c->answers + analyze_code_ended(c) > 0;
}

static double share(uint64_t part, uint64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

static void path_text(FILE *f, const struct analyze_path *p)
{
    const struct analyze_code *c = &p->code;
    uint64_t ended = analyze_code_ended(c), failed = c->ended[MATRIX_FAILED];
    fprintf(f, "erasure code, %" PRIu64 " -> %" PRIu64 "\n", p->originator, p->peer);
    if (c->sent > 0)
        fprintf(f,
                "  %-26s %" PRIu64 " of %" PRIu64 " segments, %" PRIu64
                " repair segments, of these %" PRIu64 " in %" PRIu64 " answers\n",
                "matrices sent", c->sent, c->segments_sent, c->repairs_sent, c->more_sent,
                c->answers);
    if (ended == 0)
        return;
    fprintf(f,
            "  %-26s %" PRIu64 " whole, %" PRIu64 " repaired, %" PRIu64 " failed, %" PRIu64
            " displaced\n",
            "matrices received", c->ended[MATRIX_WHOLE], c->ended[MATRIX_REPAIRED], failed,
            c->ended[MATRIX_DISPLACED]);
    fprintf(f,
            "  %-26s %" PRIu64 " of %" PRIu64 " (%.2f %%), %" PRIu64
            " repaired; residual loss %.4f %%\n",
            "lost segments", c->repaired + c->missing, c->segments,
            100 * share(c->repaired + c->missing, c->segments), c->repaired,
            100 * share(c->missing, c->segments));
    analyze_times_text(f, "longest decoding delay", &c->delay);
}

void analyze_code_text(FILE *f, const struct analyze *a)
{
    for (size_t i = 0; i < a->paths_len; i++)
        if (is_there(&a->paths[i]->code))
            path_text(f, a->paths[i]);
}

static void put_if(json_t *j, const char *name, bool known_there, uint64_t v)
{
    json_object_set_new(j, name, known_there ? json_number(v) : json_null());
}

static json_t *path_json(const struct analyze_path *p)
{
    static const char *const outcomes[] = {
        [MATRIX_WHOLE] = "matrices_whole",
        [MATRIX_REPAIRED] = "matrices_repaired",
        [MATRIX_FAILED] = "matrices_failed",
        [MATRIX_DISPLACED] = "matrices_displaced",
    };
    const struct analyze_code *c = &p->code;
    bool sender = c->sent + c->answers > 0, receiver = analyze_code_ended(c) > 0;
    json_t *j = json_object();
    put_if(j, "originator", true, p->originator);
    put_if(j, "peer", analyze_engine_known(p->peer), p->peer);
    put_if(j, "matrices_sent", sender, c->sent);
    put_if(j, "segments_sent", sender, c->segments_sent);
    put_if(j, "repair_segments_sent", sender, c->repairs_sent);
    put_if(j, "requests_answered", sender, c->answers);
    put_if(j, "repair_segments_requested", sender, c->more_sent);
    for (int i = MATRIX_WHOLE; i <= MATRIX_DISPLACED; i++)
        put_if(j, outcomes[i], receiver, c->ended[i]);
    put_if(j, "segments", receiver, c->segments);
    put_if(j, "repair_segments_received", receiver, c->repairs);
    put_if(j, "segments_repaired", receiver, c->repaired);
    put_if(j, "segments_lost", receiver, c->missing);
    json_object_set_new(j, "residual_loss",
                        receiver ? json_real(share(c->missing, c->segments)) : json_null());
    json_object_set_new(j, "delay_ms", analyze_times_json(&c->delay));
    return j;
}

json_t *analyze_code_json(const struct analyze *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->paths_len; i++)
        if (is_there(&a->paths[i]->code))
            json_array_append_new(list, path_json(a->paths[i]));
    return list;
}
