/* SPDX-License-Identifier: Apache-2.0 */
/* ISA-L's arithmetic: a table of 32 octets for each coefficient. Its functions take what they only
 * read as pointers to what could be written. */
#include <assert.h>
#include <isa-l/erasure_code.h>
#include <stdint.h>

#include "erasure/gf.h"

static unsigned char *writable(const uint8_t *p)
{
    return (unsigned char *)(uintptr_t)p;
}

static void prepare_isal(const uint8_t *coefficients, unsigned rows, unsigned sources,
                         uint8_t *tables)
{
    ec_init_tables((int)sources, (int)rows, writable(coefficients), tables);
}

static void update_isal(const uint8_t *tables, unsigned rows, unsigned sources, unsigned source,
                        const uint8_t *from, uint8_t *const to[], size_t len)
{
    assert(source < sources && len > 0);
    ec_encode_data_update((int)len, (int)sources, (int)rows, (int)source, writable(tables),
                          writable(from), (unsigned char **)(uintptr_t)to);
}

static void product_isal(const uint8_t *tables, unsigned rows, unsigned sources,
                         const uint8_t *const from[], uint8_t *const to[], size_t len)
{
    assert(sources > 0 && len > 0);
    ec_encode_data((int)len, (int)sources, (int)rows, writable(tables),
                   (unsigned char **)(uintptr_t)from, (unsigned char **)(uintptr_t)to);
}

const struct gf_math gf_isal = {.name = "ISA-L",
                                .table_bytes = 32,
                                .prepare = prepare_isal,
                                .update = update_isal,
                                .product = product_isal};
