/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel between sockets. The direction of a datagram is determined as in the emulator's relay
 * (emu_relay.c), or by the nodes at both ends; then chan decides. Frames that are lost, repeated or
 * changed have a line in the drop log. What can go wrong: the log cannot be created; no memory;
 * return traffic without a peer, and frames for an address without a socket, both counted. A link
 * of a file may send through the channels of another one (hand-over), or to the next relay (hops).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "channel-emu/scenario/drop_log.h"
#include "tools/sim/stack.h"
#include "tools/sim/stack_words.h"

static const struct scenario *scenario_of(const struct stack_channel *c)
{
    return &c->options.settings.scenario;
}

/* What virtual time has no use for, or another option does. NULL: nothing. */
static const char *refused(const struct emu_settings *e)
{
    if (e->json != NULL || e->stats != 0)
        return "json, stats: write --json of helio-sim, which reports each channel";
    if (e->control != NULL)
        return "control: nobody could use it in virtual time; write `changes` in the scenario";
    if (e->duration != 0)
        return "duration: a channel has no end of its own; write --duration of helio-sim";
    return NULL;
}

static int refuse_key(const struct stack_channel *c, const char *why)
{
    const char *file = c->options.settings.file;
    fprintf(stderr, "%s%s: %s\n", file != NULL ? "" : c->words[0], file != NULL ? file : "", why);
    return HELIO_EFORMAT;
}

tick stack_channel_bias(const struct scenario_direction *w)
{
    const tick epoch = STACK_START * TICK_S;
    return w->start == START_AT && w->start_time < epoch ? epoch : 0;
}

static tick channel_now(const struct stack_channel *c)
{
    return c->stack->world.now + c->bias;
}

int stack_channel_open(struct stack_channel *c, size_t number)
{
    const struct scenario *s = scenario_of(c);
    const char *why = c->links != NULL ? NULL : refused(&c->options.settings);
    char path[4096];
    int rc = why != NULL ? refuse_key(c, why) : 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        if (s->directions[i].rules_len > 0)
            rc = ltp_rules_new(&c->directions[i].rules, s->directions[i].rules,
                               s->directions[i].rules_len);
    tick forward = stack_channel_bias(&s->directions[SCENARIO_FORWARD]);
    c->bias = c->links != NULL ? c->links->bias
              : forward != 0   ? forward
                               : stack_channel_bias(&s->directions[SCENARIO_RETURN]);
    bool named = *s->drop_log != '\0';
    if (rc == 0)
        rc = stack_capture_open(c, number);
    if (rc < 0 || (c->stack->log_dir == NULL && !named))
        return rc;
    if (named)
        snprintf(path, sizeof path, "%s", s->drop_log);
    else if (c->links != NULL)
        snprintf(path, sizeof path, "%s/link-%s.drops.csv%s", c->stack->log_dir,
                 c->links->file.link[c->link].name, c->stack->gzip ? ".gz" : "");
    else
        snprintf(path, sizeof path, "%s/channel%zu.drops.csv%s", c->stack->log_dir, number,
                 c->stack->gzip ? ".gz" : "");
    rc = drop_log_open(&c->drops, path, true);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s: %s\n", path, helio_strerror(rc));
    return rc < 0 ? HELIO_EIO : 0;
}

void stack_channel_free(struct stack_channel *c)
{
    for (int i = 0; i < 2; i++) {
        chan_free(c->directions[i].chan);
        ltp_rules_free(c->directions[i].rules);
    }
    log_writer_free(c->drops);
    log_writer_free(c->capture[0]);
    log_writer_free(c->capture[1]);
    if (c->links == NULL)
        emu_settings_fini(&c->options.settings);
    stack_words_free(c->words);
    free(c);
}

#define STREAM UINT64_MAX /* the tag of frames of streams */
#define FLOW_BITS 48      /* in a relay's tag; above them the link at which the frame arrived */

static void put_row(struct stack_channel *c, struct drop_row row, uint64_t tag, const uint8_t *data)
{
    struct ltp_fields ltp;
    row.late_ns = EVENT_NONE;
    if (tag != STREAM && ltp_fields_read(&ltp, data, row.length))
        row.ltp = &ltp;
    drop_log_put(c->drops, &row);
}

static void log_direction(struct stack_channel *c, int direction)
{
    struct chan_fate f;
    if (c->drops == NULL || c->directions[direction].chan == NULL)
        return;
    while (chan_fate(c->directions[direction].chan, &f) == 1) {
        struct drop_row row = {.time = f.entered - c->bias,
                               .direction = direction,
                               .frame = f.number,
                               .reason = chan_reason_name(f.reason),
                               .length = f.len};
        put_row(c, row, f.tag, f.data);
    }
}

/* Of this channel, and of those that share its line. */
static void log_fates(struct stack_channel *c, int direction)
{
    const struct links_line *line =
        c->links == NULL ? NULL : c->links->between.at[c->link].directions[direction].line;
    if (line == NULL)
        log_direction(c, direction);
    for (size_t i = 0; line != NULL && i < line->count; i++)
        log_direction(line->member[i].owner, line->member[i].dir);
}

/* It arrived when its link was handed over, and is dropped; it was counted. */
static void log_gap(struct stack_channel *c, int direction, const uint8_t *data, size_t len)
{
    if (c->drops == NULL)
        return;
    struct drop_row row = {.time = c->stack->world.now,
                           .direction = direction,
                           .reason = chan_reason_name(CHAN_HANDOVER),
                           .length = len};
    put_row(c, row, 0, data);
}

static int begin_direction(struct stack_channel *c, int direction, tick now)
{
    struct stack_direction *w = &c->directions[direction];
    struct chan_config config =
        scenario_chan(scenario_of(c), direction, c->bias, STACK_START * TICK_S);
    size_t place = 0;
    while (c->stack->channels[place] != c)
        place++;
    if (c->links != NULL) /* they have seeds of their own, by their names */
        links_run_fit(&c->links->between, c->link, direction, &config);
    else if (place > 0) /* else channels of one scenario would lose the same frames */
        config.seed += place * UINT64_C(0xd1342543de82ef95);
    w->origin = config.origin_first ? now : config.origin;
    config.origin = w->origin;
    config.origin_first = false;
    w->first = now;
    int rc = chan_new(&w->chan, &config);
    if (c->links != NULL)
        c->links->between.at[c->link].directions[direction].chan = w->chan;
    return rc;
}

static void enter_channel(struct stack_channel *c, int direction, uint64_t tag, const uint8_t *data,
                          size_t len)
{
    struct stack_direction *w = &c->directions[direction];
    struct ltp_fields ltp;
    tick now = channel_now(c);
    if (w->chan == NULL && begin_direction(c, direction, now) < 0) {
        w->gone++;
        return;
    }
    w->last = now;
    if (w->rules != NULL && tag != STREAM && ltp_fields_read(&ltp, data, len) &&
        ltp_rules_drop(w->rules, &ltp))
        chan_input_rule(w->chan, data, len, tag, now);
    else
        chan_input(w->chan, data, len, tag, now);
    log_fates(c, direction);
}

/* The number of the flow, from 1; 0: there are too many. */
static uint64_t flow_of(struct stack_channel *c, const struct address *from)
{
    for (size_t i = 0; i < c->flows_len; i++)
        if (address_equal(&c->flows[i], from))
            return i + 1;
    if (c->flows_len == STACK_FLOWS_MAX)
        return 0;
    c->flows[c->flows_len++] = *from;
    return c->flows_len;
}

/* The channels of a link of the same file; NULL: of none. */
static struct stack_channel *over_at(const struct stack_channel *c, uint32_t link)
{
    return link == CHAN_NOWHERE ? NULL : c->stack->channels[c->links->first + link];
}

static int relay_input(struct stack_channel *c, const struct address *from,
                       const struct address *to, const uint8_t *data, size_t len)
{
    const struct emu_relay_options *o = &c->options;
    if (!address_equal(&o->listen, to))
        return 0;
    struct stack_channel *over = c;
    bool back =
        address_equal(from, &o->to) || (o->has_return_from && address_equal(from, &o->return_from));
    int dir = back ? SCENARIO_RETURN : SCENARIO_FORWARD;
    uint64_t flow = back ? c->flows_len > 0 : flow_of(c, from);
    if (flow == 0 && !(back && o->has_return_to)) {
        c->directions[dir].no_peer++;
        return 1;
    }
    if (c->links != NULL)
        over = over_at(c, links_run_enter(&c->links->between, c->link, dir, channel_now(c)));
    stack_capture_put(c, false, dir, from, to, slice_of(data, len));
    if (over != NULL && over != c)
        stack_capture_put(over, false, dir, from, to, slice_of(data, len));
    if (over == NULL)
        log_gap(c, dir, data, len);
    else
        enter_channel(over, dir, (uint64_t)c->link << FLOW_BITS | flow, data, len);
    return 1;
}

int stack_channel_input(struct stack_channel *c, const struct virtual_port *from,
                        const struct address *to, const uint8_t *data, size_t len)
{
    if (c->kind == STACK_RELAY)
        return relay_input(c, &from->self, to, data, len);
    if (c->kind == STACK_BARE)
        return 0;
    if (from->owner != c->ends[0] && from->owner != c->ends[1])
        return 0;
    const struct virtual_port *there = stack_port(c->stack, to);
    bool back = from->owner == c->ends[1];
    if (there == NULL || there->owner != c->ends[back ? 0 : 1])
        return 0;
    int dir = back ? SCENARIO_RETURN : SCENARIO_FORWARD;
    stack_capture_put(c, false, dir, &from->self, to, slice_of(data, len));
    enter_channel(c, dir, from->number << 32 | there->number, data, len);
    return 1;
}

/* The direction of the channel that leads there; -1: none. */
static int direction_between(const struct stack_channel *c, size_t from, size_t to)
{
    if (c->kind != STACK_BETWEEN)
        return -1;
    if (c->ends[0] == from && c->ends[1] == to)
        return SCENARIO_FORWARD;
    return c->ends[1] == from && c->ends[0] == to ? SCENARIO_RETURN : -1;
}

bool stack_channel_between(const struct stack *s, size_t from, size_t to)
{
    for (size_t i = 0; i < s->channels_len; i++)
        if (direction_between(s->channels[i], from, to) >= 0)
            return true;
    return false;
}

void stack_channel_stream(struct stack *s, size_t from, size_t to, struct slice frame)
{
    for (size_t i = 0; i < s->channels_len; i++) {
        int direction = direction_between(s->channels[i], from, to);
        if (direction >= 0) {
            enter_channel(s->channels[i], direction, STREAM, frame.data, frame.len);
            return;
        }
    }
}

tick stack_channel_due(const struct stack_channel *c)
{
    tick due = TICK_NEVER;
    for (int i = 0; i < 2; i++)
        if (c->directions[i].chan != NULL)
            due = tick_min(due, chan_deadline(c->directions[i].chan));
    return due == TICK_NEVER ? due : due - c->bias;
}

struct stack_channel *stack_relay_at(const struct stack *s, const struct address *listen)
{
    for (size_t i = 0; i < s->channels_len; i++)
        if (s->channels[i]->kind == STACK_RELAY &&
            address_equal(&s->channels[i]->options.listen, listen))
            return s->channels[i];
    return NULL;
}

/* To the next relay; a copy, since the frame's bytes hold only until its channel gets another. */
static void hop_frame(struct stack_channel *next, const struct address *from,
                      const struct address *to, const struct chan_out *out)
{
    uint8_t *frame = next->stack->frame;
    assert(out->len <= sizeof next->stack->frame);
    memcpy(frame, out->data, out->len);
    (void)relay_input(next, from, to, frame, out->len);
}

static void relay_output(struct stack_channel *c, int direction, const struct chan_out *out)
{
    struct stack_channel *port = c;
    if (c->links != NULL)
        port = over_at(c, (uint32_t)(out->tag >> FLOW_BITS));
    const struct emu_relay_options *o = &port->options;
    const struct address *to = &o->to;
    uint64_t flow = out->tag & ((UINT64_C(1) << FLOW_BITS) - 1);
    if (direction == SCENARIO_RETURN)
        to = o->has_return_to ? &o->return_to : &port->flows[flow - 1];
    struct virtual_port *there = stack_port(c->stack, to);
    struct stack_channel *next = there != NULL ? NULL : stack_relay_at(c->stack, to);
    if (there == NULL && next == NULL) {
        c->directions[direction].gone++;
        return;
    }
    if (c->links != NULL)
        links_run_leave(&c->links->between, port->link, direction, c->link);
    stack_capture_put(c, true, direction, &o->listen, to, slice_of(out->data, out->len));
    if (port != c) /* handed over: where it arrived, and the channel that it used */
        stack_capture_put(port, true, direction, &o->listen, to, slice_of(out->data, out->len));
    if (there != NULL)
        virtual_arrive(there, &o->listen, slice_of(out->data, out->len));
    else
        hop_frame(next, &o->listen, to, out);
}

static void wire_output(struct stack_channel *c, int direction, const struct chan_out *out)
{
    const struct virtual_world *w = &c->stack->world;
    struct virtual_port *there = virtual_port_at(w, out->tag & UINT32_MAX);
    const struct virtual_port *from = virtual_port_at(w, out->tag >> 32);
    if (there == NULL || from == NULL) {
        c->directions[direction].gone++;
        return;
    }
    struct slice frame = slice_of(out->data, out->len);
    stack_capture_put(c, true, direction, &from->self, &there->self, frame);
    virtual_arrive(there, &from->self, frame);
}

void stack_channel_step(struct stack_channel *c)
{
    struct chan_out out;
    for (int i = 0; i < 2; i++) {
        struct chan *chan = c->directions[i].chan;
        if (chan == NULL || chan_deadline(chan) > channel_now(c))
            continue;
        int got = chan_output(chan, channel_now(c), &out);
        log_fates(c, i);
        if (got != 0 && out.tag == STREAM && !out.corrupted)
            pipes_arrive(&c->stack->world.pipes, slice_of(out.data, out.len));
        else if (got != 0 && out.tag == STREAM)
            return; /* its check value detects it */
        else if (got != 0 && c->kind == STACK_BETWEEN)
            wire_output(c, i, &out);
        else if (got != 0)
            relay_output(c, i, &out);
        return;
    }
}

/* ---- captures ----
 * As those of the emulator (emu_capture.h). A datagram that enters the channel has the time at
 * which its socket sent it. A datagram that leaves has the time at which the next socket receives
 * it. Frames of streams are not in captures, because they are no datagrams. */

static int open_capture(struct log_writer **out, const char *path, bool after, uint64_t run)
{
    if (*path == '\0')
        return 0;
    int rc = emu_capture_open(out, path, after, run, LOG_WAIT);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s: %s\n", path, helio_strerror(rc));
    return rc < 0 ? HELIO_EIO : 0;
}

int stack_capture_open(struct stack_channel *c, size_t number)
{
    const struct scenario *s = &c->options.settings.scenario;
    uint64_t run = STACK_START * TICK_S + number; /* the same bytes for the same options */
    int rc = open_capture(&c->capture[0], s->pcap_before, false, run);
    return rc == 0 ? open_capture(&c->capture[1], s->pcap_after, true, run) : rc;
}

void stack_capture_put(struct stack_channel *c, bool after, int dir, const struct address *from,
                       const struct address *to, struct slice frame)
{
    if (c->capture[after] == NULL)
        return;
    if (from->sa.sa_family != to->sa.sa_family) /* of a relay between IPv4 and IPv6 */
        *(after ? &from : &to) = after ? to : from;
    tick wall = STACK_START * TICK_S + c->stack->world.now;
    emu_capture_udp(c->capture[after], dir, wall, from, to, frame.data, frame.len);
}
