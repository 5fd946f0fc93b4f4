/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint of a service at a node. What can go wrong: a name that is no node's, or too long. */
#include <string.h>

#include "node/aap2/aap2_client.h"

int aap2_endpoint(const char *node, const char *service, char out[AAP2_EID_MAX])
{
    size_t len = strlen(node);
    if (strncmp(node, "ipn:", 4) == 0) {
        const char *dot = strrchr(node, '.');
        if (dot == NULL)
            return HELIO_EINVAL;
        len = (size_t)(dot + 1 - node);
    } else if (strncmp(node, "dtn://", 6) != 0) {
        return HELIO_EINVAL;
    }
    if (len + strlen(service) + 2 > AAP2_EID_MAX)
        return HELIO_EINVAL;
    memcpy(out, node, len);
    if (node[0] == 'd' && out[len - 1] != '/')
        out[len++] = '/';
    memcpy(out + len, service, strlen(service) + 1);
    return 0;
}
