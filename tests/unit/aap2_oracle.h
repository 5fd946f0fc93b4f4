/* SPDX-License-Identifier: Apache-2.0 */
/* What aap2_plain reads against what protobuf-c reads from the same bytes. Aborts when they differ,
 * so that tests and fuzzing can use it. */
#ifndef AAP2_ORACLE_H
#define AAP2_ORACLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "node/aap2/aap2_plain.h"

static void oracle_must(bool equal)
{
    if (!equal)
        abort();
}

static void oracle_adu(const Aap2__BundleADU *a, const Aap2__BundleADU *b)
{
    const size_t flags = b->n_adu_flags < 2 ? b->n_adu_flags : 2; /* so many are kept */
    oracle_must(strcmp(a->src_eid, b->src_eid) == 0 && strcmp(a->dst_eid, b->dst_eid) == 0 &&
                strcmp(a->report_to_eid, b->report_to_eid) == 0);
    oracle_must(a->creation_timestamp_ms == b->creation_timestamp_ms &&
                a->sequence_number == b->sequence_number &&
                a->payload_length == b->payload_length && a->lifetime_ms == b->lifetime_ms);
    oracle_must(a->bundle_flags == b->bundle_flags && a->priority == b->priority &&
                a->ordinal == b->ordinal && a->crc_type == b->crc_type);
    oracle_must(
        a->n_adu_flags == flags &&
        (flags == 0 || memcmp(a->adu_flags, b->adu_flags, flags * sizeof *a->adu_flags) == 0));
}

static void oracle_bundle(const Aap2__Bundle *a, const Aap2__Bundle *b)
{
    oracle_must((a == NULL) == (b == NULL));
    if (a == NULL)
        return;
    oracle_must(strcmp(a->src_eid, b->src_eid) == 0 && strcmp(a->dst_eid, b->dst_eid) == 0 &&
                a->creation_timestamp_ms == b->creation_timestamp_ms &&
                a->sequence_number == b->sequence_number);
    oracle_must(a->payload_length == b->payload_length &&
                a->fragment_offset == b->fragment_offset &&
                a->total_adu_length == b->total_adu_length && a->lifetime_ms == b->lifetime_ms);
}

/* True: it is a message. */
static bool oracle_message(const uint8_t *at, size_t len)
{
    int error = 0;
    Aap2__AAPMessage *ours = aap2_read_message(at, len, &error);
    Aap2__AAPMessage *theirs = aap2__aapmessage__unpack(NULL, len, at);
    oracle_must((ours == NULL) == (theirs == NULL) && (ours != NULL) == (error == 0));
    const bool read = ours != NULL;
    if (read) {
        oracle_must(ours->msg_case == theirs->msg_case);
        if (ours->msg_case == AAP2__AAPMESSAGE__MSG_ADU)
            oracle_adu(ours->adu, theirs->adu);
        aap2__aapmessage__free_unpacked(theirs, NULL);
    }
    aap2_message_free(ours);
    return read;
}

static bool oracle_response(const uint8_t *at, size_t len)
{
    int error = 0;
    Aap2__AAPResponse *ours = aap2_read_response(at, len, &error);
    Aap2__AAPResponse *theirs = aap2__aapresponse__unpack(NULL, len, at);
    oracle_must((ours == NULL) == (theirs == NULL) && (ours != NULL) == (error == 0));
    const bool read = ours != NULL;
    if (read) {
        oracle_must(ours->response_status == theirs->response_status &&
                    strcmp(ours->text, theirs->text) == 0);
        oracle_bundle(ours->bundle_headers, theirs->bundle_headers);
        aap2__aapresponse__free_unpacked(theirs, NULL);
    }
    aap2_response_free(ours);
    return read;
}

#endif
