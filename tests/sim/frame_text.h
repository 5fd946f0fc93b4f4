/* SPDX-License-Identifier: Apache-2.0 */
/* A segment as a line for a person who looks into a failure. */
#ifndef TESTS_SIM_FRAME_TEXT_H
#define TESTS_SIM_FRAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_TEXT 256

/* "RS 7 cp 3 rpt 9 scope [0, 100) 0-50 60-100", cut where it is too long. */
void frame_text(const uint8_t *data, size_t len, char out[FRAME_TEXT]);

#endif
