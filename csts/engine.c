/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: services and links of one process. What happens in an association is in the other
 * files. */
#include <stdlib.h>

#include "csts/forward_private.h"

enum { RECEIVE_BYTES = 64 << 10 }; /* of a link; a longer message gets room as it comes */

static void set_defaults(struct csts_config *c)
{
    c->tml.message_max = c->tml.message_max == 0 ? 1 << 20 : c->tml.message_max;
    c->links_max = c->links_max == 0 ? 1024 : c->links_max;
    c->backlog_max = c->backlog_max == 0 ? 1 << 20 : c->backlog_max;
    c->return_timeout_s = c->return_timeout_s == 0 ? 60 : c->return_timeout_s;
}

struct csts *csts_new(const struct csts_config *config)
{
    struct csts *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    set_defaults(&s->config);
    const struct sle_config c = {.self = config->self,
                                 .tml = s->config.tml,
                                 .auth_delay = config->auth_delay,
                                 .hash = config->hash,
                                 .hash_context = config->hash_context,
                                 .seed = config->seed,
                                 .unix_ns = config->unix_ns,
                                 .links_max = s->config.links_max,
                                 .receive_bytes = RECEIVE_BYTES};
    if (!assoc_engine_init(s, &c)) {
        free(s);
        return NULL;
    }
    list_init(&s->services);
    return s;
}

void csts_free(struct csts *s)
{
    struct list *node;
    if (s == NULL)
        return;
    while ((node = list_first(&s->isp.links)) != NULL)
        csts_link_free(container_of(node, struct csts_link, isp.node));
    while ((node = list_first(&s->services)) != NULL)
        assoc_service_free(container_of(node, struct csts_service, node));
    isp1_fini(&s->isp);
    free(s);
}

struct isp1 *csts_isp1(struct csts *s)
{
    return &s->isp;
}

void csts_clock_set(struct csts *s, uint64_t unix_ns)
{
    s->isp.config.unix_ns = unix_ns;
    list_for_each (it, &s->services) {
        struct csts_service *v = container_of(it, struct csts_service, node);
        if (v->forward != NULL && v->forward->c.sequenced)
            assoc_sequence_keep(v, 0); /* it is looked at, and kept again */
    }
}

int csts_peer_set(struct csts *s, const struct sle_peer *peer)
{
    return isp1_peer_set(&s->isp, peer);
}

const struct csts_counts *csts_counts(const struct csts *s)
{
    return &s->counts;
}

tick csts_deadline(const struct csts *s)
{
    return agenda_due(&s->isp.agenda);
}
