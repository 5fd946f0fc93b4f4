/* SPDX-License-Identifier: Apache-2.0 */
/* The one porting header: what differs between processors and compilers. */
#ifndef BASE_PORT_H
#define BASE_PORT_H

#if defined(__x86_64__)
#define PORT_X86_CRC32C 1
#define PORT_X86_CLMUL 1
#define PORT_X86_AVX2 1
#else
#define PORT_X86_CRC32C 0
#define PORT_X86_CLMUL 0
#define PORT_X86_AVX2 0
#endif

/* Also in functions for other processors, which it is made anew for. */
#define PORT_INLINE inline __attribute__((always_inline))

#define PORT_LIKELY(x) __builtin_expect(!!(x), 1)
#define PORT_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
