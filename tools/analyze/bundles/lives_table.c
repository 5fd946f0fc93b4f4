/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each stay. What is not known is an empty field; texts are written as the logs have
 * them, with their quotes. Only the file can fail. */
#include <inttypes.h>

#include "tools/analyze/bundles/lives.h"

static const char header[] =
    "source,created_ms,sequence,fragment_offset,adu_length,destination,hop,node,key,from,link_in,"
    "link_out,bytes,payload,begun_ns,ended_ns,end,tries,failed,lost,restarts,store_ms,apart_ms,"
    "queue_ms,link_ms,session_ms,application_ms,retention_ms,originator,session,ltp_wait_ms,ltp_ms,"
    "ltp_cycles,next_node,next_ms,total_ms\n";

static void put_text(FILE *f, const char *text)
{
    fprintf(f, "%s,", text == NULL ? "" : text);
}

static void put_number(FILE *f, uint64_t v, bool known)
{
    if (known)
        fprintf(f, "%" PRIu64, v);
    fputc(',', f);
}

static void put_ms(FILE *f, tick t, bool known)
{
    if (known && t != TICK_NEVER)
        fprintf(f, "%" PRIu64 ".%06" PRIu64, t / TICK_MS, t % TICK_MS);
    fputc(',', f);
}

static void put_id(FILE *f, const struct stay *s)
{
    put_text(f, s->source);
    put_number(f, s->created_ms, true);
    put_number(f, s->sequence, true);
    put_number(f, s->fragment_offset, s->fragment);
    put_number(f, s->adu_length, s->fragment);
    put_text(f, s->destination);
}

static void put_times(FILE *f, const struct stay *s)
{
    const bool known = stay_is_known(s);
    put_number(f, s->begun, s->begun != TICK_NEVER);
    put_number(f, s->ended, s->ended != TICK_NEVER);
    put_text(f, s->end);
    put_number(f, s->tries, known);
    put_number(f, s->failed, known);
    put_number(f, s->lost, known);
    put_number(f, s->restarts, stay_is_whole(s));
    for (int part = 0; part < LIFE_PARTS; part++)
        put_ms(f, s->spent[part], known);
    put_ms(f, s->ended - s->begun, stay_is_whole(s));
}

static void put_session(FILE *f, const struct stay *s)
{
    const bool known = s->has_session && stay_is_known(s);
    put_number(f, s->originator, known);
    put_number(f, s->session, known);
    put_ms(f, s->session_wait, known);
    put_ms(f, s->session_time, known);
    put_number(f, s->cycles, known && s->cycles_known);
}

bool lives_table(FILE *f, const struct lives *l)
{
    fputs(header, f);
    for (size_t i = 0; i < l->len; i++) {
        const struct stay *s = l->stays[i];
        put_id(f, s);
        put_number(f, s->hop, s->hop > 0);
        put_text(f, s->node);
        put_number(f, s->key, true);
        put_text(f, bundle_origin_word(s->from));
        put_text(f, s->link_in);
        put_text(f, stay_is_known(s) ? s->link_out : NULL);
        put_number(f, s->bytes.value, s->bytes.known);
        put_number(f, s->payload.value, s->payload.known);
        put_times(f, s);
        put_session(f, s);
        put_text(f, s->next != NULL ? s->next->node : NULL);
        put_ms(f, s->next != NULL ? s->next->begun - s->sent : TICK_NEVER, true);
        if (s->total != TICK_NEVER)
            fprintf(f, "%" PRIu64 ".%06" PRIu64, s->total / TICK_MS, s->total % TICK_MS);
        fputc('\n', f);
    }
    return ferror(f) == 0;
}
