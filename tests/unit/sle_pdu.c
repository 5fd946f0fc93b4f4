/* SPDX-License-Identifier: Apache-2.0 */
/* PDUs: octets as they were captured or follow from the books' ASN.1, and back; what is refused. */
#include "base/rng.h"
#include "sle/frame_head.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"

static const struct sle_dialect raf_user = {SLE_RAF, SLE_FROM_USER, 4, false};
static const struct sle_dialect raf_provider = {SLE_RAF, SLE_FROM_PROVIDER, 4, false};
static const struct sle_dialect rcf5 = {SLE_RCF, SLE_FROM_PROVIDER, 5, false};
static const struct sle_dialect rocf_user = {SLE_ROCF, SLE_FROM_USER, 5, false};
static const struct sle_dialect cltu_user = {SLE_FCLTU, SLE_FROM_USER, 5, false};
static const struct sle_dialect cltu_provider = {SLE_FCLTU, SLE_FROM_PROVIDER, 5, false};

static const struct sle_time noon = {.day = 0x6248, .ms = 0x0446c148, .ps = 0x03d9 * 1000000};
static const struct sle_when known = {true,
                                      {.day = 0x6248, .ms = 0x0446c148, .ps = 0x03d9 * 1000000}};
#define NOON "62480446c14803d9"

/* Written: these octets. Read: a PDU that writes them again, whole; no shorter piece of it can be
 * read. */
static void assert_pdu(const struct sle_dialect *d, const struct sle_pdu *pdu, const char *want)
{
    uint8_t out[4096], again[4096];
    size_t n = sle_pdu_write(d, pdu, out, sizeof out, NULL);
    struct sle_pdu back;
    assert_hex(out, n, want);
    ck_assert_int_eq(sle_pdu_read(d, slice_of(out, n), &back), SLE_PDU_OK);
    ck_assert_int_eq(back.kind, pdu->kind);
    ck_assert_uint_eq(back.invoke_id, pdu->invoke_id);
    ck_assert_uint_eq(back.diag, pdu->diag);
    if (back.kind == SLE_PDU_GET_RETURN && back.u.value.gvcid_set.len > 0)
        back.u.value.gvcids = pdu->u.value.gvcids;
    ck_assert_uint_eq(sle_pdu_write(d, &back, again, sizeof again, NULL), n);
    ck_assert_mem_eq(out, again, n);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_ne(sle_pdu_read(d, slice_of(out, cut), &back), SLE_PDU_OK);
    ck_assert_uint_eq(sle_pdu_write(d, pdu, out, n - 1, NULL), 0);
}

START_TEST(bind)
{
    struct sle_pdu p = {.kind = SLE_PDU_BIND};
    p.u.bind = (struct sle_bind){
        .initiator = "TEST-USER", .port = "TESTPORT", .service = SLE_RAF, .version = 4};
    ck_assert_int_eq(sle_siid_parse("sagr=SAGR.spack=SPACK.rsl-fg=RSL-FG.raf=onlc1",
                                    &p.u.bind.instance, NULL, NULL),
                     0);
    assert_pdu(&raf_user, &p,
               "bf64 6f 8000 1a09 544553542d55534552 1a08 54455354504f5254 020100 020104"
               "3050"
               "3111 300f 0607 2b700403010234 1a04 53414752"
               "3112 3010 0607 2b700403010235 1a05 535041434b"
               "3113 3011 0607 2b700403010226 1a06 52534c2d4647"
               "3112 3010 0607 2b700403010216 1a05 6f6e6c6331");
    p = (struct sle_pdu){.kind = SLE_PDU_BIND_RETURN};
    p.u.bind_return =
        (struct sle_bind_return){.responder = "TEST-PROVIDER", .positive = true, .version = 4};
    assert_pdu(&raf_provider, &p, "bf65 14 8000 1a0d 544553542d50524f5649444552 800104");
    p.u.bind_return.positive = false;
    p.u.bind_return.diagnostic = SLE_BIND_NO_INSTANCE;
    assert_pdu(&raf_provider, &p, "bf65 14 8000 1a0d 544553542d50524f5649444552 810103");
    p = (struct sle_pdu){.kind = SLE_PDU_UNBIND, .u.unbind = SLE_UNBIND_OTHER};
    assert_pdu(&raf_user, &p, "bf66 05 8000 02017f");
    p = (struct sle_pdu){.kind = SLE_PDU_UNBIND_RETURN};
    assert_pdu(&raf_provider, &p, "bf67 04 8000 8000");
    p = (struct sle_pdu){.kind = SLE_PDU_PEER_ABORT, .u.abort = SLE_ABORT_OTHER};
    assert_pdu(&raf_user, &p, "9f68 01 7f");
}
END_TEST

START_TEST(starts)
{
    struct sle_pdu p = {.kind = SLE_PDU_START, .invoke_id = 65518};
    p.u.start.quality = SLE_ALL_FRAMES;
    assert_pdu(&raf_user, &p, "a0 0e 8000 020300ffee 8000 8000 020102");
    p.u.start.start = known;
    assert_pdu(&raf_user, &p, "a0 18 8000 020300ffee a10a 8008" NOON "8000 020102");
    p = (struct sle_pdu){.kind = SLE_PDU_START, .invoke_id = 1};
    p.u.start.gvcid = (struct sle_gvcid){.scid = 0xab, .version = 1, .vcid = 5};
    struct sle_dialect rcf_user = {SLE_RCF, SLE_FROM_USER, 4, false};
    assert_pdu(&rcf_user, &p, "a0 15 8000 020101 8000 8000 300a 020200ab 020101 810105");
    p.u.start.gvcid.vcid = SLE_MASTER;
    assert_pdu(&rcf_user, &p, "a0 14 8000 020101 8000 8000 3009 020200ab 020101 8000");
    p.u.start.gvcid = (struct sle_gvcid){.scid = 40000, .version = 12, .vcid = 5}; /* USLP */
    assert_pdu(&rcf_user, &p, "a0 16 8000 020101 8000 8000 300b 0203009c40 02010c 810105");
    p.u.start.gvcid = (struct sle_gvcid){.scid = 0xab, .version = 1, .vcid = SLE_MASTER};
    p.u.start.word = SLE_CLCW;
    p.u.start.tc_vcid = 7;
    p.u.start.update = SLE_CHANGE_BASED;
    assert_pdu(&rocf_user, &p,
               "a0 1c 8000 020101 8000 8000 3009 020200ab 020101 8000 a103 810107 020101");
    p.u.start.tc_vcid = SLE_TC_VC_NONE;
    assert_pdu(&rocf_user, &p,
               "a0 1b 8000 020101 8000 8000 3009 020200ab 020101 8000 a102 8000 020101");
    p.u.start.word = SLE_NOT_CLCW;
    assert_pdu(&rocf_user, &p, "a0 19 8000 020101 8000 8000 3009 020200ab 020101 8000 8200 020101");
    p = (struct sle_pdu){.kind = SLE_PDU_START, .invoke_id = 1, .u.start.first_cltu = 200};
    assert_pdu(&cltu_user, &p, "a0 09 8000 020101 020200c8");
}
END_TEST

START_TEST(returns)
{
    struct sle_pdu p = {.kind = SLE_PDU_START_RETURN, .invoke_id = 1};
    assert_pdu(&raf_provider, &p, "a1 07 8000 020101 8000");
    p.diag = SLE_OTHER_REASON; /* as the reference answers a stop time before the start time */
    assert_pdu(&raf_provider, &p, "a10a 8000 020101 a103 80017f");
    p.diag = SLE_START_INVALID_GVCID;
    assert_pdu(&rcf5, &p, "a10a 8000 020101 a103 810105");
    p = (struct sle_pdu){
        .kind = SLE_PDU_START_RETURN, .invoke_id = 1, .u.start_return = {noon, {false, noon}}};
    assert_pdu(&cltu_provider, &p, "a1 13 8000 020101 a00c 8008" NOON "8000");
    p = (struct sle_pdu){.kind = SLE_PDU_STOP, .invoke_id = 2};
    assert_pdu(&raf_user, &p, "a2 05 8000 020102");
    p = (struct sle_pdu){.kind = SLE_PDU_STOP_RETURN, .invoke_id = 2, .diag = SLE_OTHER_REASON};
    assert_pdu(&raf_provider, &p, "a3 08 8000 020102 81017f");
    p = (struct sle_pdu){
        .kind = SLE_PDU_SCHEDULE, .invoke_id = 2, .u.schedule = {SLE_REPORT_PERIODIC, 600}};
    assert_pdu(&raf_user, &p, "a4 09 8000 020102 81020258");
    p.u.schedule.report = SLE_REPORT_STOP;
    assert_pdu(&raf_user, &p, "a4 07 8000 020102 8200");
    p = (struct sle_pdu){
        .kind = SLE_PDU_SCHEDULE_RETURN, .invoke_id = 2, .diag = SLE_REPORT_INVALID_CYCLE};
    assert_pdu(&raf_provider, &p, "a5 0a 8000 020102 a103 810102");
    p = (struct sle_pdu){
        .kind = SLE_PDU_GET, .invoke_id = 3, .u.parameter = SLE_PAR_PERMITTED_QUALITY};
    assert_pdu(&raf_user, &p, "a6 09 8000 020103 0202012e");
    p = (struct sle_pdu){.kind = SLE_PDU_STATUS};
    p.u.status = (struct sle_status){
        .good = 1, .delivered = 300, .locks = {0, 1, 2, 3}, .production = SLE_INTERRUPTED};
    assert_pdu(&raf_provider, &p, "a9 18 8000 020101 0202012c 020100 020101 020102 020103 020101");
}
END_TEST

START_TEST(cltus)
{
    static const uint8_t data[] = {0xeb, 0x90, 0xc5};
    struct sle_pdu p = {.kind = SLE_PDU_CLTU, .invoke_id = 3};
    p.u.cltu = (struct sle_cltu){
        .id = 1, .latest = known, .delay_us = 1000, .notify = true, .data = slice_of(data, 3)};
    assert_pdu(&cltu_user, &p,
               "aa 22 8000 020103 020101 8000 a10a 8008" NOON "020203e8 020100 0403eb90c5");
    p.u.cltu.notify = false;
    assert_pdu(&cltu_user, &p,
               "aa 22 8000 020103 020101 8000 a10a 8008" NOON "020203e8 020101 0403eb90c5");
    p = (struct sle_pdu){
        .kind = SLE_PDU_CLTU_RETURN, .invoke_id = 3, .diag = SLE_CLTU_OUT_OF_SEQUENCE};
    p.u.cltu_return = (struct sle_cltu_return){.next_id = 2, .buffer_available = UINT32_MAX};
    assert_pdu(&cltu_provider, &p, "ab 14 8000 020103 020102 020500ffffffff a103 810102");
    p = (struct sle_pdu){.kind = SLE_PDU_EVENT, .invoke_id = 4};
    p.u.event = (struct sle_event){.invocation = 1, .event = 300, .qualifier = slice_of(data, 1)};
    assert_pdu(&cltu_user, &p, "a8 0f 8000 020104 020101 0202012c 0401eb");
    p = (struct sle_pdu){
        .kind = SLE_PDU_EVENT_RETURN, .invoke_id = 4, .u.event_return.next_invocation = 2};
    assert_pdu(&cltu_provider, &p, "a9 0a 8000 020104 020102 8000");
    p = (struct sle_pdu){.kind = SLE_PDU_NOTIFY};
    p.u.async = (struct sle_async){.notification = SLE_ASYNC_RADIATED,
                                   .last_processed = {true, 7, known, SLE_CLTU_STARTED},
                                   .last_ok = {true, 7, noon},
                                   .uplink = SLE_NOMINAL};
    assert_pdu(&cltu_provider, &p,
               "ac 2d 8000 8000 a112 020107 a10a8008" NOON "020104 a10d 020107 8008" NOON
               "020100 020103");
    p.u.async = (struct sle_async){
        .notification = SLE_ASYNC_ACTIONS_NOT_DONE, .invocation = 9, .production = 3};
    assert_pdu(&cltu_provider, &p, "ac 0f 8000 870109 8000 8000 020103 020100");
    p = (struct sle_pdu){.kind = SLE_PDU_STATUS};
    p.u.status = (struct sle_status){
        .received = 1, .processed = 2, .radiated = 3, .buffer_available = 70000};
    assert_pdu(&cltu_provider, &p,
               "ad 1a 8000 8000 8000 020100 020100 020101 020102 020103 0203011170");
}
END_TEST

/* The return with this value, in this service and version. */
static void assert_value(enum sle_service service, uint8_t version, struct sle_value value,
                         const char *want)
{
    struct sle_dialect d = {service, SLE_FROM_PROVIDER, version, false};
    struct sle_pdu p = {.kind = SLE_PDU_GET_RETURN, .invoke_id = 1, .u.value = value};
    char all[512];
    uint8_t octets[256];
    size_t n = read_hex(want, octets);
    snprintf(all, sizeof all, "a7%02zx8000020101a0%02zx%s", n + 7, n, want);
    ck_assert(sle_parameter_exists(&d, value.parameter));
    assert_pdu(&d, &p, all);
}

START_TEST(values)
{
    static const struct sle_gvcid set[] = {{0xab, 1, 5}, {0xab, 1, 6}, {0x12, 0, SLE_MASTER}};
    static const struct sle_gvcid uslp[] = {{65535, 12, 5}, {65535, 12, 6}};
    struct sle_value v = {.parameter = SLE_PAR_BUFFER_SIZE, .number = 20};
    assert_value(SLE_RAF, 4, v, "a006 020104 020114");
    v = (struct sle_value){.parameter = SLE_PAR_LATENCY_LIMIT, .number = 5};
    assert_value(SLE_RCF, 4, v, "a206 02010f 800105");
    v.none = true;
    assert_value(SLE_ROCF, 4, v, "a205 02010f 8100");
    v = (struct sle_value){.parameter = SLE_PAR_REPORTING_CYCLE, .number = 30};
    assert_value(SLE_FCLTU, 3, v, "a906 02011a 81011e");
    assert_value(SLE_FCLTU, 5, v, "af06 02011a 81011e");
    v.none = true;
    assert_value(SLE_RAF, 5, v, "a305 02011a 8000");
    v = (struct sle_value){.parameter = SLE_PAR_PERMITTED_QUALITY, .set = 5};
    assert_value(SLE_RAF, 5, v, "a60c 0202012e 3106 020100 020102");
    v = (struct sle_value){.parameter = SLE_PAR_MIN_REPORTING_CYCLE, .number = 2};
    assert_value(SLE_FCLTU, 5, v, "b307 0202012d 020102");
    v = (struct sle_value){.parameter = SLE_PAR_REQUESTED_GVCID, .gvcid = set[0]};
    assert_value(SLE_RCF, 5, v, "a50f 02011c a00a 020200ab 020101 810105");
    assert_value(SLE_RCF, 4, v, "a50f 02011c 300a 020200ab 020101 810105");
    assert_value(SLE_ROCF, 4, v, "a80f 02011c a00a 020200ab 020101 810105");
    v.none = true;
    assert_value(SLE_RCF, 5, v, "a505 02011c 8100");
    v = (struct sle_value){.parameter = SLE_PAR_PERMITTED_GVCIDS, .gvcids = set, .gvcid_count = 3};
    assert_value(
        SLE_RCF, 4, v,
        "a320 020118 301b 300f 020200ab 020101 a106 020105 020106 3008 020112 020100 8000");
    v = (struct sle_value){.parameter = SLE_PAR_PERMITTED_GVCIDS, .gvcids = uslp, .gvcid_count = 2};
    assert_value(SLE_RCF, 4, v, "a317 020118 3012 3010 020300ffff 02010c a106 020105 020106");
}
END_TEST

START_TEST(value_of_rocf_and_cltu)
{
    struct sle_value v = {.parameter = SLE_PAR_PERMITTED_WORDS, .set = 6};
    assert_value(SLE_ROCF, 5, v, "a40b 020165 3006 020101 020102");
    v = (struct sle_value){.parameter = SLE_PAR_PERMITTED_TC_VCIDS, .tc_vcids = 0x81};
    assert_value(SLE_ROCF, 5, v, "a50b 020166 a106 020100 020107");
    v.none = true;
    assert_value(SLE_ROCF, 5, v, "a505 020166 8000");
    v = (struct sle_value){.parameter = SLE_PAR_REQUESTED_TC_VCID, .tc_vcid = 7};
    assert_value(SLE_ROCF, 5, v, "aa06 020169 810107");
    assert_value(SLE_ROCF, 4, v, "aa08 020169 a003 810107");
    v.none = true;
    assert_value(SLE_ROCF, 4, v, "aa05 020169 8100");
    v = (struct sle_value){.parameter = SLE_PAR_CLCW_GVCID, .gvcid = {0x12, 0, SLE_MASTER}};
    assert_value(SLE_FCLTU, 4, v, "a20e 020200ca 3008 020112 020100 8000");
    v = (struct sle_value){.parameter = SLE_PAR_CLCW_CHANNEL, .text = "X"};
    assert_value(SLE_FCLTU, 4, v, "a307 020200cb 1a0158");
    assert_value(SLE_FCLTU, 5, v, "a307 020200cb 800158");
    v.none = true;
    assert_value(SLE_FCLTU, 5, v, "a306 020200cb 8100");
}
END_TEST

START_TEST(frames_and_notifications)
{
    static uint8_t octets[70000], data[65536];
    uint8_t antenna[] = {0x41, 0x4e, 0x54, 0x31};
    struct frame_template t;
    struct sle_item it = {.time = noon, .continuity = -1, .data = slice_of(data, 1115)}, back;
    size_t at;
    frame_template_init(&t, &raf_provider, slice_of(antenna, 4), false, 0);
    size_t n = frame_template_write(&t, &it, octets, &at);
    assert_hex(octets, n,
               "A0820479 8000 8008 62480446C14803D9 8104414E5431 0201FF 020100 8000 0482045B");
    ck_assert_uint_eq(n + 1115 - 4, 0x479);
    /* The whole of a buffer of ten: as measured between peers. */
    ck_assert_uint_eq((n + 1115) * 10 + 4, 11494);
    static const size_t lens[] = {1, 4, 127, 128, 255, 256, 1115, 65400, 65535, 65536};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
        for (unsigned shape = 0; shape < 16; shape++) {
            it = (struct sle_item){.time = noon, .continuity = 0, .data = slice_of(data, lens[i])};
            it.time.pico = (shape & 1) != 0;
            it.continuity = (shape & 2) != 0 ? 16777215 : 3;
            it.annotation = slice_of(data, (shape & 4) != 0 ? 128 : 0);
            it.antenna = slice_of(data + 9, (shape & 8) != 0 ? 16 : 0);
            it.antenna_global = (shape & 8) != 0;
            frame_template_init(&t, &raf_provider, slice_of(antenna, 4), false,
                                shape * 3 > 8 ? shape * 3 : 0);
            n = frame_template_write(&t, &it, octets, &at);
            memcpy(octets + n, data, lens[i]);
            struct slice rest = slice_of(octets, n + lens[i]);
            ck_assert_int_eq(sle_buffer_next(&raf_provider, &rest, &back), SLE_PDU_OK);
            ck_assert(rest.len == 0 && back.data.len == lens[i] &&
                      back.continuity == it.continuity);
            ck_assert(back.time.pico == it.time.pico && sle_time_compare(back.time, noon) == 0);
            ck_assert(back.annotation.len == it.annotation.len &&
                      back.antenna_global == it.antenna_global);
            ck_assert(back.credentials.len == (at == 0 ? 0 : shape * 3) &&
                      (at == 0 || back.credentials.data == octets + at));
            for (size_t cut = 1; cut < (n + lens[i] < 300 ? n + lens[i] : 300); cut++) {
                rest = slice_of(octets, cut);
                ck_assert_int_eq(sle_buffer_next(&raf_provider, &rest, &back), SLE_PDU_BAD);
            }
        }
}
END_TEST

START_TEST(notifications)
{
    static const struct {
        struct sle_sync sync;
        const char *octets;
    } cases[] = {
        {{.kind = SLE_SYNC_LOSS,
          .time = {.day = 0x6248, .ms = 0x0446c148, .ps = 0x03d9 * 1000000},
          .locks = {0, 1, 2, 3}},
         "a117 8000 a013 8008" NOON "020103 020102 020101"},
        {{.kind = SLE_SYNC_PRODUCTION, .production = SLE_HALTED}, "a105 8000 810102"},
        {{.kind = SLE_SYNC_BACKLOG}, "a104 8000 8200"},
        {{.kind = SLE_SYNC_END}, "a104 8000 8300"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t octets[FRAME_HEAD_MAX];
        size_t at, n = sync_write(&raf_provider, &cases[i].sync, 0, octets, &at);
        struct sle_item back;
        assert_hex(octets, n, cases[i].octets);
        struct slice rest = slice_of(octets, n);
        ck_assert_int_eq(sle_buffer_next(&raf_provider, &rest, &back), SLE_PDU_OK);
        ck_assert(back.is_sync && back.sync.kind == cases[i].sync.kind &&
                  back.sync.production == cases[i].sync.production);
        n = sync_write(&raf_provider, &cases[i].sync, 40, octets, &at);
        rest = slice_of(octets, n);
        ck_assert_int_eq(sle_buffer_next(&raf_provider, &rest, &back), SLE_PDU_OK);
        ck_assert(back.credentials.len == 40 && back.credentials.data == octets + at);
    }
}
END_TEST

START_TEST(what_is_refused)
{
    static const struct {
        const char *octets;
        enum sle_pdu_verdict verdict;
    } cases[] = {
        {"", SLE_PDU_BAD},
        {"a2058000020102", SLE_PDU_OK},
        {"a2820005 8000020102", SLE_PDU_OK},        /* more length octets than needed */
        {"a2068000 02020002", SLE_PDU_OK},          /* more integer octets than needed */
        {"a2808000020102 0000", SLE_PDU_BAD},       /* indefinite */
        {"a205800002010200", SLE_PDU_BAD},          /* more than the PDU */
        {"a206800002010200", SLE_PDU_BAD},          /* more than its members */
        {"a2038000 02", SLE_PDU_BAD},               /* cut */
        {"a20580000201ff", SLE_PDU_BAD},            /* an invoke id of -1 */
        {"a20780000203010000", SLE_PDU_BAD},        /* and of 65536 */
        {"a207 8001 00 020102", SLE_PDU_BAD},       /* NULL with content */
        {"a205 8200 020102", SLE_PDU_BAD},          /* credentials of another kind */
        {"a209 8104 01020304 020102", SLE_PDU_BAD}, /* too short ones */
        {"ae058000020102", SLE_PDU_UNKNOWN},
        {"a3058000020102", SLE_PDU_UNKNOWN}, /* a provider's */
        {"bf6906800002", SLE_PDU_UNKNOWN},
        {"bf8164", SLE_PDU_BAD}, /* a tag of more than two octets */
        {"a00c 8000 020101 8000 8000 0201", SLE_PDU_BAD},
        {"a00c 8000 020101 8000 8000 020103", SLE_PDU_BAD}, /* a quality that is none */
        {"a014 8000 020101 a108 8006 000000000000 8000 020102",
         SLE_PDU_BAD}, /* a time of 6 octets */
        {"a016 8000 020101 a10a 8008 6248ffffffff0000 8000 020102",
         SLE_PDU_BAD}, /* beyond the day */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t octets[128];
        struct sle_pdu p;
        size_t n = read_hex(cases[i].octets, octets);
        ck_assert_msg(sle_pdu_read(&raf_user, slice_of(octets, n), &p) == cases[i].verdict, "%s",
                      cases[i].octets);
    }
}
END_TEST

/* What peers send that is not quite what this version says. */
START_TEST(what_is_borne)
{
    struct sle_dialect v4 = {SLE_FCLTU, SLE_FROM_PROVIDER, 4, false},
                       any = {.any_bind = true, .version = 2};
    uint8_t octets[128];
    struct sle_pdu p;
    size_t n = read_hex("a715 8000 020101 a00e a20c 020200ca a006 020112 020100", octets);
    ck_assert_int_eq(sle_pdu_read(&v4, slice_of(octets, n), &p), SLE_PDU_BAD);
    n = read_hex("a717 8000 020101 a010 a20e 020200ca a008 020112 020100 8000",
                 octets); /* version 5's form */
    ck_assert_int_eq(sle_pdu_read(&v4, slice_of(octets, n), &p), SLE_PDU_OK);
    ck_assert(p.u.value.gvcid.scid == 0x12 && p.u.value.gvcid.vcid == SLE_MASTER);
    n = read_hex("a2058000020102", octets);
    ck_assert_int_eq(sle_pdu_read(&any, slice_of(octets, n), &p),
                     SLE_PDU_UNKNOWN); /* nothing but BIND */
}
END_TEST

START_TEST(random_octets_are_no_harm)
{
    struct rng r;
    rng_init(&r, 1);
    static const struct sle_dialect *const all[] = {&raf_user,  &raf_provider, &rcf5,
                                                    &rocf_user, &cltu_user,    &cltu_provider};
    uint8_t base[128], octets[128];
    size_t n = read_hex("ac 2d 8000 8000 a112 020107 a10a8008" NOON "020104 a10d 020107 8008" NOON
                        "020100 020103",
                        base);
    for (int i = 0; i < 20000; i++) {
        struct sle_pdu p;
        memcpy(octets, base, n);
        for (int k = 0; k < 3; k++)
            octets[rng_below(&r, n)] = (uint8_t)rng_u64(&r);
        for (size_t d = 0; d < sizeof all / sizeof all[0]; d++)
            if (sle_pdu_read(all[d], slice_of(octets, n), &p) == SLE_PDU_OK &&
                p.kind != SLE_PDU_BUFFER) {
                uint8_t again[256];
                ck_assert_uint_gt(sle_pdu_write(all[d], &p, again, sizeof again, NULL), 0);
            }
    }
}
END_TEST

SUITE(sle_pdu, t)
{
    tcase_add_test(t, bind);
    tcase_add_test(t, starts);
    tcase_add_test(t, returns);
    tcase_add_test(t, cltus);
    tcase_add_test(t, values);
    tcase_add_test(t, value_of_rocf_and_cltu);
    tcase_add_test(t, frames_and_notifications);
    tcase_add_test(t, notifications);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, what_is_borne);
    tcase_add_test(t, random_octets_are_no_harm);
}
