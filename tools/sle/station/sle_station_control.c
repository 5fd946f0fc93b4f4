/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: a connection sends one line (sle_control.h), and has “ok” or what is wrong as
 * its answer. Lines are obeyed in the order of their arrival, for a tenth of the loop's time, and
 * few of them are logged each second. What can go wrong: a line that is too long, or never comes:
 * the connection is the operator's own, of whom few are served at once.
 */
#include <stdlib.h>

#include "tools/sle/sle_control.h"
#include "tools/sle/station/sle_station.h"

#define TALKS_MAX 16 /* connections at once */
#define ANSWER_MAX 256
#define SHARE 10             /* one part of so many, of the loop's time */
#define LEAST (50 * TICK_US) /* that a line takes, with its reading and its answer */

struct talk {
    struct list node; /* in station.talking */
    struct list turn; /* in station.turns: its line is to be obeyed */
    struct station *station;
    struct stream *stream;
    size_t len, done;
    bool answered;
    char answer[ANSWER_MAX];
    uint8_t line[CONTROL_LINE_MAX];
};

/* ---- orders ---- */

static void order_source(struct source *x, const struct control_order *o)
{
    struct station *t = x->station;
    struct modem_unit u = {.kind = o->what == CONTROL_END ? MODEM_END : MODEM_STATUS,
                           .production = x->production,
                           .locks = x->locks,
                           .time = sle_now(t->sle, world_now(t->world))};
    if (o->what == CONTROL_PRODUCTION)
        u.production = (enum sle_production)o->value;
    else if (o->what < CONTROL_PRODUCTION)
        control_lock(&u.locks, o->what, (enum sle_lock)o->value);
    source_word(x, &u);
    source_wake(x);
}

static bool order_instance(struct instance *i, const struct control_order *o)
{
    const tick now = world_now(i->station->world);
    if (o->what == CONTROL_UPLINK) {
        sle_provider_uplink(i->sle, (enum sle_uplink)o->value);
        return true;
    }
    return events_production(i, (enum sle_uplink_production)o->value, now);
}

static const char *obey(struct station *t, const struct control_order *o)
{
    for (size_t k = 0; k < t->settings->sources_len; k++)
        if (strcmp(t->sources[k].config->name, o->name) == 0 && o->what != CONTROL_UPLINK &&
            o->what != CONTROL_UPLINK_PRODUCTION) {
            order_source(&t->sources[k], o);
            return "ok";
        }
    for (size_t k = 0; k < t->settings->instances_len; k++)
        if (strcmp(t->instances[k].config->id, o->name) == 0 &&
            t->instances[k].config->service == SLE_FCLTU)
            return order_instance(&t->instances[k], o)
                       ? "ok"
                       : "an event's order is being radiated; try again";
    return strchr(o->name, '=') != NULL ? "there is no such instance of FCLTU"
                                        : "there is no such source";
}

/* ---- the socket ---- */

static void end_talk(struct talk *a)
{
    a->station->talks--;
    list_sub(&a->node);
    list_sub(&a->turn);
    stream_close(a->stream);
    free(a);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct talk *a = context;
    if (a->len == sizeof a->line)
        a->len = 0; /* it was refused, and the rest is not looked at */
    *len = sizeof a->line - a->len;
    return a->line + a->len;
}

static void on_writable(void *context)
{
    struct talk *a = context;
    if (!a->answered)
        return;
    const struct slice rest = slice_of(a->answer + a->done, strlen(a->answer) - a->done);
    a->done += stream_write(a->stream, &rest, 1);
    if (a->done == strlen(a->answer))
        end_talk(a);
}

static void answer_talk(struct talk *a, const char *text)
{
    snprintf(a->answer, sizeof a->answer, "%s\n", text);
    a->answered = true;
    on_writable(a);
}

static bool obey_line(void *context, struct list *turn)
{
    struct station *t = context;
    struct talk *a = container_of(turn, struct talk, turn);
    struct control_order o;
    char why[ANSWER_MAX - 1];
    const uint8_t *end = memchr(a->line, '\n', a->len);
    if (end == NULL) {
        answer_talk(a, "the line is too long");
        return false;
    }
    if (!control_parse(slice_of(a->line, (size_t)(end - a->line)), &o, why, sizeof why)) {
        answer_talk(a, why);
        return false;
    }
    const char *text = obey(t, &o);
    station_say(t, LINES_CONTROL, LEVEL_INFO, "control: %.*s: %s", (int)(end - a->line),
                (const char *)a->line, text);
    answer_talk(a, text);
    return false;
}

static void on_fed(void *context, size_t len)
{
    struct talk *a = context;
    a->len += len;
    if (a->answered || (memchr(a->line, '\n', a->len) == NULL && a->len < sizeof a->line))
        return;
    stream_read(a->stream, false);
    paced_add(&a->station->turns, &a->turn);
}

static void on_ended(void *context, int error)
{
    (void)error;
    end_talk(context);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct station *t = context;
    struct talk *a = t->talks < TALKS_MAX ? calloc(1, sizeof *a) : NULL;
    if (a == NULL) {
        stream_close(s);
        return;
    }
    t->talks++;
    list_add_tail(&t->talking, &a->node);
    list_init(&a->turn);
    a->station = t;
    a->stream = s;
    stream_use(s, &stream_user, a);
    stream_read(s, true);
}

int station_control_open(struct station *t)
{
    const char *path = t->settings->control;
    if (*path == '\0')
        return 0;
    list_init(&t->talking);
    paced_init(&t->turns, t->world, SHARE, LEAST, obey_line, t);
    int e = stream_listen(t->world, &t->control, &(struct stream_place){.path = path, .mode = 0600},
                          on_accepted, t);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "control: %s: %s", path, helio_strerror(e));
    return e;
}

void station_control_end(struct station *t)
{
    if (t->turns.world == NULL)
        return;
    if (t->control != NULL)
        stream_unlisten(t->control);
    list_for_each_safe (l, &t->talking)
        end_talk(container_of(l, struct talk, node));
    paced_fini(&t->turns);
}
