/* SPDX-License-Identifier: Apache-2.0 */
/* The check value of the frame error control field: CRC-16 with x^16 + x^12 + x^5 + 1, the first
 * bit first (CCSDS 132.0-B 4.1.6, 232.0-B 4.1.4, 732.0-B 4.1.6, 732.1-B annex B). */
#ifndef FRAMES_FECF_H
#define FRAMES_FECF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FECF_INIT 0xffff /* the register before the first octet */

/* May be called for parts of the data: pass FECF_INIT first, then the latest result. The result
 * over a frame with its FECF is 0. */
uint16_t fecf_crc(uint16_t crc, const void *data, size_t len);

/* The table-driven implementation for processors without carry-less multiplication, and a simple
 * one with one table look-up per octet. Exported for tests and measurements. */
uint16_t fecf_crc_sliced(uint16_t crc, const void *data, size_t len);
/* The same octet by octet, without tables of several octets. */
uint16_t fecf_crc_bytewise(uint16_t crc, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif
