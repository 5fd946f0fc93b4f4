/* SPDX-License-Identifier: Apache-2.0 */
/* Each row becomes an option of argp, each part of a table a child of its parser. A row without a
 * short name gets a key that depends on its place. What can go wrong: a wrong argument, which ends
 * the program. */
#include "conf/conf_arguments.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lack.h"
#include "base/words.h"
#include "os/arguments.h"

enum { KEY_FIRST = 512, WHY_CAP = 512, TYPED_CAP = 64, SHOWN_MAX = 200 };

struct parse {
    const struct argument *options;
    void (*word)(struct argp_state *state, char *arg, void *base);
    void (*end)(struct argp_state *state, void *base);
    void *base;
    struct parse *parts; /* NULL: there are none */
    size_t parts_len;
    const char *args_doc;
    char typed[TYPED_CAP]; /* the option or the word that is read, for messages */
};

static bool is_row(const struct argument *o)
{
    return o->name != NULL || o->help != NULL;
}

/* The row with this key, and its name; of an alias the row that it names. NULL: there is none. */
static const struct argument *find_option(const struct argument *o, int key, const char **name)
{
    const struct argument *real = o;
    for (int i = 0; is_row(&o[i]); i++) {
        real = (o[i].flags & OPTION_ALIAS) == 0 ? &o[i] : real;
        *name = o[i].name;
        if (*name != NULL && key == (o[i].key != 0 ? o[i].key : KEY_FIRST + i))
            return real;
    }
    return NULL;
}

/* As -c or --count, whichever was written: the value is the argument before the next one, or a part
 * of it. */
static void note_option(struct parse *p, const struct argp_state *state, int key, const char *name,
                        const char *arg)
{
    const int last = state->next - 1;
    const bool apart = arg != NULL && last > 0 && arg == state->argv[last];
    const char *word = state->argv[apart ? last - 1 : last];
    if (strncmp(word, "--", 2) == 0 || key >= KEY_FIRST)
        snprintf(p->typed, sizeof p->typed, "--%s", name);
    else
        snprintf(p->typed, sizeof p->typed, "-%c", key);
}

/* The word's name in a line such as "SOCKET LINK [FILE]..."; the last one is of all further words.
 */
static void note_word(struct parse *p, unsigned number)
{
    const char *word = p->args_doc != NULL ? p->args_doc : "", *next = word;
    do {
        word = next;
        next += strcspn(next, " \n");
        next += *next == ' ';
    } while (number-- > 0 && *next != '\0' && *next != '\n');
    word += strspn(word, "[");
    size_t len = strcspn(word, "] \n");
    len -= len >= 3 && strncmp(word + len - 3, "...", 3) == 0 ? 3 : 0;
    snprintf(p->typed, sizeof p->typed, "%.*s", (int)len, word);
}

void argument_wrong(struct argp_state *state, const char *format, ...)
{
    const struct parse *p = state->input;
    char why[WHY_CAP];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const char *colon = p->typed[0] == '\0' ? "" : ": ";
    if (lack_is(errno)) /* a name or a file may be right that could not be looked up or read */
        argp_failure(state, 1, 0, "%s%s%s", p->typed, colon, why);
    argp_error(state, "%s%s%s", p->typed, colon, why);
}

void argument_want(struct argp_state *state, const char *arg, const char *right)
{
    argument_wrong(state, "\"%.*s\" is not understood; write %s", SHOWN_MAX, arg, right);
}

union value {
    uint64_t number;
    double share;
    int choice;
    bool flag;
};

/* Reads the value as a key of a configuration is read. */
static union value read_value(struct argp_state *state, const struct argument *o, const char *arg)
{
    const struct conf_option option = {
        .key = o->name, .type = o->type, .min = o->min, .max = o->max, .choices = o->choices};
    union value v = {.number = 0};
    char why[WHY_CAP];
    if (conf_option_set(&option, &v, arg, why, sizeof why) < 0)
        argument_wrong(state, "%s", why);
    return v;
}

uint64_t argument_number(struct argp_state *state, const struct argument *o, const char *arg)
{
    return read_value(state, o, arg).number;
}

int argument_choice(struct argp_state *state, const struct argument *o, const char *arg)
{
    return read_value(state, o, arg).choice;
}

struct address argument_address(struct argp_state *state, const char *arg)
{
    struct address a = {.sa = {.sa_family = AF_UNSPEC}};
    if (address_parse(arg, &a) != 0)
        argument_want(state, arg, address_hint);
    return a;
}

static void write_number(const struct argument *o, void *field, uint64_t v)
{
    const uint32_t v32 = (uint32_t)v;
    const uint16_t v16 = (uint16_t)v;
    const uint8_t v8 = (uint8_t)v;
    assert(o->size == sizeof v ||
           (o->max != 0 ? o->max : v) < UINT64_C(1) << (8 * o->size)); /* the table is ours */
    memcpy(field,
           o->size == sizeof v     ? (const void *)&v
           : o->size == sizeof v32 ? (const void *)&v32
           : o->size == sizeof v16 ? (const void *)&v16
                                   : &v8,
           o->size);
}

static void write_text(const struct argument *o, void *field, const char *text)
{
    assert(o->size == sizeof text);
    memcpy(field, &text, sizeof text);
}

static void write_address(struct argp_state *state, const struct argument *o, void *field,
                          const char *arg)
{
    const struct address a = argument_address(state, arg);
    assert(o->size == sizeof a);
    memcpy(field, &a, sizeof a);
}

void argument_set_value(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    void *field = argument_field(o, base);
    const char *text = arg != NULL ? arg : o->without != NULL ? o->without : "yes";
    if (option_is_text(o->type))
        write_text(o, field, text);
    else if (o->type == OPTION_ADDRESS)
        write_address(state, o, field, text);
    else if (o->type == OPTION_CHOICE)
        write_number(o, field, o->min + (unsigned)argument_choice(state, o, text));
    else if (o->type == OPTION_BOOL)
        write_number(o, field, read_value(state, o, text).flag);
    else if (o->type == OPTION_SHARE) {
        const double share = read_value(state, o, text).share;
        memcpy(field, &share, sizeof share);
    } else
        write_number(o, field, read_value(state, o, text).number);
}

void argument_set_service(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (*arg == '\0' || strlen(arg) >= 64)
        argument_want(state, arg, "a name or a number of at most 63 characters, such as 2000");
    write_text(o, argument_field(o, base), arg);
}

/* The line "socket: PATH" of a configuration, without a reader of YAML. False: there is none. */
static bool find_socket(const char *path, char out[SHOWN_MAX])
{
    static const char key[] = "socket:";
    char line[SHOWN_MAX];
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    while (f != NULL && out[0] == '\0' && fgets(line, sizeof line, f) != NULL) {
        const char *at = line + sizeof key - 1;
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        at += strspn(at, " \"'");
        snprintf(out, SHOWN_MAX, "%.*s", (int)strcspn(at, " \"'\r\n"), at);
    }
    if (f != NULL)
        fclose(f);
    return out[0] != '\0';
}

/* S_IFREG, S_IFSOCK …; 0: nothing is there. */
static mode_t kind_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static void refuse_file(struct argp_state *state, const char *path, const char *option)
{
    char socket[SHOWN_MAX];
    if (find_socket(path, socket))
        argument_wrong(state, "%s is a file, which names the node's socket; write %s%s", path,
                       option, socket);
    argument_wrong(state, "%s is a file; write %sthe node's socket (socket: in its configuration)",
                   path, option);
}

void argument_set_socket(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (kind_of(arg) == S_IFREG)
        refuse_file(state, arg, "");
    write_text(o, argument_field(o, base), arg);
}

void argument_refuse_place(struct argp_state *state, const char *word)
{
    const char *end = strrchr(word, '.');
    const bool yaml = end != NULL && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
    if (kind_of(word) == S_IFSOCK)
        argument_wrong(state, "%s is a socket; write --socket %s", word, word);
    if (yaml && kind_of(word) == S_IFREG)
        refuse_file(state, word, "--socket ");
}

void argument_show_help(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    (void)o;
    (void)arg;
    (void)base;
    argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    const struct argument *o;
    const char *name;
    for (size_t i = 0; key == ARGP_KEY_INIT && i < p->parts_len; i++)
        state->child_inputs[i] = &p->parts[i];
    p->typed[0] = '\0';
    if (key == ARGP_KEY_END && p->end != NULL)
        p->end(state, p->base);
    else if (key == ARGP_KEY_ARG && p->word != NULL) {
        note_word(p, state->arg_num);
        p->word(state, arg, p->base);
    } else if ((o = find_option(p->options, key, &name)) != NULL) {
        note_option(p, state, key, name, arg);
        (o->own != NULL ? o->own : argument_set_value)(state, o, arg, p->base);
    } else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* The rows of one list behind those before in `all`; *used counts them and the row that ends the
 * list. Returns the first one, or NULL without rows: for help argp leaks memory of an empty list.
 */
static struct argp_option *add_rows(const struct argument *o, struct argp_option *all, size_t *used)
{
    struct argp_option *first = &all[*used];
    if (!is_row(o))
        return NULL;
    for (int i = 0; is_row(&o[i]); i++) {
        assert(*used < ARGUMENTS_MAX);
        all[(*used)++] = (struct argp_option){.name = o[i].name,
                                              .key = o[i].name == NULL ? 0
                                                     : o[i].key != 0   ? o[i].key
                                                                       : KEY_FIRST + i,
                                              .arg = o[i].arg,
                                              .flags = o[i].flags,
                                              .doc = o[i].help,
                                              .group = o[i].group};
    }
    all[(*used)++] = (struct argp_option){0};
    return first;
}

/* Does the argument take the next one as its value? */
static bool takes_next(const struct argp_option *all, size_t len, const char *word)
{
    for (size_t i = 0; i < len; i++) {
        const bool is_long = strncmp(word, "--", 2) == 0 && all[i].name != NULL &&
                             strcmp(word + 2, all[i].name) == 0;
        const bool is_short = word[0] == '-' && word[1] != '\0' && word[1] != '-' &&
                              word[strlen(word) - 1] == all[i].key;
        if ((is_long || is_short) && all[i].arg != NULL &&
            (all[i].flags & OPTION_ARG_OPTIONAL) == 0)
            return true;
    }
    return false;
}

/* The name that was meant by a long option that does not exist; "": none is near; NULL: it exists,
 * also shortened. */
static const char *closest_name(const struct argp_option *all, size_t len, const char *word)
{
    static const char *const always[] = {"help", "usage", "version"};
    const char *names[ARGUMENTS_MAX + ARGUMENT_PARTS_MAX + 4];
    const size_t typed = strcspn(word, "=");
    char name[TYPED_CAP];
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (all[i].name != NULL && strncmp(all[i].name, word, typed) == 0)
            return NULL;
        if (all[i].name != NULL && (all[i].flags & OPTION_HIDDEN) == 0)
            names[n++] = all[i].name;
    }
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (strncmp(always[i], word, typed) == 0)
            return NULL;
        names[n++] = always[i];
    }
    snprintf(name, sizeof name, "%.*s", (int)(typed < TYPED_CAP ? typed : TYPED_CAP - 1), word);
    const char *closest = words_closest(name, names, n);
    return closest != NULL ? closest : "";
}

/* argp's own message for an unknown option has no suggestion, and the program's path. */
static void refuse_misspelt(const struct argp_option *all, size_t len, int argc, char **argv)
{
    const char *program = strrchr(argv[0], '/');
    program = program == NULL ? argv[0] : program + 1;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || (i > 1 && takes_next(all, len, argv[i - 1])))
            continue;
        const char *name = closest_name(all, len, argv[i] + 2);
        if (name == NULL)
            continue;
        const int typed = (int)strcspn(argv[i], "=");
        if (*name != '\0')
            fprintf(stderr, "%s: %.*s is unknown; did you mean --%s? Try '%s --help'\n", program,
                    typed, argv[i], name, program);
        else
            fprintf(stderr, "%s: %.*s is unknown; '%s --help' shows the options\n", program, typed,
                    argv[i], program);
        exit(argp_err_exit_status);
    }
}

/* A single letter may be the name of a node: helio-ping -c 5 s. */
static bool is_unit(const char *word)
{
    static const char *const units[] = {"ns", "us",     "ms",     "min",    "kB", "MB",
                                        "GB", "kbit/s", "Mbit/s", "Gbit/s", NULL};
    const char *const *u = units;
    while (*u != NULL && strcmp(*u, word) != 0)
        u++;
    return *u != NULL;
}

/* "-i 200 ms": the unit would be a word of its own. */
static void refuse_apart(const struct argp_option *all, size_t len, int argc, char **argv)
{
    const char *program = strrchr(argv[0], '/');
    program = program == NULL ? argv[0] : program + 1;
    for (int i = 1; i + 2 < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *number = argv[i + 1];
        if (!takes_next(all, len, argv[i]) || *number == '\0' ||
            number[strspn(number, "0123456789.")] != '\0' || !is_unit(argv[i + 2]))
            continue;
        fprintf(stderr, "%s: %s %s %s: write no space before the unit: %s%s\n", program, argv[i],
                number, argv[i + 2], number, argv[i + 2]);
        exit(argp_err_exit_status);
    }
}

void argument_table_parse(const struct argument_table *a, int argc, char **argv, void *base)
{
    struct argp_option all[ARGUMENTS_MAX + ARGUMENT_PARTS_MAX + 1];
    struct argp argps[ARGUMENT_PARTS_MAX];
    struct argp_child children[ARGUMENT_PARTS_MAX + 1] = {{0}};
    struct parse parts[ARGUMENT_PARTS_MAX];
    struct parse p = {.options = a->options,
                      .word = a->word,
                      .end = a->end,
                      .base = base,
                      .parts = parts,
                      .args_doc = a->args_doc};
    size_t used = 0;
    const struct argp argp = {.options = add_rows(a->options, all, &used),
                              .parser = parse_option,
                              .args_doc = a->args_doc,
                              .doc = a->doc,
                              .children = children};
    for (const struct argument_part *t = a->parts; t != NULL && t->options != NULL; t++) {
        const size_t i = p.parts_len++;
        assert(i < ARGUMENT_PARTS_MAX);
        parts[i] =
            (struct parse){.options = t->options, .end = t->end, .base = (char *)base + t->offset};
        argps[i] =
            (struct argp){.options = add_rows(t->options, all, &used), .parser = parse_option};
        children[i] = (struct argp_child){&argps[i], 0, t->heading, t->group};
    }
    refuse_misspelt(all, used, argc, argv);
    refuse_apart(all, used, argc, argv);
    argument_parse(&argp, argc, argv, a->flags, &p);
}
