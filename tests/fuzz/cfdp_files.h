/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a CFDP entity that are nothing but zeros. Names that begin with m are missing, and those
 * with x are refused. */
#ifndef TESTS_FUZZ_CFDP_FILES_H
#define TESTS_FUZZ_CFDP_FILES_H

#include <stdlib.h>

#include "cfdp/engine.h"

static inline int open_source(void *context, struct cfdp_id id, const char *name, bool listing,
                              uint64_t *size, void **file)
{
    (void)context, (void)id, (void)listing;
    if (name[0] == 'm')
        return HELIO_ENOENT;
    *size = 3000;
    *file = malloc(1);
    return *file == NULL ? HELIO_ENOMEM : 0;
}

static inline int open_partial(void *context, struct cfdp_id id, void **file)
{
    (void)context, (void)id;
    *file = malloc(1);
    return *file == NULL ? HELIO_ENOMEM : 0;
}

static inline int64_t read_zeros(void *context, void *file, uint64_t offset, uint8_t *out,
                                 size_t len)
{
    (void)context, (void)file, (void)offset;
    memset(out, 0, len);
    return (int64_t)len;
}

static inline int write_nothing(void *context, void *file, uint64_t offset, struct slice octets)
{
    (void)context, (void)file, (void)offset, (void)octets;
    return 0;
}

static inline int place(void *context, struct cfdp_id id, void *file, const char *name,
                        uint64_t size)
{
    (void)context, (void)id, (void)file, (void)size;
    return name[0] == 'x' ? HELIO_EEXIST : 0;
}

static inline void close_file(void *context, struct cfdp_id id, void *file, bool discard)
{
    (void)context, (void)id, (void)discard;
    free(file);
}

/* In two steps, unless the name begins with o. */
static inline unsigned act(void *context, struct cfdp_id id, struct cfdp_act *a)
{
    (void)context, (void)id;
    if (a->state < 2 && a->first[0] != 'o') {
        a->state++;
        return CFDP_ACT_MORE;
    }
    return a->first[0] == 'x' ? 1 : a->action == CFDP_DENY_FOLDER ? 2 : 0;
}

static inline int settle(void *context, void *file, uint64_t offset, uint64_t len)
{
    (void)context, (void)file, (void)offset, (void)len;
    return 0;
}

static inline int rewrite(void *context, struct cfdp_id id, struct slice records)
{
    (void)context, (void)id, (void)records;
    return 0;
}

static inline int journal(void *context, struct cfdp_id id, struct slice record)
{
    (void)context, (void)id, (void)record;
    return 0;
}

static inline void forget(void *context, struct cfdp_id id)
{
    (void)context, (void)id;
}

static inline int remember(void *context, struct slice result)
{
    (void)context, (void)result;
    return 0;
}

static inline int reserve(void *context, uint64_t next)
{
    (void)context, (void)next;
    return 0;
}

static const struct cfdp_files files = {
    open_source, open_partial, read_zeros, write_nothing, settle,   place,  close_file,
    act,         journal,      rewrite,    forget,        remember, reserve};

#endif
