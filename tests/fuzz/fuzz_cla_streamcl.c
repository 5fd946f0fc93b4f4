/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Octets of an STCP or MTCP connection: the first octet says the framing and the pieces in which
 * they come. In pieces and at once the same bundles come out, and neither keeps more than came.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cla/stream/streamcl_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MAX 5000u

struct result {
    uint64_t bundles, keepalives, octets, sum;
    enum streamcl_step last;
    uint64_t held;
};

static void note_bundle(struct result *r, struct buf *b)
{
    assert(b->len >= 1 && b->len <= MAX);
    r->bundles++;
    r->octets += b->len;
    for (size_t i = 0; i < b->len; i++)
        r->sum = r->sum * 31 + buf_data(b)[i];
    buf_drop(b);
}

static bool take_steps(struct streamcl_input *in, struct result *r)
{
    struct buf *b = NULL;
    while ((r->last = streamcl_next(in, &b)) != STREAMCL_MORE) {
        streamcl_input_check(in);
        if (r->last == STREAMCL_BUNDLE)
            note_bundle(r, b);
        else if (r->last == STREAMCL_KEEPALIVE)
            r->keepalives++;
        else
            return false;
    }
    streamcl_input_check(in);
    return true;
}

static struct result read_all(enum streamcl_framing f, const uint8_t *data, size_t len,
                              size_t piece)
{
    struct result r = {0};
    struct streamcl_input *in = malloc(sizeof *in);
    assert(in != NULL);
    streamcl_input_init(in, f, MAX);
    for (size_t at = 0; at < len;) {
        size_t room = 0;
        uint8_t *to = streamcl_space(in, &room);
        size_t n = piece < room ? piece : room;
        n = n < len - at ? n : len - at;
        memcpy(to, data + at, n);
        streamcl_fed(in, n);
        at += n;
        if (!take_steps(in, &r))
            break;
    }
    r.held = streamcl_held(in);
    streamcl_input_fini(in);
    free(in);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0)
        return 0;
    const enum streamcl_framing f = data[0] & 1 ? STREAMCL_MTCP : STREAMCL_STCP;
    const struct result whole = read_all(f, data + 1, len - 1, len);
    const struct result pieces = read_all(f, data + 1, len - 1, 1 + data[0] / 2);
    assert(whole.bundles == pieces.bundles && whole.keepalives == pieces.keepalives);
    assert(whole.octets == pieces.octets && whole.sum == pieces.sum);
    assert(whole.last == pieces.last && whole.held == pieces.held);
    assert(whole.octets + whole.held + whole.keepalives <= len);
    assert(f == STREAMCL_MTCP || whole.last != STREAMCL_MALFORMED);
    return 0;
}
