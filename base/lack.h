/* SPDX-License-Identifier: Apache-2.0 */
/* Failures for want of memory or descriptors: what was asked for may be right. */
#ifndef BASE_LACK_H
#define BASE_LACK_H

#include <errno.h>
#include <stdbool.h>

/* Does this errno say so? */
static inline bool lack_is(int number)
{
    return number == ENOMEM || number == EMFILE || number == ENFILE;
}

#endif
