/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner: versions appear in its folder (helio-plan publish), are pushed to the followers, and
 * the followers' states are shown in the state file. What can go wrong: a file of a version that is
 * damaged (it is left out), a node that is away or refuses a bundle (it is pushed later), bundles
 * of nobody (counted).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "node/plan/plan_draft.h"
#include "tools/plan/plans_service.h"

/* ---- versions ---- */

static void say_damaged(struct plans_serve *s, uint64_t number, int rc)
{
    say(&s->end.log, LEVEL_ERROR, "%s/plan-%" PRIu64 ".cbor: %s; this version is left out%s",
        s->end.shelf.path, number, rc == HELIO_EFORMAT ? "it is damaged" : helio_strerror(rc),
        rc == HELIO_EFORMAT ? "" : " until it can be read");
}

static bool has_version(const struct plans_serve *s, uint64_t number)
{
    for (size_t i = 0; i < s->owner.versions_len; i++)
        if (s->owner.versions[i].number == number)
            return true;
    return false;
}

/* 0; 1: no older version matters; an error: the file cannot be read now. */
static int take_version(struct plans_serve *s, uint64_t number, uint64_t wall)
{
    struct plans_file f;
    const int rc = plans_shelf_read(&s->end.shelf, number, &f);
    const bool gone = helio_code(rc) == HELIO_ENOENT || rc == HELIO_EFORMAT;
    if (rc != 0) {
        if (!s->retries)
            say_damaged(s, number, rc);
        return gone ? 0 : rc;
    }
    const bool begun = plans_version_begun(&f.version, wall);
    if (has_version(s, number))
        ;
    else if (plans_owner_publish(&s->owner, &f.version, world_now(s->end.world), wall))
        say(&s->end.log, LEVEL_INFO, "version %" PRIu64 ", %zu octets, takes effect %s", number,
            f.contents.len, begun ? "at once" : "later");
    else if (!s->retries)
        say(&s->end.log, LEVEL_WARNING,
            "version %" PRIu64 " is not sent: it is replaced, or %d others wait", number,
            PLANS_LATER_MAX);
    free(f.octets);
    return begun;
}

/* Replaced versions beyond PLANS_KEPT. */
static void remove_old(struct plans_serve *s, const uint64_t *numbers, size_t len)
{
    size_t replaced = 0;
    while (s->owner.versions_len > 0 && replaced < len &&
           numbers[replaced] < s->owner.versions[0].number)
        replaced++;
    for (size_t i = 0; i + PLANS_KEPT < replaced; i++)
        plans_shelf_remove(&s->end.shelf, numbers[i]);
}

/* From the highest number down to the one in force. */
static void look_for_versions(struct plans_serve *s)
{
    uint64_t *numbers = calloc(PLANS_FILES_MAX, sizeof *numbers);
    const int len = numbers == NULL ? 0 : plans_shelf_list(&s->end.shelf, numbers);
    const uint64_t wall = world_wall(s->end.world);
    bool failed = false;
    for (int i = len, rc = 0; rc != 1 && i-- > 0 && numbers[i] > s->last;) {
        rc = take_version(s, numbers[i], wall);
        failed = failed || rc < 0;
    }
    if (len > 0 && numbers[len - 1] > s->last) {
        s->last = failed ? s->last : numbers[len - 1];
        s->retries = failed;
        s->end.shown = false;
        remove_old(s, numbers, (size_t)len);
    }
    free(numbers);
}

/* ---- the node ---- */

static bool next_push(void *context, const char **to, uint8_t **octets, size_t *len)
{
    struct plans_serve *s = context;
    struct plans_file f;
    struct plans_push push;
    const tick now = world_now(s->end.world);
    while (plans_owner_poll(&s->owner, now, world_wall(s->end.world), &push)) {
        const int rc = plans_shelf_read(&s->end.shelf, push.number, &f);
        s->end.shown = false;
        if (rc != 0) {
            say_damaged(s, push.number, rc);
            plans_owner_refused(&s->owner, &push, now);
            continue;
        }
        if (push.peer == PLANS_GROUP)
            snprintf(s->to, sizeof s->to, "%s", s->end.options->group);
        else
            (void)eid_text(&s->owner.peers[push.peer].eid, s->to);
        *to = s->to;
        *octets = f.octets;
        *len = f.len;
        s->push = push;
        return true;
    }
    return false;
}

static void end_push(void *context, bool good)
{
    struct plans_serve *s = context;
    if (good)
        return;
    say(&s->end.log, LEVEL_WARNING,
        "the node refused the bundle with version %" PRIu64 " to %s; it is sent again later",
        s->push.number, s->to);
    plans_owner_refused(&s->owner, &s->push, world_now(s->end.world));
}

static void say_state(struct plans_serve *s, const char *source, enum plans_verdict v, size_t peer,
                      uint64_t before)
{
    if (v == PLANS_FOREIGN || v == PLANS_MALFORMED || v == PLANS_EARLY)
        return; /* counted */
    const struct plans_state *state = &s->owner.peers[peer].state;
    const bool early =
        plans_owner_early(&s->owner, &s->owner.peers[peer], world_wall(s->end.world));
    const bool wrong = state->refused != 0 || v == PLANS_AHEAD || v == PLANS_CONFLICT;
    if ((state->applied == before && !wrong) || !say_few_takes(&s->lines, world_now(s->end.world)))
        return;
    say_left_out(&s->end.log, &s->lines);
    if (state->applied != before && early)
        say(&s->end.log, LEVEL_WARNING,
            "%s follows version %" PRIu64 " before its time of effect; correct its clock and then "
            "publish a version (helio-plan rollback)",
            source, state->applied);
    else if (state->applied != before)
        say(&s->end.log, LEVEL_INFO, "%s follows version %" PRIu64, source, state->applied);
    if (state->refused != 0)
        say(&s->end.log, LEVEL_WARNING, "%s refused version %" PRIu64 ": %s", source,
            state->refused, plans_verdict_text(state->reason));
    if (v == PLANS_AHEAD || v == PLANS_CONFLICT)
        say(&s->end.log, LEVEL_WARNING,
            "%s has %s; publish with a --number above all of its versions", source,
            v == PLANS_AHEAD ? "a version that is not in this folder"
                             : "other contents under one of these numbers");
}

static void take_state(void *context, const char *source, struct slice payload)
{
    struct plans_serve *s = context;
    struct eid from;
    size_t peer = s->owner.peers_len;
    const char *why;
    if (eid_parse(source, &from) != 0)
        from = eid_none();
    for (size_t i = 0; i < s->owner.peers_len; i++)
        if (eid_equal(&s->owner.peers[i].eid, &from))
            peer = i;
    const uint64_t before = peer < s->owner.peers_len ? s->owner.peers[peer].state.applied : 0;
    const enum plans_verdict v =
        plans_owner_input(&s->owner, &from, payload, world_now(s->end.world), &peer, &why);
    say_state(s, source, v, peer, before);
    s->end.shown = false;
}

static void note_link(void *context)
{
    (void)context;
}

/* ---- the state file ---- */

static json_t *peer_json(const struct plans_serve *s, const struct plans_peer *p)
{
    char text[EID_TEXT_MAX];
    json_t *j = json_object(), *held = json_array(), *lacks = json_array();
    json_t *other = json_array();
    (void)eid_text(&p->eid, text);
    json_put_text(j, "endpoint", text);
    json_object_set_new(j, "heard", json_boolean(p->heard));
    if (p->heard) {
        char date[PLAN_TIME_CAP];
        const tick ago = world_now(s->end.world) - p->heard_at;
        json_put_text(j, "heard_at", plan_date_text(world_wall(s->end.world) - ago, false, date));
    }
    json_put_number(j, "applied", p->state.applied);
    for (size_t i = 0; i < p->state.len; i++)
        json_array_append_new(held, json_number(p->state.held[i].number));
    for (size_t i = 0; i < s->owner.versions_len; i++) {
        if (plans_owner_lacks(&s->owner, p, i))
            json_array_append_new(lacks, json_number(s->owner.versions[i].number));
        if (plans_owner_conflicts(&s->owner, p, i))
            json_array_append_new(other, json_number(s->owner.versions[i].number));
    }
    json_object_set_new(j, "held", held);
    json_object_set_new(j, "lacks", lacks);
    json_object_set_new(j, "conflicts", other);
    json_object_set_new(j, "early",
                        json_boolean(plans_owner_early(&s->owner, p, world_wall(s->end.world))));
    json_put_number(j, "pushes", p->pushes);
    if (p->state.refused != 0) {
        json_put_number(j, "refused", p->state.refused);
        json_put_text(j, "reason", plans_verdict_text(p->state.reason));
    }
    return j;
}

static json_t *serve_json(const struct plans_serve *s)
{
    json_t *j = json_object(), *peers = json_array();
    json_put_text(j, "role", "owner");
    for (size_t i = 0; i < s->owner.peers_len; i++)
        json_array_append_new(peers, peer_json(s, &s->owner.peers[i]));
    json_object_set_new(j, "followers", peers);
    json_object_set_new(j, "counts", plans_counts_json(s->owner.counts));
    return j;
}

/* ---- turns ---- */

static void turn_serve(void *context)
{
    struct plans_serve *s = context;
    tick next = TICK_NEVER;
    if (s->end.stop)
        return;
    const tick now = world_now(s->end.world);
    if (now >= s->look_at) {
        look_for_versions(s);
        s->look_at = tick_add(now, PLANS_LOOK_EVERY);
    }
    if (!plans_node_turn(&s->end.node, now, &next)) {
        s->end.failed = true;
        plans_serve_stop(s);
        return;
    }
    if (!s->end.shown && now >= s->end.show_at)
        plans_end_show(&s->end, serve_json(s), now);
    if (plans_node_free(&s->end.node))
        next = tick_min(next, plans_owner_deadline(&s->owner));
    alarm_set(&s->end.alarm, tick_min(next, s->look_at));
}

int plans_serve_init(struct plans_serve *s, struct world *w, const struct plans_options *o,
                     void (*over)(void *context), void *context)
{
    static const struct plans_node_user user = {next_push, end_push, take_state, note_link,
                                                turn_serve};
    *s = (struct plans_serve){
        .lines = {.about = "followers", .burst = 2 * PLANS_FOLLOWERS_MAX, .pause = TICK_S}};
    int rc = plans_end_init(&s->end, w, o, turn_serve, s, over, context);
    if (rc != 0)
        return rc;
    rc = plans_owner_init(&s->owner, o->followers, o->followers_len, o->group != NULL, o->again,
                          o->pause);
    if (rc != 0) {
        say(&s->end.log, LEVEL_ERROR, "%s", helio_strerror(rc));
        return rc;
    }
    plans_node_open(&s->end.node, w, &s->end.log, o->socket, o->service, NULL, o->lifetime,
                    PLANS_MESSAGE_MAX, &user, s);
    return 0;
}

void plans_serve_start(struct plans_serve *s)
{
    say(&s->end.log, LEVEL_INFO, "versions in %s, for %zu followers", s->end.shelf.path,
        s->owner.peers_len);
    turn_serve(s);
}

void plans_serve_stop(struct plans_serve *s)
{
    if (!s->end.stop)
        plans_end_show(&s->end, serve_json(s), 0);
    plans_end_stop(&s->end);
}

void plans_serve_fini(struct plans_serve *s)
{
    plans_end_fini(&s->end);
}

void plans_serve_free(struct plans_serve *s)
{
    plans_owner_fini(&s->owner);
    plans_shelf_close(&s->end.shelf);
}
