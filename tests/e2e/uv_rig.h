/* SPDX-License-Identifier: Apache-2.0 */
/* Links opened without a node: a configuration from its table with a few keys changed, and free
 * ports. For tests and benchmarks. */
#ifndef TESTS_E2E_UV_RIG_H
#define TESTS_E2E_UV_RIG_H

#include <uv.h>

#include "cla/ltp/ltp_config.h"

/* A list of key, value, …, NULL over the defaults. Aborts on a wrong one. */
void rig_config(struct ltp_link_config *k, const char *const *pairs);
void rig_config_free(struct ltp_link_config *k); /* what the keys hold, not k; or of a zeroed one */

/* A UDP port of loopback that was free a moment ago. */
uint16_t rig_port(bool six);

/* Opens node `own`'s link to node `peer`; both ports are of loopback. Aborts with the text when the
 * link refuses. */
struct cla *rig_open(struct ltp_link_config *k, const struct cla_env *env);

/* A link's status as a number. */
uint64_t rig_status(struct cla *c, const char *key);
uint64_t rig_verdict(struct cla *c, const char *name);
uint64_t rig_timers(struct cla *c, const char *name); /* that ran out */

#endif
