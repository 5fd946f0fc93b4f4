/* SPDX-License-Identifier: Apache-2.0 */
/* The frame header error control of AOS frames: Reed-Solomon (10,6) over symbols of four bits. It
 * protects version, spacecraft id, virtual channel and signalling field, but not the frame count
 * (CCSDS 732.0-B 4.1.2.6). */
#ifndef FRAMES_FHEC_H
#define FRAMES_FHEC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The field for octets 0, 1 (`gvcid`) and 5 (`signalling`) of a primary header. */
uint16_t fhec_encode(uint16_t gvcid, uint8_t signalling);

/* Corrects up to two wrong symbols, of the field too. Returns how many, or -1 with nothing changed
 * when there are more. */
int fhec_correct(uint16_t *gvcid, uint8_t *signalling, uint16_t *field);

#ifdef __cplusplus
}
#endif

#endif
