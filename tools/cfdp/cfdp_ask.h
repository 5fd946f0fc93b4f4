/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that ask a helio-cfdp daemon. */
#ifndef TOOLS_CFDP_ASK_H
#define TOOLS_CFDP_ASK_H

#include <jansson.h>
#include <stdbool.h>

/* Sends the request, which it takes, to the control socket, and prints the answers, as JSON or as
 * text. The exit code. */
int ask_daemon(const char *control, json_t *request, bool as_json);

#endif
