/* SPDX-License-Identifier: Apache-2.0 */
/* CFDP's PDUs and TLVs. What can be parsed can be written, and what is written is parsed as the
 * same octets. */
#include <assert.h>

#include "cfdp/pdu.h"
#include "cfdp/tlv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 1 << 17 };

static void walk_message(struct slice value)
{
    uint8_t once[512], twice[512];
    struct writer v = writer_of(once, sizeof once), w = writer_of(twice, sizeof twice);
    struct cfdp_message m, n;
    struct cfdp_tlv tlv;
    if (cfdp_message_parse(value, &m) != 1)
        return;
    cfdp_message_write(&v, &m);
    if (v.bad)
        return; /* flags in reserved bits make no difference, but lengths do */
    struct slice rest = slice_of(once, writer_len(&v));
    assert(cfdp_tlv_next(&rest, &tlv) && cfdp_message_parse(tlv.value, &n) == 1);
    cfdp_message_write(&w, &n);
    assert(writer_len(&w) == writer_len(&v) && memcmp(once, twice, writer_len(&v)) == 0);
}

static void walk_options(struct slice rest)
{
    uint8_t out[512];
    struct cfdp_request request;
    struct cfdp_response response;
    struct cfdp_tlv tlv;
    unsigned condition, handler;
    while (cfdp_tlv_next(&rest, &tlv)) {
        struct writer w = writer_of(out, sizeof out);
        if (cfdp_request_parse(tlv.value, &request))
            cfdp_request_write(&w, &request);
        assert(!w.bad);
        w = writer_of(out, sizeof out);
        if (cfdp_response_parse(tlv.value, &response))
            cfdp_response_write(&w, &response);
        assert(!w.bad);
        if (cfdp_override_parse(tlv.value, &condition, &handler))
            assert(condition < 16 && handler >= 1 && handler <= 4);
        walk_message(tlv.value);
    }
    assert(rest.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t once[ROOM], twice[ROOM];
    struct cfdp_pdu p, q;
    walk_message(slice_of(data, len));
    if (cfdp_pdu_parse(slice_of(data, len), &p) != CFDP_PDU_OK)
        return 0;
    if (p.kind == CFDP_PDU_METADATA)
        walk_options(p.u.metadata.options);
    if (p.kind == CFDP_PDU_FINISHED)
        walk_options(p.u.finished.responses);
    const size_t n = cfdp_pdu_write(&p, once, sizeof once);
    assert(n > 0 && n <= len);
    const enum cfdp_pdu_result again = cfdp_pdu_parse(slice_of(once, n), &q);
    assert(again == CFDP_PDU_OK && q.kind == p.kind);
    const size_t m = cfdp_pdu_write(&q, twice, sizeof twice);
    assert(m == n && memcmp(once, twice, n) == 0);
    (void)again;
    (void)m;
    return 0;
}
