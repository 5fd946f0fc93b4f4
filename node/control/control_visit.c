/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to the control socket. A client sends one request line at a time and reads the
 * answer; the next line is read after the answer was written, so that nothing queues. Answers are
 * made in turns of the connections, in short steps, for a tenth of the loop's time (os/paced.h).
 * What can go wrong: a line that is too long ends the connection; too many silent connections: one
 * of them is displaced by a new one.
 */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "node/control/control.h"
#include "node/control/control_reply.h"
#include "os/paced.h"
#include "os/process/users.h"
#include "os/world.h"

#define VISITORS_MAX 32
#define SHARE 10             /* one part of so many, of the loop's time */
#define LEAST (50 * TICK_US) /* that a request takes, with its reading and writing */

struct control {
    struct node *node;
    struct stream_listener *listener;
    struct list all; /* struct visitor, the one that was silent for longest first */
    size_t visitors;
    struct paced turns; /* of struct visitor.turn */
    uint64_t gave_way;
    bool has_admins; /* not all visitors are administrators, but members of this group: */
    unsigned admins;
};

struct visitor {
    struct list node;
    struct list turn; /* in control.turns: a line, or an answer, is to go on */
    struct control *control;
    struct stream *stream;
    unsigned pid; /* of the process that connected; 0: not known */
    size_t same;  /* connections of that process */
    bool judged;  /* with the first request: */
    bool admin;
    char name[USERS_TEXT_MAX + 24]; /* user and process, for the log and for answers */
    struct control_reply reply;
    bool asked; /* a whole line, once */
    size_t len; /* of line: what was read and not answered */
    char line[CONTROL_LINE_MAX];
};

static void close_visitor(struct visitor *v)
{
    stream_close(v->stream);
    list_sub(&v->node);
    list_sub(&v->turn);
    v->control->visitors--;
    control_reply_fini(&v->reply);
    free(v);
}

/* True: all of the text that there is. */
static bool write_text(struct visitor *v)
{
    struct control_reply *r = &v->reply;
    const struct slice rest = slice_of((const uint8_t *)r->text + r->done, r->len - r->done);
    if (rest.len > 0)
        r->done += stream_write(v->stream, &rest, 1);
    if (r->done < r->len)
        return false;
    if (control_reply_whole(r))
        control_reply_fini(r);
    return true;
}

static bool has_line(const struct visitor *v)
{
    return memchr(v->line, '\n', v->len) != NULL;
}

/* Something to do, as soon as what there is has been written. */
static bool has_more(const struct visitor *v)
{
    return !control_reply_whole(&v->reply) || has_line(v);
}

static void judge_visitor(struct visitor *v)
{
    const struct control *c = v->control;
    struct stream_peer who;
    char account[USERS_TEXT_MAX];
    if (!stream_user_of(v->stream, &who)) {
        v->admin = !c->has_admins;
        snprintf(v->name, sizeof v->name, "somebody");
        return;
    }
    users_text(who.uid, account);
    snprintf(v->name, sizeof v->name, "%s, pid %u", account, who.pid);
    v->admin = !c->has_admins || who.uid == 0 || who.uid == (unsigned)geteuid() ||
               stream_is_member(v->stream, c->admins);
}

static void wake_visitor(void *context);

/* Asks the node about the first line. */
static void ask_node(struct visitor *v)
{
    const char *end = memchr(v->line, '\n', v->len);
    struct control_list *list;
    if (!v->judged)
        judge_visitor(v);
    v->judged = true;
    const struct control_who who = {.admin = v->admin, .name = v->name};
    const size_t len = (size_t)(end - v->line);
    struct node *n = v->control->node;
    agent_expire(n->agent, node_now(n)); /* ages are those of this moment, on an idle node, too */
    node_wake(n);
    struct json_t *answer = control_ask(n, &who, v->line, len, &list);
    v->len -= len + 1;
    memmove(v->line, end + 1, v->len);
    if (list != NULL) {
        list->wake = wake_visitor;
        list->wake_context = v;
    }
    control_reply_begin(&v->reply, answer, list);
}

/* Processes a request, or makes the next piece of its answer. */
static bool do_turn(void *context, struct list *turn)
{
    struct visitor *v = container_of(turn, struct visitor, turn);
    const struct control *c = context;
    if (control_reply_whole(&v->reply))
        ask_node(v);
    if (!control_reply_step(&v->reply, c->node->world)) {
        close_visitor(v);
        return false;
    }
    if (!write_text(v) || control_reply_waits(&v->reply))
        return false; /* on_writable follows, or wake_visitor */
    const bool more = has_more(v);
    if (!more)
        stream_read(v->stream, true);
    return more;
}

/* May close it. */
static void go_on(struct visitor *v)
{
    const bool more = has_more(v);
    if (more || v->len == sizeof v->line)
        stream_read(v->stream, false);
    else
        stream_read(v->stream, true);
    if (more)
        paced_add(&v->control->turns, &v->turn);
    else if (v->len == sizeof v->line)
        close_visitor(v);
}

/* What it waited for is there. */
static void wake_visitor(void *context)
{
    struct visitor *v = context;
    v->reply.list->waits = false;
    go_on(v);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct visitor *v = context;
    *len = sizeof v->line - v->len;
    return (uint8_t *)v->line + v->len;
}

static void on_fed(void *context, size_t len)
{
    struct visitor *v = context;
    v->len += len;
    if (has_line(v)) {
        v->asked = true;
        list_sub(&v->node);
        list_add_tail(&v->control->all, &v->node);
    }
    go_on(v);
}

static void on_writable(void *context)
{
    struct visitor *v = context;
    if (write_text(v))
        go_on(v);
}

static void on_ended(void *context, int error)
{
    (void)error;
    close_visitor(context);
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

static void count_same(const struct control *c)
{
    list_for_each (l, &c->all) {
        struct visitor *v = container_of(l, struct visitor, node);
        v->same = 0;
        list_for_each (m, &c->all)
            v->same += container_of(m, struct visitor, node)->pid == v->pid;
    }
}

/* Displaces a connection of the process that has most: one without a request first, then the one
 * with the longest silence. */
static void make_room(struct control *c)
{
    struct visitor *least = NULL;
    count_same(c);
    list_for_each (l, &c->all) {
        struct visitor *v = container_of(l, struct visitor, node);
        if (least == NULL || v->same > least->same ||
            (v->same == least->same && least->asked && !v->asked))
            least = v;
    }
    assert(least != NULL);
    c->gave_way++;
    close_visitor(least);
}

static void on_accepted(void *context, struct stream *s)
{
    struct control *c = context;
    struct stream_peer who;
    if (c->visitors == VISITORS_MAX)
        make_room(c);
    struct visitor *v = calloc(1, sizeof *v);
    if (v == NULL) {
        stream_close(s);
        return;
    }
    v->control = c;
    v->stream = s;
    list_init(&v->turn);
    v->pid = stream_user_of(s, &who) ? who.pid : 0;
    c->visitors++;
    list_add_tail(&c->all, &v->node);
    stream_use(s, &user, v);
    stream_read(s, true);
}

int control_open(struct control **out, struct node *n, const struct stream_place *at, char *why,
                 size_t why_cap)
{
    const char *group = n->config->control_admin_group;
    struct control *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, why_cap, "out of memory");
        return HELIO_ENOMEM;
    }
    c->node = n;
    list_init(&c->all);
    c->has_admins = *group != '\0';
    if (c->has_admins && users_find_group(group, &c->admins) < 0) {
        snprintf(why, why_cap, "control_admin_group: there is no group %.64s", group);
        free(c);
        return HELIO_ENOENT;
    }
    paced_init(&c->turns, n->world, SHARE, LEAST, do_turn, c);
    int r = stream_listen(n->world, &c->listener, at, on_accepted, c);
    if (r < 0) {
        paced_fini(&c->turns);
        snprintf(why, why_cap, "%s: %s", at->path, helio_strerror(r));
        free(c);
        return HELIO_EIO;
    }
    *out = c;
    return 0;
}

void control_close(struct control *c)
{
    stream_unlisten(c->listener);
    list_for_each_safe (l, &c->all)
        close_visitor(container_of(l, struct visitor, node));
    paced_fini(&c->turns);
}

uint64_t control_gave_way(const struct control *c)
{
    return c != NULL ? c->gave_way : 0;
}

void control_free(struct control *c)
{
    free(c);
}
