/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of an HTTP server: where it listens, and the text format of Prometheus. */
#ifndef NODE_HTTP_TEXT_H
#define NODE_HTTP_TEXT_H

#include <stddef.h>

#include "os/net/address.h"

/* A label's value: a backslash, a quote and an end of line are written with a backslash; what does
 * not fit is cut off. Octets in out[cap], cap >= 1, without the NUL. */
size_t prometheus_label(const char *text, char *out, size_t cap);

/* "127.0.0.1:9464", "[::1]:9464", or a port: of 127.0.0.1. 0 or an error of address_parse. */
int http_listen_parse(const char *text, struct address *out);

#endif
