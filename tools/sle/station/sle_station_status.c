/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of all instances and sources as one JSON object, to each client of the socket:
 * it is written, and the connection ends. What can go wrong: memory, then nothing is written.
 */
#include <jansson.h>
#include <stdlib.h>

#include "conf/json_number.h"
#include "tools/sle/station/sle_station.h"

static json_t *counts_json(const struct sle_counts *c)
{
    json_t *o = json_object();
#define SLE_COUNT_JSON(name, text) json_object_set_new(o, #name, json_number(c->name));
    SLE_COUNTS(SLE_COUNT_JSON)
#undef SLE_COUNT_JSON
    return o;
}

static json_t *instance_json(const struct instance *i)
{
    json_t *o = json_object();
    struct sle_link *l = i->conn != NULL ? sle_conn_link(i->conn) : NULL;
    json_object_set_new(o, "id", json_string(i->config->id));
    json_object_set_new(o, "state",
                        json_string(l != NULL ? sle_state_text(sle_link_state(l)) : "unbound"));
    if (l != NULL) {
        json_object_set_new(o, "user", json_string(sle_link_peer(l)));
        json_object_set_new(o, "version", json_integer(sle_link_version(l)));
        json_object_set_new(o, "backlog", json_number(sle_link_backlog(l)));
    }
    if (catchup_can(i)) {
        json_object_set_new(o, "behind", json_boolean(i->catchup.on));
        json_object_set_new(o, "catch_ups", json_number(i->catchup.episodes));
    }
    if (i->config->service == SLE_FCLTU)
        json_object_set_new(o, "uplink_failed", json_number(i->uplink.failed));
    json_object_set_new(o, "counts", counts_json(sle_instance_counts(i->sle)));
    return o;
}

static json_t *source_json(const struct source *x)
{
    static const char *const locks[] = {"yes", "no", "not in use", "unknown"};
    static const char *const productions[] = {"running", "interrupted", "halted"};
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(x->config->name));
    json_object_set_new(o, "lock", json_string(locks[x->locks.frame]));
    json_object_set_new(o, "production", json_string(productions[x->production]));
    json_object_set_new(o, "frames", json_number(x->offered));
    json_object_set_new(o, "bad", json_number(x->bad));
    json_object_set_new(o, "erred", json_number(x->erred));
    json_object_set_new(o, "missing", json_number(x->missing));
    json_object_set_new(o, "late", json_number(source_late(x)));
    if (x->recording == NULL)
        return o;
    struct recording_counts c = recording_counts(x->recording);
    json_t *r = json_object();
    json_object_set_new(r, "frames", json_number(c.records));
    json_object_set_new(r, "lost", json_number(c.lost));
    json_object_set_new(r, "bytes", json_number(c.written_bytes));
    json_object_set_new(r, "files", json_number(c.files));
    json_object_set_new(r, "removed", json_number(c.removed));
    json_object_set_new(r, "trouble", json_string(c.trouble < 0 ? helio_strerror(c.trouble) : ""));
    json_object_set_new(o, "recording", r);
    return o;
}

static json_t *threads_json(const struct station *t)
{
    json_t *o = json_object();
    json_object_set_new(o, "count", json_number(t->settings->threads));
    json_object_set_new(o, "writes", json_number(t->host.isp.lent_writes));
    json_object_set_new(o, "octets", json_number(t->host.isp.lent_octets));
    return o;
}

json_t *station_json(const struct station *t)
{
    json_t *o = json_object(), *instances = json_array(), *sources = json_array();
    for (size_t i = 0; i < t->settings->instances_len; i++)
        json_array_append_new(instances, instance_json(&t->instances[i]));
    for (size_t i = 0; i < t->settings->sources_len; i++)
        json_array_append_new(sources, source_json(&t->sources[i]));
    json_object_set_new(o, "id", json_string(t->settings->id));
    json_object_set_new(o, "refused", json_number(t->refused));
    json_object_set_new(o, "counts", counts_json(sle_counts(t->sle)));
    json_object_set_new(o, "threads", threads_json(t));
    json_object_set_new(o, "sources", sources);
    json_object_set_new(o, "instances", instances);
    return o;
}

static char *status_text(const struct station *t)
{
    json_t *o = station_json(t);
    char *text = json_dumps(o, JSON_INDENT(2));
    json_decref(o);
    return text;
}

/* ---- the socket ---- */

#define ANSWERS_MAX 64       /* connections at once */
#define SHARE 10             /* one part of so many, of the loop's time */
#define LEAST (50 * TICK_US) /* that an answer takes, with its writing */

struct answer {
    struct list node; /* in station.answering */
    struct list turn; /* in station.status_turns: it has no text yet */
    struct station *station;
    struct stream *stream;
    char *text;
    size_t len, done;
    uint8_t dropped[256];
};

static void end_answer(struct answer *a)
{
    a->station->answers--;
    list_sub(&a->node);
    list_sub(&a->turn);
    stream_close(a->stream);
    free(a->text);
    free(a);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct answer *a = context;
    *len = sizeof a->dropped;
    return a->dropped;
}

static void on_fed(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void on_writable(void *context)
{
    struct answer *a = context;
    if (a->text == NULL)
        return;
    struct slice rest = slice_of(a->text + a->done, a->len - a->done);
    a->done += stream_write(a->stream, &rest, 1);
    if (a->done == a->len)
        end_answer(a);
}

static void on_ended(void *context, int error)
{
    (void)error;
    end_answer(context);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

static bool make_answer(void *context, struct list *turn)
{
    struct answer *a = container_of(turn, struct answer, turn);
    a->text = status_text(context);
    if (a->text == NULL) {
        end_answer(a);
        return false;
    }
    a->len = strlen(a->text);
    on_writable(a);
    return false;
}

static void on_accepted(void *context, struct stream *s)
{
    struct station *t = context;
    struct answer *a = t->answers < ANSWERS_MAX ? calloc(1, sizeof *a) : NULL;
    if (a == NULL) {
        stream_close(s);
        return;
    }
    t->answers++;
    a->station = t;
    a->stream = s;
    list_add_tail(&t->answering, &a->node);
    list_init(&a->turn);
    stream_use(s, &stream_user, a);
    paced_add(&t->status_turns, &a->turn);
}

int status_open(struct station *t)
{
    const char *path = t->settings->status;
    if (*path == '\0')
        return 0;
    list_init(&t->answering);
    paced_init(&t->status_turns, t->world, SHARE, LEAST, make_answer, t);
    int e =
        stream_listen(t->world, &t->status, &(struct stream_place){.path = path}, on_accepted, t);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "status: %s: %s", path, helio_strerror(e));
    return e;
}

void status_end(struct station *t)
{
    if (t->status_turns.world == NULL)
        return;
    if (t->status != NULL)
        stream_unlisten(t->status);
    list_for_each_safe (l, &t->answering)
        end_answer(container_of(l, struct answer, node));
    paced_fini(&t->status_turns);
}
