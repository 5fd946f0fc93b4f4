/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams and signals of helio-frames fop and farm. What can go wrong: the local address is
 * taken, or the network refuses a datagram, which is lost as on a link. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/process/signals.h"
#include "tools/frames/frames_cop.h"

enum { FILL_MAX = 1 << 16 };

int cop_port_open(struct cop_port *p, const struct frames_options *o)
{
    char text[ADDRESS_TEXT_MAX];
    *p = (struct cop_port){.o = o, .remote.address = o->cop.remote, .signals = -1};
    rng_init(&p->rng, rng_named(o->seed, "cop"));
    int r = udp_open(&p->udp, &o->cop.local, false);
    if (r != 0) {
        frames_error("--local %s: %s", address_write(&o->cop.local, text), helio_strerror(r));
        return -1;
    }
    p->signals = signals_open((const int[]){SIGINT, SIGTERM, 0}, NULL);
    if (p->signals >= 0)
        return 0;
    frames_error("signals: %s", helio_strerror(p->signals));
    udp_close(p->udp);
    return -1;
}

void cop_port_close(struct cop_port *p)
{
    signals_close(p->signals, NULL);
    udp_close(p->udp);
}

void cop_port_send(struct cop_port *p, struct slice data)
{
    if (!udp_room(p->udp, 0)) { /* a full socket; the remote end asks again */
        (void)udp_flush(p->udp);
        p->counts.refused++;
        return;
    }
    (void)udp_head(p->udp, 0);
    udp_add(p->udp, &p->remote, 0, data);
    (void)udp_flush(p->udp);
    const struct udp_counters *c = udp_counters(p->udp);
    p->counts.sent++;
    p->counts.refused = c->tx_refused + c->tx_errors;
}

void cop_port_wait(struct cop_port *p, tick until)
{
    struct pollfd fds[2] = {{.fd = udp_fd(p->udp), .events = POLLIN},
                            {.fd = p->signals, .events = POLLIN}};
    if (clock_poll(fds, 2, until) > 0 && fds[1].revents != 0)
        p->interrupted = signals_take(p->signals) != 0 || p->interrupted;
}

bool cop_port_next(struct cop_port *p, struct slice *out)
{
    for (;;) {
        if (!udp_next(p->udp, out)) {
            if (!udp_fill(p->udp, FILL_MAX))
                return false;
            continue;
        }
        if (!address_passes(udp_from(p->udp), &p->remote.address, ADDRESS_CHECK_HOST)) {
            p->counts.foreign++;
            continue;
        }
        p->counts.received++;
        if (!rng_chance(&p->rng, p->o->erase))
            return true;
        p->counts.erased++;
    }
}
