/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC-SHA-256, cut to 64 bits. */
#include <assert.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/cursor.h"
#include "tools/perf/perf_senders.h"

bool perf_echo(const uint64_t secret[2], const char *peer, uint64_t session, uint64_t *out)
{
    uint8_t text[8 + PERF_PEER_MAX], key[16], mac[EVP_MAX_MD_SIZE];
    size_t len = 0;
    struct writer w = writer_of(text, sizeof text);
    assert(strlen(peer) < PERF_PEER_MAX);
    writer_number(&w, session, 8);
    writer_bytes(&w, peer, strlen(peer));
    memcpy(key, secret, sizeof key);
    if (EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, sizeof key, text, writer_len(&w), mac,
                  sizeof mac, &len) == NULL)
        return false;
    assert(len >= sizeof *out);
    memcpy(out, mac, sizeof *out);
    return true;
}
