/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram is a beacon or not; what is one can be written and read again. The first octet is the
 * format. Beacons of any kind leave the table of neighbours in order. */
#include <assert.h>
#include <string.h>

#include "discovery/discovery.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void push_beacon(struct discovery *d, enum discovery_format format,
                        const struct discovery_beacon *b, uint8_t host, tick now)
{
    struct discovery_action a;
    const struct discovery_from from = {.host = {host}, .prefix_len = 1};
    (void)discovery_input(d, format, b, &from, host % 7 == 0, host % 3 != 0, now);
    while (discovery_poll(d, now, &a) != DISCOVERY_NONE)
        if (a.act == DISCOVERY_OPEN && host % 2 == 0)
            discovery_link(d, a.neighbour->id, host % 4 == 0, now);
    discovery_check(d);
    assert(discovery_deadline(d) > now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct discovery_beacon b, again;
    const char *why;
    uint8_t out[DISCOVERY_BEACON_MAX];
    if (len < 2)
        return 0;
    const enum discovery_format format = data[0] & 1 ? DISCOVERY_DTN7_GO : DISCOVERY_IPND;
    if (!discovery_beacon_parse(format, slice_of(data + 2, len - 2), &b, &why)) {
        assert(why != NULL);
        return 0;
    }
    assert(b.services_len <= DISCOVERY_SERVICES_MAX && b.period <= DISCOVERY_PERIOD_MAX);
    const size_t n = discovery_beacon_write(format, &b, out);
    if (n > 0) {
        assert(discovery_beacon_parse(format, slice_of(out, n), &again, &why));
        assert(eid_equal(&b.node, &again.node) && again.services_len <= b.services_len);
    }
    struct discovery *d;
    const struct discovery_config config = {.node = eid_ipn(0, 1, 0),
                                            .interval = 10 * TICK_S,
                                            .silence = 30 * TICK_S,
                                            .patience = 5 * TICK_S,
                                            .neighbours_max = 4,
                                            .address_max = 2,
                                            .links_max = 2};
    if (discovery_new(&d, &config, 0) != 0)
        return 0;
    for (uint8_t i = 0; i < 16; i++) {
        push_beacon(d, format, &b, data[1] ^ i, i * TICK_S);
        b.node = eid_ipn(0, 2 + i % 5, 0);
    }
    discovery_free(d);
    return 0;
}
