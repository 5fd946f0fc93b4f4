/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle store on SQLite, to be measured against the one that the node uses. */
#ifndef BENCH_STORE_SQLITE_H
#define BENCH_STORE_SQLITE_H

#include "bp/agent/store.h"

extern const struct store_ops store_sqlite;

#endif
