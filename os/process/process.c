/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the whole process; what can go wrong leaves them as they were.
 *
 * glibc gives the end of the heap back when twice the largest block is free there: with bundles of
 * 500 kB that is each second or third of them, and 122 page faults for the next one. */
#include "os/process/process.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#define MAPPED_FROM (32 << 20) /* glibc's own highest; longer blocks are mapped one by one … */
#define MAPPED_LEAST (1 << 20) /* … and those that are longer than this with memory_return_long */

void memory_retain(void)
{
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, (int)MEMORY_RETAINED);
#endif
}

void memory_return_long(bool yes)
{
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, yes ? MAPPED_LEAST : MAPPED_FROM);
#else
    (void)yes;
#endif
}

void file_limit_report(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

void descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
