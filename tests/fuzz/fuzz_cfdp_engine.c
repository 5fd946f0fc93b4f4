/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send: PDUs, each behind an octet of time and one of length, to an entity that
 * also sends a file to it. Its answers come back to it. The engine's own checks hold after each. */
#include <assert.h>

#include "tests/fuzz/cfdp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

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
