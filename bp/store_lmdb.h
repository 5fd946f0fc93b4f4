/* SPDX-License-Identifier: Apache-2.0 */
/* More than the interface of all stores tells: what lies in the files of an LMDB store, row by row,
 * for who checks and repairs it while no node has it open. */
#ifndef BP_STORE_LMDB_H
#define BP_STORE_LMDB_H

#include "bp/store.h"

#endif
