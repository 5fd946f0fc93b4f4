/* SPDX-License-Identifier: Apache-2.0 */
/* CFDP's PDUs and TLVs: octets that spacepackets 0.32 (an independent implementation) made, and
 * back; what is refused. */
#include "cfdp/pdu.h"
#include "cfdp/tlv.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"

static struct cfdp_pdu pdu_of(enum cfdp_pdu_kind kind)
{
    return (struct cfdp_pdu){
        .kind = kind,
        .head = {
            .id_len = 2, .sequence_len = 4, .source = 1, .sequence = 7, .destination = 0x1234}};
}

static struct slice text(const char *s)
{
    return slice_of(s, strlen(s));
}

/* Written: these octets. Read: a PDU that writes them again. No shorter part of it can be read, and
 * no room is too small without being noticed. */
static void assert_pdu(const struct cfdp_pdu *pdu, const char *want)
{
    uint8_t out[512], again[512];
    struct cfdp_pdu back;
    const size_t n = cfdp_pdu_write(pdu, out, sizeof out);
    assert_hex(out, n, want);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &back), CFDP_PDU_OK);
    ck_assert_int_eq(back.kind, pdu->kind);
    ck_assert_uint_eq(back.head.destination, pdu->head.destination);
    ck_assert_uint_eq(cfdp_pdu_write(&back, again, sizeof again), n);
    ck_assert_mem_eq(out, again, n);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_ne(cfdp_pdu_parse(slice_of(out, cut), &back), CFDP_PDU_OK);
    for (size_t room = 0; room < n; room++)
        ck_assert_uint_eq(cfdp_pdu_write(pdu, again, room), 0);
}

static struct cfdp_pdu parse_hex(const char *hex)
{
    static uint8_t octets[512];
    struct cfdp_pdu p;
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(octets, read_hex(hex, octets)), &p), CFDP_PDU_OK);
    return p;
}

static enum cfdp_pdu_result result_of(const char *hex)
{
    uint8_t octets[512];
    struct cfdp_pdu p;
    return cfdp_pdu_parse(slice_of(octets, read_hex(hex, octets)), &p);
}

START_TEST(metadata)
{
    uint8_t room[128];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_request rename = {CFDP_RENAME_FILE, text("x"), text("y")};
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA);
    cfdp_request_write(&w, &rename);
    cfdp_override_write(&w, CFDP_CHECK_LIMIT, CFDP_HANDLE_IGNORE);
    cfdp_tlv_write(&w, CFDP_TLV_MESSAGE, text("hello"));
    p.u.metadata = (struct cfdp_metadata){.closure = true,
                                          .checksum = CFDP_CHECKSUM_CRC32,
                                          .size = 1000,
                                          .source_name = text("a.bin"),
                                          .destination_name = text("b/c.bin"),
                                          .options = slice_of(room, writer_len(&w))};
    assert_pdu(&p, "20002513000100000007 1234 0743 000003e8 05612e62696e 07622f632e62696e"
                   "0005 20 0178 0179 0401a3 0205 68656c6c6f");
    p = pdu_of(CFDP_PDU_METADATA);
    p.head.large = p.head.crc = p.head.unacknowledged = true;
    p.u.metadata =
        (struct cfdp_metadata){.checksum = CFDP_CHECKSUM_NULL, .size = UINT64_C(5) << 32};
    assert_pdu(&p, "27000e13000100000007 1234 070f 0000000500000000 0000 7a92");
}
END_TEST

START_TEST(end_of_file)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_EOF);
    p.head.crc = true;
    p.u.eof = (struct cfdp_eof){.checksum = 0x01020304, .size = 1000};
    assert_pdu(&p, "22000c130001000000071234 0400 01020304 000003e8 a647");
    p.head.crc = false;
    p.u.eof.condition = CFDP_CANCEL;
    p.u.eof.has_fault_at = true;
    p.u.eof.fault_at = 1;
    uint8_t out[64];
    /* our entity id has the least octets, spacepackets' two: both are read */
    ck_assert_uint_gt(cfdp_pdu_write(&p, out, sizeof out), 0);
    p = parse_hex("20000e130001000000071234 04f0 01020304 000003e8 06020001");
    ck_assert(p.u.eof.has_fault_at && p.u.eof.fault_at == 1);
    ck_assert_uint_eq(p.u.eof.condition, CFDP_CANCEL);
}
END_TEST

START_TEST(finished)
{
    uint8_t room[64];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_response gone = {
        .action = CFDP_DELETE_FILE, .status = 15, .first = text("gone")};
    struct cfdp_pdu p = pdu_of(CFDP_PDU_FINISHED);
    p.head.toward_sender = true;
    p.u.finished = (struct cfdp_finished){.status = CFDP_FILE_RETAINED};
    assert_pdu(&p, "28000213000100000007 1234 0502");
    cfdp_response_write(&w, &gone);
    p.u.finished = (struct cfdp_finished){.condition = CFDP_FILESTORE,
                                          .incomplete = true,
                                          .status = CFDP_FILE_REJECTED,
                                          .responses = slice_of(room, writer_len(&w)),
                                          .fault_at = 0x1234,
                                          .has_fault_at = true};
    uint8_t out[64];
    assert_hex(out, cfdp_pdu_write(&p, out, sizeof out),
               "28000f13000100000007 1234 0545 0107 1f 04676f6e65 00 06021234");
    p = parse_hex("28000f13000100000007 1234 0545 0107 1f 04676f6e65 00 06021234");
    ck_assert_uint_eq(p.u.finished.responses.len, 9);
    ck_assert_uint_eq(p.u.finished.fault_at, 0x1234);
    ck_assert_int_eq(result_of("28000a13000100000007 1234 0545 0107 1f 04676f6e65"), CFDP_PDU_TLV);
}
END_TEST

START_TEST(acknowledgements)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_ACK);
    p.u.ack = (struct cfdp_ack){CFDP_PDU_FINISHED, CFDP_CHECK_LIMIT, CFDP_STATUS_TERMINATED};
    assert_pdu(&p, "20000313000100000007 1234 0651a2");
    p.head.toward_sender = true;
    p.u.ack = (struct cfdp_ack){CFDP_PDU_EOF, CFDP_NO_ERROR, CFDP_STATUS_ACTIVE};
    assert_pdu(&p, "28000313000100000007 1234 064001");
    ck_assert_int_eq(result_of("28000313000100000007 1234 067001"), CFDP_PDU_FIELD);
    /* the subtype of NASA's CF before 7 */
    ck_assert_int_eq(result_of("28000313000100000007 1234 064101"), CFDP_PDU_OK);
}
END_TEST

START_TEST(negative_acknowledgements)
{
    uint8_t requests[64];
    const size_t n = read_hex("0000000000000000 0000000a00000014 000001f4000003e8", requests);
    uint64_t lo, hi;
    struct cfdp_pdu p = pdu_of(CFDP_PDU_NAK);
    p.head.toward_sender = true;
    p.u.nak = (struct cfdp_nak){.hi = 1000, .requests = slice_of(requests, n)};
    uint8_t out[64];
    assert_hex(out, cfdp_pdu_write(&p, out, sizeof out),
               "28002113000100000007 1234 08 00000000 000003e8 0000000000000000 0000000a00000014"
               "000001f4000003e8");
    p = parse_hex("29002113000100000007 1234 08 0000000000000000 0000000600000000"
                  "0000000500000000 0000000600000000");
    struct slice rest = p.u.nak.requests;
    ck_assert(cfdp_nak_next(&p.head, &rest, &lo, &hi));
    ck_assert_uint_eq(lo, UINT64_C(5) << 32);
    ck_assert_uint_eq(hi, UINT64_C(6) << 32);
    ck_assert(!cfdp_nak_next(&p.head, &rest, &lo, &hi));
    /* a scope, or a request, that ends before it begins; half a request */
    ck_assert_int_eq(result_of("28000913000100000007 1234 08 00000002 00000001"), CFDP_PDU_FIELD);
    ck_assert_int_eq(result_of("28001113000100000007 1234 08 00000000 00000009 0000000800000007"),
                     CFDP_PDU_FIELD);
    ck_assert_int_eq(result_of("28000d13000100000007 1234 08 00000000 00000009 00000008"),
                     CFDP_PDU_SHORT);
}
END_TEST

START_TEST(prompt_and_keep_alive)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_PROMPT);
    p.u.prompt_keep_alive = true;
    assert_pdu(&p, "20000213000100000007 1234 0980");
    p = pdu_of(CFDP_PDU_KEEP_ALIVE);
    p.head.toward_sender = true;
    p.u.progress = 512;
    assert_pdu(&p, "28000513000100000007 1234 0c00000200");
}
END_TEST

START_TEST(file_data)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_FILE_DATA);
    p.u.data = (struct cfdp_data){.offset = 100, .octets = text("abcdef")};
    uint8_t out[64];
    assert_hex(out, cfdp_pdu_write(&p, out, sizeof out),
               "30000a13000100000007 1234 00000064 616263646566");
    p.head.crc = p.head.has_metadata = true;
    p.u.data.continuation = 3;
    p.u.data.metadata = text("\xaa\xbb");
    assert_pdu(&p, "32000f1b000100000007 1234 c2aabb 00000064 616263646566 e7ec");
    ck_assert_int_eq(result_of("32000f1b000100000007 1234 c2aabb 00000064 616263646567 e7ec"),
                     CFDP_PDU_CRC);
}
END_TEST

START_TEST(refused)
{
    ck_assert_int_eq(result_of("40000213000100000007 1234 0980"), CFDP_PDU_VERSION);
    ck_assert_int_eq(result_of("20000313000100000007 1234 0980"), CFDP_PDU_LENGTH);
    ck_assert_int_eq(result_of("20000213000100000007 1234 0a80"), CFDP_PDU_KIND);
    ck_assert_int_eq(result_of("20000313000100000007 1234 098000"), CFDP_PDU_FIELD);
    ck_assert_int_eq(result_of("22000113000100000007 1234 09"), CFDP_PDU_SHORT);
    ck_assert_int_eq(result_of("20000a13000100000007 1234 0700 00000000 0000 00 05"), CFDP_PDU_TLV);
    for (unsigned r = 0; r <= CFDP_PDU_RESULT_COUNT; r++)
        ck_assert_uint_gt(strlen(cfdp_pdu_result_text((enum cfdp_pdu_result)r)), 0);
}
END_TEST

static void assert_message(const struct cfdp_message *m, const char *want)
{
    uint8_t out[300], again[300];
    struct writer w = writer_of(out, sizeof out), v = writer_of(again, sizeof again);
    struct cfdp_message back;
    struct cfdp_tlv tlv;
    cfdp_message_write(&w, m);
    ck_assert(!w.bad);
    if (want != NULL)
        assert_hex(out, writer_len(&w), want);
    struct slice rest = slice_of(out, writer_len(&w));
    ck_assert(cfdp_tlv_next(&rest, &tlv) && rest.len == 0);
    ck_assert_int_eq(cfdp_message_parse(tlv.value, &back), 1);
    cfdp_message_write(&v, &back);
    ck_assert_mem_eq(out, again, writer_len(&w));
    for (size_t cut = 4; cut < tlv.value.len; cut++)
        ck_assert_int_le(cfdp_message_parse(slice_of(tlv.value.data, cut), &back), 0);
}

START_TEST(messages)
{
    struct cfdp_message m = {
        .kind = CFDP_PROXY_PUT, .entity = 0x1234, .first = text("src"), .second = text("dst")};
    assert_message(&m, "0210 63666470 00 021234 03737263 03647374");
    m = (struct cfdp_message){.kind = CFDP_PROXY_PUT_RESPONSE,
                              .condition = CFDP_FILESTORE,
                              .flag = true,
                              .status = CFDP_FILE_UNREPORTED};
    assert_message(&m, "0206 63666470 07 47");
    m = (struct cfdp_message){.kind = CFDP_ORIGINATING_ID, .id = {0x1234, 0x01020304}};
    assert_message(&m, "020c 63666470 0a 13 1234 01020304");
    m = (struct cfdp_message){
        .kind = CFDP_LISTING_REQUEST, .first = text("/dir"), .second = text("list.txt")};
    assert_message(&m, "0213 63666470 10 042f646972 086c6973742e747874");
    m.kind = CFDP_LISTING_RESPONSE;
    assert_message(&m, "0214 63666470 11 00 042f646972 086c6973742e747874");
    m = (struct cfdp_message){.kind = CFDP_PROXY_MODE, .flag = true};
    assert_message(&m, "0206 63666470 04 01");
    m = (struct cfdp_message){.kind = CFDP_PROXY_HANDLER, .condition = 8, .status = 3};
    assert_message(&m, "0206 63666470 03 83");
    m = (struct cfdp_message){.kind = CFDP_PROXY_MESSAGE, .first = text("hi")};
    assert_message(&m, "0208 63666470 01 026869");
    m = (struct cfdp_message){.kind = CFDP_PROXY_CANCEL};
    assert_message(&m, "0205 63666470 09");
    ck_assert_int_eq(cfdp_message_parse(text("hello"), &m), 0);
    ck_assert_int_eq(cfdp_message_parse(text("cfdp"), &m), HELIO_EFORMAT);
    ck_assert_int_eq(cfdp_message_parse(text("cfdp\x60"), &m), 0);
}
END_TEST

START_TEST(too_long)
{
    uint8_t out[600];
    char name[256];
    memset(name, 'n', sizeof name);
    struct writer w = writer_of(out, sizeof out);
    const struct cfdp_request q = {CFDP_RENAME_FILE, slice_of(name, 200), slice_of(name, 200)};
    cfdp_request_write(&w, &q);
    ck_assert(w.bad);
    w = writer_of(out, sizeof out);
    cfdp_lv_write(&w, slice_of(name, 256));
    ck_assert(w.bad);
}
END_TEST

START_TEST(texts)
{
    ck_assert_str_eq(cfdp_condition_text(15), "cancel request received");
    ck_assert_str_eq(cfdp_condition_text(12), "reserved");
    ck_assert_str_eq(cfdp_action_text(CFDP_APPEND_FILE), "append file");
    ck_assert_str_eq(cfdp_action_text(9), "reserved");
    ck_assert_str_eq(cfdp_pdu_text(CFDP_PDU_FILE_DATA), "File Data");
    ck_assert_str_eq(cfdp_pdu_text(0), "unknown");
}
END_TEST

SUITE(cfdp_pdu, t)
{
    tcase_add_test(t, metadata);
    tcase_add_test(t, end_of_file);
    tcase_add_test(t, finished);
    tcase_add_test(t, acknowledgements);
    tcase_add_test(t, negative_acknowledgements);
    tcase_add_test(t, prompt_and_keep_alive);
    tcase_add_test(t, file_data);
    tcase_add_test(t, refused);
    tcase_add_test(t, messages);
    tcase_add_test(t, too_long);
    tcase_add_test(t, texts);
}
