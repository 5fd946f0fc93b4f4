/* SPDX-License-Identifier: Apache-2.0 */
/* Where an HTTP server listens, as it is written in a configuration. */
#ifndef NODE_HTTP_LISTEN_H
#define NODE_HTTP_LISTEN_H

#include "os/address.h"

/* "127.0.0.1:9464", "[::1]:9464", or a port: of 127.0.0.1. 0 or an error of address_parse. */
int http_listen_parse(const char *text, struct address *out);

#endif
