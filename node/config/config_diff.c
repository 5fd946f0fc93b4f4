/* SPDX-License-Identifier: Apache-2.0 */
/* Compares values by their meaning, with the types of the tables of keys. What can go wrong: memory
 * for a text. */
#include "node/config/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "os/net/host_address.h"

static size_t size_of(enum option_type type)
{
    switch (type) {
    case OPTION_DURATION:
    case OPTION_TIME:
        return sizeof(tick);
    case OPTION_RATE:
    case OPTION_SIZE:
    case OPTION_COUNT:
        return sizeof(uint64_t);
    case OPTION_BOOL:
        return sizeof(bool);
    case OPTION_CHOICE:
        return sizeof(int);
    case OPTION_SHARE:
        return sizeof(double);
    case OPTION_EID:
        return sizeof(struct eid);
    case OPTION_ADDRESS:
        return sizeof(struct address);
    case OPTION_HOST:
        return sizeof(struct host_address);
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_SECRET:
    case OPTION_PLACE:
    case OPTION_SOCKET:
    case OPTION_WORDS:
        return sizeof(char *);
    }
    return 0;
}

static const char *text_at(const void *field)
{
    const char *text = *(char *const *)field;
    return text != NULL ? text : "";
}

bool config_value_equal(const struct conf_option *o, const void *a, const void *b)
{
    const void *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
    assert(size_of(o->type) > 0);
    if (option_is_text(o->type))
        return strcmp(text_at(x), text_at(y)) == 0;
    if (o->type == OPTION_EID)
        return eid_equal(x, y);
    if (o->type == OPTION_ADDRESS)
        return address_given(x) == address_given(y) && (!address_given(x) || address_equal(x, y));
    if (o->type == OPTION_HOST)
        return host_address_equal(x, y);
    return memcmp(x, y, size_of(o->type)) == 0;
}

bool config_value_copy(const struct conf_option *o, const void *from, void *to)
{
    const void *x = (const char *)from + o->offset;
    void *y = (char *)to + o->offset;
    assert(from != to);
    if (!option_is_text(o->type)) {
        memcpy(y, x, size_of(o->type));
        return true;
    }
    char *text = strdup(text_at(x));
    if (text == NULL)
        return false;
    free(*(char **)y);
    *(char **)y = text;
    return true;
}

const struct cla_list *config_lists_differ(const struct cla_list *lists, const void *a,
                                           const void *b)
{
    for (const struct cla_list *d = lists; d != NULL && d->key != NULL; d++) {
        const size_t n = *(const size_t *)(const void *)((const char *)a + d->count);
        const char *x = *(char *const *)(const void *)((const char *)a + d->items);
        const char *y = *(char *const *)(const void *)((const char *)b + d->items);
        if (n != *(const size_t *)(const void *)((const char *)b + d->count))
            return d;
        for (size_t i = 0; i < n; i++)
            for (const struct conf_option *o = d->options; o->key != NULL; o++)
                if (!config_value_equal(o, x + i * d->item_size, y + i * d->item_size))
                    return d;
    }
    return NULL;
}
