/* SPDX-License-Identifier: Apache-2.0 */
/* An address is an answer that is there from the beginning. What can go wrong: the name is not
 * known, or not yet; no name server answers; memory and threads are out. */
#include "cla/remote_name.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/tick.h"
#include "conf/json_number.h"

#define SAY_PAUSE (600 * TICK_S)

/* Unless the look-up failed, the found addresses replace the last answer. */
static void take_answer(struct remote_name *r, const char *error)
{
    const struct lookup *l = &r->lookup;
    assert(error != NULL || l->len > 0);
    r->failed = error != NULL;
    r->lookups++;
    r->lookups_failed += r->failed;
    if (r->failed) {
        snprintf(r->why, sizeof r->why, "the name cannot be resolved: %s", error);
    } else {
        memcpy(r->found, l->addresses, l->len * sizeof *r->found);
        r->found_len = l->len;
        r->say_after = 0;
    }
    assert(r->found_len <= LOOKUP_ADDRESSES_MAX && r->lookups_failed <= r->lookups);
}

static void ask_later(struct remote_name *r)
{
    if (!r->watched)
        return;
    const tick doubled = r->pause == 0 ? REMOTE_NAME_PAUSE : 2 * r->pause;
    r->pause = !r->failed ? 0 : doubled < REMOTE_NAME_PAUSE_MAX ? doubled : REMOTE_NAME_PAUSE_MAX;
    alarm_set(&r->alarm, tick_add(world_now(r->world), r->failed ? r->pause : REMOTE_NAME_REFRESH));
}

static void tell_answer(struct remote_name *r, const char *error)
{
    take_answer(r, error);
    ask_later(r);
    if (r->answered != NULL)
        r->answered(r->context);
}

static void on_done(struct lookup *l)
{
    struct remote_name *r = container_of(l, struct remote_name, lookup);
    tell_answer(r, l->error);
}

static void on_alarm(void *context)
{
    struct remote_name *r = context;
    const bool unasked = r->unasked;
    assert(r->lookup.own == NULL && (unasked || r->watched));
    r->unasked = false;
    if (unasked)
        tell_answer(r, "no memory or no thread for it");
    else
        remote_name_ask(r);
}

int remote_name_open(struct remote_name *r, struct world *w, const struct host_address *at,
                     int family, char *why, size_t why_cap)
{
    *r = (struct remote_name){.world = w, .at = *at};
    assert(family == AF_UNSPEC || family == AF_INET || family == AF_INET6);
    if (!remote_name_is_name(r)) {
        r->found[0] = r->current = at->address;
        r->found_len = address_given(&at->address);
        return 0;
    }
    if (!lookup_possible(w)) {
        snprintf(why, why_cap,
                 "remote: %.100s is a host name, and virtual time has no resolver; write a numeric "
                 "address",
                 at->host);
        return HELIO_EINVAL;
    }
    r->lookup =
        (struct lookup){.host = r->at.host, .port = at->port, .family = family, .done = on_done};
    alarm_init(&r->alarm, w, ALARM_LINK, on_alarm, r);
    return 0;
}

void remote_name_on_answer(struct remote_name *r, void (*answered)(void *context), void *context)
{
    assert(answered != NULL && r->lookup.own == NULL);
    r->answered = answered;
    r->context = context;
}

void remote_name_close(struct remote_name *r)
{
    if (!remote_name_is_name(r))
        return;
    if (r->lookup.own != NULL)
        lookup_forget(r->world, &r->lookup);
    alarm_fini(&r->alarm);
    r->at = (struct host_address){.port = 0};
}

bool remote_name_is_name(const struct remote_name *r)
{
    return host_address_is_name(&r->at);
}

void remote_name_ask(struct remote_name *r)
{
    assert(remote_name_is_name(r));
    if (r->lookup.own != NULL || r->unasked)
        return;
    alarm_set(&r->alarm, TICK_NEVER);
    r->unasked = lookup_begin(r->world, &r->lookup) != 0;
    if (r->unasked)
        alarm_set(&r->alarm, 0);
}

void remote_name_watch(struct remote_name *r)
{
    if (!remote_name_is_name(r))
        return;
    r->watched = true;
    remote_name_ask(r);
}

static bool is_tried(const struct remote_name *r, const struct address *a)
{
    for (size_t i = 0; i < r->tried_len; i++)
        if (address_equal(&r->tried[i], a))
            return true;
    return false;
}

bool remote_name_next(struct remote_name *r, struct address *out)
{
    size_t i = 0;
    if (r->found_len == 0)
        return false;
    while (i < r->found_len && is_tried(r, &r->found[i]))
        i++;
    if (i == r->found_len || r->tried_len == LOOKUP_ADDRESSES_MAX) {
        i = 0;
        r->tried_len = 0;
    }
    r->tried[r->tried_len++] = r->current = *out = r->found[i];
    assert(r->tried_len <= LOOKUP_ADDRESSES_MAX && address_given(out));
    return true;
}

void remote_name_reached(struct remote_name *r)
{
    r->tried_len = 0;
}

static bool is_found(const struct remote_name *r, const struct address *a)
{
    for (size_t i = 0; i < r->found_len; i++)
        if (address_equal(&r->found[i], a))
            return true;
    return false;
}

bool remote_name_moved(const struct remote_name *r)
{
    return !r->failed && address_given(&r->current) && !is_found(r, &r->current);
}

void remote_name_failure(struct remote_name *r, char text[REMOTE_NAME_SAY_MAX])
{
    char name[HOST_ADDRESS_TEXT_MAX];
    const tick now = world_now(r->world);
    text[0] = '\0';
    if (!r->failed || now < r->say_after)
        return;
    r->say_after = tick_add(now, SAY_PAUSE);
    snprintf(text, REMOTE_NAME_SAY_MAX, "remote %s: %s; %s", host_address_write(&r->at, name),
             r->why,
             r->found_len > 0 ? "its last address is used"
                              : "nothing is sent to it or accepted from it until then");
}

bool remote_name_update(struct remote_name *r, struct udp_io *io, struct udp_peer *to, int *level,
                        char text[REMOTE_NAME_SAY_MAX])
{
    char name[HOST_ADDRESS_TEXT_MAX], before[ADDRESS_TEXT_MAX], after[ADDRESS_TEXT_MAX];
    *level = r->failed ? 1 : 2;
    remote_name_failure(r, text);
    if (r->failed || is_found(r, &to->address))
        return false;
    const bool moves = address_given(&to->address);
    address_write(&to->address, before);
    udp_forget(io, to);
    r->current = to->address = r->found[0];
    to->plain = false;
    snprintf(text, REMOTE_NAME_SAY_MAX, "remote %s is %s now%s%s", host_address_write(&r->at, name),
             address_write(&to->address, after), moves ? "; it was " : "", moves ? before : "");
    return true;
}

bool remote_name_has_key(const struct remote_name *r, const uint8_t *key)
{
    uint8_t own[ADDRESS_KEY_MAX];
    for (size_t i = 0; i < r->found_len; i++)
        if (address_key(&r->found[i], own).len >= ADDRESS_KEY_HOST &&
            memcmp(own, key, ADDRESS_KEY_HOST) == 0)
            return true;
    return false;
}

bool remote_name_has_host(const struct remote_name *r, const struct address *from)
{
    uint8_t key[ADDRESS_KEY_MAX];
    return address_key(from, key).len >= ADDRESS_KEY_HOST && remote_name_has_key(r, key);
}

const char *remote_name_write(const struct remote_name *r, char text[REMOTE_NAME_TEXT_MAX])
{
    char name[HOST_ADDRESS_TEXT_MAX], address[ADDRESS_TEXT_MAX];
    host_address_write(&r->at, name);
    if (remote_name_is_name(r) && address_given(&r->current))
        snprintf(text, REMOTE_NAME_TEXT_MAX, "%s (%s)", name, address_write(&r->current, address));
    else
        snprintf(text, REMOTE_NAME_TEXT_MAX, "%s", name);
    return text;
}

void remote_name_status(const struct remote_name *r, struct json_t *object)
{
    char text[ADDRESS_TEXT_MAX];
    if (!remote_name_is_name(r))
        return;
    const struct address *a = address_given(&r->current) ? &r->current : &r->found[0];
    if (address_given(a))
        json_object_set_new(object, "remote_address", json_string(address_write(a, text)));
    json_object_set_new(object, "lookups", json_number(r->lookups));
    json_object_set_new(object, "lookups_failed", json_number(r->lookups_failed));
}
