/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is an EID is written back as an equal one; and so is CBOR. */
#include <stdlib.h>
#include <string.h>

#include "bp/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char out[EID_TEXT_MAX];
    struct eid e, again;
    struct eid_pattern p;
    memcpy(text, data, size);
    text[size] = '\0';
    if (eid_parse(text, &e) == 0) {
        require(eid_text(&e, out) == strlen(out));
        require(eid_parse(out, &again) == 0 && eid_equal(&e, &again));
        again = eid_node(&e);
        require(eid_is_node(&again) == (e.scheme != EID_OTHER) && eid_same_node(&e, &again));
    }
    if (eid_pattern_parse(text, &p) == 0) {
        require(eid_pattern_rank(&p) >= 0);
        (void)eid_pattern_match(&p, &p.eid);
    }
    free(text);
}

static void as_cbor(const uint8_t *data, size_t size)
{
    struct check c = {.mode = BUNDLE_LENIENT};
    struct item_reader r = item_reader_of(data, slice_of(data, size));
    struct eid e = eid_read(&r, &c);
    uint8_t out[300];
    char text[EID_TEXT_MAX];
    if (r.in.bad)
        return;
    require(!c.bad && eid_legal(&e));
    require(eid_text(&e, text) < EID_TEXT_MAX);
    struct writer w = writer_of(out, sizeof out);
    eid_write(&w, &e);
    require(!w.bad && writer_len(&w) == eid_size(&e));
    r = item_reader_of(out, slice_of(out, writer_len(&w)));
    struct eid again = eid_read(&r, &c);
    require(!r.in.bad && eid_equal(&e, &again) && eid_hash(1, &e) == eid_hash(1, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_text(data, size);
    as_cbor(data, size);
    return 0;
}
