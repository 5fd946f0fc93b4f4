/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a configuration or a list of errors, and leave nothing behind. */
#include <stdlib.h>

#include "node/config/config.h"
#include "os/net/host_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct settings {
    tick rto;
    uint64_t rate, size, copies, red;
    char *text;
    int choice;
    struct address address;
    struct host_address remote;
    void *items;
    size_t items_len;
};
#define AT(field) offsetof(struct settings, field)
static const struct conf_option options[] = {
    {.key = "rto", .type = OPTION_DURATION, .offset = AT(rto), .min = 100000},
    {.key = "rate", .type = OPTION_RATE, .offset = AT(rate), .initial = "unlimited"},
    {.key = "segment", .type = OPTION_SIZE, .offset = AT(size), .initial = "1kB", .max = 65000},
    {.key = "label", .type = OPTION_TEXT, .offset = AT(text), .initial = ""},
    {.key = "colour",
     .type = OPTION_CHOICE,
     .offset = AT(choice),
     .choices = "red|green",
     .initial = "red"},
    {.key = "listen", .type = OPTION_ADDRESS, .offset = AT(address), .initial = ""},
    {.key = "remote", .type = OPTION_HOST, .offset = AT(remote), .initial = "", .min = 4556},
    {.key = "recovery.copies", .type = OPTION_COUNT, .offset = AT(copies), .initial = "0"},
    {.key = "colour.red", .type = OPTION_SIZE, .offset = AT(red), .initial = "0"},
    {.key = NULL},
};
static const struct cla_list lists[] = {
    {.key = "colours",
     .options = options,
     .item_size = sizeof(struct settings),
     .max = 3,
     .items = AT(items),
     .count = AT(items_len)},
    {.key = NULL},
};
static const struct cla_ops adapter = {
    .name = "ltp-udp", .options = options, .config_size = sizeof(struct settings), .lists = lists};

static const struct cla_ops *adapters(size_t i)
{
    return i == 0 ? &adapter : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char name[] = "fuzz.yaml";
    struct config c;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return 0;
    conf_errors_init(e, name);
    int err = config_parse(&c, (const char *)data, len, adapters, e);
    if ((err == 0) != (e->total == 0) || e->len > CONF_ERRORS_MAX)
        abort();
    if (err == 0)
        config_fini(&c);
    free(e);
    return 0;
}
