/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf structs are filled with views and packed at once. Our messages hold a few EIDs and
 * numbers, so that a buffer of fixed size is enough; a longer one would be a mistake of ours. */
#include "node/app/app_message.h"

#include <assert.h>
#include <stdlib.h>

/* n: what the packing of `bytes` returned. */
static struct app_out *out_new(const uint8_t *bytes, int n, bool magic)
{
    assert(n > 0);
    struct app_out *o = malloc(sizeof *o + (size_t)n + magic);
    if (o == NULL)
        return NULL;
    *o = (struct app_out){.len = (size_t)n + magic};
    list_init(&o->node);
    o->bytes[0] = AAP2_MAGIC;
    memcpy(o->bytes + magic, bytes, (size_t)n);
    return o;
}

static struct app_out *pack_message(const ProtobufCMessage *m, bool magic)
{
    uint8_t bytes[APP_MESSAGE_CAP];
    return out_new(bytes, aap2_pack(m, bytes, sizeof bytes), magic);
}

struct app_out *message_welcome(const struct eid *node)
{
    char text[EID_TEXT_MAX];
    Aap2__Welcome w = AAP2__WELCOME__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    eid_text(node, text);
    w.node_id = text;
    m.msg_case = AAP2__AAPMESSAGE__MSG_WELCOME;
    m.welcome = &w;
    return pack_message(&m.base, true);
}

struct app_out *message_response(Aap2__ResponseStatus status, const char *text,
                                 const struct app_request *r)
{
    char source[EID_TEXT_MAX], destination[EID_TEXT_MAX];
    Aap2__Bundle b = AAP2__BUNDLE__INIT;
    Aap2__AAPResponse m = AAP2__AAPRESPONSE__INIT;
    m.response_status = status;
    if (text != NULL)
        m.text = (char *)text;
    if (r != NULL) {
        eid_text(&r->id.source, source);
        eid_text(&r->destination, destination);
        b.src_eid = source;
        b.dst_eid = destination;
        b.creation_timestamp_ms = r->id.time_ms;
        b.sequence_number = r->id.sequence;
        b.payload_length = r->bytes;
        b.total_adu_length = r->bytes;
        b.lifetime_ms = r->lifetime_ms;
        m.bundle_headers = &b;
    }
    uint8_t bytes[APP_MESSAGE_CAP];
    return out_new(bytes, aap2_pack_response(&m, bytes, sizeof bytes), false);
}

struct app_out *message_adu(const struct agent_action *a, const struct eid *previous)
{
    char source[EID_TEXT_MAX], destination[EID_TEXT_MAX], before[EID_TEXT_MAX];
    Aap2__BundleADU d = AAP2__BUNDLE_ADU__INIT;
    Aap2__BundleADUFlags report = AAP2__BUNDLE_ADUFLAGS__BUNDLE_ADU_STATUS_REPORT;
    eid_text(&a->id.source, source);
    eid_text(&a->destination, destination);
    d.src_eid = source;
    d.dst_eid = destination;
    d.creation_timestamp_ms = a->id.time_ms;
    d.sequence_number = a->id.sequence;
    d.payload_length = a->payload.len;
    d.lifetime_ms = a->lifetime_ms;
    d.bundle_flags = a->flags;
    d.priority = 1 + (uint32_t)a->priority;
    d.ordinal = a->ordinal;
    if (previous != NULL) {
        eid_text(previous, before);
        d.previous_node = before;
    }
    if (a->flags & BUNDLE_IS_ADMIN) {
        d.n_adu_flags = 1;
        d.adu_flags = &report;
    }
    uint8_t bytes[APP_MESSAGE_CAP];
    struct app_out *o = out_new(bytes, aap2_pack_adu(&d, bytes, sizeof bytes), false);
    if (o != NULL) {
        o->bundle = buf_keep(a->bundle);
        o->payload = a->payload;
    }
    return o;
}

struct app_out *message_keepalive(void)
{
    Aap2__Keepalive k = AAP2__KEEPALIVE__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &k;
    return pack_message(&m.base, false);
}

void message_free(struct app_out *o)
{
    if (o == NULL)
        return;
    buf_drop(o->bundle);
    free(o);
}
