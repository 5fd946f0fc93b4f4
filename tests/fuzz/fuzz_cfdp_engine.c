/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send: PDUs, each behind an octet of time and one of length, to an entity that
 * also sends a file to it. Its answers come back to it. The engine's own checks hold after each. */
#include <assert.h>
#include <stdlib.h>

#include "cfdp/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int open_source(void *context, struct cfdp_id id, const char *name, bool listing,
                       uint64_t *size, void **file)
{
    (void)context, (void)id, (void)listing;
    if (name[0] == 'm')
        return HELIO_ENOENT;
    *size = 3000;
    *file = malloc(1);
    return *file == NULL ? HELIO_ENOMEM : 0;
}

static int open_partial(void *context, struct cfdp_id id, void **file)
{
    (void)context, (void)id;
    *file = malloc(1);
    return *file == NULL ? HELIO_ENOMEM : 0;
}

static int64_t read_zeros(void *context, void *file, uint64_t offset, uint8_t *out, size_t len)
{
    (void)context, (void)file, (void)offset;
    memset(out, 0, len);
    return (int64_t)len;
}

static int write_nothing(void *context, void *file, uint64_t offset, struct slice octets)
{
    (void)context, (void)file, (void)offset, (void)octets;
    return 0;
}

static int place(void *context, struct cfdp_id id, void *file, const char *name, uint64_t size)
{
    (void)context, (void)id, (void)file, (void)size;
    return name[0] == 'x' ? HELIO_EEXIST : 0;
}

static void close_file(void *context, struct cfdp_id id, void *file, bool discard)
{
    (void)context, (void)id, (void)discard;
    free(file);
}

static unsigned act(void *context, unsigned action, const char *first, const char *second)
{
    (void)context, (void)second;
    return first[0] == 'x' ? 1 : action == CFDP_DENY_FOLDER ? 2 : 0;
}

static int journal(void *context, struct cfdp_id id, struct slice record)
{
    (void)context, (void)id, (void)record;
    return 0;
}

static void forget(void *context, struct cfdp_id id)
{
    (void)context, (void)id;
}

static int reserve(void *context, uint64_t next)
{
    (void)context, (void)next;
    return 0;
}

static const struct cfdp_files files = {open_source, open_partial, read_zeros, write_nothing,
                                        place,       close_file,   act,        journal,
                                        forget,      reserve};

static void drain(struct cfdp *e, tick now)
{
    static uint8_t out[4096];
    struct cfdp_notice n;
    struct cfdp_pdu p;
    size_t len;
    while (cfdp_expire(e, now))
        ;
    for (int i = 0; i < 64 && (len = cfdp_output(e, 1, out, sizeof out, now)) > 0; i++) {
        const enum cfdp_pdu_result good = cfdp_pdu_parse(slice_of(out, len), &p);
        assert(good == CFDP_PDU_OK);
        (void)good;
    }
    while (cfdp_poll(e, &n))
        ;
    cfdp_check(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct cfdp_config c = {.id = 2, .seed = 1, .files = &files};
    const struct cfdp_remote r = {.id = 1,
                                  .permissions = 15,
                                  .immediate_nak = len % 2 == 0,
                                  .transactions_max = 8,
                                  .gaps_max = 16,
                                  .file_max = 1 << 20,
                                  .space_max = 1 << 20,
                                  .keep_alive_time = 7 * TICK_S,
                                  .keep_alive_limit = 2000};
    const struct cfdp_put put = {
        .destination = 1, .source_name = "source", .destination_name = "a"};
    struct cfdp *e = cfdp_new(&c);
    struct cfdp_id id;
    tick now = 0;
    assert(e != NULL);
    const int rc = cfdp_remote_set(e, &r) | cfdp_put(e, &put, now, &id);
    assert(rc == 0);
    (void)rc;
    while (len >= 2) {
        const size_t n = data[1] < len - 2 ? data[1] : len - 2;
        now += data[0] * TICK_S / 8;
        drain(e, now);
        (void)cfdp_input(e, 1, slice_of(data + 2, n), now);
        cfdp_check(e);
        data += 2 + n;
        len -= 2 + n;
    }
    drain(e, now);
    drain(e, now + 10000 * TICK_S);
    cfdp_free(e);
    return 0;
}
