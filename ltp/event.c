/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing can fail: every field has a longest form, and EVENT_CSV_MAX holds them all. */
#include "ltp/event.h"

#include "base/csv.h"
#include <assert.h>

const char event_csv_header[] =
    "t_ns,dir,node,peer,originator,session,type,name,colour,client_service,offset,length,cp_serial,"
    "rpt_serial,rs_lower,rs_upper,claims,claimed_bytes,cancel_reason,attempt,cause,udp_len\n";

struct event event_make(enum event_kind kind, tick now)
{
    return (struct event){
        .now = now,
        .kind = kind,
        .peer = EVENT_NONE,
        .originator = EVENT_NONE,
        .session = EVENT_NONE,
        .type = -1,
        .client_service = EVENT_NONE,
        .offset = EVENT_NONE,
        .length = EVENT_NONE,
        .cp_serial = EVENT_NONE,
        .rpt_serial = EVENT_NONE,
        .rs_lower = EVENT_NONE,
        .rs_upper = EVENT_NONE,
        .claims = EVENT_NONE,
        .claimed_bytes = EVENT_NONE,
        .cancel_reason = EVENT_NONE,
        .attempt = EVENT_NONE,
        .udp_len = EVENT_NONE,
    };
}

const char *event_type_name(int type)
{
    /* RFC 5326 §3.1.1, with the abbreviations of its state diagrams (§8) spelled out */
    static const char *const names[16] = {"red_data",        "red_cp",
                                          "red_cp_eorp",     "red_cp_eob",
                                          "green_data",      "green_undefined",
                                          "green_undefined", "green_eob",
                                          "report",          "report_ack",
                                          "undefined",       "undefined",
                                          "cancel_sender",   "cancel_ack_to_sender",
                                          "cancel_receiver", "cancel_ack_to_receiver"};
    return type >= 0 && type < 16 ? names[type] : "?";
}

const char *verdict_name(enum verdict v)
{
#define VERDICT_NAME(name, text) text,
    static const char *const names[] = {VERDICTS(VERDICT_NAME)};
#undef VERDICT_NAME
    assert(v < VERDICT_COUNT);
    return names[v];
}

static char *put_field(char *p, uint64_t v)
{
    return csv_known(p, v, v != EVENT_NONE);
}

static const char *direction_word(const struct event *e)
{
    static const char *const names[] = {"rx", "tx", "open", "close", "timer", "link"};
    return names[e->kind];
}

static const char *cause_word(const struct event *e)
{
    static const char *const reasons[] = {"first", "report", "timer", "answer", "proactive"};
    static const char *const timers[] = {"checkpoint", "report", "cancel", "idle"};
    static const char *const links[] = {"down", "up", "receive_down", "receive_up"};
    static const char *const outcomes[] = {"done", "cancelled_local", "cancelled_remote", "lost",
                                           "discarded"};
    switch (e->kind) {
    case EVENT_RX:
        return verdict_name((enum verdict)e->verdict);
    case EVENT_TX:
        return reasons[e->cause];
    case EVENT_TIMER:
        return timers[e->cause];
    case EVENT_CLOSE:
        return outcomes[e->cause];
    case EVENT_LINK:
        return links[e->cause];
    default:
        return "";
    }
}

static const char *event_name(const struct event *e)
{
    if (e->orange == ORANGE_DELIVERED || e->orange == ORANGE_LOST)
        return e->orange == ORANGE_LOST ? "orange_lost" : "orange_delivered";
    return e->type < 0 ? "" : event_type_name(e->type);
}

static const char *colour_word(const struct event *e)
{
    if (e->orange != ORANGE_NONE)
        return "orange";
    if (e->type < 0 || e->type >= 8)
        return "";
    return e->type < 4 ? "red" : "green";
}

uint32_t event_csv(const struct event *e, uint64_t node, uint64_t epoch, char out[EVENT_CSV_MAX])
{
    char *p = csv_number(out, e->now + epoch);
    p = csv_word(p, direction_word(e));
    p = csv_known(p, node, true);
    p = csv_known(p, e->peer, e->has_peer || e->peer != EVENT_NONE);
    p = csv_known(p, e->originator, e->has_id || e->originator != EVENT_NONE);
    p = csv_known(p, e->session, e->has_id || e->session != EVENT_NONE);
    p = put_field(p, e->type < 0 ? EVENT_NONE : (uint64_t)e->type);
    p = csv_word(p, event_name(e));
    p = csv_word(p, colour_word(e));
    p = put_field(p, e->client_service);
    p = put_field(p, e->offset);
    p = put_field(p, e->length);
    p = put_field(p, e->cp_serial);
    p = put_field(p, e->rpt_serial);
    p = put_field(p, e->rs_lower);
    p = put_field(p, e->rs_upper);
    p = put_field(p, e->claims);
    p = put_field(p, e->claimed_bytes);
    p = put_field(p, e->cancel_reason);
    p = put_field(p, e->attempt);
    p = csv_word(p, cause_word(e));
    p = put_field(p, e->udp_len);
    *p++ = '\n';
    assert(p - out <= EVENT_CSV_MAX);
    return (uint32_t)(p - out);
}
