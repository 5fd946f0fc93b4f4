/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances that this provider binds (key `connect`): it connects to the user, and again some time
 * after each association. It unbinds when the user has stopped.
 *
 * What can go wrong: the user is not there, or refuses: in the log, and tried again.
 */
#include <assert.h>
#include <stdlib.h>

#include "tools/sle/station/sle_station.h"

static int open_conn(struct instance *i, struct visit *v)
{
    struct station *t = i->station;
    int e = sle_conn_open(&t->host, &v->conn, i->sle, &i->config->connect,
                          (uint32_t)t->settings->tcp_buffer, &visit_user, v);
    if (e < 0)
        return e;
    e = t->secure.tls != NULL ? sle_conn_secure(v->conn, &t->secure, false) : 0;
    if (e < 0)
        sle_conn_free(v->conn);
    return e;
}

static void run_dial(void *context)
{
    struct instance *i = context;
    struct station *t = i->station;
    if (t->ending || sle_instance_link(i->sle) != NULL)
        return;
    struct visit *v = calloc(1, sizeof *v);
    int e = HELIO_ENOMEM;
    if (v != NULL) {
        v->station = t;
        v->instance = i;
        address_write(&i->config->connect, v->from);
        e = open_conn(i, v);
    }
    if (e == 0) {
        list_add_tail(&t->visits, &v->node);
        return;
    }
    free(v);
    say(&t->log, LEVEL_WARNING, "%s: connect: %s: %s", i->config->id, i->config->connect_text,
        helio_strerror(e));
    dial_again(i);
}

void dial_init(struct instance *i)
{
    alarm_init(&i->dial, i->station->world, ALARM_APP, run_dial, i);
}

void dial_open(struct instance *i)
{
    if (address_given(&i->config->connect))
        alarm_set(&i->dial, 0);
}

void dial_again(struct instance *i)
{
    const struct station *t = i->station;
    if (address_given(&i->config->connect) && !t->ending)
        alarm_set(&i->dial, world_now(t->world) + i->config->reconnect);
}

void dial_end(struct instance *i)
{
    alarm_fini(&i->dial);
}
