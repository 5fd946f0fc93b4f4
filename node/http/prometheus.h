/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of Prometheus. */
#ifndef NODE_PROMETHEUS_H
#define NODE_PROMETHEUS_H

#include <stddef.h>

/* A label's value: a backslash, a quote and an end of line are written with a backslash; what does
 * not fit is cut off. Octets in out[cap], cap >= 1, without the NUL. */
size_t prometheus_label(const char *text, char *out, size_t cap);

#endif
