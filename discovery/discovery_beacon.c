/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A beacon is read item by item into a struct, and then checked as a whole. What can go wrong is
 * all in the input: another protocol or version, items that are missing or out of range, a name
 * that names no node. Unknown services are kept, so that the caller decides.
 */
#include "discovery/discovery_beacon.h"

#include <assert.h>

#include "bp/codec/eid_item.h"

#define VERSION 7
#define HAS_EID 1u
#define HAS_SERVICES 2u
#define HAS_PERIOD 4u
#define LEVELS 2 /* nested arrays of an unknown item */

const char *discovery_format_text(enum discovery_format format)
{
    static const char *const texts[DISCOVERY_FORMATS] = {"ipnd", "dtn7-go"};
    assert(format < DISCOVERY_FORMATS);
    return texts[format];
}

/* ---- reading ---- */

static uint16_t read_port(struct item_reader *r)
{
    const size_t at = item_at(r);
    const uint64_t port = item_uint(r);
    if (port > UINT16_MAX)
        item_fail(r, "a port", at);
    return (uint16_t)port;
}

static void read_node(struct item_reader *r, struct eid *out)
{
    const size_t at = item_at(r);
    eid_item_read(r, out);
    if (!r->in.bad && (eid_is_none(out) || eid_is_local(out) || !eid_is_node(out)))
        item_fail(r, "it names no node", at);
}

static void add_service(struct discovery_beacon *b, const struct discovery_service *s)
{
    if (b->services_len < DISCOVERY_SERVICES_MAX)
        b->services[b->services_len++] = *s;
}

/* [name, port or null] */
static void read_service(struct item_reader *r, struct discovery_beacon *b)
{
    struct discovery_service s = {.number = -1};
    const size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "a service has a name and a port", at);
    const struct slice name = item_text(r);
    if (item_peek(r) == ITEM_UINT)
        s.port = read_port(r);
    else
        item_null(r);
    if (r->in.bad || name.len == 0 || name.len >= sizeof s.name)
        return; /* longer names are not ours */
    memcpy(s.name, name.data, name.len);
    add_service(b, &s);
}

/* {tag: array of octets}: battery, position: nothing that a node needs. */
static void skip_tags(struct item_reader *r)
{
    const uint64_t pairs = item_map(r);
    for (uint64_t i = 0; i < pairs && !r->in.bad; i++) {
        (void)item_uint(r);
        item_skip(r, LEVELS);
    }
}

static void read_services(struct item_reader *r, struct discovery_beacon *b)
{
    const size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "services are a list and a map", at);
    const uint64_t len = item_array(r);
    for (uint64_t i = 0; i < len && !r->in.bad; i++)
        read_service(r, b);
    skip_tags(r);
}

static void read_ipnd(struct item_reader *r, struct discovery_beacon *b)
{
    const uint64_t items = item_array(r);
    if (item_uint(r) != VERSION)
        item_fail(r, "another version of IPND", 0);
    const uint64_t flags = item_uint(r);
    const uint64_t more =
        ((flags & HAS_SERVICES) != 0 ? 1u : 0u) + ((flags & HAS_PERIOD) != 0 ? 1u : 0u);
    if ((flags & HAS_EID) == 0 || items != 4 + more)
        item_fail(r, "items do not fit the flags", 0);
    read_node(r, &b->node);
    b->sequence = item_uint(r);
    if ((flags & HAS_SERVICES) != 0)
        read_services(r, b);
    if ((flags & HAS_PERIOD) == 0)
        return;
    const uint64_t s = item_uint(r);
    b->period = s > DISCOVERY_PERIOD_MAX / TICK_S ? DISCOVERY_PERIOD_MAX : s * TICK_S;
}

/* All announcements of a beacon name one node. */
static void read_announcements(struct item_reader *r, struct discovery_beacon *b)
{
    const uint64_t len = item_array(r);
    if (len == 0)
        item_fail(r, "it announces nothing", 0);
    for (uint64_t i = 0; i < len && !r->in.bad; i++) {
        struct eid node;
        const size_t at = item_at(r);
        if (item_array(r) != 3)
            item_fail(r, "an announcement has three items", at);
        const uint64_t number = item_uint(r);
        read_node(r, &node);
        if (i > 0 && !r->in.bad && !eid_equal(&node, &b->node))
            item_fail(r, "it announces several nodes", at);
        b->node = node;
        const struct discovery_service s = {.number = number <= INT16_MAX ? (int)number : -1,
                                            .port = read_port(r)};
        if (!r->in.bad)
            add_service(b, &s);
    }
}

bool discovery_beacon_parse(enum discovery_format format, struct slice in,
                            struct discovery_beacon *out, const char **why)
{
    *out = (struct discovery_beacon){.node = eid_none()};
    *why = NULL;
    if (in.len == 0 || in.len > DISCOVERY_BEACON_MAX) {
        *why = in.len == 0 ? "it is empty" : "it is too long";
        return false;
    }
    struct item_reader r = item_reader_of(in.data, in);
    if (format == DISCOVERY_IPND)
        read_ipnd(&r, out);
    else
        read_announcements(&r, out);
    if (!r.in.bad && reader_left(&r.in) > 0)
        item_fail(&r, "something follows", item_at(&r));
    *why = r.in.bad ? r.why : NULL;
    return !r.in.bad;
}

/* ---- writing ---- */

static size_t count_services(enum discovery_format format, const struct discovery_beacon *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->services_len; i++)
        n += format == DISCOVERY_IPND ? *b->services[i].name != '\0' : b->services[i].number >= 0;
    return n;
}

static void write_ipnd(struct writer *w, const struct discovery_beacon *b)
{
    const size_t services = count_services(DISCOVERY_IPND, b);
    const bool period = b->period >= TICK_S;
    item_put_array(w, 4u + (services > 0) + period);
    item_put_uint(w, VERSION);
    item_put_uint(w, HAS_EID | (services > 0 ? HAS_SERVICES : 0) | (period ? HAS_PERIOD : 0));
    eid_item_write(w, &b->node);
    item_put_uint(w, b->sequence & UINT32_MAX);
    if (services > 0) {
        item_put_array(w, 2);
        item_put_array(w, services);
        for (size_t i = 0; i < b->services_len; i++) {
            if (*b->services[i].name == '\0')
                continue;
            item_put_array(w, 2);
            item_put_text(w, slice_of(b->services[i].name, strlen(b->services[i].name)));
            item_put_uint(w, b->services[i].port);
        }
        item_put_map(w, 0);
    }
    if (period)
        item_put_uint(w, b->period / TICK_S);
}

static void write_announcements(struct writer *w, const struct discovery_beacon *b)
{
    item_put_array(w, count_services(DISCOVERY_DTN7_GO, b));
    for (size_t i = 0; i < b->services_len; i++) {
        if (b->services[i].number < 0)
            continue;
        item_put_array(w, 3);
        item_put_uint(w, (uint64_t)b->services[i].number);
        eid_item_write(w, &b->node);
        item_put_uint(w, b->services[i].port);
    }
}

/* A node id has 260 octets at most, and there are at most 8 of them: it fits only with shorter
 * ones. */
size_t discovery_beacon_write(enum discovery_format format, const struct discovery_beacon *b,
                              uint8_t out[DISCOVERY_BEACON_MAX])
{
    struct writer w = writer_of(out, DISCOVERY_BEACON_MAX);
    assert(b->services_len <= DISCOVERY_SERVICES_MAX);
    if (format == DISCOVERY_DTN7_GO && count_services(format, b) == 0)
        return 0;
    if (format == DISCOVERY_IPND)
        write_ipnd(&w, b);
    else
        write_announcements(&w, b);
    return w.bad ? 0 : writer_len(&w);
}
