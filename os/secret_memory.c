/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of their own, since the kernel locks and leaves out whole pages. What can go wrong: memory;
 * a limit on locked memory, which the caller reports. */
#include "os/secret_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/secret.h"

void *secret_memory_new(size_t len, bool *locked)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    const int before = errno;
    *locked = mlock(p, len) == 0;
    errno = before; /* its ENOMEM is about the limit of locked memory */
#ifdef MADV_DONTDUMP
    (void)madvise(p, len, MADV_DONTDUMP);
#endif
#ifdef MADV_WIPEONFORK
    (void)madvise(p, len, MADV_WIPEONFORK);
#endif
    return p;
}

void secret_memory_free(void *p, size_t len)
{
    if (p == NULL)
        return;
    secret_wipe(p, len);
    (void)munmap(p, len);
}
