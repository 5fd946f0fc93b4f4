/* SPDX-License-Identifier: Apache-2.0 */
/* The table of base/crypto.h with OpenSSL behind it. */
#ifndef OS_CRYPTO_H
#define OS_CRYPTO_H

#include "base/crypto.h"

/* Fills the table. False: OpenSSL has not all of the algorithms, or there is no memory; the table
 * is then unchanged. The table keeps the contexts of the keys that were used last, with a copy of
 * each key in secret memory. One thread uses a table at a time. crypto_close is owed. */
bool crypto_open(struct crypto *out);
/* Wipes what is kept of keys: some were removed. */
void crypto_forget(struct crypto *c);
void crypto_close(struct crypto *c);

#endif
