/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line is drawn over the old one and cleared to its end, so nothing flickers. What can go
 * wrong: the terminal closes, or a signal ends the program. In any case the terminal's settings are
 * restored.
 */
#include "tools/ctl/helioctl_screen.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/signals.h"

#define ESC "\033["
#define CTRL_C 3

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, 0};

static void write_all(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* the terminal is closed: reading the next key fails */
        text += n;
        len -= (size_t)n;
    }
}

static void write_text(const char *text)
{
    write_all(text, strlen(text));
}

static void read_size(struct screen *s)
{
    struct winsize w = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
        w = (struct winsize){.ws_col = 80, .ws_row = 24};
    s->width = w.ws_col;
    s->height = w.ws_row;
}

int screen_open(struct screen *s)
{
    *s = (struct screen){.signals = -1};
    if (tcgetattr(STDIN_FILENO, &s->before) < 0)
        return helio_from_errno(errno);
    s->signals = signals_open(caught, NULL);
    if (s->signals < 0)
        return s->signals;
    struct termios raw = s->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    write_text(ESC "?1049h" ESC "?25l" ESC "2J");
    read_size(s);
    return 0;
}

void screen_close(struct screen *s)
{
    write_text(ESC "?25h" ESC "?1049l");
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &s->before);
    signals_close(s->signals, NULL);
}

void screen_begin(struct screen *s)
{
    read_size(s);
    s->line = 0;
    s->out = open_memstream(&s->text, &s->len);
    if (s->out != NULL)
        fputs(ESC "H", s->out);
}

/* How many bytes of the text so many columns take; its characters are one wide each. */
static size_t cut_text(const char *text, size_t columns)
{
    size_t at = 0;
    for (; text[at] != '\0'; at++) {
        bool begins = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (begins && columns-- == 0)
            break;
    }
    return at;
}

void screen_line(struct screen *s, const char *look, const char *text)
{
    if (s->out == NULL || s->line >= s->height)
        return;
    if (s->line++ > 0)
        fputs("\r\n", s->out);
    size_t len = cut_text(text, s->width);
    if (*look != '\0')
        fprintf(s->out, ESC "%sm%.*s" ESC "K" ESC "0m", look, (int)len, text);
    else
        fprintf(s->out, "%.*s" ESC "K", (int)len, text);
}

void screen_end(struct screen *s)
{
    if (s->out == NULL)
        return;
    fputs(ESC "J", s->out);
    if (fclose(s->out) == 0)
        write_all(s->text, s->len);
    free(s->text);
    s->out = NULL;
    s->text = NULL;
}

/* Of an escape sequence without its beginning. */
static int sequence_key(const char *rest, size_t len)
{
    static const struct {
        const char *text;
        int key;
    } keys[] = {{"[A", KEY_UP},   {"[B", KEY_DOWN}, {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN},
                {"[H", KEY_HOME}, {"[F", KEY_LAST}, {"OA", KEY_UP},       {"OB", KEY_DOWN}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].text) == len && memcmp(keys[i].text, rest, len) == 0)
            return keys[i].key;
    return KEY_NONE;
}

/* Keys that arrived together are read one by one: a sequence ends at its first letter or '~'. */
static int read_key(void)
{
    char c, rest[8];
    size_t len = 0;
    ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n <= 0)
        return KEY_END;
    if (c != '\033')
        return c == CTRL_C ? KEY_END : (unsigned char)c;
    while (len < sizeof rest && read(STDIN_FILENO, &rest[len], 1) == 1) {
        char last = rest[len++];
        if (len > 1 && (last >= '@' && last <= '~'))
            break;
    }
    return len > 0 ? sequence_key(rest, len) : KEY_ESCAPE;
}

int screen_key(struct screen *s, tick timeout)
{
    struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                          {.fd = s->signals, .events = POLLIN}};
    int ms = timeout / TICK_MS > INT32_MAX ? INT32_MAX : (int)(timeout / TICK_MS);
    if (poll(p, 2, ms) < 0)
        return errno == EINTR ? KEY_NONE : KEY_END;
    if ((p[1].revents & POLLIN) != 0)
        return signals_take(s->signals) == SIGWINCH ? KEY_NONE : KEY_END;
    if ((p[0].revents & (POLLHUP | POLLERR)) != 0)
        return KEY_END;
    return (p[0].revents & POLLIN) != 0 ? read_key() : KEY_NONE;
}
