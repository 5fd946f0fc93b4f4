/* SPDX-License-Identifier: Apache-2.0 */
/* The check values of RFC 9171 §4.2.1: CRC-16/X.25 and CRC-32C (Castagnoli). */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both can be fed in parts: pass 0 first, then the value so far. The result is the final check
 * value. */
uint16_t crc16_x25(uint16_t crc, const void *data, size_t len);
/* CRC-32C (RFC 9171 §4.2.1), with the processor's instruction where it has one. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The table-driven implementation, for processors without a CRC-32C instruction. Exported for
 * tests. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);

/* The check value of A followed by B, from crc32c(A), crc32c(B) and the length of B. */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

/* The same in two steps, for many As before Bs of one length: crc32c_shift computes the part that
 * depends on the length only, some 0.5 us; crc32c_join computes the rest, some 50 ns. */
uint32_t crc32c_shift(uint64_t len_b);
/* The second step: needs crc32c_shift of the length of B. */
uint32_t crc32c_join(uint32_t crc_a, uint32_t crc_b, uint32_t shift_b);

#ifdef __cplusplus
}
#endif

#endif
