/* SPDX-License-Identifier: Apache-2.0 */
/* The messages that the node sends to applications. Each returns a message to write, or NULL when
 * memory is out. */
#ifndef NODE_APP_MESSAGE_H
#define NODE_APP_MESSAGE_H

#include "node/app/app.h"

/* With the magic byte in front. */
struct app_out *message_welcome(const struct eid *node);

/* text may be NULL; `bundle` (NULL: none) is the request whose bundle is named. */
struct app_out *message_response(Aap2__ResponseStatus status, const char *text,
                                 const struct app_request *bundle);

/* Keeps a reference to the bundle. */
/* previous: the node whose link brought it; NULL: not known. */
struct app_out *message_adu(const struct agent_action *deliver, const struct eid *previous);
struct app_out *message_keepalive(void);

void message_free(struct app_out *o); /* NULL is allowed */

#endif
