/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration says that does nothing, or not what it seems to: the node starts all the
 * same. */
#ifndef NODE_CONFIG_NOTES_H
#define NODE_CONFIG_NOTES_H

#include "node/config/config.h"

/* A line of the file, 0: not known, and a text that begins with the key. */
typedef void config_note(void *context, uint32_t line, const char *text);

/* Of a configuration that config_parse accepted. */
void config_notes(const struct config *c, config_note *note, void *context);

#endif
