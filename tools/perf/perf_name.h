/* SPDX-License-Identifier: Apache-2.0 */
/* Destinations by the names of their nodes: "relay" or "relay/7", which the node's configuration
 * has under `names`. The node is asked at its control socket, SOCKET.ctl. */
#ifndef TOOLS_PERF_NAME_H
#define TOOLS_PERF_NAME_H

#include <argp.h>
#include <stdbool.h>

#include "node/aap2/aap2_client.h"

/* Is it an endpoint? */
bool perf_name_endpoint(const char *word);

/* Ends the program if the word can be neither an endpoint nor a name. `right` completes "write …".
 */
void perf_name_check(struct argp_state *state, const char *word, const char *right);

/* Ends the program if the word is a node, where no application receives. services: what to write
 * behind it instead, at an ipn and at a dtn node. */
void perf_name_refuse_node(struct argp_state *state, const char *word,
                           const char *const services[2]);

/* The endpoint of the word, which is the word itself or `out`. services: those of a name without
 * one, at an ipn and at a dtn node. Ends the program with a message if the node does not know the
 * name, or does not answer. */
const char *perf_name_find(struct argp_state *state, const char *socket, const char *word,
                           const char *const services[2], char out[AAP2_EID_MAX]);

#endif
