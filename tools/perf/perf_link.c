/* SPDX-License-Identifier: Apache-2.0 */
/* When a link is opened, closed and tried again. What can go wrong: the node is not there any more:
 * then it is tried again with pauses from 20 ms to 1 s as long as the options allow. */
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf_link.h"

#define PAUSE_MIN (20 * TICK_MS)
#define PAUSE_MAX TICK_S

void perf_link_init(struct perf_link *l, const struct perf_options *o, uint64_t random,
                    uint32_t window, uint64_t payload_max)
{
    *l = (struct perf_link){.options = o, .window = window, .payload_max = payload_max};
    l->pause = PAUSE_MIN;
    if (o->service != NULL)
        snprintf(l->service, sizeof l->service, "%s", o->service);
    else if (!o->server)
        snprintf(l->service, sizeof l->service, "%u", 0x10000u + (uint32_t)(random % 0x7fff0000u));
    snprintf(l->secret, sizeof l->secret, "perf-%016llx", (unsigned long long)random);
}

int perf_link_endpoint(struct perf_link *l, const char *node)
{
    const char *service = l->service;
    if (*service == '\0')
        service = strncmp(node, "dtn:", 4) == 0 ? "perf" : "2000";
    return aap2_endpoint(node, service, l->endpoint);
}

void perf_link_close(struct perf_link *l, tick now)
{
    aap2_client_close(l->tx);
    aap2_client_close(l->rx);
    l->tx = l->rx = NULL;
    l->pause = PAUSE_MIN;
    l->retry_at = now;
    l->give_up_at = tick_add(now, l->options->reconnect);
}

int perf_link_retry(struct perf_link *l, tick now)
{
    if (l->options->reconnect == 0)
        return HELIO_EIO;
    if (now < l->retry_at)
        return 0;
    if (perf_link_open(l) == 0) {
        l->reconnects++;
        return 1;
    }
    if (now >= l->give_up_at)
        return HELIO_EIO;
    l->retry_at = now + l->pause;
    l->pause = tick_min(2 * l->pause, PAUSE_MAX);
    return 0;
}
