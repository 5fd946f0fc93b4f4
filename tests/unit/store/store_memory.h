/* SPDX-License-Identifier: Apache-2.0 */
/* A store for tests, which lives and dies with the process. */
#ifndef TESTS_STORE_MEMORY_H
#define TESTS_STORE_MEMORY_H

#include "bp/agent/store.h"

extern const struct store_ops store_memory;

#endif
