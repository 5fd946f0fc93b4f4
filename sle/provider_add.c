/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's service instance: what its settings must be, and their defaults. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sle/engine_private.h"

#define DEFAULT(field, value) (field) = (field) == 0 ? (value) : (field)

static void fill_defaults(struct sle_provider_config *c)
{
    DEFAULT(c->versions, 0x3cu);
    DEFAULT(c->return_timeout_s, 30);
    DEFAULT(c->min_reporting_cycle_s, 2);
    DEFAULT(c->buffer_frames, 20);
    DEFAULT(c->latency, TICK_S);
    DEFAULT(c->queue_buffers, 16);
    DEFAULT(c->permitted_quality, 7);
    DEFAULT(c->permitted_words, 7);
    DEFAULT(c->permitted_tc_vcids, UINT64_MAX);
    DEFAULT(c->permitted_updates, 3);
    DEFAULT(c->cltu_buffer, UINT32_C(1) << 20);
    DEFAULT(c->cltu_max, SLE_CLTU_MAX);
    DEFAULT(c->cltus_max, 65536);
    DEFAULT(c->plop, 2);
    DEFAULT(c->modulation_frequency, 1);
    DEFAULT(c->modulation_index, 1);
    DEFAULT(c->subcarrier_ratio, 1);
}

static bool gvcids_ok(const struct sle_provider_config *c)
{
    if (c->gvcid_count < 1 || c->gvcid_count > SLE_GVCIDS_MAX)
        return false;
    for (size_t k = 0; k < c->gvcid_count; k++)
        if (!sle_gvcid_ok(c->gvcids[k]))
            return false;
    return true;
}

static bool names_ok(const struct sle_provider_config *c)
{
    for (size_t k = 0; k < c->initiator_count; k++)
        if (!sle_authority_ok(c->initiators[k]))
            return false;
    return c->initiator_count >= 1 &&
           (c->responder_port == NULL ? !c->initiate : sle_port_name_ok(c->responder_port));
}

static bool values_ok(const struct sle_provider_config *c, enum sle_service service)
{
    if ((c->versions & ~0x3cu) != 0 || c->return_timeout_s > 600 || c->min_reporting_cycle_s < 2 ||
        c->min_reporting_cycle_s > 600 || c->buffer_frames > UINT16_MAX ||
        c->antenna.len > SLE_ANTENNA_MAX)
        return false;
    if (service == SLE_FCLTU)
        return !c->initiate && c->cltu_max >= 12 && c->cltu_buffer >= c->cltu_max && c->plop <= 2 &&
               (!c->clcw_known || (c->clcw_channel != NULL && strlen(c->clcw_channel) >= 1 &&
                                   strlen(c->clcw_channel) <= 32));
    if (c->permitted_quality > 7 || c->permitted_words > 7 || c->permitted_updates > 3)
        return false;
    return service == SLE_RAF || gvcids_ok(c);
}

static int compare_gvcids(const void *a, const void *b)
{
    const struct sle_gvcid *x = a, *y = b;
    unsigned p = (unsigned)x->version << 18 | (unsigned)x->scid << 8 | x->vcid;
    unsigned q = (unsigned)y->version << 18 | (unsigned)y->scid << 8 | y->vcid;
    return p < q ? -1 : p > q;
}

/* Those of one master channel are adjacent, as GET-PARAMETER lists them. */
static bool copy_gvcids(struct sle_provider_config *c)
{
    if (c->gvcid_count == 0)
        return true;
    struct sle_gvcid *copy = malloc(c->gvcid_count * sizeof *copy);
    if (copy == NULL)
        return false;
    memcpy(copy, c->gvcids, c->gvcid_count * sizeof *copy);
    qsort(copy, c->gvcid_count, sizeof *copy, compare_gvcids);
    c->gvcids = copy;
    return true;
}

static bool copy_config(struct sle_instance *i, const struct sle_provider_config *c)
{
    struct provider *p = &i->p;
    i->initiators = malloc(c->initiator_count * sizeof *i->initiators);
    if (i->initiators == NULL || !copy_gvcids(&p->c)) {
        free(i->initiators);
        return false;
    }
    for (size_t k = 0; k < c->initiator_count; k++)
        snprintf(i->initiators[k], sizeof i->initiators[k], "%s", c->initiators[k]);
    i->initiator_count = c->initiator_count;
    snprintf(i->port, sizeof i->port, "%s", c->responder_port == NULL ? "" : c->responder_port);
    snprintf(p->clcw_channel, sizeof p->clcw_channel, "%s", c->clcw_known ? c->clcw_channel : "");
    struct slice antenna = c->antenna.len == 0 ? slice_of("ANT", 3) : c->antenna;
    memcpy(p->antenna, antenna.data, antenna.len);
    p->c.antenna = slice_of(p->antenna, antenna.len);
    p->c.id = p->c.responder_port = p->c.clcw_channel = NULL;
    p->c.initiators = NULL;
    return true;
}

int sle_provider_add(struct sle *s, const struct sle_provider_config *config,
                     struct sle_instance **out)
{
    struct sle_siid id;
    enum sle_service service;
    enum sle_mode mode;
    struct sle_provider_config c = *config;
    fill_defaults(&c);
    if (sle_siid_parse(c.id, &id, &service, &mode) != HELIO_OK || !names_ok(&c) ||
        !values_ok(&c, service))
        return HELIO_EINVAL;
    if (sle_instance_find(s, id.text) != NULL)
        return HELIO_EEXIST;
    struct sle_instance *i = calloc(1, sizeof *i);
    if (i == NULL || kept_reserve(&s->isp, KEPT_OF_INSTANCE) != HELIO_OK) {
        free(i);
        return HELIO_ENOMEM;
    }
    for (unsigned k = KEPT_OF_LINK; k < KEPT_END; k++)
        kept_init(instance_kept(i, (enum kept_kind)k), k,
                  k == KEPT_CLTU ? KEPT_PRODUCES : KEPT_SENDS);
    i->sle = s;
    i->id = id;
    i->service = service;
    i->mode = mode;
    i->provides = true;
    i->versions = c.versions;
    i->return_timeout_s = c.return_timeout_s;
    i->p.c = c;
    i->p.locks =
        (struct sle_locks){SLE_LOCK_UNKNOWN, SLE_LOCK_UNKNOWN, SLE_LOCK_UNKNOWN, SLE_LOCK_UNKNOWN};
    list_init(&i->p.f.queue);
    if (!copy_config(i, &c)) {
        kept_release(&s->isp, KEPT_OF_INSTANCE);
        free(i);
        return HELIO_ENOMEM;
    }
    assert(i->initiator_count >= 1 && i->versions != 0 && i->p.c.buffer_frames > 0);
    list_add_tail(&s->instances, &i->node);
    *out = i;
    return HELIO_OK;
}
