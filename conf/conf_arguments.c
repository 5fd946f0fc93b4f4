/* SPDX-License-Identifier: Apache-2.0 */
/* Each row becomes an option of argp. A row without a short name gets a key that depends on its
 * place in the table. What can go wrong: a wrong argument, which ends the program. */
#include "conf/conf_arguments.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "os/arguments.h"

enum { KEY_FIRST = 512 };

struct parse {
    const struct argument_table *arguments;
    void *base;
};

/* The row with this key; of an alias the row that it names. NULL: there is none. */
static const struct argument *find_option(const struct argument *o, int key)
{
    const struct argument *real = o;
    for (int i = 0; o[i].name != NULL; i++) {
        real = (o[i].flags & OPTION_ALIAS) == 0 ? &o[i] : real;
        if (key == (o[i].key != 0 ? o[i].key : KEY_FIRST + i))
            return real;
    }
    return NULL;
}

static void write_number(const struct argument *o, void *base, uint64_t v)
{
    const uint32_t narrow = (uint32_t)v;
    assert(o->size == sizeof v || (o->size == sizeof narrow && o->high <= UINT32_MAX));
    memcpy(argument_field(o, base), o->size == sizeof v ? (const void *)&v : &narrow, o->size);
}

static void write_bool(const struct argument *o, void *base, bool v)
{
    assert(o->size == sizeof v);
    memcpy(argument_field(o, base), &v, sizeof v);
}

static void write_text(const struct argument *o, void *base, const char *v)
{
    assert(o->size == sizeof v);
    memcpy(argument_field(o, base), &v, sizeof v);
}

static void set_option(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    switch (o->type) {
    case ARGUMENT_TEXT:
        write_text(o, base, arg);
        break;
    case ARGUMENT_SET:
    case ARGUMENT_CLEAR:
        write_bool(o, base, o->type == ARGUMENT_SET);
        break;
    case ARGUMENT_COUNT:
        write_number(o, base, argument_count(state, o->name, arg, o->low, o->high));
        break;
    case ARGUMENT_SIZE:
        write_number(o, base, argument_size(state, o->name, arg, o->low, o->high));
        break;
    case ARGUMENT_SERVICE:
        if (*arg == '\0' || strlen(arg) >= 64)
            argument_want(state, o->name, arg, "a short name or number");
        write_text(o, base, arg);
        break;
    case ARGUMENT_OWN:
        o->own(state, o, arg, base);
        break;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    const struct parse *p = state->input;
    const struct argument_table *a = p->arguments;
    const struct argument *o;
    if (key == ARGP_KEY_END && a->end != NULL)
        a->end(state, p->base);
    else if (key == ARGP_KEY_ARG && a->word != NULL)
        a->word(state, arg, p->base);
    else if ((o = find_option(a->options, key)) != NULL)
        set_option(state, o, arg, p->base);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

void argument_table_parse(const struct argument_table *a, int argc, char **argv, void *base)
{
    struct argp_option options[ARGUMENTS_MAX + 1] = {{0}};
    struct parse p = {a, base};
    for (int i = 0; a->options[i].name != NULL; i++) {
        const struct argument *o = &a->options[i];
        assert(i < ARGUMENTS_MAX);
        options[i] = (struct argp_option){.name = o->name,
                                          .key = o->key != 0 ? o->key : KEY_FIRST + i,
                                          .arg = o->arg,
                                          .flags = o->flags,
                                          .doc = o->help,
                                          .group = o->group};
    }
    const struct argp argp = {
        .options = options, .parser = parse_option, .args_doc = a->args_doc, .doc = a->doc};
    argument_parse(&argp, argc, argv, 0, &p);
}
