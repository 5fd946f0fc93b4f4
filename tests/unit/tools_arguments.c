/* SPDX-License-Identifier: Apache-2.0 */
/* A command line by a table: each type of an option, its other names, words, the end, and messages
 * about what is wrong. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_arguments.h"
#include "os/process/child.h"
#include "tests/unit/suite.h"

struct options {
    const char *text, *service, *word, *last;
    uint64_t count, size;
    uint32_t narrow;
    bool set, clear, ended;
    int own;
    uint8_t octet;
    enum { FIRST = 3, SECOND } choice;
    bool second;
    double share;
    tick time, year;
    uint64_t rate, octets, sessions, total;
    struct address address;
    double loss;
    struct options_part {
        const char *text;
        bool ended;
    } part;
};

static void add_own(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    int *own = argument_field(o, base);
    (void)state;
    *own += arg == NULL ? 1 : (int)strlen(arg) * (int)o->min;
}

static void set_pair(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    char *second = strchr(arg, ':');
    (void)base;
    if (second == NULL) {
        argument_want(state, arg, "A:B, such as 1:2");
        return;
    }
    *second++ = '\0';
    (void)argument_number(state, o, arg);
    (void)argument_number(state, o, second);
}

/* The first word ends the options that it can see: the rest is taken as it is. */
static void take_words(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (strcmp(arg, "wrong") == 0)
        argument_want(state, arg, "a right one");
    o->word = arg;
    o->last = state->argv[state->argc - 1];
    state->next = state->argc;
}

static void end_options(struct argp_state *state, void *base)
{
    struct options *o = base;
    if (o->count > 50)
        argp_error(state, "too many");
    o->ended = true;
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument rows[] = {
    {"text", 't', "TEXT", .help = "A text", FIELD(text)},
    {"service", 0, "NAME", .help = "A name", .own = argument_set_service, FIELD(service)},
    {"count", 'c', "N", .help = "A number", .type = OPTION_COUNT, FIELD(count), .max = 100},
    {"bundles", 'n', .flags = OPTION_ALIAS},
    {"number", 0, .flags = OPTION_ALIAS},
    {"size", 0, "SIZE", .help = "Bytes", .type = OPTION_SIZE, FIELD(size), .max = INT64_MAX},
    {"narrow", 0, "N", .help = "32 bits", .type = OPTION_COUNT, FIELD(narrow), .min = 1,
     .max = UINT32_MAX},
    {"set", 's', .help = "True", .type = OPTION_BOOL, FIELD(set)},
    {"clear", 0, .help = "False", .type = OPTION_BOOL, .without = "no", FIELD(clear)},
    {"octet", 0, "N", .help = "8 bits", .type = OPTION_COUNT, FIELD(octet), .max = 255},
    {"choice", 0, "WORD", .help = "One of them", .type = OPTION_CHOICE, .choices = "first|second",
     .min = FIRST, FIELD(choice)},
    {"second", 0, "WORD", .help = "The second", .type = OPTION_CHOICE, .choices = "first|second",
     FIELD(second)},
    {"share", 0, "SHARE", .help = "A share", .type = OPTION_SHARE, FIELD(share)},
    {"loss", 0, "SHARE", .help = "A share below 1", .type = OPTION_SHARE, .max = SHARE_BELOW_1,
     FIELD(loss)},
    {"octets", 0, "SIZE", .help = "32 bits", .type = OPTION_SIZE, .min = 1, .max = UINT32_MAX,
     FIELD(octets)},
    {"sessions", 0, "N|auto", .help = "Several words", .type = OPTION_COUNT, .min = 1, .max = 64,
     .choices = "auto|all", FIELD(sessions)},
    {"total", 0, "N", .help = "Above 0", .type = OPTION_COUNT, .min = 1, FIELD(total)},
    {"address", 'a', "ADDRESS", .help = "An address", .type = OPTION_ADDRESS, FIELD(address)},
    {"pair", 0, "A:B", .help = "Two numbers", .type = OPTION_COUNT, .max = 9, .own = set_pair},
    {NULL, .help = "Times:", .group = 2},
    {"year", 0, "TIME", .help = "Above 0", .group = 2, .type = OPTION_DURATION, .min = 1,
     .max = 366 * 86400 * TICK_S, FIELD(year)},
    {"time", 0, "TIME", OPTION_ARG_OPTIONAL, .help = "A time", .group = 2, .type = OPTION_DURATION,
     .without = "60s", FIELD(time), .min = TICK_MS},
    {"rate", 0, "RATE", .help = "A rate", .type = OPTION_RATE, .choices = "unlimited", .min = 1,
     FIELD(rate)},
    {"own", 'o', "X", OPTION_ARG_OPTIONAL, .help = "Own", .own = add_own, FIELD(own), .min = 10},
    {0}};

static const struct argument part_rows[] = {{"part-text", 0, "TEXT", .help = "A text of the part",
                                             ARGUMENT_FIELD(struct options_part, text)},
                                            {0}};

static void end_part(struct argp_state *state, void *base)
{
    struct options_part *p = base;
    (void)state;
    p->ended = true;
}

static struct options parse(const char *const *words)
{
    static const struct argument_part parts[] = {
        {part_rows, offsetof(struct options, part), "Of the part:", 3, end_part}, {0}};
    static const struct argument_table table = {rows,       "WORD...",   "A program.",
                                                take_words, end_options, .parts = parts};
    struct options o = {.clear = true};
    char *argv[24] = {(char[]){"program"}}, text[24][80];
    int argc = 1;
    for (; *words != NULL; words++, argc++) {
        snprintf(text[argc], sizeof text[argc], "%s", *words);
        argv[argc] = text[argc];
    }
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &o);
    /* Texts are borrowed from argv, which ends with this call. */
    o.text = o.text == NULL ? NULL : "borrowed";
    o.part.text = o.part.text == NULL ? NULL : "borrowed";
    o.service = o.service == NULL ? NULL : "borrowed";
    o.word = o.word == NULL ? NULL : o.word == text[argc - 1] ? "the last" : "before";
    o.last = NULL;
    return o;
}

START_TEST(each_type)
{
    const struct options o =
        parse((const char *const[]){"--text=x", "--service", "perf", "-c", "7", "--size", "3kB",
                                    "--narrow", "4294967295", "--set", "--clear", NULL});
    ck_assert_str_eq(o.text, "borrowed");
    ck_assert_str_eq(o.service, "borrowed");
    ck_assert_uint_eq(o.count, 7);
    ck_assert_uint_eq(o.size, 3000);
    ck_assert_uint_eq(o.narrow, UINT32_MAX);
    ck_assert(o.set && !o.clear && o.ended);
    ck_assert_int_eq(o.own, 0);
    ck_assert_ptr_null(o.word);
}
END_TEST

/* The types of a configuration, in fields as narrow as their range. */
START_TEST(types_of_configurations)
{
    const struct options o = parse((const char *const[]){
        "--octet", "255", "--choice", "second", "--second=second", "--share", "0.25", "--time",
        "--rate=2Mbit/s", "--part-text", "x", "--", "word", NULL});
    ck_assert_uint_eq(o.octet, 255);
    ck_assert_int_eq(o.choice, SECOND);
    ck_assert(o.second);
    ck_assert_double_eq(o.share, 0.25);
    ck_assert_uint_eq(o.time, 60 * TICK_S);
    ck_assert_uint_eq(o.rate, 2000000);
    ck_assert_str_eq(o.part.text, "borrowed");
    ck_assert(o.part.ended && o.ended);
    ck_assert_uint_eq(parse((const char *const[]){"--time=2ms", NULL}).time, 2 * TICK_MS);
    ck_assert_uint_eq(parse((const char *const[]){"--rate=unlimited", NULL}).rate, 0);
}
END_TEST

START_TEST(defaults_stay)
{
    const struct options o = parse((const char *const[]){NULL});
    ck_assert(o.clear && !o.set && o.ended);
    ck_assert_ptr_null(o.text);
    ck_assert_uint_eq(o.count, 0);
}
END_TEST

/* The names of one option: short ones, long ones, the beginning of a long one. */
START_TEST(other_names)
{
    ck_assert_uint_eq(parse((const char *const[]){"-n", "3", NULL}).count, 3);
    ck_assert_uint_eq(parse((const char *const[]){"--bundles=4", NULL}).count, 4);
    ck_assert_uint_eq(parse((const char *const[]){"--number", "5", NULL}).count, 5);
    ck_assert_uint_eq(parse((const char *const[]){"--cou", "6", NULL}).count, 6);
    ck_assert_uint_eq(parse((const char *const[]){"-n3", "-c", "9", NULL}).count, 9);
}
END_TEST

START_TEST(own_and_words)
{
    const struct options o = parse((const char *const[]){"first", "-o", "--own=abc", "last", NULL});
    ck_assert_int_eq(o.own, 31);
    ck_assert_str_eq(o.word, "before");
    ck_assert_str_eq(parse((const char *const[]){"-s", "one", NULL}).word, "the last");
}
END_TEST

/* ---- messages ---- */

struct asked {
    const char *const *words;
    int end; /* of a pipe */
};

static void ask(void *ctx)
{
    const struct asked *a = ctx;
    dup2(a->end, STDERR_FILENO);
    (void)parse(a->words);
}

/* The first line after "program: " that the program ends with. */
static void refused_with(const char *const *words, const char *message)
{
    char text[1024], expected[1024];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct asked a = {.words = words, .end = ends[1]};
    (void)child_call(ask, &a); /* which exits with 2 */
    close(ends[1]);
    const ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    snprintf(expected, sizeof expected, "program: %s", message);
    ck_assert_str_eq(text, expected);
}

static const struct {
    const char *words[3], *message;
} messages[] = {
    /* the option as it was written */
    {{"-c", "x"}, "-c: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"-cx"}, "-c: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"-scx"}, "-c: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"--count", "x"}, "--count: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"--coun=x"}, "--count: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"--bundles=x"}, "--bundles: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"-nx"}, "-n: \"x\" is not understood; write a whole number from 0 to 100"},
    {{"wrong"}, "WORD: \"wrong\" is not understood; write a right one"},
    /* ranges */
    {{"--count", "101"}, "--count: 101 is out of range; write a value from 0 to 100"},
    {{"--total", "0"}, "--total: 0 is out of range; write a value of at least 1"},
    {{"--total", "x"}, "--total: \"x\" is not understood; write a whole number of at least 1"},
    {{"--time=1us"}, "--time: 1us is out of range; write a value of at least 1ms"},
    {{"--year=0"}, "--year: 0 is out of range; write a value above 0, at most 366d"},
    {{"--octets=5GB"}, "--octets: 5GB is out of range; write a value from 1B to 4.29GB"},
    {{"--size", "10000000TB"}, "--size: 10000000TB is out of range; write a smaller value"},
    {{"--narrow=0"}, "--narrow: 0 is out of range; write a value from 1 to 4294967295"},
    /* words instead of a number */
    {{"--sessions=x"},
     "--sessions: \"x\" is not understood; write a whole number from 1 to 64, or auto, or all"},
    {{"--sessions=65"},
     "--sessions: 65 is out of range; write a value from 1 to 64, or auto, or all"},
    {{"--rate=fast"},
     "--rate: \"fast\" is not understood; write a rate with its unit, such as "
     "500Mbit/s, 2.5Gbit/s, or unlimited"},
    {{"--choice", "third"}, "--choice: \"third\" is not known; write one of: first, second"},
    /* shares */
    {{"--share", "2"},
     "--share: \"2\" is not understood; write a number from 0 to 1, such as 0.05"},
    {{"--share", "-1"},
     "--share: \"-1\" is not understood; write a number from 0 to 1, such as 0.05"},
    {{"--share", "nan"},
     "--share: \"nan\" is not understood; write a number from 0 to 1, such as 0.05"},
    {{"--share", "50 %"}, "--share: \"50 %\" is not understood; write 0.5"},
    {{"--loss", "1"},
     "--loss: \"1\" is not understood; write a number from 0 to below 1, such as 0.05"},
    {{"--loss", "100%"},
     "--loss: \"100%\" is not understood; write a number from 0 to below 1, such as 0.05"},
    /* others */
    {{"--address", "::1:5"},
     "--address: \"::1:5\" is not understood; write a numeric address and a "
     "port, such as 127.0.0.1:1113 or [::1]:1113"},
    {{"-a", "here"},
     "-a: \"here\" is not understood; write a numeric address and a "
     "port, such as 127.0.0.1:1113 or [::1]:1113"},
    {{"--service", ""},
     "--service: \"\" is not understood; write a name or a number of at most 63 "
     "characters, such as 2000"},
    {{"--time=soon"},
     "--time: \"soon\" is not understood; write a duration with its unit, such as "
     "30ms, 500us, 2s, 1h"},
    {{"--pair", "1"}, "--pair: \"1\" is not understood; write A:B, such as 1:2"},
    {{"--pair", "1:x"}, "--pair: \"x\" is not understood; write a whole number from 0 to 9"},
};

START_TEST(what_is_said)
{
    refused_with(messages[_i].words, messages[_i].message);
}
END_TEST

START_TEST(addresses)
{
    const struct options o =
        parse((const char *const[]){"--address", "[::1]:5", "--loss=0.5", NULL});
    ck_assert_uint_eq(address_port(&o.address), 5);
    ck_assert_double_eq(o.loss, 0.5);
}
END_TEST

#define REFUSED(...)                                                                               \
    (void)parse((const char *const[]){__VA_ARGS__, NULL});                                         \
    ck_abort_msg("the program did not end")

START_TEST(above_its_range)
{
    REFUSED("--count", "101");
}
END_TEST

START_TEST(below_its_range)
{
    REFUSED("--narrow", "0");
}
END_TEST

START_TEST(above_its_width)
{
    REFUSED("--octet", "256");
}
END_TEST

START_TEST(time_below_its_range)
{
    REFUSED("--time=1us");
}
END_TEST

START_TEST(size_above_its_range)
{
    REFUSED("--size", "9223372036854775808B");
}
END_TEST

START_TEST(no_time)
{
    REFUSED("--time=soon");
}
END_TEST

START_TEST(no_rate)
{
    REFUSED("--rate=fast");
}
END_TEST

START_TEST(no_word_of_the_choice)
{
    REFUSED("--choice", "third");
}
END_TEST

START_TEST(rate_of_nothing)
{
    REFUSED("--rate", "0");
}
END_TEST

START_TEST(no_service)
{
    REFUSED("--service", "");
}
END_TEST

START_TEST(unknown_option)
{
    REFUSED("--nothing");
}
END_TEST

START_TEST(refused_at_the_end)
{
    REFUSED("--count", "51");
}
END_TEST

SUITE(tools_arguments, t)
{
    tcase_add_test(t, each_type);
    tcase_add_test(t, types_of_configurations);
    tcase_add_test(t, defaults_stay);
    tcase_add_test(t, other_names);
    tcase_add_test(t, own_and_words);
    tcase_add_test(t, addresses);
    tcase_add_loop_test(t, what_is_said, 0, sizeof messages / sizeof *messages);
    tcase_add_exit_test(t, above_its_range, 2);
    tcase_add_exit_test(t, below_its_range, 2);
    tcase_add_exit_test(t, above_its_width, 2);
    tcase_add_exit_test(t, time_below_its_range, 2);
    tcase_add_exit_test(t, size_above_its_range, 2);
    tcase_add_exit_test(t, no_time, 2);
    tcase_add_exit_test(t, no_rate, 2);
    tcase_add_exit_test(t, no_word_of_the_choice, 2);
    tcase_add_exit_test(t, rate_of_nothing, 2);
    tcase_add_exit_test(t, no_service, 2);
    tcase_add_exit_test(t, unknown_option, 2);
    tcase_add_exit_test(t, refused_at_the_end, 2);
}
