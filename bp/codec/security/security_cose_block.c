/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters and results of the context COSE (draft-ietf-dtn-bpsec-cose-17 §2.2, §2.3). The AAD
 * scope is sorted when it is read, since the authenticated form is deterministic. What can go
 * wrong: a parameter that is there twice, a scope without meaning, a message of the wrong kind.
 */
#include <assert.h>

#include "bp/codec/security/security_private.h"

enum { ADDED_PROTECTED = 3, ADDED_UNPROTECTED = 4, AAD_SCOPE = 5 };

/* Does x come before y: block numbers rising, then -1, -2 and so on? */
static bool is_before(int64_t x, int64_t y)
{
    return (x < 0) != (y < 0) ? x >= 0 : x < 0 ? x > y : x < y;
}

/* Inserts an entry in order. False: there is one with this key. */
static bool add_entry(struct security_aad_scope *a, int64_t key, uint64_t flags)
{
    size_t at = a->len;
    assert(a->len < SECURITY_AAD_MAX);
    for (; at > 0 && !is_before(a->at[at - 1].key, key); at--) {
        if (a->at[at - 1].key == key)
            return false;
        a->at[at] = a->at[at - 1];
    }
    a->at[at].key = key;
    a->at[at].flags = flags;
    a->len++;
    return true;
}

/* Blocks that only have metadata: the primary block, the target and the security block. */
static bool is_sensible(int64_t key, uint64_t flags)
{
    return (flags & (SECURITY_AAD_METADATA | SECURITY_AAD_CONTENT)) != 0 &&
           (key > 0 || (flags & SECURITY_AAD_CONTENT) == 0);
}

static const char *read_scope(struct item_reader *r, struct security_block *out)
{
    const uint64_t n = item_map(r);
    if (r->in.bad || out->has_scope)
        return "the AAD scope is a map, once";
    if (n > SECURITY_AAD_MAX)
        return "the AAD scope has more than 16 blocks";
    for (uint64_t i = 0; i < n; i++) {
        const int64_t key = item_int(r);
        const uint64_t flags = item_uint(r);
        if (r->in.bad || !is_sensible(key, flags) || !add_entry(&out->aad, key, flags))
            return "the AAD scope has flags 1 to 3 for blocks, and 1 for 0, -1 and -2, each once";
    }
    out->has_scope = true;
    return NULL;
}

static const char *read_added(struct item_reader *r, struct slice *out)
{
    if (out->data != NULL)
        return "an additional header map is there twice";
    *out = item_bytes(r);
    return r->in.bad ? "an additional header map is a byte string" : NULL;
}

const char *security_cose_read_parameter(struct item_reader *r, uint64_t id,
                                         struct security_block *out)
{
    if (id == ADDED_PROTECTED)
        return read_added(r, &out->added_protected);
    if (id == ADDED_UNPROTECTED)
        return read_added(r, &out->added_unprotected);
    if (id == AAD_SCOPE)
        return read_scope(r, out);
    return "the context COSE has no parameter with this id";
}

const char *security_cose_read_result(struct item_reader *r, uint64_t type, size_t target,
                                      struct security_block *out)
{
    if (item_array(r) != 2)
        return "a result is an array of id and COSE message";
    out->ids[target] = item_uint(r);
    out->results[target] = item_bytes(r);
    if (r->in.bad || out->results[target].len == 0)
        return "a COSE message is a byte string";
    return (type == SECURITY_BIB ? cose_id_is_integrity(out->ids[target])
                                 : cose_id_is_cipher(out->ids[target]))
               ? NULL
               : "a BIB has MACs and signatures, a BCB has encryption messages";
}

struct security_aad_scope security_cose_scope_of(uint64_t scope)
{
    struct security_aad_scope a = {.len = 0};
    if (scope & SECURITY_SCOPE_PRIMARY)
        add_entry(&a, 0, SECURITY_AAD_METADATA);
    if (scope & SECURITY_SCOPE_TARGET)
        add_entry(&a, SECURITY_AAD_TARGET, SECURITY_AAD_METADATA);
    if (scope & SECURITY_SCOPE_SECURITY)
        add_entry(&a, SECURITY_AAD_SECURITY, SECURITY_AAD_METADATA);
    return a;
}

void security_cose_settle(struct security_block *out)
{
    if (!out->has_scope)
        out->aad = security_cose_scope_of(SECURITY_SCOPE_ALL);
    out->scope = 0;
    for (size_t i = 0; i < out->aad.len; i++) {
        const int64_t key = out->aad.at[i].key;
        if (key <= 0 && key >= SECURITY_AAD_SECURITY)
            out->scope |= key == 0                     ? SECURITY_SCOPE_PRIMARY
                          : key == SECURITY_AAD_TARGET ? SECURITY_SCOPE_TARGET
                                                       : SECURITY_SCOPE_SECURITY;
    }
}

void security_cose_write_aad_scope(struct writer *w, const struct security_aad_scope *a)
{
    item_put_map(w, a->len);
    for (size_t i = 0; i < a->len; i++) {
        item_put_int(w, a->at[i].key);
        item_put_uint(w, a->at[i].flags);
    }
}

static void write_added(struct writer *w, uint64_t id, struct slice map)
{
    if (map.data == NULL)
        return;
    item_put_array(w, 2);
    item_put_uint(w, id);
    item_put_bytes_head(w, map.len);
    writer_bytes(w, map.data, map.len);
}

void security_cose_write_parameters(struct writer *w, const struct security_block *s)
{
    if (!s->has_parameters)
        return;
    item_put_array(w, (size_t)(s->added_protected.data != NULL) +
                          (s->added_unprotected.data != NULL) + s->has_scope);
    write_added(w, ADDED_PROTECTED, s->added_protected);
    write_added(w, ADDED_UNPROTECTED, s->added_unprotected);
    if (!s->has_scope)
        return;
    item_put_array(w, 2);
    item_put_uint(w, AAD_SCOPE);
    security_cose_write_aad_scope(w, &s->aad);
}
