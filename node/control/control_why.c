/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains one bundle in sentences: where it is, why it waits there, what was tried, and what comes
 * next; from the agent's record, the router's answer and the state of its link. What can go wrong:
 * an id without a bundle; memory, which omits sentences.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/node_meter.h"
#include "node/node_shortage.h"
#include "node/storage.h"

#define SENTENCE 384

static void put_sentence(json_t *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_sentence(json_t *out, const char *key, const char *format, ...)
{
    char text[SENTENCE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_object_set_new(out, key, json_string(text));
}

static const char *until_text(const struct node *n, tick until, char out[LINK_SPAN_MAX])
{
    const tick now = world_now(n->world);
    return link_span_text(until > now ? until - now : 0, out);
}

/* ---- the link that it waits for, or is on ---- */

/* "3 other bundles (9.1 kB)" */
static const char *ahead_text(const struct agent_why *w, char out[64])
{
    snprintf(out, 64, "%" PRIu64 " other bundle%s (%" PRIu64 " bytes)", w->ahead,
             w->ahead == 1 ? "" : "s", w->ahead_bytes);
    return out;
}

static void why_open(const struct agent_why *w, const struct node_link *l, enum link_state state,
                     const char *about, json_t *out)
{
    char ahead[64];
    if (w->busy >= w->window)
        put_sentence(out, "why",
                     "the link is %s, and has all bundles that it may have at once (%" PRIu64
                     "); %s are in "
                     "its queue or on it",
                     link_state_word(state), w->window, ahead_text(w, ahead));
    else
        put_sentence(out, "why", "the link is %s (%s), and %s are in its queue or on it",
                     link_state_word(state), about, ahead_text(w, ahead));
    if (state == LINK_STATE_SILENT)
        put_sentence(out, "next",
                     "%s keeps asking the peer for an answer, up to its limit; as soon as the peer "
                     "is heard, bundles are sent again",
                     l->config->adapter);
    else
        put_sentence(out, "next", "it is forwarded over link %s when its turn comes",
                     l->config->name);
}

static void why_closed(const struct node_link *l, enum link_state state, const char *about,
                       json_t *out)
{
    const char *name = l->config->name;
    put_sentence(out, "why", "link %s is %s%s%s", name, link_state_word(state),
                 about[0] != '\0' ? ": " : "", about);
    if (state == LINK_STATE_WAITING)
        put_sentence(
            out, "next",
            "it is forwarded over link %s in the next contact, or over a better route of the plan",
            name);
    else if (state == LINK_STATE_REFUSED)
        put_sentence(out, "next",
                     "the link tries again by itself; the bundle is forwarded when it is up, or "
                     "over another link to its destination that is up");
    else
        put_sentence(out, "next",
                     "it is forwarded when link %s is up, or over another link to its destination "
                     "that is up (helioctl routes)",
                     name);
}

void control_reason(const struct node_link *l, char *out)
{
    const struct cla_gauges g = node_link_gauges(l);
    const struct link_facts f = node_link_facts(l, &g);
    link_state_why(&f, out);
    if (out[0] != '\0' || l->cla == NULL || l->cla->ops->status == NULL)
        return;
    json_t *o = json_object();
    l->cla->ops->status(l->cla, o);
    const char *because = json_string_value(json_object_get(o, "down_because"));
    if (because != NULL)
        snprintf(out, LINK_WHY_MAX, "%s", because);
    json_decref(o);
}

static void tell_on_link(const struct node *n, const struct agent_why *w, json_t *out)
{
    const struct node_link *l = n->links[w->is.link];
    const enum link_state state = node_link_state(l);
    char about[LINK_WHY_MAX], span[LINK_SPAN_MAX];
    control_reason(l, about);
    put_sentence(out, "link_state", "%s", link_state_word(state));
    if (strcmp(w->is.state, "sending") == 0) {
        put_sentence(out, "where", "given to link %s; its outcome is not known yet",
                     l->config->name);
        put_sentence(out, "why",
                     "the link is %s%s%s: the bundle stays here until the peer has "
                     "acknowledged it",
                     link_state_word(state), about[0] != '\0' ? ", " : "", about);
        put_sentence(out, "next",
                     l->up ? "with the acknowledgement it leaves this node; without one the "
                             "link sends again what is missing, and in the end reports a failure"
                           : "the link continues with it when it opens again");
        return;
    }
    put_sentence(out, "where", "in the queue of link %s", l->config->name);
    if (strcmp(w->is.state, "paused") == 0) {
        put_sentence(out, "why",
                     "forwarding failed, and it pauses before the next try; the link is %s%s%s",
                     link_state_word(state), about[0] != '\0' ? ", " : "", about);
        put_sentence(
            out, "next",
            w->until == TICK_NEVER
                ? "it is tried again when the link opens again"
                : "it is tried again in %s; sooner if the peer is heard or the link opens again",
            until_text(n, w->until, span));
    } else if (l->up) {
        why_open(w, l, state, about, out);
    } else {
        why_closed(l, state, about, out);
    }
}

/* ---- elsewhere ---- */

static void tell_apart(const struct node *n, const struct agent_why *w, json_t *out)
{
    char span[LINK_SPAN_MAX], to[CONTROL_EID_SHOWN], late[LATE_TEXT_MAX];
    control_eid_text(n, &w->is.destination, to);
    put_sentence(out, "where", "waiting without a route");
    if (w->too_late)
        put_sentence(out, "why", "no known route brings it to %.100s before its lifetime ends: %s",
                     to, node_late_text(n, w->arrival, w->expires, late));
    else if (w->none)
        put_sentence(out, "why", "no route leads to %.200s%s", to,
                     w->declined_len > 0 ? ", except over neighbours that will never accept it"
                                         : "");
    else
        put_sentence(out, "why", "the contact plan has no contact for it yet");
    if (w->until != TICK_NEVER)
        put_sentence(out, "next",
                     "the routes are asked again in %s, and when routes, plan or links change",
                     until_text(n, w->until, span));
    else
        put_sentence(out, "next",
                     "the routes are asked again when routes, plan or links change (helioctl "
                     "route add, contact add)");
}

static void tell_here(const struct node *n, const struct agent_why *w, json_t *out)
{
    char to[CONTROL_EID_SHOWN], ahead[64];
    const char *state = w->is.state;
    control_eid_text(n, &w->is.destination, to);
    if (strcmp(state, "delivering") == 0) {
        put_sentence(out, "where", "given to an application at %.200s", to);
        put_sentence(out, "why", "the application has not acknowledged it");
        put_sentence(out, "next",
                     "with the acknowledgement it is delivered; if the application leaves, it "
                     "waits for the next one");
    } else if (strcmp(state, "paused") == 0) {
        put_sentence(out, "where", "in the queue of %.200s, at this node", to);
        put_sentence(out, "why", "the application refused it");
        put_sentence(out, "next", "it is offered to the next application that registers there");
    } else {
        put_sentence(out, "where", "in the queue of %.200s, at this node", to);
        if (!w->open)
            put_sentence(out, "why", "no application is registered there");
        else
            put_sentence(out, "why",
                         "applications have %" PRIu64 " bundles of %" PRIu64 " that they may "
                         "have at once; %s wait there",
                         w->busy, w->window, ahead_text(w, ahead));
        put_sentence(out, "next", "it is given to the application %s",
                     !w->open ? "that registers there" : "when its turn comes");
    }
}

static void tell_other(const struct node *n, const struct agent_why *w, json_t *out)
{
    struct storage_status st = {0};
    if (n->storage != NULL)
        storage_status(n->storage, &st);
    if (strcmp(w->is.state, "storing") == 0) {
        put_sentence(out, "where", "being stored");
        put_sentence(out, "why", "the store has %" PRIu64 " jobs to do first", st.waiting);
        put_sentence(out, "next",
                     "when it is stored, its sender gets the confirmation, and it is forwarded or "
                     "delivered");
    } else if (strcmp(w->is.state, "fragment") == 0) {
        put_sentence(out, "where", "here, as a fragment of a bundle for this node");
        put_sentence(out, "why", "other fragments are missing");
        put_sentence(out, "next",
                     "when the last fragment is here, the bundle is reassembled and delivered");
    } else if (w->copies > 0) {
        put_sentence(out, "where", "here, with %" PRIu64 " unfinished copies", w->copies);
        put_sentence(out, "why",
                     "it is forwarded over several routes, and not all copies are finished");
        put_sentence(out, "next", "it is deleted here when the last copy is finished");
    } else {
        put_sentence(out, "where", "here, read from the store after a restart");
        put_sentence(out, "why", "it has no route yet");
        put_sentence(out, "next", "it gets one in a moment");
    }
}

/* ---- the bundle ---- */

static void tell_tried(const struct node *n, const struct agent_why *w, json_t *out)
{
    char names[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < w->declined_len && used < sizeof names; i++) {
        const struct node_link *l = n->links[w->declined[i]];
        int k = l == NULL ? 0
                          : snprintf(names + used, sizeof names - used, "%s%.48s",
                                     used > 0 ? ", " : "; never accepted by the peer of ",
                                     l->config->name);
        used += k > 0 ? (size_t)k : 0;
    }
    json_object_set_new(out, "tries", json_number(w->tries));
    if (w->tries == 0)
        put_sentence(out, "tried",
                     "no try has failed since it arrived, or since the node started%s", names);
    else
        put_sentence(out, "tried", "%" PRIu64 " tr%s failed, the last one: %s%s", w->tries,
                     w->tries == 1 ? "y" : "ies", w->failed, names);
}

static void tell_bundle(const struct node *n, const struct agent_why *w, json_t *out)
{
    json_object_set_new(out, "bundle", control_bundle_json(n, &w->is));
    tell_tried(n, w, out);
    const char *state = w->is.state;
    bool queued = strcmp(state, "waiting") == 0 || strcmp(state, "sending") == 0 ||
                  strcmp(state, "paused") == 0 || strcmp(state, "delivering") == 0;
    if (queued && w->is.link >= 0 && n->links[w->is.link] != NULL)
        tell_on_link(n, w, out);
    else if (queued)
        tell_here(n, w, out);
    else if (strcmp(state, "no route") == 0 || strcmp(state, "no contact") == 0)
        tell_apart(n, w, out);
    else
        tell_other(n, w, out);
}

/* It was refused not long ago, or a link waits to bring it. */
static void tell_refused(const struct node *n, const struct agent_shortage *s, json_t *out)
{
    char text[SHORTAGE_TEXT_MAX];
    put_sentence(out, "where", "not at this node; it arrived over link %.48s",
                 node_shortage_link(n, s->from));
    put_sentence(out, "why", "there was no room for it: %.300s", node_shortage_text(n, s, text));
    put_sentence(out, "next",
                 "it is accepted when there is room and the neighbour offers it again, or the link "
                 "reads again");
    json_object_set_new(out, "known", json_true());
}

/* It was refused not long ago. */
static void tell_late(const struct node *n, const struct agent_late *l, json_t *out)
{
    char text[LATE_TEXT_MAX];
    put_sentence(out, "where", "not at this node; it arrived over link %.48s",
                 node_shortage_link(n, l->from));
    put_sentence(out, "why",
                 "it was refused: no known route brings it there before its lifetime ends: %s",
                 node_late_text(n, l->arrival, l->expires, text));
    put_sentence(out, "next",
                 "it is accepted if the neighbour offers it again when there is an earlier contact "
                 "(helioctl plan); with routing: {unreachable: keep} such bundles wait here");
    json_object_set_new(out, "known", json_true());
}

static void tell_past(enum agent_past past, json_t *out)
{
    put_sentence(out, "where", "not at this node");
    if (past == AGENT_WAS_FORWARDED)
        put_sentence(out, "why", "this node forwarded it");
    else if (past == AGENT_WAS_HERE)
        put_sentence(out, "why",
                     "it was here, and was delivered, forwarded or deleted, or expired");
    else
        put_sentence(out, "why", "it was never here, or was refused, or its id is forgotten");
    put_sentence(out, "next",
                 past == AGENT_WAS_FORWARDED
                     ? "ask the next node; the bundle log (log: bundles) has the link"
                     : "the bundle log (log: bundles) has its outcome");
    json_object_set_new(out, "known", json_boolean(past != AGENT_NEVER_HERE));
}

/* SOURCE,CREATED,SEQUENCE as the bundle log has them. */
static bool read_id(const struct node *n, const char *text, struct bundle_id *id)
{
    char source[EID_TEXT_MAX], created[24], whole[EID_TEXT_MAX];
    const char *last = strrchr(text, ','), *first = last;
    while (first != NULL && first > text && *--first != ',')
        ;
    if (last == NULL || first == text || (size_t)(first - text) >= sizeof source ||
        (size_t)(last - first) > sizeof created)
        return false;
    snprintf(source, sizeof source, "%.*s", (int)(first - text), text);
    snprintf(created, sizeof created, "%.*s", (int)(last - first - 1), first + 1);
    *id = (struct bundle_id){0};
    const bool named =
        config_name_expand(control_names_now(n), CONFIG_NAME_NODE, source, whole, sizeof whole);
    return eid_parse(named ? whole : source, &id->source) == 0 &&
           units_count(created, UINT64_MAX, &id->time_ms) == 0 &&
           units_count(last + 1, UINT64_MAX, &id->sequence) == 0;
}

void control_why(struct node *n, const struct json_t *in, struct json_t *out)
{
    const char *text = json_string_value(json_object_get(in, "bundle"));
    const struct agent_shortage *s;
    const struct agent_late *late;
    struct agent_why w;
    struct bundle_id id;
    uint64_t key;
    if (text != NULL && units_count(text, UINT64_MAX, &key) == 0) {
        if (agent_why(n->agent, key, &w))
            tell_bundle(n, &w, out);
        else
            tell_past(agent_past_key(n->agent, key), out);
    } else if (text != NULL && read_id(n, text, &id)) {
        if (agent_find(n->agent, &id, &key) == 0 && agent_why(n->agent, key, &w))
            tell_bundle(n, &w, out);
        else if ((s = agent_shortage_of(n->agent, &id)) != NULL &&
                 agent_past(n->agent, &id) == AGENT_NEVER_HERE)
            tell_refused(n, s, out);
        else if ((late = agent_late_of(n->agent, &id)) != NULL &&
                 agent_past(n->agent, &id) == AGENT_NEVER_HERE)
            tell_late(n, late, out);
        else
            tell_past(agent_past(n->agent, &id), out);
    } else {
        control_refuse(out, true,
                       "write a bundle's KEY, as bundles shows it, or "
                       "SOURCE,CREATED,SEQUENCE, as the bundle log has them");
    }
}
