/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ION's configuration: ionadmin has the node and the contacts, ltpadmin the spans, bpadmin the
 * inducts, ipnadmin which duct leads to which neighbour, and exits (gateways). Each line is read as
 * input of the program whose section or file it is in. What can go wrong: a line that is not
 * understood; it is noted with its number, as is each line without a counterpart in heliod.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/plan/import.h"

#define WORDS_MAX 16
#define WORD_CAP 160
#define SEGMENT_MIN 64
#define SEGMENT_MAX 65000

enum program { P_NONE, P_ION, P_LTP, P_BP, P_IPN, P_OTHER };

struct line {
    uint32_t number;
    size_t words;
    char word[WORDS_MAX][WORD_CAP];
};

static const char *const program_names[] = {"", "ionadmin", "ltpadmin", "bpadmin", "ipnadmin"};
static const char *const endings[] = {"", ".ionrc", ".ltprc", ".bprc", ".ipnrc"};

/* Words lie between blanks, or in quotes; longer ones than any that is needed
 * are cut. */
static void split_words(struct line *l, const char *p, const char *end)
{
    l->words = 0;
    while (p < end && l->words < WORDS_MAX) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        if (p == end)
            break;
        const bool quoted = *p == '\'' || *p == '"';
        const char quote = *p;
        size_t n = 0;
        char *word = l->word[l->words++];
        for (p += quoted; p < end && (quoted ? *p != quote : *p != ' ' && *p != '\t' && *p != '\r');
             p++) {
            if (n < WORD_CAP - 1)
                word[n++] = *p;
        }
        word[n] = '\0';
        p += p < end && quoted;
    }
}

static bool is_word(const struct line *l, size_t i, const char *text)
{
    return i < l->words && strcmp(l->word[i], text) == 0;
}

static uint64_t number_or(const struct line *l, size_t i, uint64_t max, uint64_t otherwise)
{
    uint64_t n;
    return i < l->words && import_number(l->word[i], max, &n) ? n : otherwise;
}

/* "host:port" or "host port"; the usual port without one, or with 0. */
static void split_host(const char *text, uint64_t usual, char host[WORD_CAP], uint64_t *port)
{
    snprintf(host, WORD_CAP, "%s", text);
    char *end = strpbrk(host, " \t,");
    if (end != NULL)
        *end = '\0';
    char *colon = strrchr(host, ':');
    *port = 0;
    if (colon == NULL || (import_number(colon + 1, UINT16_MAX, port) && *port == 0))
        *port = usual;
    if (colon != NULL)
        *colon = '\0';
}

static bool read_remote(struct import *im, const struct line *l, struct import_link *s,
                        const char *text, uint64_t usual)
{
    char host[WORD_CAP];
    uint64_t port;
    split_host(text, usual, host, &port);
    return import_remote(im, s, host, port, l->number);
}

static bool read_local(struct import *im, const struct line *l, enum import_adapter adapter,
                       const char *text, uint64_t usual)
{
    char host[WORD_CAP];
    uint64_t port;
    split_host(text, usual, host, &port);
    return import_local(im, adapter, host, port, l->number);
}

/* The words of a command in quotes: its name, and what follows. */
static const char *command_rest(const char *text, const char *name)
{
    const size_t n = strlen(name);
    if (strncmp(text, name, n) != 0 || (text[n] != ' ' && text[n] != '\t'))
        return NULL;
    text += n;
    return text + strspn(text, " \t");
}

/* --- ionadmin --- */

/* a range START END FROM TO SECONDS: the longest one is the link's light time.
 */
static void read_range(struct import *im, const struct line *l)
{
    struct import_range r;
    uint64_t seconds;
    if (im->ranges_len < IMPORT_RANGES_MAX && l->words == 7 &&
        import_number(l->word[4], UINT32_MAX, &r.from) &&
        import_number(l->word[5], UINT32_MAX, &r.to) &&
        import_number(l->word[6], 86400, &seconds)) {
        r.owlt = seconds * TICK_S;
        im->ranges[im->ranges_len++] = r;
    }
}

static void read_ionadmin(struct import *im, const struct line *l)
{
    if (is_word(l, 0, "1"))
        im->node = number_or(l, 1, UINT32_MAX, im->node);
    else if (is_word(l, 0, "a") && (is_word(l, 1, "contact") || is_word(l, 1, "range"))) {
        if (im->plan != NULL && im->plan != im->file)
            import_note(im, l->number,
                        "contacts stand in more than one file; a plan is one: join "
                        "them in this one");
        im->plan = im->file;
        if (is_word(l, 1, "range"))
            read_range(im, l);
    } else if (is_word(l, 0, "m") && !is_word(l, 1, "horizon") && !is_word(l, 1, "usage")) {
        import_note(im, l->number, "m %s: has no counterpart", l->words > 1 ? l->word[1] : "");
        return;
    }
    im->taken++;
}

/* --- ltpadmin --- */

static struct import_link *find_engine(struct import *im, uint64_t engine, uint32_t line)
{
    for (size_t i = 0; i < im->links_len; i++) {
        if (im->links[i].adapter == IMPORT_LTP && im->links[i].engine == engine)
            return &im->links[i];
    }
    return import_link(im, IMPORT_LTP, engine, line);
}

/* a span ENGINE EXPORTS IMPORTS SEGMENT AGGREGATION_SIZE AGGREGATION_TIME
 * 'COMMAND' [LATENCY]; in older files each of the two numbers of sessions is
 * followed by the size of a block. */
static void read_span(struct import *im, const struct line *l)
{
    size_t at = 3;
    uint64_t engine, n;
    while (at < l->words && import_number(l->word[at], UINT64_MAX, &n))
        at++;
    const bool old = at == 10;
    if ((at != 8 && !old) || at == l->words || !import_number(l->word[2], UINT32_MAX, &engine) ||
        engine == 0) {
        import_note(im, l->number, "a span: its words are not understood: left out");
        return;
    }
    const char *rest = command_rest(l->word[at], "udplso");
    if (rest == NULL) {
        import_note(im, l->number, "a span: \"%s\": only udplso has a counterpart: left out",
                    l->word[at]);
        return;
    }
    struct import_link *s = find_engine(im, engine, l->number);
    if (s == NULL)
        return;
    s->sessions = number_or(l, 3, 65536, 65536);
    s->import_sessions = number_or(l, old ? 5 : 4, 1000000, 1000000);
    s->segment = number_or(l, old ? 7 : 5, SEGMENT_MAX, SEGMENT_MAX);
    s->segment = s->segment < SEGMENT_MIN ? SEGMENT_MIN : s->segment;
    /* The other node's time to answer (1 s unless given), and this node's (m
     * ownqtime: 1 s). */
    s->margin = (number_or(l, at + 1, 3598, 1) + 1) * TICK_S;
    (void)read_remote(im, l, s, rest, 1113);
    const char *rate = strpbrk(rest, " \t");
    if (rate != NULL && import_number(rate + strspn(rate, " \t"), UINT64_C(1000000000000), &n))
        s->rate = n;
    import_note(im, l->number,
                "a span %" PRIu64 ": aggregation (%s bytes, %s s) is left out: each bundle is a "
                "block of its own",
                engine, l->word[at - 2], l->word[at - 1]);
    im->taken++;
}

/* The daemon that takes segments in: the word `at`. */
static void read_input(struct import *im, const struct line *l, size_t at)
{
    const char *command = l->word[at];
    const char *rest = strcmp(command, "udplsi") == 0 ? "" : command_rest(command, "udplsi");
    if (rest != NULL && *rest == '\0' && l->words > at + 1)
        import_note(im, l->number, "%s: ION reads it only in quotes with udplsi: left out",
                    l->word[at + 1]);
    if (rest == NULL)
        import_note(im, l->number, "\"%s\": only udplsi has a counterpart", command);
    else
        im->taken += read_local(im, l, IMPORT_LTP, rest, 1113);
}

/* Does it change something? Others start, stop, print. */
static bool changes(const struct line *l)
{
    return is_word(l, 0, "a") || is_word(l, 0, "c") || is_word(l, 0, "d") || is_word(l, 0, "m");
}

static void note_command(struct import *im, const struct line *l)
{
    import_note(im, l->number, "%s %s: has no counterpart", l->word[0],
                l->words > 1 ? l->word[1] : "");
}

static void read_ltpadmin(struct import *im, const struct line *l)
{
    if (is_word(l, 0, "a") && is_word(l, 1, "span"))
        read_span(im, l);
    else if (is_word(l, 0, "a") && is_word(l, 1, "seat") && l->words > 2)
        read_input(im, l, 2);
    else if (is_word(l, 0, "s") && l->words > 1)
        read_input(im, l, 1);
    else if (changes(l))
        note_command(im, l);
    else
        im->taken++;
}

/* --- ducts: of bpadmin and ipnadmin --- */

static bool find_adapter(const char *protocol, enum import_adapter *adapter)
{
    if (strcmp(protocol, "udp") == 0)
        *adapter = IMPORT_UDP;
    else if (strcmp(protocol, "stcp") == 0)
        *adapter = IMPORT_STCP;
    else
        return false;
    return true;
}

/* Protocols that look like one of ours. */
static const char *reason_of(const char *protocol)
{
    if (strcmp(protocol, "tcp") == 0)
        return ": ION's tcp is TCPCL 3, ours TCPCL 4; use stcp at both nodes";
    if (strcmp(protocol, "bibe") == 0)
        return ": ION's BIBE (draft-ietf-dtn-bibect) has another format than the adapter bibe";
    return "";
}

/* What leads to a neighbour. */
static void read_duct(struct import *im, const struct line *l, uint64_t node, const char *protocol,
                      const char *name)
{
    uint64_t engine;
    enum import_adapter adapter;
    struct import_link *s = NULL;
    if (node == im->node) {
        if (find_adapter(protocol, &adapter))
            im->own[adapter] = true;
        import_note(im, l->number, "%s %" PRIu64 ": this node itself: bundles are delivered here",
                    l->word[1], node);
        return;
    }
    if (strcmp(protocol, "ltp") == 0 && import_number(name, UINT32_MAX, &engine)) {
        s = find_engine(im, engine, l->number);
        if (s != NULL)
            s->peer = node;
    } else if (find_adapter(protocol, &adapter)) {
        s = import_link(im, adapter, node, l->number);
        if (s != NULL)
            (void)read_remote(im, l, s, name, 4556);
    } else {
        import_note(im, l->number, "%s %" PRIu64 " %s/%s: has no counterpart%s", l->word[1], node,
                    protocol, name, reason_of(protocol));
    }
    im->taken += s != NULL;
}

/* The node of "ipn:N.0"; false: it is none. */
static bool read_eid(const char *text, uint64_t *node)
{
    char copy[WORD_CAP];
    if (strncmp(text, "ipn:", 4) != 0)
        return false;
    snprintf(copy, sizeof copy, "%s", text + 4);
    char *dot = strchr(copy, '.');
    if (dot != NULL)
        *dot = '\0';
    return import_number(copy, UINT32_MAX, node) && *node != 0;
}

/* --- bpadmin --- */

static void read_induct(struct import *im, const struct line *l)
{
    enum import_adapter adapter;
    if (l->words > 3 && find_adapter(l->word[2], &adapter))
        im->taken += read_local(im, l, adapter, l->word[3], 4556);
    else if (is_word(l, 2, "ltp"))
        im->taken++;
    else
        import_note(im, l->number, "a induct %s: has no counterpart%s",
                    l->words > 2 ? l->word[2] : "", l->words > 2 ? reason_of(l->word[2]) : "");
}

/* What heliod does by itself, or what another line says. */
static bool is_implied(const struct line *l)
{
    enum import_adapter adapter;
    return is_word(l, 1, "protocol") || is_word(l, 1, "plan") ||
           (is_word(l, 1, "scheme") && is_word(l, 2, "ipn")) ||
           (is_word(l, 1, "outduct") && l->words > 2 &&
            (is_word(l, 2, "ltp") || find_adapter(l->word[2], &adapter)));
}

static void read_bpadmin(struct import *im, const struct line *l)
{
    uint64_t node;
    const bool adds = is_word(l, 0, "a");
    if (adds && is_word(l, 1, "induct"))
        read_induct(im, l);
    else if (adds && is_word(l, 1, "planduct") && l->words > 4 && read_eid(l->word[2], &node))
        read_duct(im, l, node, l->word[3], l->word[4]);
    else if (adds && is_word(l, 1, "endpoint"))
        import_note(im, l->number, "a endpoint: applications register their endpoints themselves");
    else if (is_word(l, 0, "r"))
        import_note(im, l->number,
                    "r '%s': is not run; give the files that it reads to import, too",
                    l->words > 1 ? l->word[1] : "");
    else if (changes(l) && !(adds && is_implied(l)))
        import_note(im, l->number, "%s %s %s: has no counterpart", l->word[0],
                    l->words > 1 ? l->word[1] : "", l->words > 2 ? l->word[2] : "");
    else
        im->taken++;
}

/* --- ipnadmin --- */

/* The duct is "protocol/name", the last word of that form. */
static void read_plan(struct import *im, const struct line *l, uint64_t node)
{
    char duct[WORD_CAP] = "";
    for (size_t i = 3; i < l->words; i++) {
        if (strchr(l->word[i], '/') != NULL)
            memcpy(duct, l->word[i], sizeof duct);
    }
    char *name = strchr(duct, '/');
    if (name == NULL) {
        import_note(im, l->number, "a plan %" PRIu64 ": no duct of the form protocol/name", node);
        return;
    }
    *name = '\0';
    read_duct(im, l, node, duct, name + 1);
}

/* a exit FIRST LAST ipn:GATEWAY.0 */
static void read_exit(struct import *im, const struct line *l)
{
    struct import_route r = {0};
    if (l->words < 5 || !read_eid(l->word[4], &r.via) ||
        !import_number(l->word[2], UINT32_MAX, &r.first) ||
        !import_number(l->word[3], UINT32_MAX, &r.last) || r.first > r.last ||
        im->routes_len == IMPORT_ROUTES_MAX) {
        import_note(im, l->number, "a %s: only nodes through an ipn gateway have a counterpart",
                    l->word[1]);
        return;
    }
    im->routes[im->routes_len++] = r;
    im->taken++;
}

static void read_ipnadmin(struct import *im, const struct line *l)
{
    uint64_t node;
    if (is_word(l, 0, "a") && is_word(l, 1, "plan") && l->words > 2 &&
        import_number(l->word[2], UINT32_MAX, &node) && node != 0)
        read_plan(im, l, node);
    else if (is_word(l, 0, "a") && (is_word(l, 1, "exit") || is_word(l, 1, "group")))
        read_exit(im, l);
    else if (changes(l))
        note_command(im, l);
    else
        im->taken++;
}

/* --- files --- */

static enum program find_program(const char *name)
{
    for (size_t i = P_ION; i < P_OTHER; i++) {
        if (strcmp(name, program_names[i]) == 0)
            return (enum program)i;
    }
    return P_OTHER;
}

static enum program program_of_path(const char *path)
{
    const size_t n = strlen(path);
    for (size_t i = P_ION; i < P_OTHER; i++) {
        const size_t k = strlen(endings[i]);
        if (n >= k && strcmp(path + n - k, endings[i]) == 0)
            return (enum program)i;
    }
    return P_NONE;
}

static void read_line(struct import *im, enum program program, const struct line *l)
{
    static void (*const readers[])(struct import *, const struct line *) = {
        NULL, read_ionadmin, read_ltpadmin, read_bpadmin, read_ipnadmin};
    if (program == P_OTHER)
        import_note(im, l->number, "%s: of a program that has no counterpart", l->word[0]);
    else if (program != P_NONE)
        readers[program](im, l);
}

/* `## begin PROGRAM`, `## end PROGRAM`. */
static bool mark_section(const struct line *l, enum program *program)
{
    if (!is_word(l, 0, "##") || l->words < 3)
        return false;
    if (is_word(l, 1, "begin"))
        *program = find_program(l->word[2]);
    else if (is_word(l, 1, "end"))
        *program = P_NONE;
    else
        return false;
    return true;
}

int import_ion(struct import *im, const char *path, const char *text, size_t len,
               struct conf_errors *e)
{
    static const char begin[] = "## begin ";
    enum program program = program_of_path(path);
    struct line l = {0};
    bool sections = false;
    const char *end = text + len;
    im->file = path;
    for (const char *p = text; p < end; p++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        eol = eol == NULL ? end : eol;
        l.number++;
        sections = sections || ((size_t)(eol - p) >= sizeof begin - 1 &&
                                memcmp(p, begin, sizeof begin - 1) == 0);
        split_words(&l, p, eol);
        if (l.words > 0 && !mark_section(&l, &program) && l.word[0][0] != '#' &&
            l.word[0][0] != '\0')
            read_line(im, program, &l);
        p = eol;
    }
    if (sections || program_of_path(path) != P_NONE)
        return 0;
    conf_error(e, 0,
               "which program of ION reads it is not known; its name must end in "
               ".ionrc, .ltprc, "
               ".bprc or .ipnrc, or it has sections (## begin ionadmin)");
    return -1;
}
