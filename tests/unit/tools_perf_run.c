/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf's two ends, each a process, with a node between them that loses, repeats, damages,
 * refuses and dies. Nothing here depends on how fast things go. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/fake_node.h"
#include "tests/unit/stalls.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_reverse.h"
#include "tools/perf/perf_server.h"

#define TRIES 20             /* for what a stall of the machine spoils, and only after one */
#define SILENCE (6 * TICK_S) /* after so much of it nothing comes any more */

struct lab {
    char dir[64], socket[96], client_json[96], server_json[96], file[96], out[96];
    struct fake_options node;
    pid_t node_pid, server_pid;
    int client_code;
    json_t *client, *server;
};

static pid_t start(struct lab *l, int listener, const struct perf_options *o)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    if (o == NULL)
        fake_run(listener, l->node);
    _exit(o->server ? perf_server_run(o) : o->reverse ? perf_reverse_run(o) : perf_client_run(o));
}

static int join(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_t *load(const char *path)
{
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    ck_assert_msg(j != NULL, "%s: %s", path, e.text);
    return j;
}

static void lab_init(struct lab *l)
{
    *l = (struct lab){0};
    snprintf(l->dir, sizeof l->dir, "/tmp/perf-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(l->dir));
    snprintf(l->socket, sizeof l->socket, "%s/socket", l->dir);
    snprintf(l->client_json, sizeof l->client_json, "%s/client.json", l->dir);
    snprintf(l->server_json, sizeof l->server_json, "%s/server.json", l->dir);
    snprintf(l->file, sizeof l->file, "%s/in:put", l->dir);
    snprintf(l->out, sizeof l->out, "%s/out", l->dir);
    ck_assert_int_eq(mkdir(l->out, 0755), 0);
}

static struct perf_options client_options(const struct lab *l)
{
    return (struct perf_options){.socket = l->socket,
                                 .json = l->client_json,
                                 .destination = "ipn:1.2000",
                                 .mode = PERF_MODE_DATA,
                                 .data = 1000 * 1000,
                                 .window = 10,
                                 .payload = 1000,
                                 .lifetime_ms = 60000,
                                 .linger = 60 * TICK_S};
}

static struct perf_options server_options(const struct lab *l)
{
    return (struct perf_options){.server = true,
                                 .socket = l->socket,
                                 .json = l->server_json,
                                 .linger = 60 * TICK_S,
                                 .output = l->out,
                                 .payload_max = 1 << 20,
                                 .file_max = 1 << 24,
                                 .reverse_max = 60 * TICK_S,
                                 .deliveries = 16};
}

/* Waits for the client, ends the others; both results are in the lab. */
static void finish(struct lab *l, int listener, pid_t client)
{
    l->client_code = join(client);
    kill(l->server_pid, SIGTERM);
    ck_assert_int_eq(join(l->server_pid), 0);
    kill(l->node_pid, SIGKILL);
    join(l->node_pid);
    close(listener);
    l->client = load(l->client_json);
    l->server = load(l->server_json);
}

/* Runs server, then client to its end. */
static void run(struct lab *l, struct perf_options c, bool reconnect)
{
    struct perf_options s = server_options(l);
    c.reconnect = s.reconnect = reconnect ? 20 * TICK_S : 0;
    int listener = fake_listen(l->socket);
    l->node_pid = start(l, listener, NULL);
    l->server_pid = start(l, -1, &s);
    finish(l, listener, start(l, -1, &c));
}

static void lab_fini(struct lab *l)
{
    char command[128];
    json_decref(l->client);
    json_decref(l->server);
    snprintf(command, sizeof command, "rm -r %s", l->dir);
    ck_assert_int_eq(system(command), 0);
}

static long long number(const json_t *j, const char *key)
{
    json_t *v = json_object_get(j, key);
    ck_assert_msg(json_is_number(v), "%s is missing", key);
    return (long long)json_number_value(v);
}

static void check(const json_t *j, const char *key, long long want)
{
    long long got = number(j, key);
    ck_assert_msg(got == want, "%s is %lld, not %lld", key, got, want);
}

START_TEST(all_arrive)
{
    struct lab l;
    lab_init(&l);
    run(&l, client_options(&l), false);
    ck_assert_int_eq(l.client_code, 0);
    check(l.client, "bundles_sent", 1000);
    check(l.client, "bundles_confirmed", 1000);
    check(l.client, "bundles_acked", 1000);
    check(l.client, "bytes", 1000000);
    check(l.client, "lost", 0);
    check(l.server, "bundles", 1000);
    check(l.server, "bytes", 1000000);
    check(l.server, "duplicates", 0);
    check(l.server, "lost", 0);
    ck_assert_int_gt(number(l.client, "goodput_bps"), 0);
    ck_assert(json_is_object(json_object_get(l.client, "delay_ms")));
    lab_fini(&l);
}
END_TEST

/* With a window of 10 and every 7th acknowledgement lost, all would stand still after 70 bundles if
 * a lost one kept its place. */
START_TEST(lost_acknowledgements_do_not_shrink_the_window)
{
    struct lab l;
    lab_init(&l);
    l.node = (struct fake_options){.drop_every = 7, .drop_kind = PERF_ACK};
    struct perf_options o = client_options(&l);
    o.data = 300 * 1000;
    o.ack_timeout = 50 * TICK_MS;
    o.linger = SILENCE; /* those that were lost do not come */
    run(&l, o, false);
    check(l.client, "bundles_sent", 300);
    check(l.client, "bundles_acked", 300 - 300 / 7);
    check(l.server, "bundles", 300);
    check(l.client, "lost", 0); /* the server's account says so */
    ck_assert_int_eq(l.client_code, 0);
    lab_fini(&l);
}
END_TEST

START_TEST(lost_damaged_and_repeated_bundles_are_counted)
{
    struct lab l;
    lab_init(&l);
    l.node = (struct fake_options){
        .drop_every = 10, .drop_kind = PERF_DATA, .damage_every = 50, .repeat_every = 25};
    struct perf_options o = client_options(&l);
    o.data = 500 * 1000;
    o.window = 1000; /* nothing waits: the node sees the data in order */
    o.ack_timeout = TICK_S;
    o.linger = SILENCE;
    run(&l, o, false);
    check(l.client, "bundles_sent", 500);
    long long damaged = number(l.server, "wrong_crc");
    ck_assert_int_ge(damaged, 9);
    check(l.server, "bundles", number(l.client, "bundles_acked"));
    check(l.server, "lost", number(l.client, "lost"));
    ck_assert_int_ge(number(l.client, "lost"), 50 + 9);
    ck_assert_int_ge(number(l.server, "duplicates"), 1);
    ck_assert_int_eq(l.client_code, 1);
    lab_fini(&l);
}
END_TEST

START_TEST(a_dying_node_costs_nothing)
{
    struct lab l;
    lab_init(&l);
    l.node = (struct fake_options){.crash_every = 97};
    run(&l, client_options(&l), true);
    ck_assert_int_eq(l.client_code, 0);
    check(l.client, "bundles_confirmed", 1000);
    check(l.client, "bundles_acked", 1000);
    check(l.server, "bundles", 1000);
    check(l.server, "lost", 0);
    ck_assert_int_ge(number(l.client, "reconnects"), 10);
    ck_assert_int_ge(number(l.client, "resent"), 1);
    lab_fini(&l);
}
END_TEST

START_TEST(refused_bundles_are_given_again)
{
    struct lab l;
    lab_init(&l);
    l.node = (struct fake_options){.refuse_every = 60};
    struct perf_options o = client_options(&l);
    o.data = 200 * 1000;
    o.ack_timeout = TICK_S;
    run(&l, o, false);
    check(l.client, "bundles_confirmed", 200);
    check(l.server, "bundles", 200);
    ck_assert_int_ge(number(l.client, "refused"), 1);
    lab_fini(&l);
}
END_TEST

/* How many it sent in a second at 200 in a second. */
static long long sent_at_a_rate(void)
{
    struct lab l;
    lab_init(&l);
    struct perf_options o = client_options(&l);
    o.mode = PERF_MODE_TIME;
    o.time = TICK_S;
    o.window = 0;
    o.rate = 200;
    o.rate_in_bundles = true;
    run(&l, o, false);
    ck_assert_int_eq(l.client_code, 0);
    long long sent = number(l.client, "bundles_sent");
    ck_assert_int_le(sent, 201 + 20); /* 100 ms may be made good */
    check(l.server, "bundles", sent);
    check(l.client, "bundles_acked", 0);
    ck_assert_str_eq(json_string_value(json_object_get(l.client, "goodput_basis")), "server");
    lab_fini(&l);
    return sent;
}

/* What the machine does not let it send it does not send later: then once more. */
START_TEST(rate_mode_keeps_its_rate)
{
    long long sent = 0;
    bool stalled = true;
    for (int i = 0; i < TRIES && sent < 50 && stalled; i++) {
        struct stalls s;
        stalls_begin(&s);
        sent = sent_at_a_rate();
        stalled = stalls_end(&s);
    }
    ck_assert_int_ge(sent, 50);
}
END_TEST

/* A rate that a tick cannot hold the interval of is no leave to send as fast as one can. */
START_TEST(the_least_rate_is_one)
{
    struct lab l;
    lab_init(&l);
    struct perf_options o = client_options(&l);
    o.mode = PERF_MODE_TIME;
    o.time = TICK_S / 5;
    o.window = 0;
    o.rate = 1e-9; /* less than can be typed */
    run(&l, o, false);
    ck_assert_int_eq(l.client_code, 0);
    check(l.client, "bundles_sent", 1);
    check(l.server, "bundles", 1);
    lab_fini(&l);
}
END_TEST

/* Bundles of the session from elsewhere, each behind a right one, are not of it. */
START_TEST(a_receiver_has_one_sender)
{
    struct lab l;
    lab_init(&l);
    l.node = (struct fake_options){.forge_every = 3};
    struct perf_options o = client_options(&l);
    o.reverse = true;
    o.deliveries = 16;
    o.payload_max = 1 << 20;
    o.data = 100 * 1000;
    o.interval = TICK_MS; /* lines look at the session, too */
    run(&l, o, false);
    ck_assert_int_eq(l.client_code, 0);
    check(l.client, "bundles", 100);
    check(l.client, "bundles_sent", 100);
    check(l.client, "lost", 0);
    ck_assert_str_ne(json_string_value(json_object_get(l.client, "sender")), FAKE_FORGER);
    lab_fini(&l);
}
END_TEST

/* How long the server takes for 70 bundles that wait for it. */
static double time_of_a_burst(void)
{
    struct lab l;
    lab_init(&l);
    struct perf_options c = client_options(&l), s = server_options(&l);
    c.data = 70 * 64;
    c.payload = 64;
    c.window = 0;
    c.rate = 1e9;
    int listener = fake_listen(l.socket);
    l.node_pid = start(&l, listener, NULL);
    pid_t client = start(&l, -1, &c);
    usleep(600 * 1000); /* the node holds all, and the client has just asked for the end */
    l.server_pid = start(&l, -1, &s);
    finish(&l, listener, client);
    ck_assert_int_eq(l.client_code, 0);
    check(l.server, "bundles", 70);
    const json_t *row = json_array_get(json_object_get(l.server, "clients"), 0);
    double took = json_number_value(json_object_get(row, "execution_s"));
    lab_fini(&l);
    return took;
}

/* What was read ahead, but not taken, wakes nobody: the next that comes is a question for the end,
 * half a second later or more. A machine that pauses makes it longer, never shorter. */
START_TEST(a_burst_is_taken_at_once)
{
    double took = 1e9;
    bool stalled = true;
    for (int i = 0; i < TRIES && took >= 0.5 && stalled; i++) {
        struct stalls s;
        stalls_begin(&s);
        took = time_of_a_burst();
        stalled = stalls_end(&s);
    }
    ck_assert_double_lt(took, 0.5);
}
END_TEST

static void write_file(const char *path, size_t len)
{
    FILE *f = fopen(path, "w");
    for (size_t i = 0; i < len; i++)
        fputc((int)(i * i % 251), f);
    fclose(f);
}

/* _i is the length. */
START_TEST(a_file_is_rebuilt)
{
    struct lab l;
    char command[256];
    lab_init(&l);
    write_file(l.file, (size_t)_i);
    struct perf_options o = client_options(&l);
    o.mode = PERF_MODE_FILE;
    o.file = l.file;
    run(&l, o, false);
    ck_assert_int_eq(l.client_code, 0);
    ck_assert(json_is_true(json_object_get(json_object_get(l.client, "server"), "file_verified")));
    snprintf(command, sizeof command, "cmp %s %s/in_put", l.file, l.out);
    ck_assert_int_eq(system(command), 0);
    lab_fini(&l);
}
END_TEST

START_TEST(no_node_is_an_error)
{
    struct lab l;
    lab_init(&l);
    struct perf_options o = client_options(&l);
    pid_t pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        _exit(perf_client_run(&o));
    }
    ck_assert_int_eq(join(pid), 1);
    lab_fini(&l);
}
END_TEST

/* The exit code for a command line. */
static int usage(char *const *words)
{
    struct perf_options o;
    int argc = 0;
    char *argv[16];
    for (argv[argc++] = (char[]){"helio-perf"}; *words != NULL; words++)
        argv[argc++] = *words;
    argv[argc] = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        perf_options_read(&o, argc, argv);
        _exit(0);
    }
    return join(pid);
}
#define USAGE(...) usage((char *const[]){__VA_ARGS__, NULL})
#define CLIENT "client", "--socket", "s", "-d", "ipn:2.2000"

START_TEST(wrong_lines_exit_with_2)
{
    ck_assert_int_eq(USAGE(CLIENT, "-T", "0.5", "-W", "3", "--crc", "--warmup", "0.1"), 0);
    ck_assert_int_eq(USAGE(CLIENT, "-D", "1M", "-R", "20b", "-P", "64", "-l", "1h"), 0);
    ck_assert_int_eq(USAGE("server", "--socket", "s", "--reconnect=5", "--deliveries", "9"), 0);
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1"), 2);                        /* no -W, no -R */
    ck_assert_int_eq(USAGE(CLIENT, "-W", "1"), 2);                        /* no amount */
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-D", "1k", "-W", "1"), 2); /* two of them */
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "1", "-R", "1M"), 2); /* two speeds */
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "0"), 2);
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "1", "-P", "63"), 2); /* no header fits */
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "1", "--warmup", "1"), 2);
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "1", "--crc=8"), 2);
    ck_assert_int_eq(USAGE(CLIENT, "-T", "1", "-W", "1", "more"), 2);
    ck_assert_int_eq(USAGE("client", "--socket", "s", "-T", "1", "-W", "1"), 2); /* no -d */
    ck_assert_int_eq(USAGE("client", "-d", "ipn:2.1", "-T", "1", "-W", "1"), 2); /* no socket */
    ck_assert_int_eq(USAGE("server"), 2);
}
END_TEST

/* The node comes a little after its applications. */
START_TEST(reconnect_waits_for_the_first_node)
{
    struct lab l;
    lab_init(&l);
    struct perf_options o = client_options(&l);
    struct perf_options s = {.server = true,
                             .socket = l.socket,
                             .json = l.server_json,
                             .payload_max = 1 << 20,
                             .reconnect = 20 * TICK_S,
                             .deliveries = 16};
    o.reconnect = 20 * TICK_S;
    l.server_pid = start(&l, -1, &s);
    pid_t client = start(&l, -1, &o);
    usleep(100000); /* long enough for a first attempt to fail; shorter is harmless */
    l.node_pid = start(&l, fake_listen(l.socket), NULL);
    ck_assert_int_eq(join(client), 0);
    kill(l.server_pid, SIGTERM);
    ck_assert_int_eq(join(l.server_pid), 0);
    kill(l.node_pid, SIGKILL);
    join(l.node_pid);
    l.client = load(l.client_json);
    check(l.client, "bundles_acked", 1000);
    lab_fini(&l);
}
END_TEST

SUITE(tools_perf_run, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_arrive);
    tcase_add_test(t, lost_acknowledgements_do_not_shrink_the_window);
    tcase_add_test(t, lost_damaged_and_repeated_bundles_are_counted);
    tcase_add_test(t, a_dying_node_costs_nothing);
    tcase_add_test(t, refused_bundles_are_given_again);
    tcase_add_test(t, rate_mode_keeps_its_rate);
    tcase_add_test(t, the_least_rate_is_one);
    tcase_add_test(t, a_receiver_has_one_sender);
    tcase_add_test(t, a_burst_is_taken_at_once);
    tcase_add_loop_test(t, a_file_is_rebuilt, 0, 2);
    tcase_add_loop_test(t, a_file_is_rebuilt, 100000, 100001);
    tcase_add_test(t, no_node_is_an_error);
    tcase_add_test(t, reconnect_waits_for_the_first_node);
    tcase_add_test(t, wrong_lines_exit_with_2);
}
