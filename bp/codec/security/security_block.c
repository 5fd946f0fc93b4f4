/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The abstract security block (RFC 9172 §3.6) is a CBOR sequence: targets, context, flags, source,
 * parameters, results. Parameters and results of the two contexts of RFC 9173 and of COSE are read
 * into fields; those of other contexts stay unread. What can go wrong: a malformed item, an id that
 * the context does not define, a value of another length than the context allows.
 */
#include "bp/codec/security/security_private.h"

#include <assert.h>

#include "bp/codec/check.h"

enum { HAS_PARAMETERS = 1 }; /* RFC 9172 §3.6: security context flags */
/* RFC 9173 §3.3 and §4.3 */
enum { BIB_VARIANT = 1, BIB_WRAPPED = 2, BIB_SCOPE = 3 };
enum { BCB_IV = 1, BCB_VARIANT = 2, BCB_WRAPPED = 3, BCB_SCOPE = 4 };
enum { RESULT = 1 }; /* §3.4 the MAC, §4.4 the authentication tag */
enum { IV_MIN = 8 };

static const char *read_targets(struct item_reader *r, struct security_block *out)
{
    const uint64_t n = item_array(r);
    if (r->in.bad || n == 0)
        return "the targets are an array of at least one block number";
    if (n > SECURITY_TARGETS_MAX)
        return "more targets than this implementation reads (16)";
    for (out->targets_len = 0; out->targets_len < n; out->targets_len++) {
        const uint64_t target = item_uint(r);
        for (size_t i = 0; i < out->targets_len; i++) {
            if (out->targets[i] == target)
                return "a block is named twice among the targets";
        }
        out->targets[out->targets_len] = target;
    }
    return r->in.bad ? "a target is a block number" : NULL;
}

/* A context is a signed number (§3.6); negative ones are for private use. */
static const char *read_context(struct item_reader *r, uint64_t type, struct security_block *out)
{
    if (item_peek(r) == ITEM_NEGATIVE) {
        out->context = -1;
        item_skip(r, 0);
    } else {
        const uint64_t context = item_uint(r);
        out->context = context > INT64_MAX ? INT64_MAX : (int64_t)context;
    }
    const bool integrity = out->context == SECURITY_BIB_HMAC_SHA2 && type == SECURITY_BIB;
    const bool cipher = out->context == SECURITY_BCB_AES_GCM && type == SECURITY_BCB;
    out->known = integrity || cipher || out->context == SECURITY_COSE;
    out->variant = cipher ? SECURITY_AES_256 : SECURITY_HMAC_384;
    out->scope = SECURITY_SCOPE_ALL;
    return r->in.bad ? "the security context is a number" : NULL;
}

static const char *take_variant(struct item_reader *r, uint64_t type, struct security_block *out)
{
    const uint64_t v = item_uint(r);
    const bool legal = type == SECURITY_BCB ? v == SECURITY_AES_128 || v == SECURITY_AES_256
                                            : v >= SECURITY_HMAC_256 && v <= SECURITY_HMAC_512;
    if (r->in.bad || !legal || out->has_variant)
        return "the variant is 5, 6 or 7 (HMAC-SHA2), or 1 or 3 (AES-GCM), once";
    out->has_variant = true;
    out->variant = (enum security_variant)v;
    return NULL;
}

static const char *take_scope(struct item_reader *r, struct security_block *out)
{
    out->scope = item_uint(r);
    if (r->in.bad || out->has_scope)
        return "the scope flags are a number, once";
    out->has_scope = true;
    return NULL;
}

static const char *take_bytes(struct item_reader *r, size_t least, size_t most, struct slice *out)
{
    if (out->len > 0)
        return "a parameter is written twice";
    *out = item_bytes(r);
    if (r->in.bad || out->len < least || out->len > most)
        return "a parameter's byte string is missing, or its length is not allowed";
    return NULL;
}

static const char *read_parameter(struct item_reader *r, uint64_t type, struct security_block *out)
{
    if (item_array(r) != 2)
        return "a parameter is an array of id and value";
    const uint64_t id = item_uint(r);
    if (out->context == SECURITY_COSE)
        return security_cose_read_parameter(r, id, out);
    const bool cipher = type == SECURITY_BCB;
    if (cipher && id == BCB_IV)
        return take_bytes(r, IV_MIN, SECURITY_IV_MAX, &out->iv);
    if (id == (cipher ? BCB_VARIANT : BIB_VARIANT))
        return take_variant(r, type, out);
    if (id == (cipher ? BCB_WRAPPED : BIB_WRAPPED))
        return take_bytes(r, 16 + 8, SECURITY_WRAPPED_MAX, &out->wrapped_key);
    if (id == (cipher ? BCB_SCOPE : BIB_SCOPE))
        return take_scope(r, out);
    return "RFC 9173 has no parameter with this id";
}

static const char *read_parameters(struct item_reader *r, uint64_t type, struct security_block *out)
{
    const uint64_t n = item_array(r);
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        const char *why = read_parameter(r, type, out);
        if (why != NULL)
            return why;
    }
    return r->in.bad ? "the parameters are an array" : NULL;
}

static const char *read_result(struct item_reader *r, struct slice *out)
{
    if (item_array(r) != 2 || item_uint(r) != RESULT || out->len > 0)
        return "a result is an array of id 1 and a byte string, once for each target";
    *out = item_bytes(r);
    return r->in.bad || out->len == 0 || out->len > CRYPTO_MAC_MAX
               ? "a result's byte string is missing, empty or too long"
               : NULL;
}

static const char *read_results(struct item_reader *r, uint64_t type, struct security_block *out)
{
    if (item_array(r) != out->targets_len || r->in.bad)
        return "there is an array of results for each target";
    for (size_t i = 0; i < out->targets_len; i++) {
        const uint64_t n = item_array(r);
        if (out->context == SECURITY_COSE && n != 1)
            return "each target has one COSE message as its result";
        for (uint64_t k = 0; k < n && !r->in.bad; k++) {
            const char *why = out->context == SECURITY_COSE
                                  ? security_cose_read_result(r, type, i, out)
                                  : read_result(r, &out->results[i]);
            if (why != NULL)
                return why;
        }
    }
    return r->in.bad ? "the results of a target are an array" : NULL;
}

const char *security_block_parse(uint64_t type, struct slice data, struct security_block *out)
{
    struct item_reader r = item_reader_of(data.data, data);
    struct check lenient = {.mode = BUNDLE_LENIENT};
    *out = (struct security_block){.targets_len = 0};
    const char *why = read_targets(&r, out);
    if (why == NULL)
        why = read_context(&r, type, out);
    if (why != NULL)
        return why;
    const uint64_t flags = item_uint(&r);
    out->source = eid_read(&r, &lenient);
    out->has_parameters = (flags & HAS_PARAMETERS) != 0;
    if (r.in.bad || lenient.bad)
        return "flags and security source follow the context";
    if (!out->known)
        return NULL;
    if (out->has_parameters)
        why = read_parameters(&r, type, out);
    if (out->context == SECURITY_COSE)
        security_cose_settle(out);
    if (why == NULL)
        why = read_results(&r, type, out);
    if (why == NULL && reader_left(&r.in) > 0)
        why = "there are bytes behind the results";
    if (why == NULL && out->context == SECURITY_BCB_AES_GCM && out->iv.len == 0)
        why = "AES-GCM needs an initialization vector";
    return why;
}

static void put_pair(struct writer *w, uint64_t id)
{
    item_put_array(w, 2);
    item_put_uint(w, id);
}

static void put_bytes(struct writer *w, uint64_t id, struct slice s)
{
    put_pair(w, id);
    item_put_bytes_head(w, s.len);
    writer_bytes(w, s.data, s.len);
}

static void put_number(struct writer *w, uint64_t id, uint64_t value)
{
    put_pair(w, id);
    item_put_uint(w, value);
}

static void put_parameters(struct writer *w, uint64_t type, const struct security_block *s)
{
    const bool cipher = type == SECURITY_BCB;
    item_put_array(w, (s->iv.len > 0) + (size_t)s->has_variant + (s->wrapped_key.len > 0) +
                          (size_t)s->has_scope);
    if (s->iv.len > 0)
        put_bytes(w, BCB_IV, s->iv);
    if (s->has_variant)
        put_number(w, cipher ? BCB_VARIANT : BIB_VARIANT, s->variant);
    if (s->wrapped_key.len > 0)
        put_bytes(w, cipher ? BCB_WRAPPED : BIB_WRAPPED, s->wrapped_key);
    if (s->has_scope)
        put_number(w, cipher ? BCB_SCOPE : BIB_SCOPE, s->scope);
}

void security_block_write(struct writer *w, uint64_t type, const struct security_block *s)
{
    assert(s->known && s->targets_len > 0 && s->targets_len <= SECURITY_TARGETS_MAX);
    item_put_array(w, s->targets_len);
    for (size_t i = 0; i < s->targets_len; i++)
        item_put_uint(w, s->targets[i]);
    item_put_uint(w, (uint64_t)s->context);
    item_put_uint(w, s->has_parameters ? HAS_PARAMETERS : 0);
    eid_write(w, &s->source);
    if (s->context == SECURITY_COSE)
        security_cose_write_parameters(w, s);
    else if (s->has_parameters)
        put_parameters(w, type, s);
    item_put_array(w, s->targets_len);
    for (size_t i = 0; i < s->targets_len; i++) {
        item_put_array(w, s->results[i].len > 0 ? 1 : 0);
        if (s->results[i].len > 0)
            put_bytes(w, s->context == SECURITY_COSE ? s->ids[i] : RESULT, s->results[i]);
    }
}
