/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes (config_names.h) in questions and answers. They are those of the file that was
 * read last. What can go wrong: a name that the file does not have. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "conf/json_number.h"
#include "node/control/control.h"
#include "route/plan_router.h"

const struct config *control_names_now(const struct node *n)
{
    return n->file != NULL ? n->file : n->config;
}

static void put_shown(json_t *o, const char *key, const char *name)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%.48s_name", key);
    json_put_text(o, shown, name);
}

void control_put_eid(const struct node *n, json_t *o, const char *key, const struct eid *e)
{
    char text[EID_TEXT_MAX], name[CONFIG_NAME_SHOWN];
    eid_text(e, text);
    json_put_text(o, key, text);
    if (config_name_show(control_names_now(n), e, name))
        put_shown(o, key, name);
}

void control_put_pattern(const struct node *n, json_t *o, const char *key,
                         const struct eid_pattern *p)
{
    char text[EID_TEXT_MAX], name[CONFIG_NAME_SHOWN];
    eid_pattern_text(p, text);
    json_put_text(o, key, text);
    if (config_name_show_pattern(control_names_now(n), p, name))
        put_shown(o, key, name);
}

const char *control_eid_text(const struct node *n, const struct eid *e, char out[CONTROL_EID_SHOWN])
{
    char text[EID_TEXT_MAX], name[CONFIG_NAME_SHOWN];
    eid_text(e, text);
    if (config_name_show(control_names_now(n), e, name))
        snprintf(out, CONTROL_EID_SHOWN, "%s (%s)", name, text);
    else
        snprintf(out, CONTROL_EID_SHOWN, "%s", text);
    return out;
}

int control_patterns(const struct node *n, const char *text, struct eid_patterns *p, char *why,
                     size_t cap)
{
    char whole[1024];
    const char *wrong;
    const struct config *c = control_names_now(n);
    const bool named = config_name_expand(c, CONFIG_NAME_PATTERN, text, whole, sizeof whole);
    if (eid_patterns_read(named ? whole : text, p, &wrong) == 0)
        return 0;
    const char *closest = named ? NULL : config_name_closest(c, text);
    if (closest != NULL)
        snprintf(why, cap, "\"%.64s\" is not in names; did you mean %s?", text, closest);
    else
        snprintf(why, cap, "\"%.64s\" %s", text, wrong);
    return HELIO_EFORMAT;
}

bool control_node_number(const struct node *n, const char *text, uint64_t *out)
{
    char whole[EID_TEXT_MAX];
    struct eid e;
    const struct config *c = control_names_now(n);
    return units_count(text, UINT64_MAX, out) == 0 ||
           (config_name_expand(c, CONFIG_NAME_NODE, text, whole, sizeof whole) &&
            eid_parse(whole, &e) == 0 && plan_router_number(&e, out));
}

void control_put_node(const struct node *n, json_t *o, const char *key, uint64_t number)
{
    const struct config *c = control_names_now(n);
    const struct config_name *names = c->names;
    uint64_t its;
    json_put_number(o, key, number);
    for (size_t i = 0; i < c->names_len; i++)
        if (plan_router_number(&names[i].node, &its) && its == number) {
            put_shown(o, key, names[i].name);
            return;
        }
}

/* An endpoint, or a node's id, that a program was given as a name. */
static void answer_one(const struct config *c, const char *of, json_t *out)
{
    char whole[EID_TEXT_MAX], why[256];
    struct eid e;
    const bool named = config_name_expand(c, CONFIG_NAME_NODE, of, whole, sizeof whole);
    const char *closest = named ? NULL : config_name_closest(c, of);
    if (named && eid_parse(whole, &e) == 0) {
        eid_text(&e, whole);
        json_put_text(out, "is", whole);
        return;
    }
    if (named)
        snprintf(why, sizeof why, "\"%.64s\" would be %.100s, which is no endpoint", of, whole);
    else if (closest != NULL)
        snprintf(why, sizeof why, "\"%.64s\" is not in names; did you mean %s?", of, closest);
    else
        snprintf(why, sizeof why,
                 "\"%.64s\" is neither an endpoint nor in names of the node's configuration%s", of,
                 c->names_len == 0 ? ", which has none" : "; helioctl names shows them");
    control_refuse(out, true, why);
}

void control_names(struct node *n, const struct json_t *in, struct json_t *out)
{
    const struct config *c = control_names_now(n);
    const struct config_name *names = c->names;
    const char *of = json_string_value(json_object_get(in, "of"));
    if (of != NULL) {
        answer_one(c, of, out);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < c->names_len; i++) {
        char text[EID_TEXT_MAX];
        eid_text(&names[i].node, text);
        json_array_append_new(list, json_pack("{s:s,s:s}", "name", names[i].name, "node", text));
    }
    json_object_set_new(out, "names", list);
}
