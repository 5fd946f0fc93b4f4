/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the physical channel: it is opened with those of the first link of a local address,
 * so the others have to say the same. Nothing can go wrong. */
#include <assert.h>
#include <string.h>

#include "cla/framed/frame_keys.h"

#define TEXTS(X)                                                                                   \
    X("frames.record", record)                                                                     \
    X("frames.replay", replay)                                                                     \
    X("frames.sdls", sdls)                                                                         \
    X("frames.sdls_in", sdls_in)                                                                   \
    X("frames.sdls_numbers", sdls_numbers)                                                         \
    X("frames.sdls_received", sdls_received)                                                       \
    X("sle.raf", sle_raf)                                                                          \
    X("sle.rcf", sle_rcf)                                                                          \
    X("sle.cltu", sle_cltu)                                                                        \
    X("sle.user", sle_user)                                                                        \
    X("sle.provider", sle_provider)                                                                \
    X("sle.port", sle_port)                                                                        \
    X("sle.password", sle_password)                                                                \
    X("sle.provider_password", sle_provider_password)

#define NUMBERS(X)                                                                                 \
    X("frames.replay_rate", replay_rate)                                                           \
    X("sle.version", sle_version)                                                                  \
    X("sle.auth", sle_auth)                                                                        \
    X("sle.hash", sle_hash)                                                                        \
    X("sle.master", sle_master)                                                                    \
    X("sle.reconnect", sle_reconnect)                                                              \
    X("sle.reconnect_max", sle_reconnect_max)

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

const char *frame_keys_wire_key(const struct frame_keys *a, const struct frame_keys *b)
{
    if (a->wire != b->wire)
        return "frames.port";
#define COMPARE_TEXT(key, field)                                                                   \
    if (strcmp(text_of(a->field), text_of(b->field)) != 0)                                         \
        return key;
    TEXTS(COMPARE_TEXT)
#define COMPARE_NUMBER(key, field)                                                                 \
    if (a->field != b->field)                                                                      \
        return key;
    NUMBERS(COMPARE_NUMBER)
    return NULL;
}

/* FNV-1a; the zero belongs to it. */
static uint64_t mark_text(uint64_t mark, const char *text)
{
    const char *p = text_of(text);
    do
        mark = (mark ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
    while (*p++ != '\0');
    return mark;
}

void frame_keys_forget(struct frame_keys *k)
{
    uint64_t mark = UINT64_C(0xcbf29ce484222325);
    k->one_channel = frame_wire_given(k->sle_rcf) && !k->sle_master;
#define FORGET_TEXT(key, field)                                                                    \
    mark = mark_text(mark, k->field);                                                              \
    k->field = NULL;
    TEXTS(FORGET_TEXT)
    k->wire_mark = mark;
    assert(k->record == NULL && k->sle_password == NULL);
}
