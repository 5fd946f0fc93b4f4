/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INTEGER, ENUMERATED, BOOLEAN, UTF8String, and REAL, which is written in decimal (ISO 6093 NR3)
 * and read in decimal and binary. What can go wrong: a text that is no number, a number beyond 64
 * bits.
 */
#include "tools/csts/csts_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sle/ber.h"

enum { TAG_BOOLEAN = 1, TAG_INTEGER = 2, TAG_REAL = 9, TAG_ENUMERATED = 10, TAG_UTF8 = 12 };
enum { REAL_NR3 = 0x03, REAL_PLUS_INFINITY = 0x40, REAL_MINUS_INFINITY = 0x41, REAL_NAN = 0x42 };

const char *const figure_types[] = {"integer", "enumerated", "real", "boolean",
                                    "text",    "event",      NULL};

static size_t done(const struct ber *b)
{
    return ber_done(b) ? writer_len(&b->w) : 0;
}

static bool read_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

static bool read_real(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

/* The content of a REAL; the shortest decimal number that is read as the same value. */
static size_t write_real(double v, char *out, size_t room)
{
    if (v == 0)
        return 0;
    if (!isfinite(v)) {
        out[0] = isnan(v) ? REAL_NAN : v > 0 ? REAL_PLUS_INFINITY : REAL_MINUS_INFINITY;
        return 1;
    }
    out[0] = REAL_NR3;
    int n = 0;
    for (int digits = 0; digits < 18; digits++) {
        n = snprintf(out + 1, room - 1, "%.*E", digits, v);
        if (strtod(out + 1, NULL) == v)
            break;
    }
    return 1 + (size_t)n;
}

size_t figure_encode(enum figure_type type, const char *text, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    char real[64];
    uint8_t octet;
    int64_t integer;
    double number;
    struct slice s;
    switch (type) {
    case FIGURE_INTEGER:
    case FIGURE_ENUMERATED:
    case FIGURE_EVENT:
        if (!read_integer(text, &integer))
            return 0;
        ber_int(&b, type == FIGURE_ENUMERATED ? TAG_ENUMERATED : TAG_INTEGER, &integer, INT64_MIN,
                INT64_MAX);
        return done(&b);
    case FIGURE_REAL:
        if (!read_real(text, &number))
            return 0;
        s = slice_of(real, write_real(number, real, sizeof real));
        ber_octets(&b, TAG_REAL, &s, 0, sizeof real);
        return done(&b);
    case FIGURE_BOOLEAN:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return 0;
        octet = text[0] == 't' ? 0xff : 0;
        s = slice_of(&octet, 1);
        ber_octets(&b, TAG_BOOLEAN, &s, 1, 1);
        return done(&b);
    default:
        s = slice_of(text, strlen(text));
        if (s.len > FIGURE_TEXT_MAX)
            return 0;
        ber_octets(&b, TAG_UTF8, &s, 0, FIGURE_TEXT_MAX);
        return done(&b);
    }
}

/* ---- reading ---- */

static json_t *octets_json(struct slice in)
{
    char *text = malloc(2 * in.len + 1);
    if (text == NULL)
        return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < in.len; i++)
        snprintf(text + 2 * i, 3, "%02x", in.data[i]);
    json_t *j = json_string(text);
    free(text);
    return j;
}

/* Two's complement, the highest octet first; at most 8. */
static int64_t read_signed(const uint8_t *octets, size_t n)
{
    uint64_t v = n > 0 && (octets[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | octets[i];
    return (int64_t)v;
}

/* Base 2, 8 or 16: sign, base, scale and the exponent's length are in the first octet. */
static bool read_binary(struct slice s, double *value)
{
    static const int bits[] = {1, 3, 4, 0};
    const unsigned first = s.data[0], octets = (first & 3) + 1;
    const int base = bits[first >> 4 & 3];
    if (base == 0 || (first & 3) == 3 || s.len < 1 + octets || s.len > 1 + octets + 8)
        return false;
    const int64_t exponent = read_signed(s.data + 1, octets);
    uint64_t mantissa = 0;
    for (size_t i = 1 + octets; i < s.len; i++)
        mantissa = mantissa << 8 | s.data[i];
    const int64_t power = exponent * base + (first >> 2 & 3);
    if (power > 100000 || power < -100000)
        return false;
    *value = ldexp((double)mantissa, (int)power);
    *value = (first & 0x40) != 0 ? -*value : *value;
    return true;
}

static bool read_decimal(struct slice s, double *value)
{
    char text[64];
    if (s.len - 1 >= sizeof text)
        return false;
    memcpy(text, s.data + 1, s.len - 1);
    text[s.len - 1] = '\0';
    char *comma = strchr(text, ',');
    if (comma != NULL)
        *comma = '.';
    return read_real(text, value);
}

/* NaN and infinities are words: JSON has no numbers for them. */
static json_t *real_json(struct slice s)
{
    double v = 0;
    if (s.len == 0)
        return json_real(0);
    if (s.len == 1 && s.data[0] >= REAL_PLUS_INFINITY && s.data[0] <= REAL_NAN)
        return json_string(s.data[0] == REAL_NAN             ? "NaN"
                           : s.data[0] == REAL_PLUS_INFINITY ? "Infinity"
                                                             : "-Infinity");
    const bool binary = (s.data[0] & 0x80) != 0;
    if (!(binary ? read_binary(s, &v) : read_decimal(s, &v)) || !isfinite(v))
        return NULL;
    return json_real(v);
}

json_t *figure_decode(struct slice in)
{
    struct ber b = ber_reader(in);
    const uint32_t tag = ber_choice(&b, 0);
    struct slice s = slice_of(NULL, 0);
    json_t *j = NULL;
    if (tag != 0 && (tag & 0x20) == 0)
        ber_octets(&b, tag, &s, 0, SIZE_MAX);
    if (tag == 0 || (tag & 0x20) != 0 || !ber_done(&b))
        return octets_json(in);
    if ((tag == TAG_INTEGER || tag == TAG_ENUMERATED) && s.len >= 1 && s.len <= 8) {
        j = json_integer(read_signed(s.data, s.len));
    } else if (tag == TAG_BOOLEAN && s.len == 1) {
        j = json_boolean(s.data[0] != 0);
    } else if (tag == TAG_REAL) {
        j = real_json(s);
    } else if (tag == TAG_UTF8 || (tag >= 18 && tag <= 30 && tag != 30)) {
        j = json_stringn(s.len == 0 ? "" : (const char *)s.data, s.len); /* NULL: it is no UTF-8 */
    }
    return j != NULL ? j : octets_json(in);
}

/* ---- texts for people ---- */

const char *csts_time_text(struct sle_time t, char out[CSTS_TIME_TEXT])
{
    struct tm utc;
    const uint64_t ns = sle_time_unix(t);
    const time_t seconds = (time_t)(ns / TICK_S);
    char text[32];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out, CSTS_TIME_TEXT, "%s.%06" PRIu64 "Z", text, ns % TICK_S / 1000);
    return out;
}

const char *csts_production_text(enum csts_production production)
{
    static const char *const words[] = {"configured", "operational", "interrupted", "halted"};
    return words[production];
}

const char *csts_production_of(const struct csts_notify *n)
{
    struct slice rest = n->values;
    struct csts_value v;
    if (n->kind != CSTS_EVENT_VALUES || !csts_values_next(&rest, &v) || v.state != CSTS_VALID ||
        v.pdv.data.len != 3 || v.pdv.data.data[2] > CSTS_HALTED)
        return NULL;
    return csts_production_text((enum csts_production)v.pdv.data.data[2]);
}

const char *csts_refusal_text(const struct csts_diagnostic *d, char *out, size_t cap)
{
    static const char *const lists[] = {"unknown functional resource",
                                        "unknown functional resource type",
                                        "unknown parameter or event",
                                        "unknown list",
                                        "there is no default list",
                                        "unknown procedure type",
                                        "unknown procedure"};
    struct csts_refusal r;
    snprintf(out, cap, "refused");
    if (d->kind == CSTS_DIAGNOSTIC_EXTENSION && csts_refusal_read(&d->pdv, &r))
        snprintf(out, cap, "%.*s", r.kind == CSTS_REFUSED_LIST ? 100 : (int)r.text.len,
                 r.kind == CSTS_REFUSED_LIST ? lists[r.list.kind] : (const char *)r.text.data);
    else if (d->kind != CSTS_DIAGNOSTIC_EXTENSION && d->text.len > 0)
        snprintf(out, cap, "%.*s", (int)d->text.len, (const char *)d->text.data);
    return out;
}
