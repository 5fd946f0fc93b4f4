/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of a database of the SLE API, as the reference implementation of the European Space
 * Agency reads it:
 *
 *   # a comment
 *   LOCAL_ID = STATION
 *   REMOTE_PEERS = {
 *      ID = CENTRE
 *      PASSWORD = 0001020304
 *      ID = OTHER                 a key that was there: the next item begins
 *      PASSWORD = 05060708090a
 *   }
 *   SERVER_TYPES = {
 *      SRV_ID = RAF
 *      SRV_VERSION = {
 *         2
 *         4
 *      }
 *   }
 */
#ifndef TOOLS_SLE_DATABASE_H
#define TOOLS_SLE_DATABASE_H

#include "conf/conf_tree.h"

/* A map; its lists have maps, or texts. NULL with at least one error; else the caller's to
 * conf_tree_free. */
struct conf_tree *sle_database_parse(const char *text, size_t len, struct conf_errors *errors);

#endif
