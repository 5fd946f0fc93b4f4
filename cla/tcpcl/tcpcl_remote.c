/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to connect to the link's remote. A host name is looked up anew before each of them; of
 * its addresses each attempt takes the next one. What can go wrong: the name cannot be resolved,
 * which counts as a failed attempt, unless an earlier look-up had an answer.
 */
#include <assert.h>
#include <stdio.h>

#include "cla/tcpcl/tcpcl_link.h"

const char *tcpcl_remote_text(const struct tcpcl_link *l, char text[TCPCL_PLACE_MAX])
{
    const char *path = l->config->remote_path;
    if (path != NULL && *path != '\0')
        snprintf(text, TCPCL_PLACE_MAX, "%s", path);
    else
        remote_name_write(&l->remote, text);
    return text;
}

/* Nothing to do when a session is there: its end brings the next attempt. */
static bool wants_to_connect(const struct tcpcl_link *l)
{
    return l->wanted && !tcpcl_claimed(l) && tcpcl_connects(l->config);
}

void tcpcl_remote_connect(struct tcpcl_link *l)
{
    if (!wants_to_connect(l))
        return;
    if (remote_name_is_name(&l->remote))
        remote_name_ask(&l->remote);
    else
        tcpcl_conn_begin(l);
}

void tcpcl_remote_resolved(void *link)
{
    struct tcpcl_link *l = link;
    char text[TCPCL_PLACE_MAX];
    assert(remote_name_is_name(&l->remote) && (l->remote.failed || l->remote.found_len > 0));
    if (!wants_to_connect(l))
        return;
    if (l->remote.failed)
        tcpcl_down(l, 1, "cannot connect to %s: %s%s", tcpcl_remote_text(l, text), l->remote.why,
                   l->remote.found_len > 0 ? "; its last address is used" : "");
    if (l->remote.found_len > 0) {
        tcpcl_conn_begin(l);
        return;
    }
    l->connects_failed++;
    tcpcl_retry_later(l, true);
}
