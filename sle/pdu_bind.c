/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BIND and its return. A service instance identifier is a sequence of sets of one attribute each:
 * an object identifier 1.3.112.4.3.1.2.n, and a text.
 */
#include <assert.h>
#include <stdio.h>

#include "sle/pdu_private.h"

enum { OID_LEN = 7 };
static const uint8_t oid_prefix[OID_LEN - 1] = {0x2b, 0x70, 0x04, 0x03, 0x01, 0x02};

static const struct {
    uint8_t number;
    const char *name;
} attributes[] = {{52, "sagr"}, {53, "spack"}, {38, "rsl-fg"}, {14, "fsl-fg"}, {22, "raf"},
                  {46, "rcf"},  {49, "rocf"},  {7, "cltu"},    {10, "fsp"}};
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

static uint8_t attribute_number(const char *name, size_t len)
{
    for (size_t i = 0; i < ATTRIBUTES; i++)
        if (strlen(attributes[i].name) == len && memcmp(attributes[i].name, name, len) == 0)
            return attributes[i].number;
    assert(false);
    return 0;
}

/* The name of an attribute of another tree is "?": there is no instance with it. */
static const char *attribute_name(struct slice oid)
{
    if (oid.len == OID_LEN && memcmp(oid.data, oid_prefix, OID_LEN - 1) == 0)
        for (size_t i = 0; i < ATTRIBUTES; i++)
            if (attributes[i].number == oid.data[OID_LEN - 1])
                return attributes[i].name;
    return "?";
}

static void code_attribute(struct ber *b, struct slice *oid, struct slice *value)
{
    struct ber_mark set = ber_open(b, BER_SET);
    struct ber_mark pair = ber_open(b, BER_SEQUENCE);
    ber_octets(b, BER_OID, oid, 1, 32);
    ber_octets(b, BER_VISIBLE, value, 1, SLE_SIID_MAX);
    ber_close(b, pair);
    ber_close(b, set);
}

static void write_siid(struct ber *b, const char *text)
{
    uint8_t number[OID_LEN];
    memcpy(number, oid_prefix, sizeof oid_prefix);
    for (const char *p = text; *p != '\0';) {
        const char *equal = strchr(p, '=');
        assert(equal != NULL);
        size_t len = strcspn(equal + 1, ".");
        struct slice oid = slice_of(number, OID_LEN), value = slice_of(equal + 1, len);
        number[OID_LEN - 1] = attribute_number(p, (size_t)(equal - p));
        code_attribute(b, &oid, &value);
        p = equal + 1 + len;
        p += *p == '.';
    }
}

static void read_siid(struct ber *b, struct sle_siid *id)
{
    size_t at = 0;
    while (ber_more(b)) {
        struct slice oid, value;
        code_attribute(b, &oid, &value);
        if (b->bad)
            return;
        size_t room = sizeof id->text - at;
        int n = snprintf(id->text + at, room, "%s%s=%.*s", at == 0 ? "" : ".", attribute_name(oid),
                         (int)value.len, (const char *)value.data);
        if (n < 0 || (size_t)n >= room)
            ber_fail(b);
        else
            at += (size_t)n;
    }
}

void pdu_code_bind(struct ber *b, struct sle_bind *bind)
{
    ber_text(b, BER_VISIBLE, bind->initiator, 1, sizeof bind->initiator, false);
    ber_text(b, BER_VISIBLE, bind->port, 1, sizeof bind->port, true);
    ber_u32(b, BER_INTEGER, &bind->service, 0, UINT16_MAX);
    ber_u32(b, BER_INTEGER, &bind->version, 0, UINT16_MAX);
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    if (b->writing)
        write_siid(b, bind->instance.text);
    else
        read_siid(b, &bind->instance);
    ber_close(b, mark);
}

void pdu_code_bind_return(struct ber *b, struct sle_bind_return *ret)
{
    ber_text(b, BER_VISIBLE, ret->responder, 1, sizeof ret->responder, false);
    ret->positive = ber_choice(b, ret->positive ? 0x80 : 0x81) == 0x80;
    if (ret->positive)
        ber_u32(b, 0x80, &ret->version, 1, UINT16_MAX);
    else
        ber_u32(b, 0x81, &ret->diagnostic, 0, 255);
}
