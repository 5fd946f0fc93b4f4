/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a Forward Frame service are radiated: to a UDP address, or to a file. */
#ifndef TOOLS_CSTS_UPLINK_H
#define TOOLS_CSTS_UPLINK_H

#include "csts/forward.h"
#include "os/log/say.h"
#include "tools/csts/csts_conn.h"
#include "tools/sle/sle_target.h"

struct csts_uplink {
    struct csts_host *host;
    struct csts_service *service;
    struct say *log;
    struct say_few lines; /* about frames that were not sent */
    struct alarm alarm;
    struct target target;
    struct air air;
    tick woken; /* the last time that frames arrived while nothing was on the air */
    struct csts_unit unit;
    uint64_t failed; /* frames that were not sent */
};

/* `to` given: datagrams; else the file `path`. 0 or HELIO_E*. Production is operational then. */
int csts_uplink_open(struct csts_uplink *u, struct csts_host *h, struct csts_service *v,
                     const char *path, const struct address *to, uint64_t rate, struct say *log);
void csts_uplink_wake(struct csts_uplink *u); /* there may be frames */
void csts_uplink_close(struct csts_uplink *u);

#endif
