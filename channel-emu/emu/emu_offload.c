/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's features have names (ETH_SS_FEATURES) and are read and written as bit masks
 * (ETHTOOL_GFEATURES, ETHTOOL_SFEATURES). This turns off segmentation, receive offload and transmit
 * checksums by name, and remembers which were on; also in a file, one for each interface of each
 * network namespace, until the next boot: a killed emulator cannot restore them, and the next one
 * would take the present state for the original. The owner locks the file, so a file without a lock
 * belongs to an ended emulator. What can go wrong: no permission, and features that the driver does
 * not turn off; without a place for the file it is omitted. The system calls are here, because
 * nothing else changes a device, or locks a file that outlives its process.
 */
#include "channel-emu/emu/emu_offload.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>

#define FEATURES_MAX (EMU_OFFLOAD_WORDS * 32)

/* What ethtool -k calls them begins so. */
static const char *const unwanted[] = {"tx-generic-segmentation",
                                       "tx-tcp",
                                       "tx-udp-segmentation",
                                       "tx-sctp-segmentation",
                                       "tx-esp-segmentation",
                                       "tx-fcoe-segmentation",
                                       "tx-gre-",
                                       "tx-ipxip",
                                       "tx-udp_tnl-",
                                       "tx-tunnel-remcsum-segmentation",
                                       "tx-gso-",
                                       "tx-checksum-",
                                       "rx-gro",
                                       "rx-lro",
                                       "rx-udp-gro-forwarding",
                                       "tx-udp-fragmentation"};

static bool is_unwanted(const char *feature)
{
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) {
        if (strncmp(feature, unwanted[i], strlen(unwanted[i])) == 0)
            return true;
    }
    return false;
}

static int ask_device(int fd, const char *name, void *data)
{
    struct ifreq r = {.ifr_data = data};
    memcpy(r.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
    return ioctl(fd, SIOCETHTOOL, &r);
}

/* The kernel's structures end in arrays of any length: room for them. */
union question {
    struct ethtool_sset_info sset;
    struct ethtool_gfeatures get;
    struct ethtool_sfeatures set;
    uint64_t room[64];
};

/* How many features the kernel has; 0 when it cannot say. */
static uint32_t count_features(int fd, const char *name)
{
    union question q = {.sset = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};
    if (ask_device(fd, name, &q) < 0 || q.sset.sset_mask == 0)
        return 0;
    return q.sset.data[0] < FEATURES_MAX ? q.sset.data[0] : FEATURES_MAX;
}

/* The mask of the features that we do not want. */
static int find_unwanted(int fd, const char *name, uint32_t count, uint32_t *mask)
{
    struct ethtool_gstrings *names = calloc(1, sizeof *names + FEATURES_MAX * ETH_GSTRING_LEN);
    if (names == NULL)
        return HELIO_ENOMEM;
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_FEATURES;
    names->len = count;
    int rc = ask_device(fd, name, names);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        if (is_unwanted((const char *)names->data + (size_t)i * ETH_GSTRING_LEN))
            mask[i / 32] |= UINT32_C(1) << (i % 32);
    }
    free(names);
    return rc < 0 ? HELIO_EIO : 0;
}

static int read_features(int fd, const struct emu_offload *o, union question *q)
{
    memset(q, 0, sizeof *q);
    q->get.cmd = ETHTOOL_GFEATURES;
    q->get.size = o->words;
    return ask_device(fd, o->name, q);
}

static int write_features(int fd, const struct emu_offload *o, bool on)
{
    union question q = {.set = {.cmd = ETHTOOL_SFEATURES, .size = o->words}};
    for (uint32_t i = 0; i < o->words; i++) {
        q.set.features[i].valid = o->changed[i];
        q.set.features[i].requested = on ? o->changed[i] : 0;
    }
    return ask_device(fd, o->name, &q);
}

static bool any(const uint32_t *mask, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        if (mask[i] != 0)
            return true;
    }
    return false;
}

/* The note of this interface, ours from now on. */
static void open_note(struct emu_offload *o)
{
    struct stat space;
    unsigned index = if_nametoindex(o->name);
    o->note = -1;
    if (stat("/proc/self/ns/net", &space) < 0 || index == 0)
        return;
    snprintf(o->note_path, sizeof o->note_path, "%s/offloads-%llu-%u", EMU_OFFLOAD_NOTES,
             (unsigned long long)space.st_ino, index);
    mkdir(EMU_OFFLOAD_NOTES, 0755);
    int fd = open(o->note_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd); /* a running emulator: it restores the features itself */
        fd = -1;
    }
    o->note = fd;
}

/* What a dead one had turned off joins what we have. */
static void read_note(struct emu_offload *o, const union question *q)
{
    uint32_t left[EMU_OFFLOAD_WORDS] = {0};
    if (o->note < 0 || pread(o->note, left, sizeof left, 0) != (ssize_t)sizeof left)
        return;
    for (uint32_t i = 0; i < o->words; i++) {
        const struct ethtool_get_features_block *f = &q->get.features[i];
        o->changed[i] |= left[i] & f->available & ~f->active & ~f->never_changed;
    }
}

static void write_note(const struct emu_offload *o)
{
    if (o->note >= 0 && pwrite(o->note, o->changed, sizeof o->changed, 0) < 0)
        errno = 0; /* no note: only a kill would need it */
}

static void drop_note(struct emu_offload *o)
{
    if (o->note < 0)
        return;
    unlink(o->note_path);
    close(o->note);
    o->note = -1;
}

/* Turns off features that are on, changeable and unwanted. */
static int turn_off(struct emu_offload *o, int fd)
{
    union question q;
    uint32_t mask[EMU_OFFLOAD_WORDS] = {0}, still[EMU_OFFLOAD_WORDS] = {0};
    uint32_t count = count_features(fd, o->name);
    o->words = (count + 31) / 32;
    if (count == 0 || find_unwanted(fd, o->name, count, mask) < 0 || read_features(fd, o, &q) < 0)
        return HELIO_EIO;
    for (uint32_t i = 0; i < o->words; i++) {
        const struct ethtool_get_features_block *f = &q.get.features[i];
        o->changed[i] = f->active & f->available & ~f->never_changed & mask[i];
    }
    read_note(o, &q);
    write_note(o);
    if (!any(o->changed, o->words))
        return 0;
    if (write_features(fd, o, false) < 0) {
        memset(o->changed, 0, sizeof o->changed);
        return HELIO_EIO;
    }
    if (read_features(fd, o, &q) < 0)
        return HELIO_EIO;
    for (uint32_t i = 0; i < o->words; i++)
        still[i] = q.get.features[i].active & o->changed[i];
    errno = EOPNOTSUPP;
    return any(still, o->words) ? HELIO_EIO : 0;
}

int emu_offload_off(struct emu_offload *o, const char *name, FILE *say)
{
    memset(o, 0, sizeof *o);
    memcpy(o->name, name, strnlen(name, sizeof o->name - 1));
    open_note(o);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? HELIO_EIO : turn_off(o, fd);
    if (rc < 0) {
        fprintf(say,
                "helio-emu: the offloads of %s cannot be turned off: %s; as root:\n"
                "  ethtool -K %s tso off gso off gro off lro off tx off tx-udp-segmentation off\n",
                name, strerror(errno), name);
        emu_offload_restore(o);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

void emu_offload_restore(struct emu_offload *o)
{
    int fd = any(o->changed, o->words) ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0) {
        write_features(fd, o, true);
        memset(o->changed, 0, sizeof o->changed);
        close(fd);
    }
    drop_note(o);
}
