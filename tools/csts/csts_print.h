/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-csts's users print in common. */
#ifndef TOOLS_CSTS_PRINT_H
#define TOOLS_CSTS_PRINT_H

#include "csts/engine.h"

enum { CSTS_TIME_TEXT = 64 };
/* UTC with microseconds. */
const char *csts_time_text(struct sle_time t, char out[CSTS_TIME_TEXT]);
/* Why a return is negative. */
const char *csts_refusal_text(const struct csts_diagnostic *d, char *out, size_t cap);

#endif
