/* SPDX-License-Identifier: Apache-2.0 */
/* A note of reserved initialization vectors: what is accepted is exactly what is written again. */
#include <stdlib.h>
#include <string.h>

#include "os/log/ivs_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ivs_note n;
    static char again[IVS_NOTE_TEXT];
    char *text = malloc(size + 1); /* of its own: reads behind it are found */
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    if (ivs_note_parse(text, size, &n)) {
        require(n.keys_len <= IVS_NOTE_KEYS);
        for (size_t i = 0; i < n.keys_len; i++)
            require(ivs_note_find(&n, n.keys[i].mark) == &n.keys[i]);
        require(ivs_note_write(&n, again) == size && memcmp(again, text, size) == 0);
    }
    free(text);
    return 0;
}
