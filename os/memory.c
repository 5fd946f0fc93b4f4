/* SPDX-License-Identifier: Apache-2.0 */
/* glibc gives the end of the heap back when twice the largest block is free there: with bundles of
 * 500 kB that is each second or third of them, and 122 page faults for the next one. */
#include "os/memory.h"

#include <malloc.h>

#define MAPPED_FROM (32 << 20) /* glibc's own highest; longer blocks are mapped one by one */

void memory_retain(void)
{
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, (int)MEMORY_RETAINED);
#endif
}
