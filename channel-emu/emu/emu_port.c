/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both ways of moving frames share: the interface is looked up, must be up, loses its offloads
 * and gets them back. What the device itself missed counts as dropped, too. What can go wrong: no
 * such interface, one that is down, no permission, all said with the command that helps. The calls
 * of ioctl are here, because nothing else asks a device for its state.
 */
#include "channel-emu/emu/emu_port.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_ether.h"
#include "channel-emu/emu/emu_offload.h"
#include "channel-emu/emu/emu_port_io.h"
#include "os/clock.h"

struct emu_port {
    char name[IFNAMSIZ];
    int ifindex;
    int query_fd;
    size_t mtu;
    uint64_t missed_before, dropped_before;
    unsigned queued;
    struct emu_offload offload;
    struct clock_stamps clock;
    const struct emu_port_io *io;
    void *state;
};

static int query_device(const struct emu_port *p, unsigned long what, struct ifreq *r)
{
    memset(r, 0, sizeof *r);
    memcpy(r->ifr_name, p->name, sizeof p->name);
    return ioctl(p->query_fd, what, r);
}

/* A statistic of the device, by /sys; 0 where there is no such figure. */
static uint64_t device_count(const struct emu_port *p, const char *what)
{
    char path[128];
    uint64_t n = 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", p->name, what);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%" SCNu64, &n) != 1)
        n = 0;
    fclose(f);
    return n;
}

#define MISSED "rx_missed_errors" /* frames without room in the receive queue */
#define DROPPED "tx_dropped"

static int look_up(struct emu_port *p, const char *name, FILE *say)
{
    struct ifreq r;
    if (strlen(name) >= sizeof p->name) {
        fprintf(say, "helio-emu: '%s' is too long for the name of an interface\n", name);
        return HELIO_EINVAL;
    }
    memcpy(p->name, name, strlen(name));
    if (query_device(p, SIOCGIFINDEX, &r) < 0) {
        fprintf(say, "helio-emu: interface '%s': %s; `ip link` lists those that are there\n", name,
                strerror(errno));
        return HELIO_EIO;
    }
    p->ifindex = r.ifr_ifindex;
    if (query_device(p, SIOCGIFHWADDR, &r) < 0 || r.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        fprintf(say, "helio-emu: interface '%s' is not Ethernet\n", name);
        return HELIO_EINVAL;
    }
    if (query_device(p, SIOCGIFFLAGS, &r) < 0 || (r.ifr_flags & IFF_UP) == 0) {
        fprintf(say, "helio-emu: interface '%s' is down; as root: ip link set %s up\n", name, name);
        return HELIO_EIO;
    }
    if (query_device(p, SIOCGIFMTU, &r) < 0) {
        fprintf(say, "helio-emu: interface '%s': %s\n", name, strerror(errno));
        return HELIO_EIO;
    }
    p->mtu = (size_t)r.ifr_mtu;
    return 0;
}

int emu_port_open(struct emu_port **out, const char *name, enum emu_io io, uint64_t buffer_bytes,
                  FILE *say)
{
    struct emu_port *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fprintf(say, "helio-emu: interface '%s': %s\n", name, helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    p->io = io == EMU_IO_PCAP ? &emu_pcap_io : &emu_ring_io;
    p->query_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    p->offload.note = -1;
    clock_stamps_init(&p->clock);
    int rc = look_up(p, name, say);
    if (rc == 0)
        p->state = p->io->open(name, p->ifindex, p->mtu, buffer_bytes, say);
    if (rc == 0 && p->state == NULL)
        rc = HELIO_EIO;
    if (rc == 0)
        rc = emu_offload_off(&p->offload, name, say);
    if (rc < 0) {
        emu_port_close(p);
        return rc;
    }
    p->missed_before = device_count(p, MISSED);
    p->dropped_before = device_count(p, DROPPED);
    *out = p;
    return 0;
}

void emu_port_close(struct emu_port *p)
{
    if (p == NULL)
        return;
    emu_offload_restore(&p->offload);
    if (p->state != NULL)
        p->io->close(p->state);
    if (p->query_fd >= 0)
        close(p->query_fd);
    free(p);
}

const char *emu_port_name(const struct emu_port *p)
{
    return p->name;
}

int emu_port_fd(const struct emu_port *p)
{
    return p->io->fd(p->state);
}

int emu_port_receive(struct emu_port *p, tick now, struct emu_frame *out)
{
    clock_stamps_refresh(&p->clock, now);
    int rc = p->io->receive(p->state, &p->clock, now, out);
    if (rc == 1 && emu_ether_too_long(out->len, p->mtu))
        out->too_long = true;
    return rc;
}

void emu_port_send(struct emu_port *p, const uint8_t *data, size_t len)
{
    p->io->send(p->state, data, len);
    p->queued++;
}

int emu_port_flush(struct emu_port *p, bool *sent)
{
    struct ifreq r;
    unsigned n = p->queued;
    p->queued = 0;
    if (query_device(p, SIOCGIFFLAGS, &r) < 0 || (r.ifr_flags & IFF_RUNNING) != 0)
        return p->io->flush(p->state, sent);
    p->io->forget(p->state);
    memset(sent, 0, n * sizeof *sent);
    return helio_from_errno(ENETDOWN);
}

bool emu_port_exists(const struct emu_port *p)
{
    struct ifreq r;
    return query_device(p, SIOCGIFINDEX, &r) == 0 && r.ifr_ifindex == p->ifindex;
}

uint64_t emu_port_drops(struct emu_port *p)
{
    uint64_t now = device_count(p, MISSED);
    return p->io->drops(p->state) + (now > p->missed_before ? now - p->missed_before : 0);
}

uint64_t emu_port_unsent(const struct emu_port *p)
{
    uint64_t now = device_count(p, DROPPED);
    return now > p->dropped_before ? now - p->dropped_before : 0;
}
