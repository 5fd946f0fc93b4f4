/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that walk PDUs share. All walk both ways: see sle/ber.h. */
#ifndef CSTS_PDU_PRIVATE_H
#define CSTS_PDU_PRIVATE_H

#include "csts/extension.h"
#include "sle/ber.h"

enum { BER_BOOLEAN = 0x01, BER_EMBEDDED = 0x2b, CHOICE_100 = 0xbf64 /* constructed [100] */ };

void code_oid(struct ber *b, uint32_t tag, struct csts_oid *oid);
/* Any octets, at least min. */
void code_string(struct ber *b, uint32_t tag, struct slice *s, size_t min, size_t max);
void code_unsigned(struct ber *b, uint32_t tag, uint32_t *v, uint32_t min);
void code_time(struct ber *b, struct sle_time *t);
/* The content of an EMBEDDED PDV under this tag. */
void code_embedded(struct ber *b, uint32_t tag, struct csts_embedded *e);
void code_extended(struct ber *b, struct csts_extended *e);
void code_procedure(struct ber *b, uint32_t tag, struct csts_procedure *p);
/* Functional resource name: its SEQUENCE under this tag. */
void code_resource(struct ber *b, uint32_t tag, struct csts_oid *type, uint32_t *instance);
void code_name(struct ber *b, uint32_t tag, struct csts_name *n);
void code_list(struct ber *b, struct csts_list *l);
void code_value(struct ber *b, struct csts_value *v);
void code_directive(struct ber *b, struct csts_directive *d);
void code_parameter(struct ber *b, struct csts_parameter *p);
/* Elements that are encoded already, under this tag. Read: each is walked by `element`, which fails
 * for what is none. */
void code_elements(struct ber *b, uint32_t tag, struct slice *items,
                   void (*element)(struct ber *b));
void check_name(struct ber *b);
void check_label(struct ber *b);
void check_value(struct ber *b);
void check_parameter(struct ber *b);
/* expired, not started: the value of a Status of data processing */
void code_sequence_status(struct ber *b, enum csts_processed *status);
/* The element that was read is taken off `rest`. False: it was none, or there is none. */
bool take_element(const struct ber *b, struct slice *rest);
/* Of all octets of `in`; octets written, 0: no room. */
size_t written_of(const struct ber *b);

#endif
