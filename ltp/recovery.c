/* SPDX-License-Identifier: Apache-2.0 */
/* The named sets of recovery switches. docs/recovery.md has the measurements behind them. */
#include "ltp/ltp.h"

const struct ltp_recovery ltp_recovery_plain = {0};

const struct ltp_recovery ltp_recovery_default = {
    .rto_auto = true,
    .closing_bytes = 1,
    .copies = 24,
    .copy_spacing = 2 * TICK_MS,
    .checkpoint_segments = 192,
    .merge_claims = true,
    .oldest_first = true,
};
