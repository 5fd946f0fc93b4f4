/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two messages of each bundle, a BundleADU and an AAPResponse, read into and written from
 * protobuf-c's structs without its tables: one allocation in all, and a tenth of the instructions.
 * All else, and any unusual form of these two (a field twice that would have to be merged, a wire
 * type that is not its field's), is left to protobuf-c, which decides what is malformed.
 */
#ifndef NODE_AAP2_PLAIN_H
#define NODE_AAP2_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "node/aap2/aap2.pb-c.h"

/* Reads a message of so many bytes. NULL: *error is HELIO_EFORMAT (malformed) or HELIO_ENOMEM; else
 * it is not changed. Of adu_flags the first two are kept: more than one are refused. */
Aap2__AAPMessage *aap2_read_message(const uint8_t *at, size_t len, int *error);
Aap2__AAPResponse *aap2_read_response(const uint8_t *at, size_t len, int *error);

/* NULL is allowed. protobuf-c's free_unpacked is not for what was read here. */
void aap2_message_free(Aap2__AAPMessage *m);
void aap2_response_free(Aap2__AAPResponse *r);

/* As aap2_pack (aap2_wire.h): length and message, byte for byte what that writes. */
int aap2_pack_adu(const Aap2__BundleADU *a, uint8_t *out, size_t cap);
int aap2_pack_response(const Aap2__AAPResponse *r, uint8_t *out, size_t cap);

#endif
