/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 and SHA-256 by OpenSSL; one context, used again for each hash. What can go wrong: a library
 * without SHA-1 (FIPS), or memory: then there are no credentials. */
#include <openssl/evp.h>
#include <stdlib.h>

#include "cla/framed/sle_digest.h"

struct sle_digests {
    EVP_MD_CTX *context;
    EVP_MD *sha1, *sha256;
};

struct sle_digests *sle_digests_new(void)
{
    struct sle_digests *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->context = EVP_MD_CTX_new();
    d->sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
    d->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (d->context != NULL)
        return d;
    sle_digests_free(d);
    return NULL;
}

void sle_digests_free(struct sle_digests *d)
{
    if (d == NULL)
        return;
    EVP_MD_CTX_free(d->context);
    EVP_MD_free(d->sha1);
    EVP_MD_free(d->sha256);
    free(d);
}

bool sle_digest(void *context, enum sle_hash which, struct slice in, uint8_t *out)
{
    struct sle_digests *d = context;
    const EVP_MD *md = which == SLE_SHA1 ? d->sha1 : d->sha256;
    unsigned len = 0;
    return md != NULL && EVP_DigestInit_ex2(d->context, md, NULL) == 1 &&
           EVP_DigestUpdate(d->context, in.data, in.len) == 1 &&
           EVP_DigestFinal_ex(d->context, out, &len) == 1;
}
