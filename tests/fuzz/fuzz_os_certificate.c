/* SPDX-License-Identifier: Apache-2.0 */
/* A peer's certificate of any octets, as far as OpenSSL reads it: its verdict has a text or none,
 * its names are printable, bounded in number and length, and those of addresses are addresses. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "os/tls/tls_certificate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct tls_name *n)
{
    struct in6_addr address;
    const size_t len = strlen(n->text);
    if (len == 0 || len > TLS_NAME_MAX)
        abort();
    for (size_t i = 0; i < len; i++)
        if (n->text[i] <= ' ' || n->text[i] > '~')
            abort();
    if (n->kind == TLS_IP && inet_pton(AF_INET, n->text, &address) != 1 &&
        inet_pton(AF_INET6, n->text, &address) != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned char *at = data;
    X509 *cert = d2i_X509(NULL, &at, (long)size);
    if (cert == NULL)
        return 0;
    const char *strict = certificate_judge(cert, false), *lax = certificate_judge(cert, true);
    if ((strict == NULL && lax != NULL) || (strict != NULL && *strict == '\0'))
        abort();
    struct tls_names names = {.len = 0};
    if (!certificate_names(cert, &names) && names.len != TLS_NAMES_MAX)
        abort();
    for (size_t i = 0; i < names.len; i++)
        check_name(&names.at[i]);
    certificate_forget(&names);
    X509_free(cert);
    return 0;
}
