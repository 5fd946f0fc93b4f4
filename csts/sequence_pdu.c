/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sequence-controlled data processing (921.1-B-2 §4.8) adds to the PDUs of data processing:
 * numbers of data units in START and returns, times in PROCESS-DATA, diagnostics, states.
 */
#include <assert.h>

#include "csts/pdu_private.h"

static void code_no_extension(struct ber *b)
{
    struct csts_extended none = {0};
    code_extended(b, &none);
}

static void code_unit_id(struct ber *b, uint32_t *id)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_unsigned(b, BER_INTEGER, id, 0);
    code_no_extension(b);
    ber_close(b, mark);
}

size_t csts_unit_id_write(uint32_t id, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    code_unit_id(&b, &id);
    return written_of(&b);
}

bool csts_unit_id_read(struct slice in, uint32_t *id)
{
    struct ber b = ber_reader(in);
    *id = 0;
    code_unit_id(&b, id);
    return ber_done(&b);
}

/* ---- PROCESS-DATA ---- */

static void code_when(struct ber *b, struct sle_when *w)
{
    w->known = ber_choice(b, w->known ? 0xa1 : 0x80) == 0xa1;
    if (!w->known) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1); /* Time is a CHOICE: explicit */
    code_time(b, &w->at);
    ber_close(b, mark);
}

static void code_window(struct ber *b, struct csts_window *w)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_when(b, &w->earliest);
    code_when(b, &w->latest);
    code_no_extension(b);
    ber_close(b, mark);
}

size_t csts_window_write(const struct csts_window *w, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_window copy = *w;
    code_window(&b, &copy);
    return written_of(&b);
}

bool csts_window_read(struct slice in, struct csts_window *out)
{
    struct ber b = ber_reader(in);
    memset(out, 0, sizeof *out);
    code_window(&b, out);
    return ber_done(&b);
}

static void code_process(struct ber *b, bool *report, struct csts_extended *window)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    *report = ber_choice(b, *report ? 0x81 : 0x80) == 0x81;
    ber_null(b, *report ? 0x81 : 0x80);
    code_extended(b, window);
    ber_close(b, mark);
}

size_t csts_sequence_ext_write(bool report, const struct csts_window *w, uint8_t *out, size_t room)
{
    uint8_t octets[64];
    struct csts_extended e = {true,
                              {csts_known_oid(CSTS_SEQUENCE_DATA),
                               slice_of(octets, csts_window_write(w, octets, sizeof octets))}};
    assert(e.pdv.data.len > 0);
    struct ber b = ber_writer(out, room);
    code_process(&b, &report, &e);
    return written_of(&b);
}

bool csts_sequence_ext_read(struct slice in, bool *report, struct csts_window *w)
{
    struct csts_extended e = {0};
    struct ber b = ber_reader(in);
    *report = false;
    memset(w, 0, sizeof *w);
    code_process(&b, report, &e);
    return ber_done(&b) && e.used && csts_oid_is(&e.pdv.oid, CSTS_SEQUENCE_DATA) &&
           csts_window_read(e.pdv.data, w);
}

/* ---- its return ---- */

const char *csts_unit_text(unsigned diagnostic)
{
    SLE_TEXT_OF(CSTS_UNIT_DIAGS, diagnostic, "unknown reason");
}

size_t csts_unit_diag_write(enum csts_unit_diag d, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    assert((unsigned)d <= CSTS_UNIT_UNABLE_TO_STORE);
    ber_null(&b, 0x80u + (unsigned)d);
    return written_of(&b);
}

bool csts_unit_diag_read(struct slice in, unsigned *d)
{
    struct ber b = ber_reader(in);
    const uint32_t tag = ber_choice(&b, 0);
    *d = tag & 0x1f;
    if (tag < 0x80 || tag > 0x80 + CSTS_UNIT_UNABLE_TO_STORE)
        return false;
    ber_null(&b, tag);
    return ber_done(&b);
}

/* ---- NOTIFY ---- */

void code_sequence_status(struct ber *b, enum csts_processed *status)
{
    const bool expired = *status == CSTS_PROCESSING_EXPIRED;
    const uint8_t octets[] = {expired ? 0x80 : 0x81, 0};
    struct csts_embedded e = {csts_known_oid(CSTS_SEQUENCE_STATUS),
                              slice_of(octets, sizeof octets)};
    code_embedded(b, CHOICE_100, &e);
    if (b->writing || b->bad)
        return;
    if (!csts_oid_is(&e.oid, CSTS_SEQUENCE_STATUS) || e.data.len != 2 || e.data.data[1] != 0 ||
        (e.data.data[0] != 0x80 && e.data.data[0] != 0x81))
        ber_fail(b);
    else
        *status = e.data.data[0] == 0x80 ? CSTS_PROCESSING_EXPIRED : CSTS_PROCESSING_NOT_STARTED;
}
