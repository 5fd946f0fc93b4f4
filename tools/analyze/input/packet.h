/* SPDX-License-Identifier: Apache-2.0 */
/* From a captured frame to its UDP datagram: Ethernet (with VLAN tags), Linux cooked v1 and v2,
 * loopback and raw IP; IPv4 and IPv6. Pure; everything is checked against what was captured. */
#ifndef TOOLS_PACKET_H
#define TOOLS_PACKET_H

#include "tools/analyze/watch/ltp_watch.h"

enum packet_kind {
    PACKET_UDP,
    PACKET_FRAGMENT, /* a fragment of an IP packet with UDP */
    PACKET_OTHER
};

struct packet {
    struct watch_datagram udp; /* of a fragment: the ends without ports; the part's bytes */
    uint32_t id;               /* of a fragment */
    size_t offset;             /* where it belongs, counted from the UDP header */
    bool more;                 /* it is not the last */
};

/* Does packet_parse know this link type (DLT_ number)? */
bool packet_link_known(int link);

/* `have` bytes of a frame that had `len`. out->udp.now and .at are left alone. */
enum packet_kind packet_parse(int link, const uint8_t *bytes, size_t have, size_t len,
                              struct packet *out);

/* The UDP header at the beginning of data and what follows; false when there is none. The ends get
 * their ports. */
bool packet_udp(struct watch_datagram *d, const uint8_t *data, size_t have, size_t len);

#endif
