/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out in a soak: of the allocations that the engines make some fail, drawn from
 * the case's seed. The linker puts these functions before the engine's and the library's; so only
 * what an engine allocates in a call is refused, and never what the simulation around it needs.
 */
#include <stddef.h>

#include "base/rng.h"
#include "tests/sim/soak.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
int __real_ltp_send(struct ltp *l, const struct ltp_block *b, tick now, struct ltp_session_id *out);
int __wrap_ltp_send(struct ltp *l, const struct ltp_block *b, tick now, struct ltp_session_id *out);
int __real_ltp_accept(struct ltp *l, struct ltp_session_id id, tick now);
int __wrap_ltp_accept(struct ltp *l, struct ltp_session_id id, tick now);
int __real_ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason why, tick now);
int __wrap_ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason why, tick now);
int __real_ltp_output(struct ltp *l, uint64_t peer, tick now, struct ltp_out *out);
int __wrap_ltp_output(struct ltp *l, uint64_t peer, tick now, struct ltp_out *out);
enum verdict __real_ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now);
enum verdict __wrap_ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now);
void __real_ltp_expire(struct ltp *l, tick now);
void __wrap_ltp_expire(struct ltp *l, tick now);

static struct {
    bool inside; /* an engine */
    double share;
    struct rng rng;
    uint64_t refused;
} memory;

void soak_memory_begin(uint64_t seed, double share)
{
    memory.share = share;
    rng_init(&memory.rng, seed);
}

uint64_t soak_memory_refused(void)
{
    return memory.refused;
}

static bool refused(void)
{
    if (!memory.inside || memory.share == 0 || !rng_chance(&memory.rng, memory.share))
        return false;
    memory.refused++;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return refused() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refused() ? NULL : __real_realloc(p, n);
}

int __wrap_ltp_send(struct ltp *l, const struct ltp_block *b, tick now, struct ltp_session_id *out)
{
    memory.inside = true;
    int rc = __real_ltp_send(l, b, now, out);
    memory.inside = false;
    return rc;
}

int __wrap_ltp_accept(struct ltp *l, struct ltp_session_id id, tick now)
{
    memory.inside = true;
    int rc = __real_ltp_accept(l, id, now);
    memory.inside = false;
    return rc;
}

int __wrap_ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason why, tick now)
{
    memory.inside = true;
    int rc = __real_ltp_cancel(l, id, why, now);
    memory.inside = false;
    return rc;
}

int __wrap_ltp_output(struct ltp *l, uint64_t peer, tick now, struct ltp_out *out)
{
    memory.inside = true;
    int rc = __real_ltp_output(l, peer, now, out);
    memory.inside = false;
    return rc;
}

enum verdict __wrap_ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now)
{
    memory.inside = true;
    enum verdict v = __real_ltp_input(l, data, len, now);
    memory.inside = false;
    return v;
}

void __wrap_ltp_expire(struct ltp *l, tick now)
{
    memory.inside = true;
    __real_ltp_expire(l, now);
    memory.inside = false;
}
