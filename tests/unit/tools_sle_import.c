/* SPDX-License-Identifier: Apache-2.0 */
/* Files that stations exchange: what becomes of each key, several files together, and what is
 * refused, with its file, line and key. */
#include <stdlib.h>

#include "tests/unit/suite.h"
#include "tools/sle/sle_import.h"
#include "tools/sle/sle_settings.h"

static struct conf_errors errors;
static struct sle_import im;

#define PEERS                                                                                      \
    "REMOTE_PEERS = {\n ID = CENTRE\n AUTHENTICATION_MODE = ALL\n PASSWORD = 0a0b0c\n"             \
    " ID = OTHER # the next\n AUTHENTICATION_MODE = NONE\n}\n"
#define DATABASE                                                                                   \
    "# of a responder\nPROXY_ROLE = RESPONDER\n\tLOCAL_ID=STATION\nLOCAL_PASSWORD = 00ff\n"        \
    "AUTHENTICATION_DELAY = 60\nSTARTUP_TIMER = 30\nNON_USEHEARTBEAT = FALSE\nMIN_HEARTBEAT = "    \
    "20\n"                                                                                         \
    "MAX_HEARTBEAT = 60\nMIN_DEADFACTOR = 2\nMAX_DEADFACTOR = 10\nTRANSMIT_QUEUE_SIZE = 200\n"     \
    "SERVER_TYPES = {\n SRV_ID = RAF\n SRV_VERSION = {\n 1\n 2\n 4\n }\n SRV_ID = FSP\n"           \
    " SRV_VERSION = {\n 4\n }\n}\n" PEERS                                                          \
    "LOCAL_LOGICAL_PORTS = {\n PORT_NAME = PORT7\n IP_ADDRESS = {\n *:5107\n }\n}\n"
#define RAF "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
#define CLTU "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
#define INSTANCES                                                                                  \
    "{\"" RAF "\": {\"initiator_id\": \"CENTRE\", \"responder_id\": \"STATION\",\n"                \
    "\"delivery_mode\": \"COMPLETE_ONLINE\", \"latency_limit\": 9, \"transfer_buffer_size\": 5,\n" \
    "\"permitted_frame_quality\": [\"allFrames\", \"goodFramesOnly\"], \"report_cycle\": null},\n" \
    "\"" CLTU "\": {\"initiator_id\": \"OTHER\", \"maximum_cltu_length\": 306,\n"                  \
    "\"start_time\": \"2026-11-22T18:00:00Z\", \"stop_time\": null, \"initiator\": \"USER\"}}\n"

static int read_text(const char *text)
{
    conf_errors_init(&errors, "x");
    return sle_import_read(&im, text, strlen(text), &errors);
}

static void read_good(const char *text)
{
    ck_assert_msg(read_text(text) == HELIO_OK, "%s", errors.text[0]);
}

/* The provider's configuration of what was read. */
static void settle(struct settings *s)
{
    conf_errors_init(&errors, "x");
    char *text = sle_import_write(&im, &errors);
    ck_assert_msg(text != NULL, "%s", errors.text[0]);
    const int e = settings_parse(s, text, strlen(text), &errors);
    ck_assert_msg(e == 0, "%s", errors.text[0]);
    free(text);
}

START_TEST(database_and_instances)
{
    struct settings s;
    read_good(DATABASE);
    read_good(INSTANCES);
    settle(&s);
    ck_assert_str_eq(s.id, "STATION");
    ck_assert_str_eq(s.password, "00ff");
    ck_assert_str_eq(s.listen_text, "0.0.0.0:5107");
    ck_assert_str_eq(s.port_name, "PORT7");
    ck_assert_uint_eq(s.auth_delay, 60 * TICK_S);
    ck_assert_uint_eq(s.tml.establish, 30 * TICK_S);
    ck_assert(s.tml.heartbeat_required && s.tml.heartbeat_min == 20 && s.tml.heartbeat_max == 60);
    ck_assert(s.tml.dead_min == 2 && s.tml.dead_max == 10);
    ck_assert_uint_eq(s.users_len, 2);
    ck_assert(s.users[0].level == SLE_AUTH_ALL && s.users[1].level == SLE_AUTH_NONE);
    ck_assert_str_eq(s.users[0].password, "0a0b0c");
    ck_assert_uint_eq(s.instances_len, 2);
    const struct settings_instance *raf = &s.instances[0], *cltu = &s.instances[1];
    ck_assert(raf->service == SLE_RAF && raf->mode == SLE_COMPLETE && raf->versions == 0x14);
    ck_assert(raf->latency == 9 * TICK_S && raf->buffer == 5 && !raf->begin.known);
    ck_assert_str_eq(raf->users, "CENTRE");
    ck_assert(cltu->service == SLE_FCLTU && cltu->cltu_max == 306);
    ck_assert(cltu->begin.known && !cltu->end.known && cltu->versions != 0x14);
    settings_free(&s);
    ck_assert_ptr_nonnull(strstr(im.notes, "# x:12: TRANSMIT_QUEUE_SIZE has no counterpart\n"));
    ck_assert_ptr_nonnull(strstr(im.notes, "SRV_ID has no counterpart\n"));
    ck_assert_ptr_nonnull(strstr(im.notes, "# x:3: permitted_frame_quality has no"));
    ck_assert_ptr_null(strstr(im.notes, "report_cycle"));
    sle_import_free(&im);
}
END_TEST

START_TEST(all_in_json)
{
    struct settings s;
    read_good(
        "{\"local-id\": \"STATION\", \"remote_peers\": {\"CENTRE\": {\"authentication_mode\": "
        "\"BIND\", \"password\": \"0102\"}, \"OTHER\": {\"authentication_mode\": \"NONE\", "
        "\"password\": \"\"}},\n\"si_config\": " INSTANCES "}");
    settle(&s);
    ck_assert(s.users_len == 2 && s.users[0].level == SLE_AUTH_BIND && s.instances_len == 2);
    ck_assert_uint_eq(s.auth_delay, 180 * TICK_S);
    settings_free(&s);
    sle_import_free(&im);
}
END_TEST

/* A database has no instances: what it has is written. A service element has reporting cycles. */
START_TEST(database_alone)
{
    struct settings s;
    read_good(DATABASE);
    read_good("Application_Role = provider\nMin_ReportingCycle = 5\nMax_ReportingCycle = 500\n"
              "PortList = {\n default = ISP1\n}\n");
    conf_errors_init(&errors, "x");
    char *text = sle_import_write(&im, &errors);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "# instances: none of the files has any"));
    free(text);
    read_good("{\"sagr=1.spack=1.rsl-fg=1.rcf=offl1\": {\"initiator_id\": \"CENTRE\"}}");
    settle(&s);
    ck_assert_uint_eq(s.instances[0].min_reporting, 5);
    ck_assert(s.instances[0].mode == SLE_OFFLINE && *s.sources[0].record != '\0');
    settings_free(&s);
    sle_import_free(&im);
}
END_TEST

static void refuse(const char *text, const char *why)
{
    ck_assert_msg(read_text(text) == HELIO_EFORMAT, "%s", text);
    ck_assert_msg(strstr(errors.text[0], why) != NULL, "%s: not %s", errors.text[0], why);
    sle_import_free(&im);
}

START_TEST(wrong_databases)
{
    refuse("", "x: it is empty: a database has keys");
    refuse("LOCAL_ID = STATION\nLOCAL_ID = STATION\n", "x:2: LOCAL_ID: it is there twice");
    refuse("LOCAL_ID\n", "x:1: = is expected behind a key");
    refuse("LOCAL_ID =\n", "x:1: a value or { is expected behind =");
    refuse("LOCAL_ID = A B\n", "x:1: there is something behind the value");
    refuse("LOCAL_ID ! A\n", "x:1: = is expected behind the key");
    refuse("\n}\n", "x:2: } without its {");
    refuse("REMOTE_PEERS = {\nID = CENTRE\n", "x:1: REMOTE_PEERS: } is missing");
    refuse("REMOTE_PEERS = { ID\n}\n", "x:1: there is something behind {");
    refuse("REMOTE_PEERS = {\n} x\n", "x:2: there is something behind }");
    refuse("REMOTE_PEERS = {\nID = CENTRE\nx\n}\n", "x:3: REMOTE_PEERS: a list has either values");
    refuse("A = {\nA = {\nA = {\nA = {\nA = {\n", "x:5: nested deeper than 4 lists");
    refuse("LOCAL_NAME = STATION\n", "x:1: LOCAL_NAME: no such key");
    refuse("LOCAL_ID = A\n", "x:1: LOCAL_ID: 'A': expected 3 to 16 characters");
    refuse("LOCAL_PASSWORD = 0x\n", "x:1: LOCAL_PASSWORD: expected at most 64 octets");
    refuse("PROXY_ROLE = INITIATOR\n", "x:1: PROXY_ROLE: 'INITIATOR': expected RESPONDER");
    refuse("\nMIN_HEARTBEAT = 0\n", "x:2: MIN_HEARTBEAT: '0': expected a whole number from 1 to");
    refuse("NON_USEHEARTBEAT = yes\n", "x:1: NON_USEHEARTBEAT: 'yes': expected TRUE or FALSE");
    refuse("SERVER_TYPES = {\nSRV_ID = TM\n}\n", "x:2: SRV_ID: 'TM': expected RAF, RCF, ROCF");
    refuse("SERVER_TYPES = {\nSRV_ID = RAF\nSRV_VERSION = {\n1\n}\n}\n", "x:2: SRV_VERSION: RAF");
    refuse("REMOTE_PEERS = {\nID = CENTRE\nPASSWORD = 01\n}\n", "CENTRE: AUTHENTICATION_MODE is");
    refuse("REMOTE_PEERS = {\nID = CENTRE\nAUTHENTICATION_MODE = ALL\n}\n", "PASSWORD is missing");
    refuse("REMOTE_PEERS = {\nAUTHENTICATION_MODE = SOME\n}\n", "'SOME': expected NONE, BIND or");
    refuse(PEERS "LOCAL_LOGICAL_PORTS = {\nPORT_NAME = A\nPORT_NAME = B\n}\n", "a second port");
    refuse("LOCAL_LOGICAL_PORTS = {\nIP_ADDRESS = {\nhere\n}\n}\n",
           "x:3: IP_ADDRESS: 'here': expected an address with its port");
}
END_TEST

START_TEST(wrong_instances)
{
    refuse("{\"sagr=1.raf=onlt1\": {}}", "x:1: 'sagr=1.raf=onlt1': expected an identifier such as");
    refuse("{\"" RAF "\": {}}", "x:1: '" RAF "': initiator_id is missing");
    refuse("{\"" RAF "\": 5}", "expected a map");
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\",\n\"delivery_mode\": \"OFFLINE\"}}",
           "x:2: delivery_mode: 'OFFLINE': expected COMPLETE_ONLINE, as its identifier says");
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\",\n\"latency_limit\": -1}}",
           "x:2: latency_limit: '-1': expected a whole number from 1 to 86400");
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\", \"latency\": 1}}",
           "x:1: latency: no such key");
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\", \"initiator\": \"PROVIDER\"}}",
           "initiator: 'PROVIDER': expected USER");
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\", \"start_time\": \"noon\"}}",
           "start_time: 'noon': expected a time");
    refuse("{\"" RAF "\": {\"initiator_id\": \"A B C\"}}", "initiator_id: 'A B C': expected 3 to");
    refuse("{\"si_config\": [1]}", "si_config: 'a list': expected a map");
    refuse("{\"local_id\": \"STATION\", \"config\": {}}", "config: no such key");
    refuse("{\"local_id\": ", "x:");
}
END_TEST

/* Two files that contradict each other, and a user that none of them has. */
START_TEST(contradictions)
{
    read_good(DATABASE);
    refuse("{\"" RAF "\": {\"initiator_id\": \"CENTRE\",\n\"responder_id\": \"OTHERS\"}}",
           "x:2: responder_id: it contradicts what was read before");
    read_good(PEERS);
    read_good("{\"" RAF "\": {\"initiator_id\": \"NOBODY\", \"responder_id\": \"STATION\"}}");
    conf_errors_init(&errors, "x");
    ck_assert_ptr_null(sle_import_write(&im, &errors));
    ck_assert_ptr_nonnull(strstr(errors.text[0], "NOBODY"));
    sle_import_free(&im);
}
END_TEST

SUITE(tools_sle_import, t)
{
    tcase_add_test(t, database_and_instances);
    tcase_add_test(t, all_in_json);
    tcase_add_test(t, database_alone);
    tcase_add_test(t, wrong_databases);
    tcase_add_test(t, wrong_instances);
    tcase_add_test(t, contradictions);
}
