/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's socket: one JSON object per line asks, one per line answers. {"cmd": "status"},
 * "links", "sessions", "bundles", "counters", {"cmd": "link", "name": …, "state": "up"|"down"},
 * {"cmd": "link-add"|"link-set", "name": …, "keys": "a YAML map"}, {"cmd": "link-remove", "name":
 * …}, {"cmd": "delete", "key": …}, {"cmd": "plan"}, {"cmd": "plan-reload", "file": …},
 * {"cmd": "contact"|"range", "do": "add", "keys": "{a map in braces}"}, the same with "do":
 * "remove", "from", "to", "at". An answer has "ok": true, or false and "error"; and "usage": true
 * when the request itself is wrong, or names what the node does not have.
 */
#ifndef NODE_CONTROL_H
#define NODE_CONTROL_H

#include "node/config/config_names.h"
#include "node/node.h"

#define CONTROL_LINE_MAX 32768 /* longest request */

struct conf_errors;
struct control_list;
struct json_t;

/* The asking user. A reader only asks; an administrator's changes are logged with the user's name.
 */
struct control_who {
    bool admin;
    const char *name; /* of a reader and an administrator, for people; borrowed */
};

/* The answer to one request line; a new JSON object, NULL when memory is out. *list: what the
 * object lacks yet (control_list.h), the caller's; NULL: nothing. */
struct json_t *control_ask(struct node *n, const struct control_who *who, const char *line,
                           size_t len, struct control_list **list);
/* The same, with its list, however long that is. */
struct json_t *control_answer(struct node *n, const struct control_who *who, const char *line,
                              size_t len);

/* The answer is no. wrong: since the question is, which "usage": true says (helioctl ends with 2);
 * else since the node cannot, now. Returns false. */
bool control_refuse(struct json_t *out, bool wrong, const char *why);
/* … for all that is wrong with a text, in one. */
void control_refuse_errors(struct json_t *out, bool wrong, const struct conf_errors *e);

/* ---- control_names.c: names of nodes ---- */

/* A member of the object, and KEY_name beside it if the configuration has a name for the node. */
void control_put_eid(const struct node *n, struct json_t *o, const char *key, const struct eid *e);
void control_put_pattern(const struct node *n, struct json_t *o, const char *key,
                         const struct eid_pattern *p);
/* "relay/7 (ipn:2.7)", or "ipn:2.7". Returns out. */
#define CONTROL_EID_SHOWN (CONFIG_NAME_SHOWN + EID_TEXT_MAX + 4)
const char *control_eid_text(const struct node *n, const struct eid *e,
                             char out[CONTROL_EID_SHOWN]);
/* As eid_patterns_read, of a text that may have names. Then `why` has the text, too. */
int control_patterns(const struct node *n, const char *text, struct eid_patterns *p, char *why,
                     size_t cap);
/* Of the contact plan: a node's number from its text or name (false: it is neither), and as a
 * member of an object, with KEY_name. */
bool control_node_number(const struct node *n, const char *text, uint64_t *out);
void control_put_node(const struct node *n, struct json_t *o, const char *key, uint64_t number);
/* The configuration whose names are in force. */
const struct config *control_names_now(const struct node *n);
/* All names; or what {"of": "relay/7"} is. */
void control_names(struct node *n, const struct json_t *in, struct json_t *out);

/* control_found.c: the neighbours of discovery, and its counters. */
void control_neighbours(struct node *n, const struct json_t *in, struct json_t *out);

/* The link of that name, open and not about to end; NULL: `out` says why. */
struct node_link *control_find_link(struct node *n, const char *name, struct json_t *out);
/* The log's line about a change that a user asked for; what: "changed", "failed", or "asked for" if
 * there was nothing to change. */
void control_tell_change(struct node *n, const char *command, const char *who,
                         const struct json_t *in, const char *what);

/* control_view.c: links and what there is to watch of them. Lists are new, the caller's; NULL:
 * `out` says why there is none. Of links' counters: only what is counted. */
struct control_list *control_links(struct node *n, const struct json_t *in, struct json_t *out);
struct control_list *control_sessions(struct node *n, const struct json_t *in, struct json_t *out);
struct control_list *control_link_counters(struct node *n, const struct json_t *in,
                                           struct json_t *out);
void control_routes(struct node *n, const struct json_t *in, struct json_t *out);
/* {"bundle": "KEY" or "SOURCE,CREATED,SEQUENCE"}: bundle, where, why, tried, next. */
void control_why(struct node *n, const struct json_t *in, struct json_t *out);
/* control_events.c. {"after": NUMBER}: events of bundles after this one: last, missed, more,
 * events. Without it: none, and `last`. */
void control_events(struct node *n, const struct json_t *in, struct json_t *out);
/* Why the link is in its state: what was heard, or what its adapter knows; LINK_WHY_MAX octets. */
void control_reason(const struct node_link *l, char *out);
void control_top(struct node *n, const struct json_t *in, struct json_t *out);
/* The same of these links only, in their order. */
void control_top_rows(struct node *n, struct node_link *const *links, size_t len,
                      struct json_t *out);
/* links, links_up, links_silent, …: how many there are, and of each state. */
struct link_tally;
void control_tally(const struct link_tally *t, struct json_t *o);
void control_share(const struct node *n, uint32_t link, struct json_t *o);

/* control_bundles.c: what waits: which, how much for whom; to be deleted. delete_fitting: those
 * that a request with a destination names, in steps, after control_delete has checked it. */
struct control_list *control_bundles(struct node *n, const struct json_t *in, struct json_t *out);
struct control_list *control_backlog(struct node *n, const struct json_t *in, struct json_t *out);
void control_delete(struct node *n, const struct json_t *in, struct json_t *out);
/* A bundle as `bundles` and `why` show it; the caller's. */
struct agent_bundle_info;
struct json_t *control_bundle_json(const struct node *n, const struct agent_bundle_info *b);
struct control_list *control_delete_fitting(struct node *n, const struct json_t *in,
                                            struct json_t *out);
/* The answer of `backlog` as it was counted last, in one step, and the node counts on: without rows
 * and without "age_ns" if it never was. At most `most` rows, and that of all others. */
void control_backlog_now(struct node *n, size_t most, struct json_t *out);

/* control_change.c: changes that may read long files; the answer waits for them. NULL: not begun.
 */
struct control_list *control_reload(struct node *n, const struct control_who *who,
                                    const struct json_t *in, struct json_t *out);
struct control_list *control_link_add(struct node *n, const struct control_who *who,
                                      const struct json_t *in, struct json_t *out);
struct control_list *control_link_set(struct node *n, const struct control_who *who,
                                      const struct json_t *in, struct json_t *out);

struct control_list *control_plan_reload(struct node *n, const struct control_who *who,
                                         const struct json_t *in, struct json_t *out);

/* control_plan.c: the contact plan, as a list of this node's contacts; its changes are commands as
 * those of control.c. */
struct control_list *control_plan(struct node *n, const struct json_t *in, struct json_t *out);
void control_contact(struct node *n, const struct json_t *in, struct json_t *out);
void control_range(struct node *n, const struct json_t *in, struct json_t *out);

/* control_security.c: the rules, keys and last failures of bundle security. The counters alone are
 * "security" of the object; without rules there are none. */
void control_security(struct node *n, const struct json_t *in, struct json_t *out);
/* "ipn:1.*|ipn:7.*" as the value of a key. */
struct eid_patterns;
void control_set_patterns(struct json_t *o, const char *key, const struct eid_patterns *p);
/* control_permit.c: rules of ingress and egress, and what was refused. */
void control_rules(struct node *n, const struct json_t *in, struct json_t *out);
const char *control_permit_way(enum permit_way way); /* static */
struct node_sample;
void control_security_counters(const struct node *n, const struct node_sample *sample,
                               struct json_t *out);

/* control_visit.c: like apps_open and its companions. Administrators are root, the node's own user
 * and the members of control_admin_group; others are readers. Without such a group, or if users are
 * unknown, all are administrators. */
int control_open(struct control **out, struct node *n, const struct stream_place *at, char *why,
                 size_t why_cap);
void control_close(struct control *c);
/* Connections that were displaced because there were too many; 0 for NULL. */
uint64_t control_gave_way(const struct control *c);
void control_free(struct control *c); /* after control_close; NULL is allowed */

#endif
