/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's TCPCL link that requires TLS, and a peer that connects: the input is what follows the
 * contact headers, as TLS records of any octets; or, with bit 0 of its first octet, what is in
 * records of a real handshake. Bit 1: a SESS_INIT goes before it. Bits 2 to 4: the octets are cut.
 */
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/tls/tls.h"
#include "tests/fuzz/virtual_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define NOW 1790000000L

static char folder[] = "/tmp/fuzz-tls-XXXXXX", certificate[64], key[64], text[1024];
static struct tls *client;

static void remove_files(void)
{
    tls_free(client);
    unlink(certificate);
    unlink(key);
    rmdir(folder);
}

static void write_pem(const char *path, X509 *cert, EVP_PKEY *pair)
{
    FILE *f = fopen(path, "w");
    assert(f != NULL && fchmod(fileno(f), 0600) == 0);
    if (cert != NULL)
        PEM_write_X509(f, cert);
    else
        PEM_write_PrivateKey(f, pair, NULL, NULL, 0, NULL, NULL);
    fclose(f);
}

static void make_certificate(void)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    assert(pair != NULL && cert != NULL && mkdtemp(folder) != NULL);
    snprintf(certificate, sizeof certificate, "%s/own.pem", folder);
    snprintf(key, sizeof key, "%s/own.key", folder);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    ASN1_TIME_set(X509_getm_notBefore(cert), NOW - 86400);
    ASN1_TIME_set(X509_getm_notAfter(cert), NOW + 86400);
    X509_set_pubkey(cert, pair);
    X509_sign(cert, pair, EVP_sha256());
    write_pem(certificate, cert, NULL);
    write_pem(key, NULL, pair);
    X509_free(cert);
    EVP_PKEY_free(pair);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char why[TLS_WHY_MAX];
    unsigned file;
    (void)argc;
    (void)argv;
    make_certificate();
    atexit(remove_files);
    snprintf(text, sizeof text,
             "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
             "bundles: {max: 64KiB}\n"
             "links: [{name: t, adapter: tcpcl, local: '127.0.0.1:4556', peer: ipn:2.0, tls: "
             "{mode: required, peer: none, certificate: %s, key: %s}}]\n"
             "routes: [{to: 'ipn:2.*', via: t}]\n",
             certificate, key);
    const struct tls_files files = {0};
    assert(tls_new(&client, &files, &file, why) == 0);
    return 0;
}

static void write_contact(struct virtual_node *n, struct raw_peer *p)
{
    static const uint8_t contact[] = {'d', 't', 'n', '!', 4, 1};
    struct address at;
    (void)address_parse("127.0.0.1:4556", &at);
    const struct stream_place place = {.address = &at};
    peer_connect(p, &n->v, &place);
    peer_write(p, contact, sizeof contact);
    node_play(n, TICK_MS);
}

/* The peer's stream is TLS from now on, if its lower one lives. */
static void begin_tls(struct virtual_node *n, struct raw_peer *p)
{
    struct stream *lower = p->stream, *upper;
    const struct tls_setup setup = {.server = false};
    if (lower == NULL)
        return;
    stream_read(lower, false);
    p->stream = NULL;
    if (tls_stream(&upper, client, &n->v.world, lower, &setup) != 0) {
        stream_close(lower);
        return;
    }
    p->stream = upper;
    stream_use(upper, &peer_user, p);
    stream_read(upper, true);
    node_play(n, TICK_S);
}

static void write_session(struct raw_peer *p)
{
    static const uint8_t init[] = {7, 0, 30, 0, 0, 0,   0,   0,   1,   0,   0,   0,   0, 0, 0, 0,
                                   1, 0, 0,  0, 7, 'i', 'p', 'n', ':', '2', '.', '0', 0, 0, 0, 0};
    peer_write(p, init, sizeof init);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct raw_peer peer;
    if (len < 1)
        return 0;
    struct virtual_node *n = node_begin(node_config(text));
    memset(&peer, 0, sizeof peer);
    write_contact(n, &peer);
    if ((data[0] & 1) != 0)
        begin_tls(n, &peer);
    if ((data[0] & 2) != 0)
        write_session(&peer);
    struct feed f = {data + 1, data + len};
    const size_t cut = (data[0] >> 2 & 7) == 0 ? len : (size_t)1 << (data[0] >> 2 & 7);
    while (f.p < f.end && peer.stream != NULL) {
        const struct slice part = feed_slice(&f, cut);
        peer_write(&peer, part.data, part.len);
        node_play(n, 0);
    }
    node_play(n, 100 * TICK_S);
    peer_close(&peer);
    node_play(n, TICK_S);
    node_end(n);
    return 0;
}
