/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a command; messages about arguments, and exit codes. */
#include "os/arguments.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"

static const char *name_at(const void *commands, size_t i, size_t size)
{
    const char *name;
    memcpy(&name, (const char *)commands + i * size, sizeof name);
    return name;
}

int argument_refuse(const char *program, const char *word, const char *const *commands,
                    size_t count)
{
    const char *closest = words_closest(word, commands, count);
    fprintf(stderr, "%s: ", program);
    if (*word == '\0')
        fputs("a command is missing: ", stderr);
    else if (closest == NULL && access(word, F_OK) == 0)
        fprintf(stderr, "%s is a file, and a command comes first: ", word);
    else if (closest != NULL)
        fprintf(stderr, "'%s' is unknown; did you mean %s?", word, closest);
    else
        fprintf(stderr, "'%s' is unknown; right is ", word);
    for (size_t i = 0; i < count && closest == NULL; i++)
        fprintf(stderr, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", commands[i]);
    fprintf(stderr, "%s '%s --help'\n", closest != NULL ? " Try" : "; try", program);
    return 2;
}

size_t argument_command(int argc, char **argv, const void *commands, size_t count, size_t size,
                        const char *usage)
{
    const char *word = argc > 1 ? argv[1] : "", *words[ARGUMENT_COMMANDS_MAX];
    char program[64];
    assert(count > 0 && count <= ARGUMENT_COMMANDS_MAX);
    argp_err_exit_status = 2;
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(commands, i, size);
        words[i] = strchr(name, ' ') + 1;
        if (strcmp(words[i], word) != 0)
            continue;
        argv[1] = (char *)(uintptr_t)name;
        return i;
    }
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0;
    bool version = strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
    const char *first = name_at(commands, 0, size);
    snprintf(program, sizeof program, "%.*s", (int)strcspn(first, " "), first);
    if (!help && !version)
        exit(argument_refuse(program, word, words, count));
    fputs(help ? usage : argp_program_version, stdout);
    if (version)
        putchar('\n');
    exit(0);
}

void argument_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    error_t error = argp_parse(argp, argc, argv, flags, NULL, input);
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", argc > 0 ? argv[0] : "error", strerror(error));
    exit(1);
}

int argument_open_code(int number)
{
    static const int wrong[] = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ENAMETOOLONG, ELOOP, EROFS};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (wrong[i] == number)
            return 2;
    return 1;
}

int argument_file_code(const char *path, bool writing)
{
    char folder[4096];
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 1;
    if (stat(path, &st) == 0) {
        bool refused = S_ISDIR(st.st_mode) || access(path, writing ? W_OK : R_OK) < 0;
        return refused ? 2 : 1;
    }
    if (!writing)
        return argument_open_code(errno);
    snprintf(folder, sizeof folder, "%s", path);
    return access(dirname(folder), W_OK | X_OK) < 0 ? argument_open_code(errno) : 1;
}
