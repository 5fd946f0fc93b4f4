/* SPDX-License-Identifier: Apache-2.0 */
/* helio-csts: values as text and as BER, tables of figures, metrics. */
#include <math.h>

#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/csts/csts_figures.h"

START_TEST(values)
{
    static const struct {
        enum figure_type type;
        const char *text, *octets, *json;
    } rows[] = {
        {FIGURE_INTEGER, "0", "020100", "0"},
        {FIGURE_INTEGER, "-129", "0202ff7f", "-129"},
        {FIGURE_INTEGER, "9223372036854775807", "02087fffffffffffffff", "9223372036854775807"},
        {FIGURE_ENUMERATED, "3", "0a0103", "3"},
        {FIGURE_BOOLEAN, "true", "0101ff", "true"},
        {FIGURE_BOOLEAN, "false", "010100", "false"},
        {FIGURE_REAL, "0", "0900", "0.0"},
        {FIGURE_REAL, "-12.75", "090b03 2d312e323735452b3031", "-12.75"},
        {FIGURE_REAL, "inf", "090140", "\"Infinity\""},
        {FIGURE_REAL, "1e300", "09 07 03 31452b333030", "1e300"},
        {FIGURE_TEXT, "a b", "0c03612062", "\"a b\""},
        {FIGURE_TEXT, "", "0c00", "\"\""},
        {FIGURE_EVENT, "7", "020107", "7"},
    };
    uint8_t octets[2048];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = figure_encode(rows[i].type, rows[i].text, octets, sizeof octets);
        assert_hex(octets, n, rows[i].octets);
        json_t *j = figure_decode(slice_of(octets, n));
        char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        ck_assert_str_eq(text, rows[i].json);
        free(text);
        json_decref(j);
    }
}
END_TEST

START_TEST(no_values)
{
    static const struct {
        enum figure_type type;
        const char *text;
    } rows[] = {{FIGURE_INTEGER, "5.5"},  {FIGURE_INTEGER, "9223372036854775808"},
                {FIGURE_INTEGER, ""},     {FIGURE_REAL, "x"},
                {FIGURE_BOOLEAN, "True"}, {FIGURE_ENUMERATED, "on"}};
    uint8_t octets[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(figure_encode(rows[i].type, rows[i].text, octets, sizeof octets), 0);
}
END_TEST

/* Encodings of others: REAL in base 2, strings; what is not known, as digits. */
START_TEST(foreign_values)
{
    static const struct {
        const char *octets, *json;
    } rows[] = {{"0903 80ff03", "1.5"},    /* 3 * 2^-1 */
                {"0903 c00005", "-5.0"},   /* sign */
                {"0903 a40101", "32.0"},   /* base 16, scale 1: 1 * 2^(4 + 1) */
                {"0904 81fffe05", "1.25"}, /* an exponent of two octets */
                {"0904 0320312c", "1.0"},  /* a blank, and a comma */
                {"1a03414243", "\"ABC\""}, /* VisibleString */
                {"0403414243", "\"0403414243\""},
                {"3003020105", "\"3003020105\""},
                {"0201", "\"0201\""},
                {"0c01ff", "\"0c01ff\""}, /* no UTF-8 */
                {"0209010000000000000000", "\"0209010000000000000000\""},
                {"", "\"\""}};
    uint8_t octets[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *j = figure_decode(slice_of(octets, read_hex(rows[i].octets, octets)));
        char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        ck_assert_msg(strcmp(text, rows[i].json) == 0, "row %zu: %s", i, text);
        free(text);
        json_decref(j);
    }
}
END_TEST

/* Each finite number is read as it was. */
START_TEST(reals)
{
    uint8_t octets[128];
    char text[64];
    double v = 1.0 / 3;
    for (int i = 0; i < 600; i++, v *= -3.7) {
        snprintf(text, sizeof text, "%.17g", v);
        const size_t n = figure_encode(FIGURE_REAL, text, octets, sizeof octets);
        json_t *j = figure_decode(slice_of(octets, n));
        if (isfinite(v))
            ck_assert(json_real_value(j) == v);
        json_decref(j);
    }
}
END_TEST

static const char table[] = "# comment\n\nresource,instance,parameter,type,value\r\n"
                            "1.3.112.4,1,1.3.112.4.1,integer, 5 \r\n"
                            "1.3.112.4,2,1.3.112.4.1,real,metric:x_total{a=\"1,2\"}\n"
                            "1.3.112.4,2,1.3.112.4.2,event,";

START_TEST(tables)
{
    static const char metrics[] = "# HELP x_total words\nx_total{a=\"1\"} 1\nx_total 3\n"
                                  "x_total{a=\"1,2\"} 2.5e3 1700000000\nlast 7";
    const struct slice text = slice_of(metrics, strlen(metrics));
    struct figures f;
    char why[128], room[64];
    ck_assert_msg(figures_parse(slice_of(table, strlen(table)), &f, why, sizeof why), "%s", why);
    ck_assert_uint_eq(f.len, 3);
    ck_assert_str_eq(f.all[0].value, "5");
    ck_assert_uint_eq(f.all[1].name.instance, 2);
    ck_assert_str_eq(figure_text(&f.all[0], text, room, sizeof room), "5");
    ck_assert_str_eq(figure_text(&f.all[1], text, room, sizeof room), "2.5e3");
    ck_assert_str_eq(figure_text(&f.all[2], text, room, sizeof room), "");
    f.all[1].type = FIGURE_INTEGER;
    ck_assert_str_eq(figure_text(&f.all[1], text, room, sizeof room), "2500");
    figures_free(&f);
    ck_assert(metric_find(text, "x_total", room, sizeof room));
    ck_assert_str_eq(room, "3");
    ck_assert(metric_find(text, "last", room, sizeof room));
    ck_assert_str_eq(room, "7");
    ck_assert(!metric_find(text, "x_tot", room, sizeof room));
    ck_assert(!metric_find(text, "las", room, sizeof room));
    ck_assert(!metric_find(text, "", room, sizeof room));
}
END_TEST

START_TEST(tables_that_are_none)
{
    static const struct {
        const char *row, *why;
    } rows[] = {{"1.3,1,1.3.4,integer", "line 2: five columns"},
                {"9.3,1,1.3.4,integer,5", "line 2: resource \"9.3\""},
                {"1.3,-1,1.3.4,integer,5", "line 2: instance \"-1\""},
                {"1.3,4294967296,1.3.4,integer,5", "line 2: instance \"4294967296\""},
                {"1.3,1,1.3.,integer,5", "line 2: parameter \"1.3.\""},
                {"1.3,1,1.3.4,int,5", "line 2: type \"int\""},
                {"1.3,1,1.3.4,boolean,1", "line 2: \"1\" is no boolean"},
                {"1.3,1,1.3.4,integer,5\n1.3,1,1.3.4,real,6", "parameter 1.3.4 of instance 1"}};
    char text[512], why[128];
    struct figures f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "resource,instance,parameter,type,value\n%s", rows[i].row);
        ck_assert(!figures_parse(slice_of(text, strlen(text)), &f, why, sizeof why));
        ck_assert_msg(strncmp(why, rows[i].why, strlen(rows[i].why)) == 0, "%s", why);
        ck_assert_uint_eq(f.len, 0);
    }
}
END_TEST

SUITE(tools_csts, t)
{
    tcase_add_test(t, values);
    tcase_add_test(t, no_values);
    tcase_add_test(t, foreign_values);
    tcase_add_test(t, reals);
    tcase_add_test(t, tables);
    tcase_add_test(t, tables_that_are_none);
}
