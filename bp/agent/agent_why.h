/* SPDX-License-Identifier: Apache-2.0 */
/* Private: what a bundle's record keeps for agent_why. */
#ifndef BP_AGENT_WHY_H
#define BP_AGENT_WHY_H

struct record;

/* A try to forward or to deliver it failed, for a static reason; NULL: it was taken back before it
 * was sent. */
void record_failed(struct record *r, const char *reason);

#endif
