/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a file of `helio-emu links`, each a channel of the stack. Links with addresses are
 * relays; the others are used by links that are handed over. What can go wrong: the file, an
 * address of no node or of two, no memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/emu/emu_relay_options.h"
#include "tools/sim/stack.h"

static int say_errors(const struct conf_errors *e, int rc)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-sim: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-sim: and %zu more errors\n", e->total - e->len);
    return rc == 0 && e->total > 0 ? HELIO_EFORMAT : rc;
}

/* A channel for each link, behind those that there are. */
static int add_channels(struct stack *s, struct conf_errors *e)
{
    static const struct emu_settings run;
    struct stack_links *l = s->links;
    l->first = s->channels_len;
    for (size_t i = 0; i < l->file.count; i++) {
        const struct scenario_link *link = &l->file.link[i];
        struct stack_channel *c = calloc(1, sizeof *c);
        if (c == NULL)
            return HELIO_ENOMEM;
        s->channels[s->channels_len++] = c;
        c->stack = s;
        c->links = l;
        c->link = i;
        c->kind = *link->listen == '\0' ? STACK_BARE : STACK_RELAY;
        emu_links_ports(link, &run, &c->options, e);
    }
    return 0;
}

/* One clock for all, whatever of them starts before time zero. */
static tick choose_bias(const struct scenario_links *file)
{
    tick bias = stack_channel_bias(&file->origin);
    for (size_t i = 0; i < file->count && bias == 0; i++) {
        const struct scenario_direction *w = file->link[i].scenario.directions;
        tick forward = stack_channel_bias(&w[SCENARIO_FORWARD]);
        bias = forward != 0 ? forward : stack_channel_bias(&w[SCENARIO_RETURN]);
    }
    return bias;
}

static int begin_all(struct stack *s)
{
    struct stack_links *l = s->links;
    l->bias = choose_bias(&l->file);
    int rc = links_run_init(&l->between, &l->file, l->bias, STACK_START * TICK_S);
    for (size_t i = 0; i < l->file.shared_count && rc == 0; i++) {
        for (size_t k = 0; k < l->between.line[i].count; k++) {
            struct links_member *m = &l->between.line[i].member[k];
            m->owner = s->channels[l->first + m->link];
        }
    }
    return rc;
}

int stack_links_add(struct stack *s, const char *path)
{
    struct conf_errors *e = malloc(sizeof *e);
    s->links = calloc(1, sizeof *s->links);
    if (e == NULL || s->links == NULL) {
        free(e);
        return HELIO_ENOMEM;
    }
    s->links->path = path;
    conf_errors_init(e, path);
    int rc = scenario_links_load(&s->links->file, path, e);
    if (rc == 0)
        rc = add_channels(s, e);
    rc = say_errors(e, rc);
    free(e);
    return rc < 0 ? rc : begin_all(s);
}

void stack_links_free(struct stack *s)
{
    if (s->links == NULL)
        return;
    if (s->links->between.file != NULL)
        links_run_fini(&s->links->between);
    scenario_links_fini(&s->links->file);
    free(s->links);
}

/* A relay, and the direction of the frames in it. */
struct place {
    const struct stack_channel *relay;
    int dir;
};

/* A search for relays that a frame could reach. */
struct search {
    const struct stack *stack;
    bool seen[STACK_CHANNELS_MAX + SCENARIO_LINKS_MAX][2];
    struct place open[2 * (STACK_CHANNELS_MAX + SCENARIO_LINKS_MAX)];
    size_t len;
};

/* A frame of `from` arrives at that address, whose relay accepts it as relay_input of
 * stack_channel.c does. */
static void reach_relay(struct search *s, const struct stack_channel *from,
                        const struct stack_channel *relay)
{
    const struct address *own = &from->options.listen;
    const struct emu_relay_options *o = &relay->options;
    bool back =
        address_equal(own, &o->to) || (o->has_return_from && address_equal(own, &o->return_from));
    int dir = back ? SCENARIO_RETURN : SCENARIO_FORWARD;
    size_t index = 0;
    while (s->stack->channels[index] != relay)
        index++;
    if (s->seen[index][dir])
        return;
    s->seen[index][dir] = true;
    s->open[s->len++] = (struct place){relay, dir};
}

static void follow_address(struct search *s, const struct stack_channel *from,
                           const struct address *to)
{
    const struct stack_channel *next =
        stack_port(s->stack, to) != NULL ? NULL : stack_relay_at(s->stack, to);
    if (next != NULL)
        reach_relay(s, from, next);
}

/* Return traffic goes to the senders of this relay. */
static void follow_flows(struct search *s, const struct stack_channel *from)
{
    const struct address *own = &from->options.listen;
    for (size_t i = 0; i < s->stack->channels_len; i++) {
        const struct stack_channel *c = s->stack->channels[i];
        const struct emu_relay_options *o = &c->options;
        if (c->kind == STACK_RELAY &&
            (address_equal(&o->to, own) || (o->has_return_to && address_equal(&o->return_to, own))))
            reach_relay(s, from, c);
    }
}

static void follow_place(struct search *s, struct place at)
{
    const struct emu_relay_options *o = &at.relay->options;
    if (at.dir == SCENARIO_FORWARD)
        follow_address(s, at.relay, &o->to);
    else if (o->has_return_to)
        follow_address(s, at.relay, &o->return_to);
    else
        follow_flows(s, at.relay);
}

/* Could frames that this relay forwards in a direction arrive at it again in the same direction? */
static bool goes_round(const struct stack_channel *c, int dir)
{
    struct search s = {.stack = c->stack};
    size_t own = 0;
    while (c->stack->channels[own] != c)
        own++;
    follow_place(&s, (struct place){c, dir});
    while (s.len > 0 && !s.seen[own][dir])
        follow_place(&s, s.open[--s.len]);
    return s.seen[own][dir];
}

/* NULL: nothing. *key: what it is about. */
static const char *find_fault(const struct stack_channel *c, const char **key)
{
    static const char round[] = "frames would go round for ever";
    const struct stack *s = c->stack;
    const struct emu_relay_options *o = &c->options;
    *key = "listen";
    if (stack_port(s, &o->listen) != NULL)
        return "a node has this address";
    if (stack_relay_at(s, &o->listen) != c)
        return "another relay or link has this address";
    *key = "to";
    if (stack_port(s, &o->to) == NULL && stack_relay_at(s, &o->to) == NULL)
        return "no node has this local address, and no other relay or link listens there";
    if (goes_round(c, SCENARIO_FORWARD))
        return round;
    *key = o->has_return_to ? "return_to" : "to";
    return goes_round(c, SCENARIO_RETURN) ? round : NULL;
}

int stack_channel_check(const struct stack_channel *c)
{
    const char *key, *why = c->kind == STACK_RELAY ? find_fault(c, &key) : NULL;
    if (why == NULL)
        return 0;
    if (c->links == NULL) {
        fprintf(stderr, "%s: --%s: %s\n", c->words[0], *key == 'r' ? "return-to" : key, why);
        return HELIO_EFORMAT;
    }
    const struct scenario_link *l = &c->links->file.link[c->link];
    fprintf(stderr, "helio-sim: %s:%u: links.%s.%s: %s\n", c->links->path,
            *key == 't'   ? l->to_line
            : *key == 'r' ? l->return_to_line
                          : l->listen_line,
            l->name, key, why);
    return HELIO_EFORMAT;
}

json_t *stack_links_json(const struct stack *s)
{
    const struct stack_links *l = s->links;
    json_t *links = json_object();
    for (size_t i = 0; i < l->file.count; i++) {
        const struct stack_channel *c = s->channels[l->first + i];
        json_t *o = json_pack("{s:I, s:o, s:o}", "seed", (json_int_t)l->file.link[i].scenario.seed,
                              "forward", stack_direction_json(c, SCENARIO_FORWARD), "return",
                              stack_direction_json(c, SCENARIO_RETURN));
        json_t *hand = links_run_handover(&l->between, i, s->world.now + l->bias);
        if (hand != NULL)
            json_object_set_new(o, "handover", hand);
        json_object_set_new(links, l->file.link[i].name, o);
    }
    return json_pack("{s:o, s:o}", "links", links, "shared", links_run_shared(&l->between));
}

void stack_links_print(const struct stack *s)
{
    const struct stack_links *l = s->links;
    for (size_t i = 0; i < l->file.count; i++) {
        const struct stack_channel *c = s->channels[l->first + i];
        for (int dir = 0; dir < 2; dir++) {
            char name[SCENARIO_NAME_MAX + 8];
            snprintf(name, sizeof name, "link %.32s", l->file.link[i].name);
            stack_direction_print(c, dir, name);
        }
        links_run_say_handover(&l->between, i, s->world.now + l->bias, stdout);
    }
    for (size_t i = 0; i < l->file.shared_count; i++)
        links_run_say_shared(&l->between, i, stdout);
}
