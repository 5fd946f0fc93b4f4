/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing can go wrong: what is too long is cut off. */
#include "node/http/prometheus.h"

size_t prometheus_label(const char *text, char *out, size_t cap)
{
    size_t len = 0;
    for (; *text != '\0' && len + 3 < cap; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n')
            out[len++] = '\\';
        out[len++] = *text;
        if (*text == '\n')
            out[len - 1] = 'n';
    }
    out[len] = '\0';
    return len;
}
