/* SPDX-License-Identifier: Apache-2.0 */
/* A command line by a table: each type of an option, its other names, words, and the end. */
#include <stdio.h>
#include <string.h>

#include "conf/conf_arguments.h"
#include "tests/unit/suite.h"

struct options {
    const char *text, *service, *word, *last;
    uint64_t count, size;
    uint32_t narrow;
    bool set, clear, ended;
    int own;
};

static void add_own(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    int *own = argument_field(o, base);
    (void)state;
    *own += arg == NULL ? 1 : (int)strlen(arg) * (int)o->low;
}

/* The first word ends the options that it can see: the rest is taken as it is. */
static void take_words(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
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
    {"service", 0, "NAME", .help = "A name", .type = ARGUMENT_SERVICE, FIELD(service)},
    {"count", 'c', "N", .help = "A number", .type = ARGUMENT_COUNT, FIELD(count), .high = 100},
    {"bundles", 'n', .flags = OPTION_ALIAS},
    {"number", 0, .flags = OPTION_ALIAS},
    {"size", 0, "SIZE", .help = "Bytes", .type = ARGUMENT_SIZE, FIELD(size), .high = INT64_MAX},
    {"narrow", 0, "N", .help = "32 bits", .type = ARGUMENT_COUNT, FIELD(narrow), .low = 1,
     .high = UINT32_MAX},
    {"set", 's', .help = "True", .type = ARGUMENT_SET, FIELD(set)},
    {"clear", 0, .help = "False", .type = ARGUMENT_CLEAR, FIELD(clear)},
    {"own", 'o', "X", OPTION_ARG_OPTIONAL, .help = "Own", .type = ARGUMENT_OWN, .own = add_own,
     FIELD(own), .low = 10},
    {0}};

static struct options parse(const char *const *words)
{
    static const struct argument_table table = {rows, "WORD…", "A program.", take_words,
                                                end_options};
    struct options o = {.clear = true};
    char *argv[16] = {(char[]){"program"}}, text[16][80];
    int argc = 1;
    for (; *words != NULL; words++, argc++) {
        snprintf(text[argc], sizeof text[argc], "%s", *words);
        argv[argc] = text[argc];
    }
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &o);
    /* Texts are borrowed from argv, which ends with this call. */
    o.text = o.text == NULL ? NULL : "borrowed";
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
    tcase_add_test(t, defaults_stay);
    tcase_add_test(t, other_names);
    tcase_add_test(t, own_and_words);
    tcase_add_exit_test(t, above_its_range, 2);
    tcase_add_exit_test(t, below_its_range, 2);
    tcase_add_exit_test(t, no_service, 2);
    tcase_add_exit_test(t, unknown_option, 2);
    tcase_add_exit_test(t, refused_at_the_end, 2);
}
