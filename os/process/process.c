/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the whole process; what can go wrong leaves them as they were.
 *
 * glibc gives the end of the heap back when twice the largest block is free there: with bundles of
 * 500 kB that is each second or third of them, and 122 page faults for the next one. */
#include "os/process/process.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

#define MAPPED_FROM (32 << 20) /* glibc's own highest; longer blocks are mapped one by one … */
#define MAPPED_LEAST (1 << 20) /* … and those that are longer than this with memory_return_long */

void memory_retain(void)
{
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, (int)MEMORY_RETAINED);
#endif
}

void memory_return_long(bool yes)
{
#ifdef M_TRIM_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, yes ? MAPPED_LEAST : MAPPED_FROM);
#else
    (void)yes;
#endif
}

void file_limit_report(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

void descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* One datagram per message, without blocking: a manager that does not read loses messages. */
int notify_send(const char *socket_name, const char *text)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (socket_name == NULL || *socket_name == '\0')
        return 0;
    size_t len = strlen(socket_name);
    if (len >= sizeof a.sun_path)
        return HELIO_EINVAL;
    memcpy(a.sun_path, socket_name, len);
    if (*socket_name == '@')
        a.sun_path[0] = '\0'; /* abstract address: its length delimits it */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return helio_from_errno(errno);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t n = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&a, size);
    int err = n < 0 ? helio_from_errno(errno) : 0;
    close(fd);
    return err;
}

/* The kernel's random number of this boot, 32 hexadecimal digits between dashes. */
void machine_boot(uint8_t out[MACHINE_BOOT_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    char text[64] = "";
    memset(out, 0, MACHINE_BOOT_BYTES);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL)
        return;
    size_t digits = 0, len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    for (size_t i = 0; i < len && digits < 2 * MACHINE_BOOT_BYTES; i++) {
        const char *at = text[i] == '\0' ? NULL : strchr(hex, text[i]);
        if (at == NULL)
            continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | (uint8_t)(at - hex));
        digits++;
    }
}
