/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's visits. A connection asks one line at a time and reads the answer; it is read on
 * when the answer is written, so that nothing queues. What can go wrong: a line that is too long
 * ends the connection; connections that say nothing: when there are too many, one of them gives way
 * to the new one.
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
#include "os/users.h"
#include "os/world.h"

#define VISITORS_MAX 32

struct control {
    struct node *node;
    struct stream_listener *listener;
    struct list all; /* struct visitor, the one that was silent for longest first */
    size_t visitors;
    uint64_t gave_way;
    bool has_admins; /* not all visitors are administrators, but members of this group: */
    unsigned admins;
};

struct visitor {
    struct list node;
    struct control *control;
    struct stream *stream;
    bool admin;
    char name[USERS_TEXT_MAX + 24]; /* who it is, for the log and for answers */
    char *answer;                   /* [answer_done, answer_len) is not written yet; NULL: none */
    size_t answer_len, answer_done;
    bool asked; /* a whole line, once */
    size_t len; /* of line: what was read and not answered */
    char line[CONTROL_LINE_MAX];
};

static void close_visitor(struct visitor *v)
{
    stream_close(v->stream);
    list_sub(&v->node);
    v->control->visitors--;
    free(v->answer);
    free(v);
}

/* True: all of it is. */
static bool write_answer(struct visitor *v)
{
    struct slice rest =
        slice_of((const uint8_t *)v->answer + v->answer_done, v->answer_len - v->answer_done);
    v->answer_done += stream_write(v->stream, &rest, 1);
    if (v->answer_done < v->answer_len)
        return false;
    free(v->answer);
    v->answer = NULL;
    return true;
}

/* Asks the node about the first n bytes, a line. False: memory is out. */
static bool make_answer(struct visitor *v, size_t n)
{
    const struct control_who who = {.admin = v->admin, .name = v->name};
    struct json_t *answer = control_answer(v->control->node, &who, v->line, n);
    v->len -= n + 1;
    memmove(v->line, v->line + n + 1, v->len);
    if (answer == NULL)
        return false;
    v->answer_done = 0;
    v->answer_len = json_dumpb(answer, NULL, 0, JSON_COMPACT) + 1;
    v->answer = malloc(v->answer_len);
    if (v->answer != NULL) {
        json_dumpb(answer, v->answer, v->answer_len - 1, JSON_COMPACT);
        v->answer[v->answer_len - 1] = '\n';
    }
    json_decref(answer);
    return v->answer != NULL;
}

/* Answers whole lines until one's answer has to wait, or there are none. */
static void take_lines(struct visitor *v)
{
    const char *end;
    assert(v->answer == NULL);
    list_sub(&v->node);
    list_add_tail(&v->control->all, &v->node);
    while ((end = memchr(v->line, '\n', v->len)) != NULL) {
        v->asked = true;
        if (!make_answer(v, (size_t)(end - v->line))) {
            close_visitor(v);
            return;
        }
        if (!write_answer(v)) {
            stream_read(v->stream, false);
            return;
        }
    }
    if (v->len == sizeof v->line)
        close_visitor(v);
    else
        stream_read(v->stream, true);
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
    take_lines(v);
}

static void on_writable(void *context)
{
    struct visitor *v = context;
    if (v->answer == NULL || write_answer(v))
        take_lines(v);
}

static void on_ended(void *context, int error)
{
    (void)error;
    close_visitor(context);
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

/* Who never asked goes first, then who was silent for longest. */
static void make_room(struct control *c)
{
    assert(c->visitors > 0);
    struct visitor *least = container_of(list_first(&c->all), struct visitor, node);
    list_for_each (l, &c->all) {
        struct visitor *v = container_of(l, struct visitor, node);
        if (!v->asked) {
            least = v;
            break;
        }
    }
    c->gave_way++;
    close_visitor(least);
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

static void on_accepted(void *context, struct stream *s)
{
    struct control *c = context;
    if (c->visitors == VISITORS_MAX)
        make_room(c);
    struct visitor *v = calloc(1, sizeof *v);
    if (v == NULL) {
        stream_close(s);
        return;
    }
    v->control = c;
    v->stream = s;
    judge_visitor(v);
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
    int r = stream_listen(n->world, &c->listener, at, on_accepted, c);
    if (r < 0) {
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
}

uint64_t control_gave_way(const struct control *c)
{
    return c != NULL ? c->gave_way : 0;
}

void control_free(struct control *c)
{
    free(c);
}
