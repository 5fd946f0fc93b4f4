/* SPDX-License-Identifier: Apache-2.0 */
/* Any text becomes words that together are no longer than it, or has an open quote. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const first[] = {"x", NULL};
    char *text = malloc(size + 1);
    int count;
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char **words = stack_words(first, text, &count);
    assert(words != NULL || count < 0 || size > 1000000);
    size_t len = 0;
    for (int i = 1; words != NULL && i < count; i++)
        len += strlen(words[i]);
    assert(len <= strlen(text) && (words == NULL || words[count] == NULL));
    stack_words_free(words);
    free(text);
    return 0;
}
