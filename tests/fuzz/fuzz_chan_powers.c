/* SPDX-License-Identifier: Apache-2.0 */
/* Any text either is a list of powers, each finite and not negative, or an error with a message.
 * The first byte chooses the column and the unit. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/chan/fading/chan_powers.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {NULL, "1", "2", "rx"};
    struct powers p = {0};
    struct powers_text t;
    int rc = 0;
    if (size == 0)
        return 0;
    powers_text_init(&t, &p, columns[data[0] & 3], data[0] & 4);
    for (data++, size--; size > 0 && rc == 0;) {
        const uint8_t *feed = memchr(data, '\n', size);
        size_t len = feed == NULL ? size : (size_t)(feed - data);
        rc = powers_text_line(&t, (const char *)data, len);
        data += feed == NULL ? len : len + 1;
        size -= feed == NULL ? len : len + 1;
    }
    if (rc == 0)
        rc = powers_text_end(&t);
    must(rc == 0 || t.error[0] != '\0');
    for (size_t i = 0; i < p.len; i++)
        must(p.value[i] >= 0 && p.value[i] <= 1e300);
    powers_fini(&p);
    return 0;
}
