/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a UDPCL link: keys, relations between them, and what follows. */
#ifndef CLA_UDPCL_CONFIG_H
#define CLA_UDPCL_CONFIG_H

#include "cla/cla.h"
#include "cla/udp_keys.h"

#define UDPCL_PORT 4556 /* RFC 7122 §3.3 */

enum udpcl_state { UDPCL_UP, UDPCL_DOWN };

/* Explained by the table's help texts. */
struct udpcl_config {
    struct udp_keys udp;
    struct pace_keys pace;
    uint64_t mtu, window;
    bool any_port, accept_unknown;
    int state;
};

extern const struct conf_option udpcl_options[];

/* As cla_ops.check. */
int udpcl_check(const void *config, const char **key, char *why, size_t why_cap);

/* As cla_ops.addresses. */
void udpcl_addresses(const void *config, struct cla_addresses *out);

/* As cla_ops.conflict: both send from one local address to one remote. */
int udpcl_conflict(const struct cla_named *config, const struct cla_named *other, const char **key,
                   char *why, size_t why_cap);

/* The longest bundle that fits one datagram of a packet of `mtu` bytes. */
uint64_t udpcl_bundle_max(const struct udpcl_config *k);

#endif
