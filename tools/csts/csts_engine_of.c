/* SPDX-License-Identifier: Apache-2.0 */
/* An engine and TLS from the options of either side, and the words for an association's end. */
#include <stdio.h>
#include <string.h>

#include "cla/framed/sle_digest.h"
#include "tools/csts/helio_csts.h"

struct csts *csts_engine_of(const struct csts_terms *t, struct sle_digests *digests, uint64_t seed,
                            uint64_t unix_ns)
{
    struct csts_config c = {
        .hash = sle_digest, .hash_context = digests, .seed = seed, .unix_ns = unix_ns};
    struct sle_peer peer = {.level = t->level, .hash = t->hash};
    c.tml.establish = 10 * TICK_S;
    snprintf(c.self.id, sizeof c.self.id, "%s", t->id);
    snprintf(peer.who.id, sizeof peer.who.id, "%s", t->peer);
    if (!sle_password_read(t->password, &c.self) || !sle_password_read(t->peer_password, &peer.who))
        return NULL;
    struct csts *s = csts_new(&c);
    if (s == NULL)
        return NULL;
    if (csts_peer_set(s, &peer) == HELIO_OK)
        return s;
    csts_free(s);
    return NULL;
}

const char *const csts_tls_options[] = {"--tls-certificate", "--tls-key", "--tls-ca"};

bool csts_secure_of(const struct csts_terms *t, struct sle_secure *secure)
{
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    *secure = (struct sle_secure){.peer = t->tls_peer, .host = t->tls_host};
    const int e = t->tls ? tls_new(&secure->tls, &t->tls_files, &file, why) : 0;
    if (e < 0)
        fprintf(stderr, "helio-csts: %s: %s\n", csts_tls_options[file],
                e == HELIO_EINVAL ? why : helio_strerror(e));
    return e == 0;
}

const char *csts_end_words(const struct csts_notice *over, char *room, size_t cap)
{
    switch (over->end) {
    case SLE_END_REFUSED:
        snprintf(room, cap, "the BIND was refused: %s",
                 over->bind_diag == 0 ? "another reason" : csts_bind_text(over->bind_diag));
        break;
    case SLE_END_ABORTED:
    case SLE_END_PEER_ABORT:
    case SLE_END_TML:
        snprintf(room, cap, "%s: %s", sle_end_text(over->end), csts_abort_text(over->abort));
        break;
    default:
        snprintf(room, cap, "%s", sle_end_text(over->end));
    }
    return room;
}
