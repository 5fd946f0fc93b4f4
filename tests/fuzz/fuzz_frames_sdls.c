/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of several formats with and without security, by a cryptography that an input can satisfy:
 * what is applied is processed to the same, and what is accepted keeps its rules. The first octet
 * chooses the format, the second one the associations. */
#include <stdlib.h>

#include "frames/sdls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 256 };

static const struct frame_format formats[] = {
    {.kind = FRAME_TM, .length = 96, .fecf = 2},
    {.kind = FRAME_TM, .length = 100, .ocf = true, .secondary_len = 4},
    {.kind = FRAME_AOS, .length = 96, .fecf = 2, .insert_len = 5},
    {.kind = FRAME_AOS, .length = 100, .ocf = true, .fhec = true},
    {.kind = FRAME_USLP, .length = 96, .fecf = 2, .count_len = 3},
    {.kind = FRAME_USLP, .length = 100, .ocf = true, .insert_len = 6},
    {.kind = FRAME_TC, .length = 96, .fecf = 2},
    {.kind = FRAME_TC, .length = 96, .segments = true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static const struct sdls_association associations[] = {
    {.algorithm = SDLS_CMAC, .sequence_len = 1, .mac_len = 8},
    {.algorithm = SDLS_HMAC, .sequence_len = 4, .mac_len = 20},
    {.algorithm = SDLS_GCM, .iv_len = SDLS_IV, .mac_len = 16},
    {.service = SDLS_AUTHENTICATED_ENCRYPTION,
     .algorithm = SDLS_GCM,
     .iv_len = SDLS_IV,
     .sequence_len = 2,
     .pad_len = 1,
     .mac_len = 16},
};
enum { ASSOCIATIONS = sizeof associations / sizeof associations[0] };

static void require(bool what)
{
    if (!what)
        abort();
}

static uint8_t sum_up(struct slice s, uint8_t sum)
{
    for (size_t i = 0; i < s.len; i++)
        sum = (uint8_t)(sum * 3 + s.data[i]);
    return sum;
}

static bool write_sum(void *self, struct slice key, const struct slice *parts, size_t n,
                      uint8_t out[CRYPTO_CMAC])
{
    uint8_t sum = sum_up(key, 0);
    (void)self;
    for (size_t i = 0; i < n; i++)
        sum = sum_up(parts[i], sum);
    memset(out, sum, CRYPTO_CMAC);
    return true;
}

static bool write_long_sum(void *self, unsigned bits, struct slice key, const struct slice *parts,
                           size_t n, uint8_t *out)
{
    require(bits == 256);
    write_sum(self, key, parts, n, out);
    memset(out + CRYPTO_CMAC, out[0], CRYPTO_CMAC);
    return true;
}

static bool seal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                 size_t len, uint8_t tag[CRYPTO_TAG])
{
    const struct slice parts[] = {iv, aad, slice_of(data, len)};
    for (size_t i = 0; i < len; i++)
        data[i] ^= 0x5a;
    return write_sum(self, key, parts, 3, tag);
}

static bool unseal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                   size_t len, const uint8_t tag[CRYPTO_TAG])
{
    uint8_t want[CRYPTO_TAG];
    const struct slice parts[] = {iv, aad, slice_of(data, len)};
    write_sum(self, key, parts, 3, want);
    for (size_t i = 0; i < len; i++)
        data[i] ^= 0x5a;
    return memcmp(want, tag, sizeof want) == 0;
}

static const struct crypto crypto = {
    .mac = write_long_sum, .cmac = write_sum, .seal = seal, .open = unseal};

static struct sdls sdls;
static struct sdls_association at[2];

/* The channels with even numbers have one, of those with odd ones half. */
static void set_up(uint8_t format, uint8_t choice)
{
    size_t which;
    for (int i = 0; i < 2; i++) {
        at[i] = associations[(choice >> 2 * i) % ASSOCIATIONS];
        at[i].spi = (uint16_t)(0x0101 * (i + 1));
        at[i].vcids = i == 0 ? 0x55 : 0x22;
        at[i].window = 1U << (choice >> 4);
        at[i].key_len = 16;
        at[i].key[0] = (uint8_t)i;
        at[i].next = 1;
        at[i].end = 4;
    }
    sdls =
        (struct sdls){.format = formats[format % FORMATS], .at = at, .len = 2, .crypto = &crypto};
    require(sdls_problem(&sdls, &which) == NULL);
}

static size_t seal_frame(uint8_t *frame, const uint8_t *data, size_t len, uint32_t length)
{
    struct frame_format f = sdls.format;
    memset(frame, 0, ROOM);
    memcpy(frame, data, len < ROOM ? len : ROOM);
    f.length = length;
    if (f.kind == FRAME_TC)
        f.length = (uint32_t)((frame[2] & 3) << 8 | frame[3]) + 1;
    if (f.length < 3 || f.length > ROOM)
        return 0;
    struct slice all = slice_of(frame, f.length - f.fecf);
    frame_seal(&f, &all, 1, frame);
    return f.length;
}

static void process_frame(const uint8_t *data, size_t len)
{
    uint8_t frame[ROOM], out[ROOM];
    size_t n = seal_frame(frame, data, len, sdls.format.length), got;
    uint64_t last[] = {at[0].last, at[1].last};
    enum sdls_verdict v = sdls_process(&sdls, slice_of(frame, n), out, sizeof out, &got);
    require(sdls_verdict_name(v)[0] != '\0' && sdls.processed[v] > 0);
    require((got > 0) == (v == SDLS_OK_VERDICT || v == SDLS_CLEAR_VERDICT) && got <= n);
    require(v != SDLS_CLEAR_VERDICT || memcmp(out, frame, got) == 0);
    for (int i = 0; i < 2; i++)
        require(at[i].last == last[i] || v == SDLS_OK_VERDICT || v == SDLS_PADDING_VERDICT);
    v = sdls_process(&sdls, slice_of(frame, n), out, sizeof out, &got);
    require(v != SDLS_OK_VERDICT); /* never twice */
}

static void apply_frame(const uint8_t *data, size_t len)
{
    uint8_t frame[ROOM], out[ROOM], again[ROOM];
    size_t got, back;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t less = i < 2 ? sdls_overhead(&sdls, (uint8_t)i) : 0;
        size_t n = seal_frame(frame, data, len, sdls.format.length - less);
        enum sdls_verdict v = sdls_apply(&sdls, slice_of(frame, n), out, sizeof out, &got);
        require((got > 0) == (v == SDLS_OK_VERDICT || v == SDLS_CLEAR_VERDICT));
        if (v != SDLS_OK_VERDICT)
            continue;
        at[0].begun = at[1].begun = false;
        require(sdls_process(&sdls, slice_of(out, got), again, sizeof again, &back) ==
                SDLS_OK_VERDICT);
        require(back <= n && memcmp(frame, again, back) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2)
        return 0;
    set_up(data[0], data[1]);
    process_frame(data + 2, len - 2);
    set_up(data[0], data[1]);
    apply_frame(data + 2, len - 2);
    return 0;
}
