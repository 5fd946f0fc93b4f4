/* SPDX-License-Identifier: Apache-2.0 */
/* PDUs of the Cross Support Transfer Services: octets that asn1tools made from the framework's
 * ASN.1 (tests/interop/csts.asn1; csts_oracle_test.py compares many more), and back; what is
 * refused. */
#include "csts/extension.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"

static const struct sle_time noon = {.day = 0x6248, .ms = 0x0446c148, .ps = 0x03d9 * 1000000};

static struct csts_oid oid_of(const char *text)
{
    struct csts_oid o;
    ck_assert_msg(csts_oid_parse(text, &o), "%s", text);
    return o;
}

static struct csts_procedure procedure_of(enum csts_known type, enum csts_role role)
{
    return (struct csts_procedure){.type = csts_known_oid(type), .role = role, .number = 1};
}

static struct csts_name parameter_name(void)
{
    return (struct csts_name){.resource = oid_of("1.3.112.4.4.2.1.46"),
                              .instance = 2,
                              .id = oid_of("1.3.112.4.4.2.1.46.1.7")};
}

/* Written: these octets. Read: a PDU that writes them again, whole; no shorter piece of it can be
 * read, and no longer one. */
static void assert_pdu(const struct csts_pdu *pdu, const char *want)
{
    uint8_t out[4096], again[4096];
    struct csts_pdu back;
    const size_t n = csts_pdu_write(pdu, out, sizeof out);
    assert_hex(out, n, want);
    ck_assert_int_eq(csts_pdu_read(slice_of(out, n), &back), CSTS_PDU_OK);
    ck_assert_int_eq(back.kind, pdu->kind);
    ck_assert_uint_eq(back.invoke_id, pdu->invoke_id);
    ck_assert_uint_eq(csts_pdu_write(&back, again, sizeof again), n);
    ck_assert_mem_eq(out, again, n);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_ne(csts_pdu_read(slice_of(out, cut), &back), CSTS_PDU_OK);
    out[n] = 0;
    ck_assert_int_eq(csts_pdu_read(slice_of(out, n + 1), &back), CSTS_PDU_BAD);
    for (size_t room = 0; room < n; room++)
        ck_assert_uint_eq(csts_pdu_write(pdu, out, room), 0);
}

START_TEST(association)
{
    struct csts_pdu p = {.kind = CSTS_PDU_BIND,
                         .procedure = procedure_of(CSTS_ASSOCIATION_CONTROL, CSTS_ASSOCIATION)};
    p.u.bind = (struct csts_bind){.initiator = "MISSION",
                                  .port = "STATION-MD",
                                  .service = csts_known_oid(CSTS_MONITORED_DATA),
                                  .version = 1};
    p.u.bind.instance = (struct csts_instance_id){.spacecraft = oid_of("1.3.112.4.7.84"),
                                                  .facility = oid_of("1.3.112.4.6.9"),
                                                  .type = csts_known_oid(CSTS_MONITORED_DATA),
                                                  .number = 1};
    assert_pdu(&p, "a054 3013 8000 020100 300c 06082b70040401010301 8200"
                   "1a07 4d495353494f4e 1a0a 53544154494f4e2d4d44 0607 2b700404010201 020101"
                   "301a 06052b70040754 06052b70040609 06072b700404010201 020101 8100");
    uint8_t diag[64];
    p = (struct csts_pdu){.kind = CSTS_PDU_BIND_RETURN, .u.responder = "STATION"};
    p.credentials = slice_of("\0\1\2\3\4\5\6\7", 8);
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid = csts_known_oid(CSTS_BIND_DIAGNOSTIC);
    p.diagnostic.pdv.data = slice_of(
        diag, csts_bind_diag_write(CSTS_BIND_NO_INSTANCE, slice_of("none", 4), diag, sizeof diag));
    assert_pdu(&p, "a135 302a 81080001020304050607 020100 a11b bf6416 a00c 810a2b700404010103010201"
                   "8206 8404 6e6f6e65 8100 1a07 53544154494f4e");
    unsigned read;
    struct slice text;
    ck_assert(csts_bind_diag_read(p.diagnostic.pdv.data, &read, &text));
    ck_assert_str_eq(csts_bind_text(read), "no such service instance");
    p = (struct csts_pdu){.kind = CSTS_PDU_PEER_ABORT, .u.abort = CSTS_ABORT_PROTOCOL_ERROR};
    assert_pdu(&p, "a403 04012b");
}
END_TEST

START_TEST(cyclic_report)
{
    uint8_t option[32], items[64], start[256], values[64], parameters[256], report[256];
    const struct csts_name name = parameter_name();
    struct csts_pdu p = {.kind = CSTS_PDU_START,
                         .invoke_id = 7,
                         .procedure = procedure_of(CSTS_ON_CHANGE_CYCLIC_REPORT, CSTS_PRIME)};
    struct csts_cyclic_start s = {.cycle = 1000, .list.kind = CSTS_LIST_NAMES};
    s.list.items = slice_of(items, csts_names_write(&name, 1, items, sizeof items));
    s.extension.used = true;
    s.extension.pdv.oid = csts_known_oid(CSTS_ON_CHANGE_START);
    s.extension.pdv.data = slice_of(option, csts_on_change_write(true, option, sizeof option));
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_CYCLIC_START);
    p.extension.pdv.data = slice_of(start, csts_cyclic_start_write(&s, start, sizeof start));
    assert_pdu(&p, "aa65 3014 8000 020107 300d 06092b7004040102010301 8000 a04d"
                   "a00e 810c2b7004040101030201010201 823b 3039 020203e8 a11b"
                   "3019 a00c 06072b70040402012e 020102 06092b70040402012e0107"
                   "a016 a00b 81092b7004040102010201 8207 3005 0101ff 8100");
    const struct csts_value value[] = {
        {CSTS_VALID, {oid_of("1.3.112.4.4.2.1.46.1.7.1"), slice_of("\2\1\5", 3)}},
        {.state = CSTS_UNAVAILABLE}};
    struct csts_parameter one = {.name = name};
    one.values = slice_of(values, csts_values_write(value, 2, values, sizeof values));
    struct csts_report r = {0};
    r.parameters = slice_of(parameters, csts_parameter_write(&one, parameters, sizeof parameters));
    p = (struct csts_pdu){.kind = CSTS_PDU_TRANSFER_DATA,
                          .invoke_id = 9,
                          .procedure = procedure_of(CSTS_ON_CHANGE_CYCLIC_REPORT, CSTS_PRIME)};
    p.u.transfer = (struct csts_transfer){.generated = noon, .sequence = 1, .data.extended = true};
    p.u.transfer.data.pdv.oid = csts_known_oid(CSTS_CYCLIC_DATA);
    p.u.transfer.data.pdv.data = slice_of(report, csts_report_write(&r, report, sizeof report));
    assert_pdu(&p, "bf4675 3014 8000 020109 300d 06092b7004040102010301 8000 8008 62480446c14803d9"
                   "020101 a14e a00e 810c2b7004040101030201010203 823c 303a 3036 3034"
                   "3019 a00c 06072b70040402012e 020102 06092b70040402012e0107"
                   "3017 a013 a00c 810a2b70040402012e010701 8203020105 8100 8100 8100");
    ck_assert(csts_report_read(p.u.transfer.data.pdv.data, &r));
    struct csts_parameter back;
    struct csts_value first;
    ck_assert(csts_parameters_next(&r.parameters, &back));
    ck_assert(csts_name_same(&back.name, &name));
    ck_assert(csts_values_next(&back.values, &first));
    ck_assert_int_eq(first.state, CSTS_VALID);
    ck_assert_uint_eq(first.pdv.data.len, 3);
    ck_assert(csts_values_next(&back.values, &first) && first.state == CSTS_UNAVAILABLE);
    ck_assert(!csts_values_next(&back.values, &first));
}
END_TEST

START_TEST(query)
{
    uint8_t items[128], diag[256];
    struct csts_pdu p = {.kind = CSTS_PDU_GET,
                         .invoke_id = 8,
                         .procedure = procedure_of(CSTS_INFORMATION_QUERY, CSTS_SECONDARY)};
    p.u.list = (struct csts_list){
        .kind = CSTS_LIST_RESOURCE, .oid = oid_of("1.3.112.4.4.2.1.46"), .instance = 2};
    assert_pdu(&p, "bf2826 3014 8000 020108 300d 06082b70040401010305 810101"
                   "a40c 06072b70040402012e 020102 8100");
    const struct csts_name name = parameter_name(), label = {.id = oid_of("1.3.112.9")};
    struct csts_refusal r = {.kind = CSTS_REFUSED_LIST, .list.kind = CSTS_UNKNOWN_IDENTIFIER};
    size_t n = csts_unknown_write(&label, true, items, sizeof items);
    n += csts_unknown_write(&name, false, items + n, sizeof items - n);
    r.list.items = slice_of(items, n);
    p = (struct csts_pdu){.kind = CSTS_PDU_GET_RETURN, .invoke_id = 8};
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid = csts_known_oid(CSTS_GET_DIAGNOSTIC);
    p.diagnostic.pdv.data =
        slice_of(diag, csts_refusal_write(&r, CSTS_GET_DIAGNOSTIC, diag, sizeof diag));
    assert_pdu(&p, "bf293f 8000 020108 a138 bf6433 a00b 81092b7004040101020e02 8224 a022 a220"
                   "80032b7009 a119 a00c 06072b70040402012e 020102 06092b70040402012e0107 8100");
    r = (struct csts_refusal){.kind = CSTS_REFUSED_RANGE, .text = slice_of("too short", 9)};
    p = (struct csts_pdu){.kind = CSTS_PDU_START_RETURN, .invoke_id = 7};
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid = csts_known_oid(CSTS_START_DIAGNOSTIC);
    p.diagnostic.pdv.data =
        slice_of(diag, csts_refusal_write(&r, CSTS_CYCLIC_START_DIAGNOSTIC, diag, sizeof diag));
    assert_pdu(&p, "ab3b 8000 020107 a134 bf642f a00b 81092b70040401010207 01 8220 bf641d"
                   "a00e 810c2b7004040101030201010202 820b 8109 746f6f2073686f7274 8100");
    ck_assert(csts_refusal_read(&p.diagnostic.pdv, &r));
    ck_assert_int_eq(r.kind, CSTS_REFUSED_RANGE);
}
END_TEST

START_TEST(processing)
{
    uint8_t extension[128], elements[512];
    struct csts_pdu p = {.kind = CSTS_PDU_PROCESS_DATA,
                         .invoke_id = 12,
                         .procedure = procedure_of(CSTS_BUFFERED_DATA_PROCESSING, CSTS_PRIME)};
    p.u.process = (struct csts_process){.id = 5, .data.opaque = slice_of("frame", 5)};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESS_DATA);
    p.extension.pdv.data =
        slice_of(extension, csts_process_ext_write(true, extension, sizeof extension));
    size_t n = csts_element_write(&p, CSTS_PDU_FORWARD_BUFFER, elements, sizeof elements);
    n += csts_element_write(&p, CSTS_PDU_FORWARD_BUFFER, elements + n, sizeof elements - n);
    struct csts_pdu b = {.kind = CSTS_PDU_FORWARD_BUFFER, .u.buffer = slice_of(elements, n)};
#define ONE                                                                                        \
    "3039 3015 8000 02010c 300e 060a2b700404010103040101 8000 020105 8005 6672616d65 a016"         \
    "a00c 810a2b700404010103040201 8206 3004 8100 8100"
    assert_pdu(&b, "bf3e76" ONE ONE);
    struct csts_pdu one;
    ck_assert_int_eq(csts_buffer_next(b.kind, &b.u.buffer, &one), CSTS_PDU_OK);
    ck_assert_uint_eq(one.u.process.id, 5);
    ck_assert_int_eq(csts_buffer_next(b.kind, &b.u.buffer, &one), CSTS_PDU_OK);
    ck_assert_int_eq(csts_buffer_next(b.kind, &b.u.buffer, &one), CSTS_PDU_UNKNOWN);
    const struct csts_processing done = {.any = true,
                                         .last = 5,
                                         .status = CSTS_PROCESSED,
                                         .started = noon,
                                         .any_ok = true,
                                         .last_ok = 5,
                                         .stopped = noon,
                                         .production = CSTS_OPERATIONAL};
    p = (struct csts_pdu){.kind = CSTS_PDU_NOTIFY,
                          .invoke_id = 13,
                          .procedure = procedure_of(CSTS_BUFFERED_DATA_PROCESSING, CSTS_PRIME)};
    p.u.notify = (struct csts_notify){.at = noon, .kind = CSTS_EVENT_EMPTY};
    p.u.notify.event = (struct csts_name){
        .is_procedure = true, .procedure = p.procedure, .id = oid_of("1.3.112.4.4.1.1.4.4.2.1")};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESSING_NOTIFY);
    p.extension.pdv.data =
        slice_of(extension, csts_processing_write(&done, extension, sizeof extension));
    assert_pdu(&p,
               "bf327a 3015 8000 02010d 300e 060a2b700404010103040101 8000 8008 62480446c14803d9"
               "301c a10e 060a2b700404010103040101 8000 060a2b70040401010404 0201 8100 a037"
               "a00c 810a2b700404010103040202 8227 3025 a10f 020105 a00a 8008 62480446c14803d9"
               "a10d 020105 8008 62480446c14803d9 810101 8100");
}
END_TEST

START_TEST(identifiers)
{
    static const char *const good[] = {
        "0.0", "1.39.4", "2.5", "2.999.1", "1.3.112.4.4.1.2.1", "2.4294967295.4294967295"};
    static const char *const bad[] = {
        "", "1", "3.1", "1.40", "1.3.", "1..3", "1.3x", "1.3.04", "1.3.99999999999", ".1.3"};
    char text[CSTS_OID_TEXT];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct csts_oid o = oid_of(good[i]);
        ck_assert(csts_oid_text(&o, text));
        ck_assert_str_eq(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct csts_oid o;
        ck_assert_msg(!csts_oid_parse(bad[i], &o), "%s", bad[i]);
    }
    /* An arc that does not end, one that begins with a zero, one that is too long. */
    static const struct csts_oid broken[] = {{2, {0x2b, 0x80}},
                                             {3, {0x2b, 0x80, 0x01}},
                                             {11, "\x2b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
                                             {0, {0}}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        ck_assert(!csts_oid_text(&broken[i], text));
    /* No longer than its room. */
    char longest[2 * CSTS_OID_OCTETS + 4] = "1.3";
    for (unsigned i = 1; i < CSTS_OID_OCTETS; i++)
        strcat(longest, ".1");
    struct csts_oid o = oid_of(longest);
    ck_assert_uint_eq(o.len, CSTS_OID_OCTETS);
    strcat(longest, ".1");
    ck_assert(!csts_oid_parse(longest, &o));
}
END_TEST

/* Octets of an independent compiler (asn1tools). */
START_TEST(directive)
{
    static const uint8_t five[] = {2, 1, 5};
    uint8_t octets[64];
    struct slice names;
    unsigned diag;
    struct csts_pdu p = {.kind = CSTS_PDU_EXECUTE_DIRECTIVE,
                         .invoke_id = 14,
                         .procedure = procedure_of(CSTS_SEQUENCE_CONTROLLED, CSTS_PRIME)};
    p.u.directive = (struct csts_directive){
        .id = csts_known_oid(CSTS_SEQUENCE_RESET),
        .kind = CSTS_QUALIFIER_VALUE,
        .pdv = {csts_known_oid(CSTS_SEQUENCE_UNIT_ID), slice_of(five, sizeof five)}};
    assert_pdu(&p, "be3c 3015 8000 02010e 300e 060a2b700404010103040102 8000"
                   "060a2b700404010104060301 a015 a113 a00c 810a2b700404010104060101 8203 020105"
                   "8100");
    p = (struct csts_pdu){.kind = CSTS_PDU_DIRECTIVE_ACKNOWLEDGE, .invoke_id = 14};
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid = csts_known_oid(CSTS_DIRECTIVE_DIAGNOSTIC);
    p.diagnostic.pdv.data =
        slice_of(octets, csts_directive_diag_write(CSTS_DIRECTIVE_QUALIFIER, slice_of(NULL, 0),
                                                   octets, sizeof octets));
    ck_assert(csts_directive_diag_read(p.diagnostic.pdv.data, &diag, &names));
    ck_assert_uint_eq(diag, CSTS_DIRECTIVE_QUALIFIER);
    assert_pdu(&p, "bf1f1d 8000 02010e a116 bf6411 a00b 81092b7004040101020b01 8202 8100 8100");
    p = (struct csts_pdu){.kind = CSTS_PDU_DIRECTIVE_RETURN, .invoke_id = 14, .positive = true};
    assert_pdu(&p, "bf2009 8000 02010e a002 8100");
}
END_TEST

START_TEST(sequence_controlled)
{
    uint8_t octets[128];
    const struct csts_window w = {.latest = {true, {.day = 0x6249}}};
    struct csts_window back;
    bool report = false;
    struct csts_pdu p = {.kind = CSTS_PDU_PROCESS_DATA,
                         .invoke_id = 14,
                         .procedure = procedure_of(CSTS_SEQUENCE_CONTROLLED, CSTS_PRIME)};
    p.u.process = (struct csts_process){.id = 5, .data.opaque = slice_of("frame", 5)};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESS_DATA);
    p.extension.pdv.data =
        slice_of(octets, csts_sequence_ext_write(true, &w, octets, sizeof octets));
    ck_assert(csts_sequence_ext_read(p.extension.pdv.data, &report, &back));
    ck_assert(report && !back.earliest.known && back.latest.known);
    ck_assert_int_eq(sle_time_compare(back.latest.at, w.latest.at), 0);
    assert_pdu(&p, "bf3c5d 3015 8000 02010e 300e 060a2b700404010103040102 8000 020105"
                   "8005 6672616d65 a03a a00c 810a2b700404010103040201 822a 3028 8100 a024"
                   "a00e 810c2b7004040101030401020202 8212 3010 8000 a10a 80086249000000000000"
                   "8100");
}
END_TEST

START_TEST(buffered_delivery)
{
    uint8_t octets[128];
    const struct csts_window w = {.earliest = {true, {.day = 0x6249}}};
    struct csts_window back;
    const struct csts_refusal r = {.kind = CSTS_REFUSED_INCONSISTENT_TIMES,
                                   .text = slice_of("turned", 6)};
    struct csts_refusal told;
    const struct csts_procedure own = procedure_of(CSTS_BUFFERED_DATA_DELIVERY, CSTS_PRIME);
    struct csts_pdu p = {.kind = CSTS_PDU_START, .invoke_id = 14, .procedure = own};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_DELIVERY_START);
    p.extension.pdv.data = slice_of(octets, csts_window_write(&w, octets, sizeof octets));
    ck_assert(csts_window_read(p.extension.pdv.data, &back));
    ck_assert(back.earliest.known && !back.latest.known && back.earliest.at.day == 0x6249);
    assert_pdu(&p, "aa39 3013 8000 02010e 300c 06082b70040401010303 8000"
                   "a022 a00c 810a2b70040401010303 0201 8212 3010 a10a 80086249000000000000 8000"
                   "8100");
    p = (struct csts_pdu){.kind = CSTS_PDU_START_RETURN, .invoke_id = 14};
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid = csts_known_oid(CSTS_START_DIAGNOSTIC);
    p.diagnostic.pdv.data = slice_of(
        octets, csts_refusal_write(&r, CSTS_DELIVERY_START_DIAGNOSTIC, octets, sizeof octets));
    ck_assert(csts_refusal_read(&p.diagnostic.pdv, &told) && told.kind == r.kind);
    ck_assert(slice_equal(told.text, r.text));
    assert_pdu(&p, "ab36 8000 02010e a12f bf642a a00b 81092b70040401010207 01 821b"
                   "bf6418 a00c 810a2b70040401010303 0202 8208 84067475726e6564 8100");
}
END_TEST

START_TEST(return_buffer)
{
    uint8_t octets[256];
    const struct csts_procedure own = procedure_of(CSTS_BUFFERED_DATA_DELIVERY, CSTS_PRIME);
    struct csts_pdu p = {.kind = CSTS_PDU_TRANSFER_DATA, .invoke_id = 14, .procedure = own};
    p.u.transfer =
        (struct csts_transfer){{.day = 0x6249}, .sequence = 3, .data.opaque = slice_of("frame", 5)};
    size_t n = csts_element_write(&p, CSTS_PDU_RETURN_BUFFER, octets, sizeof octets);
    p = (struct csts_pdu){.kind = CSTS_PDU_NOTIFY, .invoke_id = 14, .procedure = own};
    p.u.notify.at.day = 0x6249;
    p.u.notify.event = (struct csts_name){
        .is_procedure = true, .procedure = own, .id = csts_known_oid(CSTS_DELIVERY_END)};
    p.u.notify.kind = CSTS_EVENT_EMPTY;
    n += csts_element_write(&p, CSTS_PDU_RETURN_BUFFER, octets + n, sizeof octets - n);
    p = (struct csts_pdu){.kind = CSTS_PDU_RETURN_BUFFER, .u.buffer = slice_of(octets, n)};
    assert_pdu(&p, "bf476e a02b 3013 8000 02010e 300c 06082b70040401010303 8000"
                   "80086249000000000000 020103 80056672616d65 8100"
                   "a13f 3013 8000 02010e 300c 06082b70040401010303 8000 80086249000000000000"
                   "301a a10c 06082b70040401010303 8000 060a2b70040401010403 0203 8100 8100");
    struct slice rest = p.u.buffer;
    ck_assert_int_eq(csts_buffer_next(CSTS_PDU_RETURN_BUFFER, &rest, &p), CSTS_PDU_OK);
    ck_assert(p.kind == CSTS_PDU_TRANSFER_DATA && p.u.transfer.sequence == 3);
    ck_assert_int_eq(csts_buffer_next(CSTS_PDU_RETURN_BUFFER, &rest, &p), CSTS_PDU_OK);
    ck_assert(p.kind == CSTS_PDU_NOTIFY && csts_oid_is(&p.u.notify.event.id, CSTS_DELIVERY_END));
    ck_assert_int_eq(csts_buffer_next(CSTS_PDU_RETURN_BUFFER, &rest, &p), CSTS_PDU_UNKNOWN);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        enum csts_pdu_verdict verdict;
        const char *octets;
    } rows[] = {
        {CSTS_PDU_UNKNOWN, ""},
        {CSTS_PDU_UNKNOWN, "bf2100"},                    /* [33] */
        {CSTS_PDU_BAD, "be00"},                          /* EXECUTE-DIRECTIVE, empty */
        {CSTS_PDU_UNKNOWN, "3000"},                      /* no PDU */
        {CSTS_PDU_BAD, "a480 04012b 0000"},              /* indefinite length */
        {CSTS_PDU_BAD, "a404 04022b2b"},                 /* two octets of a diagnostic */
        {CSTS_PDU_BAD, "a309 8000 020100 a003 8101 00"}, /* NULL with content */
        {CSTS_PDU_BAD, "a30a 8000 0205 0100000000 a0"},  /* an invoke id beyond 32 bits */
        /* STOP of a secondary procedure with number 0 */
        {CSTS_PDU_BAD, "b418 3014 8000 02010b 300d 06082b70040401020103 810100 8100"},
        /* STOP whose credentials have 7 octets */
        {CSTS_PDU_BAD, "b41e 301a 810700000000000000 02010b 300c 06082b70040401020103 8000 8100"},
    };
    uint8_t octets[256];
    struct csts_pdu p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = read_hex(rows[i].octets, octets);
        ck_assert_msg(csts_pdu_read(slice_of(octets, n), &p) == rows[i].verdict, "row %zu", i);
    }
    /* What is beside these rows is right: the last but one with number 1. */
    size_t n = read_hex("b418 3014 8000 02010b 300d 06082b70040401020103 810101 8100", octets);
    ck_assert_int_eq(csts_pdu_read(slice_of(octets, n), &p), CSTS_PDU_OK);
}
END_TEST

SUITE(csts_pdu, t)
{
    tcase_add_test(t, association);
    tcase_add_test(t, cyclic_report);
    tcase_add_test(t, directive);
    tcase_add_test(t, sequence_controlled);
    tcase_add_test(t, buffered_delivery);
    tcase_add_test(t, return_buffer);
    tcase_add_test(t, query);
    tcase_add_test(t, processing);
    tcase_add_test(t, identifiers);
    tcase_add_test(t, refused);
}
