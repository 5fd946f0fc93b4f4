/* SPDX-License-Identifier: Apache-2.0 */
/* What GET-PARAMETER is answered. */
#include <stdio.h>

#include "sle/engine_private.h"

/* Of the last START of this association. False: nothing was asked for, and the version cannot say
 * that. */
static bool requested_value(const struct sle_instance *i, uint8_t version, struct sle_value *v)
{
    const struct provider *p = &i->p;
    const struct sle_start *w = &p->wanted;
    bool clcw = p->has_wanted && w->word == SLE_CLCW;
    v->none = !p->has_wanted;
    switch (v->parameter) {
    case SLE_PAR_REQUESTED_QUALITY:
        v->number = v->none ? SLE_WANTED_UNDEFINED : (uint32_t)w->quality;
        return !v->none || version <= 4;
    case SLE_PAR_REQUESTED_GVCID:
        v->gvcid = w->gvcid;
        return !v->none || version <= 4 || i->service == SLE_RCF;
    case SLE_PAR_REQUESTED_WORD:
        v->number = v->none ? SLE_WORDS_UNDEFINED : (uint32_t)w->word;
        return !v->none || version <= 4;
    case SLE_PAR_REQUESTED_TC_VCID:
        v->none = !clcw;
        v->tc_vcid = clcw ? w->tc_vcid : SLE_TC_VC_NONE;
        return clcw || version <= 4;
    default:
        v->number = v->none ? SLE_UPDATE_UNDEFINED : (uint32_t)w->update;
        return !v->none || version <= 4;
    }
}

static void set_value(const struct sle_instance *i, struct sle_value *v)
{
    const struct provider *p = &i->p;
    v->gvcids = p->c.gvcids;
    v->gvcid_count = v->parameter == SLE_PAR_PERMITTED_GVCIDS ? p->c.gvcid_count : 0;
    v->tc_vcids = p->c.permitted_tc_vcids;
    switch (v->parameter) {
    case SLE_PAR_PERMITTED_QUALITY:
        v->set = p->c.permitted_quality;
        break;
    case SLE_PAR_PERMITTED_WORDS:
        v->set = p->c.permitted_words;
        break;
    case SLE_PAR_PERMITTED_UPDATES:
        v->set = p->c.permitted_updates;
        break;
    case SLE_PAR_PERMITTED_TC_VCIDS:
        v->none = p->c.only_no_tc_vc;
        break;
    default:
        break;
    }
}

static bool channel_value(const struct sle_instance *i, uint8_t version, struct sle_value *v)
{
    const struct provider *p = &i->p;
    v->none = !p->c.clcw_known;
    v->gvcid = p->c.clcw_gvcid;
    snprintf(v->text, sizeof v->text, "%s", p->clcw_channel);
    return !v->none || version >= 5;
}

static uint32_t latency_s(const struct provider *p)
{
    uint64_t s = (p->c.latency + TICK_S - 1) / TICK_S;
    return s < 1 ? 1 : s > UINT16_MAX ? UINT16_MAX : (uint32_t)s;
}

static uint32_t number_value(const struct sle_instance *i, uint32_t parameter)
{
    const struct provider *p = &i->p;
    switch (parameter) {
    case SLE_PAR_BUFFER_SIZE:
        return p->c.buffer_frames;
    case SLE_PAR_DELIVERY_MODE:
        return i->mode;
    case SLE_PAR_RETURN_TIMEOUT:
        return i->return_timeout_s;
    case SLE_PAR_MIN_REPORTING_CYCLE:
        return p->c.min_reporting_cycle_s;
    case SLE_PAR_ACQUISITION_LENGTH:
        return p->c.acquisition_length;
    case SLE_PAR_BIT_LOCK_REQUIRED:
        return !p->c.bit_lock_required; /* 0 is "yes" */
    case SLE_PAR_RF_AVAILABLE_REQUIRED:
        return !p->c.rf_available_required;
    case SLE_PAR_EXPECTED_SLDU:
        return p->f.next_id;
    case SLE_PAR_EXPECTED_EVENT:
        return p->f.next_event;
    case SLE_PAR_MAXIMUM_SLDU:
        return p->c.cltu_max;
    case SLE_PAR_MINIMUM_DELAY:
        return p->c.minimum_delay_us;
    case SLE_PAR_MODULATION_FREQUENCY:
        return p->c.modulation_frequency;
    case SLE_PAR_MODULATION_INDEX:
        return p->c.modulation_index;
    case SLE_PAR_NOTIFICATION_MODE:
        return !p->c.deferred;
    case SLE_PAR_PLOP1_IDLE_LENGTH:
        return p->c.plop1_idle_length;
    case SLE_PAR_PLOP_IN_EFFECT:
        return p->c.plop - 1u;
    case SLE_PAR_PROTOCOL_ABORT_MODE:
        return p->c.continue_on_abort;
    default:
        return p->c.subcarrier_ratio;
    }
}

bool value_of(struct sle_instance *i, uint8_t version, uint32_t parameter, struct sle_value *out)
{
    *out = (struct sle_value){.parameter = parameter};
    switch (parameter) {
    case SLE_PAR_LATENCY_LIMIT:
        out->none = i->mode == SLE_OFFLINE;
        out->number = latency_s(&i->p);
        return true;
    case SLE_PAR_REPORTING_CYCLE:
        out->none = i->p.report_s == 0;
        out->number = i->p.report_s;
        return true;
    case SLE_PAR_REQUESTED_QUALITY:
    case SLE_PAR_REQUESTED_GVCID:
    case SLE_PAR_REQUESTED_WORD:
    case SLE_PAR_REQUESTED_TC_VCID:
    case SLE_PAR_REQUESTED_UPDATE:
        return requested_value(i, version, out);
    case SLE_PAR_PERMITTED_QUALITY:
    case SLE_PAR_PERMITTED_GVCIDS:
    case SLE_PAR_PERMITTED_WORDS:
    case SLE_PAR_PERMITTED_TC_VCIDS:
    case SLE_PAR_PERMITTED_UPDATES:
        set_value(i, out);
        return true;
    case SLE_PAR_CLCW_GVCID:
    case SLE_PAR_CLCW_CHANNEL:
        return channel_value(i, version, out);
    default:
        out->number = number_value(i, parameter);
        return true;
    }
}
