/* SPDX-License-Identifier: Apache-2.0 */
/* Common functions for PDUs. All of them both read and write: see sle/ber.h. */
#ifndef SLE_PDU_PRIVATE_H
#define SLE_PDU_PRIVATE_H

#include "sle/ber.h"
#include "sle/pdu.h"

/* CDS times as octets (time.c). */
enum { TIME_OCTETS = 8, TIME_PICO_OCTETS = 10 };

enum { POSITIVE_NULL = 0x80, POSITIVE_OPEN = 0xa0 };

/* An enumeration, which is an INTEGER of 0..max. */
#define CODE_ENUM(b, field, max)                                                                   \
    do {                                                                                           \
        uint32_t code_enum_ = (uint32_t)(field);                                                   \
        ber_u32((b), BER_INTEGER, &code_enum_, 0, (max));                                          \
        if (!(b)->writing && !(b)->bad)                                                            \
            (field) = (__typeof__(field))code_enum_;                                               \
    } while (0)

void pdu_code_credentials(struct ber *b, struct slice *credentials);
void pdu_code_invoke_id(struct ber *b, uint16_t *id);
void pdu_code_time(struct ber *b, const struct sle_dialect *d, struct sle_time *t);
void pdu_code_when(struct ber *b, const struct sle_dialect *d, struct sle_when *w);
/* A result: true for the positive alternative, which the caller processes; a negative one is
 * processed here. */
bool pdu_code_result(struct ber *b, unsigned *diag, uint32_t positive);
/* The content of a GvcId under this tag. */
void pdu_code_master(struct ber *b, struct sle_gvcid *g); /* spacecraft and version */
void pdu_code_gvcid(struct ber *b, uint32_t tag, struct sle_gvcid *g);
/* TcVcid: noTcVC, or a number. */
void pdu_code_tc_vcid(struct ber *b, uint8_t *vcid);

/* The bodies. */
void pdu_code_bind(struct ber *b, struct sle_bind *bind);
void pdu_code_bind_return(struct ber *b, struct sle_bind_return *ret);
void pdu_code_start(struct ber *b, const struct sle_dialect *d, struct sle_start *s);
void pdu_code_start_return(struct ber *b, const struct sle_dialect *d, struct sle_pdu *p);
void pdu_code_value(struct ber *b, const struct sle_dialect *d, struct sle_value *v);
void pdu_code_status(struct ber *b, const struct sle_dialect *d, struct sle_status *s);
void pdu_code_cltu(struct ber *b, const struct sle_dialect *d, struct sle_cltu *c);
void pdu_code_async(struct ber *b, const struct sle_dialect *d, struct sle_async *a);
void pdu_code_cltu_status(struct ber *b, const struct sle_dialect *d, struct sle_status *s);
void pdu_code_sync(struct ber *b, const struct sle_dialect *d, struct sle_sync *s);

#endif
