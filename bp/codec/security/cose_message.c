/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is an array: protected headers (a map within a byte string), unprotected headers (a
 * map), null for the detached payload, then what its kind has. Each header parameter is read into a
 * field or skipped; its label is noted, so that none is there twice. What can go wrong: a malformed
 * item, or one of the limits of the header.
 */
#include "bp/codec/security/cose.h"

#include "bp/codec/security/cose_private.h"

enum label {
    LABEL_ALG = 1,
    LABEL_CRIT = 2,
    LABEL_CONTENT = 3,
    LABEL_KID = 4,
    LABEL_IV = 5,
    LABEL_PARTIAL_IV = 6,
    LABEL_KID_CONTEXT = 10,
    LABEL_X5BAG = 32,
    LABEL_X5CHAIN = 33,
    LABEL_X5T = 34,
    LABEL_EPHEMERAL_KEY = -1,
    LABEL_STATIC_KEY = -2,
    LABEL_STATIC_KID = -3,
    LABEL_SALT = -20,
    LABEL_PARTY_FIRST = -26, /* to -21: PartyU and PartyV of the KDF context */
    LABEL_PARTY_LAST = -21,
};

bool cose_id_is_integrity(uint64_t id)
{
    return id == COSE_MAC0 || id == COSE_SIGN1 || id == COSE_MAC || id == COSE_SIGN;
}

bool cose_id_is_cipher(uint64_t id)
{
    return id == COSE_ENCRYPT0 || id == COSE_ENCRYPT;
}

/* ---- header parameters ---- */

/* A simple value or a float (major type 7): its size follows from the first byte. */
static void skip_simple(struct item_reader *r)
{
    const unsigned info = *r->in.p & 0x1f;
    const size_t size = info < 24 ? 1 : info <= 27 ? 1 + ((size_t)1 << (info - 24)) : 0;
    if (size == 0)
        item_fail(r, "items of indefinite length are not used here", item_at(r));
    else
        reader_take(&r->in, size);
}

/* Each element has at least one byte, so a wrong count ends with the data. */
void cose_skip(struct item_reader *r, unsigned levels)
{
    if (r->in.bad || reader_left(&r->in) == 0) {
        item_fail(r, "the data ends within an item", item_at(r));
        return;
    }
    const unsigned major = *r->in.p >> 5;
    uint64_t count = 0;
    if (major < 4) {
        item_skip(r, 0);
        return;
    }
    if (major == 7) {
        skip_simple(r);
        return;
    }
    if (levels == 0) {
        item_fail(r, "a header parameter is nested too deeply", item_at(r));
        return;
    }
    if (major == 4) {
        count = item_array(r);
    } else if (major == 5) {
        count = item_map(r);
        count = count > UINT64_MAX / 2 ? UINT64_MAX : 2 * count;
    } else {
        item_tag(r);
        count = 1;
    }
    for (uint64_t i = 0; i < count && !r->in.bad; i++)
        cose_skip(r, levels - 1);
}

static bool has_label(const struct cose_headers *h, int64_t label)
{
    for (size_t i = 0; i < h->labels_len; i++) {
        if (h->labels[i] == label)
            return true;
    }
    return false;
}

/* An x5chain or x5bag: one certificate, or an array of them. */
static void read_certificates(struct item_reader *r, struct slice out[COSE_CHAIN_MAX], size_t *len)
{
    const uint64_t n = item_peek(r) == ITEM_ARRAY ? item_array(r) : 1;
    if (n == 0 || n > COSE_CHAIN_MAX)
        item_fail(r, "an x5chain or x5bag has 1 to 4 certificates here", item_at(r));
    for (uint64_t i = 0; i < n && !r->in.bad; i++)
        out[(*len)++] = item_bytes(r);
}

static void read_thumbprint(struct item_reader *r, struct cose_headers *h)
{
    if (item_array(r) != 2)
        item_fail(r, "an x5t is an array of algorithm and hash", item_at(r));
    if (item_peek(r) == ITEM_TEXT)
        item_text(r); /* no hash is known by this name */
    else
        h->x5t_alg = item_int(r);
    h->x5t = item_bytes(r);
}

static bool is_implemented(int64_t label)
{
    return (label >= LABEL_ALG && label <= LABEL_PARTIAL_IV) || label == LABEL_KID_CONTEXT ||
           (label >= LABEL_X5BAG && label <= LABEL_X5T) || label == LABEL_SALT ||
           (label >= LABEL_STATIC_KID && label <= LABEL_EPHEMERAL_KEY);
}

static void read_critical(struct item_reader *r, struct cose_headers *h)
{
    const uint64_t n = item_array(r);
    if (n == 0)
        item_fail(r, "crit names at least one header parameter", item_at(r));
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        if (item_peek(r) == ITEM_TEXT) {
            item_text(r);
            h->critical = true;
        } else {
            h->critical = !is_implemented(item_int(r)) || h->critical;
        }
    }
}

static void read_algorithm(struct item_reader *r, struct cose_headers *h)
{
    if (item_peek(r) == ITEM_TEXT)
        item_text(r);
    else
        h->alg = item_int(r); /* 0 is reserved */
    h->has_alg = true;
}

/* A key as it is encoded. */
static void read_key(struct item_reader *r, struct slice *out)
{
    const uint8_t *start = r->in.p;
    cose_skip(r, COSE_LEVELS_MAX);
    if (!r->in.bad)
        *out = slice_of(start, (size_t)(r->in.p - start));
}

static void read_parameter(struct item_reader *r, int64_t label, bool is_protected,
                           struct cose_headers *h)
{
    if (label == LABEL_ALG)
        read_algorithm(r, h);
    else if (label == LABEL_CRIT && is_protected)
        read_critical(r, h);
    else if (label == LABEL_CRIT)
        item_fail(r, "crit belongs into the protected headers", item_at(r));
    else if (label == LABEL_KID)
        h->kid = item_bytes(r);
    else if (label == LABEL_IV)
        h->iv = item_bytes(r);
    else if (label == LABEL_PARTIAL_IV)
        h->partial_iv = item_bytes(r);
    else if (label == LABEL_SALT)
        h->salt = item_bytes(r);
    else if (label == LABEL_EPHEMERAL_KEY)
        read_key(r, &h->ephemeral_key);
    else if (label == LABEL_STATIC_KEY)
        read_key(r, &h->static_key);
    else if (label == LABEL_STATIC_KID)
        h->static_kid = item_bytes(r);
    else if (label == LABEL_X5CHAIN)
        read_certificates(r, h->chain, &h->chain_len);
    else if (label == LABEL_X5BAG)
        read_certificates(r, h->bag, &h->bag_len);
    else if (label == LABEL_X5T)
        read_thumbprint(r, h);
    else if (label >= LABEL_PARTY_FIRST && label <= LABEL_PARTY_LAST)
        item_fail(r, "the context does not allow PartyU and PartyV headers", item_at(r));
    else
        cose_skip(r, COSE_LEVELS_MAX);
}

static void read_map(struct item_reader *r, bool is_protected, struct cose_headers *h)
{
    const uint64_t n = item_map(r);
    if (n > COSE_LABELS_MAX - h->labels_len)
        item_fail(r, "a layer has more than 16 header parameters", item_at(r));
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        if (item_peek(r) == ITEM_TEXT) {
            item_text(r);
            cose_skip(r, COSE_LEVELS_MAX);
            continue;
        }
        const int64_t label = item_int(r);
        if (has_label(h, label))
            item_fail(r, "a header parameter is there twice", item_at(r));
        else if (!r->in.bad)
            h->labels[h->labels_len++] = label;
        if (!r->in.bad)
            read_parameter(r, label, is_protected, h);
    }
    if (h->iv.data != NULL && h->partial_iv.data != NULL)
        item_fail(r, "IV and Partial IV exclude each other (RFC 9052 section 3.1)", item_at(r));
}

/* An encoded map, or nothing. */
static bool read_encoded(struct slice map, bool is_protected, struct cose_headers *h)
{
    struct item_reader r = item_reader_of(map.data, map);
    if (map.len == 0)
        return true;
    read_map(&r, is_protected, h);
    return !r.in.bad && reader_left(&r.in) == 0;
}

/* ---- layers ---- */

static void read_headers(struct item_reader *r, struct cose_layer *out)
{
    static const uint8_t empty_map = 0xa0;
    *out = (struct cose_layer){.alg_protected = false};
    out->protected_map = item_bytes(r);
    if (!r->in.bad && !read_encoded(out->protected_map, true, &out->headers))
        item_fail(r, "the protected headers are an encoded map", item_at(r));
    out->alg_protected = out->headers.has_alg;
    if (out->protected_map.len == 1 && out->protected_map.data[0] == empty_map)
        out->protected_map.len = 0;
    read_map(r, false, &out->headers);
}

/* A recipient without an encrypted key has an empty byte string, or null. */
static void read_value(struct item_reader *r, bool optional, struct cose_layer *out)
{
    if (optional && item_peek(r) == ITEM_OTHER)
        item_null(r);
    else
        out->value = item_bytes(r);
}

static void read_layers(struct item_reader *r, struct cose_message *out)
{
    const uint64_t n = item_array(r);
    if (n == 0 || n > COSE_LAYERS_MAX)
        item_fail(r, "a message has 1 to 16 signatures or recipients here", item_at(r));
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        if (item_array(r) != 3)
            item_fail(r, "a signature or recipient is an array of three items", item_at(r));
        read_headers(r, &out->at[i]);
        read_value(r, out->id != COSE_SIGN, &out->at[i]);
        out->len++;
    }
}

/* Takes a parameter that the layer does not have. */
static void merge_headers(struct cose_headers *h, const struct cose_headers *added)
{
    if (!has_label(h, LABEL_ALG)) {
        h->has_alg = added->has_alg;
        h->alg = added->alg;
    }
    if (!has_label(h, LABEL_KID))
        h->kid = added->kid;
    if (!has_label(h, LABEL_IV) && !has_label(h, LABEL_PARTIAL_IV)) {
        h->iv = added->iv;
        h->partial_iv = added->partial_iv;
    }
    if (!has_label(h, LABEL_SALT))
        h->salt = added->salt;
    if (!has_label(h, LABEL_EPHEMERAL_KEY))
        h->ephemeral_key = added->ephemeral_key;
    if (!has_label(h, LABEL_STATIC_KEY))
        h->static_key = added->static_key;
    if (!has_label(h, LABEL_STATIC_KID))
        h->static_kid = added->static_kid;
    if (!has_label(h, LABEL_X5T)) {
        h->x5t_alg = added->x5t_alg;
        h->x5t = added->x5t;
    }
    if (!has_label(h, LABEL_X5CHAIN)) {
        memcpy(h->chain, added->chain, sizeof h->chain);
        h->chain_len = added->chain_len;
    }
    if (!has_label(h, LABEL_X5BAG)) {
        memcpy(h->bag, added->bag, sizeof h->bag);
        h->bag_len = added->bag_len;
    }
    h->critical = h->critical || added->critical;
}

static const char *add_headers(struct slice first, struct slice second, struct cose_message *out)
{
    struct cose_headers added = {.has_alg = false};
    if (!read_encoded(first, true, &added) || !read_encoded(second, false, &added))
        return "an additional header map is malformed, or a label is in both";
    if (out->len == 0)
        merge_headers(&out->body.headers, &added);
    for (size_t i = 0; i < out->len; i++)
        merge_headers(&out->at[i].headers, &added);
    return NULL;
}

const char *cose_message_parse(uint64_t id, struct slice message, struct slice added_protected,
                               struct slice added_unprotected, struct cose_message *out)
{
    struct item_reader r = item_reader_of(message.data, message);
    const bool value = id == COSE_MAC0 || id == COSE_SIGN1 || id == COSE_MAC;
    const bool layers = id == COSE_ENCRYPT || id == COSE_MAC || id == COSE_SIGN;
    out->len = 0;
    if (!cose_id_is_integrity(id) && !cose_id_is_cipher(id))
        return "a result id is none of the COSE messages";
    out->id = (enum cose_id)id;
    if (item_array(&r) != 3u + value + layers)
        return "the array of a COSE message has another length";
    read_headers(&r, &out->body);
    item_null(&r);
    if (value)
        read_value(&r, false, &out->body);
    if (layers)
        read_layers(&r, out);
    if (r.in.bad)
        return r.why != NULL ? r.why : "a COSE message ends within an item";
    if (reader_left(&r.in) > 0)
        return "there are bytes behind a COSE message";
    if (id != COSE_SIGN && !out->body.alg_protected)
        return "the first layer's algorithm is not in its protected headers";
    return add_headers(added_protected, added_unprotected, out);
}
