/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of a provider's control socket: one line, “NAME WORD [VALUE]”. NAME is a
 * source, or an instance of FCLTU. */
#ifndef TOOLS_SLE_CONTROL_H
#define TOOLS_SLE_CONTROL_H

#include "sle/sle.h"

#define CONTROL_LINE_MAX 512u

enum control_what {
    CONTROL_FRAME_LOCK,
    CONTROL_SYMBOL_LOCK,
    CONTROL_SUBCARRIER_LOCK,
    CONTROL_CARRIER_LOCK,
    CONTROL_PRODUCTION,        /* of frames */
    CONTROL_UPLINK_PRODUCTION, /* of CLTUs: what CONTROL_PRODUCTION is for an instance */
    CONTROL_UPLINK,
    CONTROL_END
};

struct control_order {
    char name[SLE_SIID_MAX + 1];
    enum control_what what;
    unsigned value; /* enum sle_lock, sle_production, sle_uplink_production, sle_uplink */
};

/* Reads a line without its end. False: `why` says what would
 * be right. */
bool control_parse(struct slice line, struct control_order *out, char *why, size_t why_cap);

/* Locks after this order: without lock of a stage the later ones have none, and with it the earlier
 * ones have it. */
void control_lock(struct sle_locks *locks, enum control_what stage, enum sle_lock lock);

#endif
