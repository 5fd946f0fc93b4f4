/* SPDX-License-Identifier: Apache-2.0 */
/* --parameters: the parameters of each service, asked for one behind the other. Nothing can go
 * wrong: what is not answered ends the association. */
#include <assert.h>

#include "tools/sle/user/sle_user_run.h"

enum { ASKED_AT_ONCE = 4 };

/* Those of a service, 0 ends them; the last ones from version 5 on only. */
static const enum sle_parameter raf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,         SLE_PAR_DELIVERY_MODE,     SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_REPORTING_CYCLE,     SLE_PAR_REQUESTED_QUALITY, SLE_PAR_RETURN_TIMEOUT,
    SLE_PAR_MIN_REPORTING_CYCLE, SLE_PAR_PERMITTED_QUALITY, 0};
static const enum sle_parameter rcf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,      SLE_PAR_DELIVERY_MODE,       SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_PERMITTED_GVCIDS, SLE_PAR_REPORTING_CYCLE,     SLE_PAR_REQUESTED_GVCID,
    SLE_PAR_RETURN_TIMEOUT,   SLE_PAR_MIN_REPORTING_CYCLE, 0};
static const enum sle_parameter rocf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,       SLE_PAR_DELIVERY_MODE,       SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_PERMITTED_GVCIDS,  SLE_PAR_PERMITTED_WORDS,     SLE_PAR_PERMITTED_TC_VCIDS,
    SLE_PAR_PERMITTED_UPDATES, SLE_PAR_REPORTING_CYCLE,     SLE_PAR_RETURN_TIMEOUT,
    SLE_PAR_REQUESTED_GVCID,   SLE_PAR_REQUESTED_WORD,      SLE_PAR_REQUESTED_TC_VCID,
    SLE_PAR_REQUESTED_UPDATE,  SLE_PAR_MIN_REPORTING_CYCLE, 0};
static const enum sle_parameter cltu_parameters[] = {
    SLE_PAR_ACQUISITION_LENGTH,   SLE_PAR_BIT_LOCK_REQUIRED,   SLE_PAR_CLCW_GVCID,
    SLE_PAR_CLCW_CHANNEL,         SLE_PAR_DELIVERY_MODE,       SLE_PAR_EXPECTED_SLDU,
    SLE_PAR_EXPECTED_EVENT,       SLE_PAR_MAXIMUM_SLDU,        SLE_PAR_MINIMUM_DELAY,
    SLE_PAR_MODULATION_FREQUENCY, SLE_PAR_MODULATION_INDEX,    SLE_PAR_NOTIFICATION_MODE,
    SLE_PAR_PLOP1_IDLE_LENGTH,    SLE_PAR_PLOP_IN_EFFECT,      SLE_PAR_PROTOCOL_ABORT_MODE,
    SLE_PAR_REPORTING_CYCLE,      SLE_PAR_RETURN_TIMEOUT,      SLE_PAR_RF_AVAILABLE_REQUIRED,
    SLE_PAR_SUBCARRIER_RATIO,     SLE_PAR_MIN_REPORTING_CYCLE, 0};

static const enum sle_parameter *parameters_of(enum sle_service service)
{
    return service == SLE_RAF    ? raf_parameters
           : service == SLE_RCF  ? rcf_parameters
           : service == SLE_ROCF ? rocf_parameters
                                 : cltu_parameters;
}

/* Some at a time: a provider is known that never answers more than eleven operations at once. */
void parameters_ask(struct association *a)
{
    bool five = a->user->options->terms.version >= 5;
    const enum sle_parameter *all = parameters_of(a->service);
    for (; all[a->asked] != 0 && a->asking < ASKED_AT_ONCE; a->asked++) {
        enum sle_parameter p = all[a->asked];
        if (five || (p != SLE_PAR_MIN_REPORTING_CYCLE && p != SLE_PAR_PERMITTED_QUALITY))
            a->asking += sle_user_get(a->sle, p, world_now(a->user->world)) == 0;
    }
    assert(a->asking <= ASKED_AT_ONCE);
}
