/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram is a bundle and nothing else (RFC 7122 §3.2.2). What can go wrong is in the verdict.
 */
#include "cla/udp/udpcl_verdict.h"

#include <assert.h>
#include <string.h>

#include "bp/codec/bundle.h"

const char *udpcl_verdict_name(enum udpcl_verdict v)
{
#define VERDICT_TEXT(name, text) [UDPCL_##name] = text,
    static const char *const names[UDPCL_VERDICT_COUNT] = {UDPCL_VERDICTS(VERDICT_TEXT)};
#undef VERDICT_TEXT
    assert((unsigned)v < UDPCL_VERDICT_COUNT);
    return names[v];
}

/* Some stacks send what has no end that can be found, and is a bundle all the same. */
static bool is_lenient(struct slice datagram)
{
    struct bundle b;
    return bundle_decode(datagram.data, datagram.len, BUNDLE_LENIENT, &b, NULL) == 0;
}

enum udpcl_verdict udpcl_judge(struct slice datagram)
{
    static const uint8_t zeroes[4];
    if (datagram.len == sizeof zeroes && memcmp(datagram.data, zeroes, sizeof zeroes) == 0)
        return UDPCL_KEEPALIVE;
    if (datagram.len > 0 && (bundle_length(datagram) == datagram.len || is_lenient(datagram)))
        return UDPCL_BUNDLE;
    return UDPCL_MALFORMED;
}
