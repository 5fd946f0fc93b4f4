/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by OpenSSL. What can go wrong: memory, or a file that cannot be read. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"

#define PART 65536

struct files_digest {
    EVP_MD_CTX *context;
    bool failed;
};

struct files_digest *files_digest_new(void)
{
    struct files_digest *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->context = EVP_MD_CTX_new();
    if (d->context != NULL && EVP_DigestInit_ex(d->context, EVP_sha256(), NULL) == 1)
        return d;
    EVP_MD_CTX_free(d->context);
    free(d);
    return NULL;
}

void files_digest_add(struct files_digest *d, struct slice part)
{
    d->failed = EVP_DigestUpdate(d->context, part.data, part.len) != 1 || d->failed;
}

bool files_digest_end(struct files_digest *d, uint8_t out[FILES_SHA])
{
    unsigned len = 0;
    bool good = EVP_DigestFinal_ex(d->context, out, &len) == 1 && len == FILES_SHA && !d->failed;
    EVP_MD_CTX_free(d->context);
    free(d);
    return good;
}

int files_digest_part(struct files_digest *d, int fd, uint64_t from, uint64_t to)
{
    uint8_t part[PART];
    for (uint64_t at = from; at < to;) {
        size_t want = to - at < PART ? (size_t)(to - at) : PART;
        ssize_t n = pread(fd, part, want, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? helio_from_errno(errno) : HELIO_EFORMAT;
        files_digest_add(d, slice_of(part, (size_t)n));
        at += (uint64_t)n;
    }
    return 0;
}

int files_digest_file(int fd, uint64_t size, uint8_t out[FILES_SHA])
{
    struct files_digest *d = files_digest_new();
    if (d == NULL)
        return HELIO_ENOMEM;
    int rc = files_digest_part(d, fd, 0, size);
    bool good = files_digest_end(d, out);
    return rc == 0 && !good ? HELIO_ENOMEM : rc;
}
