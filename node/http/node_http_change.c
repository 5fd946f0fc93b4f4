/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change of a link from a browser: the request is passed on as one of the control socket, by an
 * administrator whose name in the log is the client's address. The server has checked the token.
 * What can go wrong: another command; a link that there is not; a change whose files are read in a
 * thread (control_change.c) is answered when it is done.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/http/node_http.h"
#include "node/http/uv_http.h"

#define STATUS_BAD_REQUEST 400

/* The answer that the client waits for. */
struct late_answer {
    struct node *node;
    struct control_list *list;
    json_t *out;
};

/* Takes it. */
static struct http_answer finish_change(json_t *out)
{
    const bool good = json_is_true(json_object_get(out, "ok"));
    struct http_answer a = http_json(out);
    if (!good && a.owned)
        a.status = STATUS_BAD_REQUEST;
    return a;
}

static void end_list(struct control_list *list, json_t *out)
{
    if (list->ops->head != NULL)
        list->ops->head(list, out);
    control_list_free(list);
}

static void send_late(void *context)
{
    struct late_answer *l = context;
    struct node *n = l->node;
    end_list(l->list, l->out);
    const struct http_answer a = finish_change(l->out);
    free(l);
    http_answer_later(n->http, &a);
}

/* May this command be asked for in a browser? */
static bool is_change(const char *text)
{
    json_t *in = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *cmd = json_string_value(json_object_get(in, "cmd"));
    const bool may = cmd != NULL && (strcmp(cmd, "link") == 0 || strcmp(cmd, "link-set") == 0);
    json_decref(in);
    return may;
}

struct http_answer node_http_change(struct node *n, const struct http_question *q)
{
    char name[96];
    struct control_list *list;
    if (!is_change(q->about))
        return http_refusal(STATUS_BAD_REQUEST, "this is no change of a link: a JSON object with "
                                                "\"cmd\": \"link\" or \"link-set\"\n");
    snprintf(name, sizeof name, "HTTP, %.80s", q->from);
    const struct control_who who = {.admin = true, .name = name};
    json_t *out = control_ask(n, &who, q->about, strlen(q->about), &list);
    if (list == NULL)
        return finish_change(out);
    struct late_answer *l = malloc(sizeof *l);
    if (l == NULL || !list->ops->prepare(list)) {
        free(l);
        if (l == NULL) { /* the change is made, and logged, all the same */
            control_list_free(list);
            control_refuse(out, false, "out of memory");
            return finish_change(out);
        }
        end_list(list, out);
        return finish_change(out);
    }
    *l = (struct late_answer){.node = n, .list = list, .out = out};
    list->wake = send_late;
    list->wake_context = l;
    return (struct http_answer){.status = HTTP_LATER};
}
