/* SPDX-License-Identifier: Apache-2.0 */
/* Two links and a loop, for tests over real sockets: bundles that can be distinguished and checked.
 */
#ifndef TESTS_E2E_UV_SCENE_H
#define TESTS_E2E_UV_SCENE_H

#include "os/uv_world.h"
#include "uv_rig.h"

#define BUNDLES_MAX 1024

/* One end. */
struct end {
    struct ltp_link_config config;
    struct cla *link;
    uint32_t sent_ok, sent_failed, lost, received, wrong, said;
    uint32_t outcomes[CLA_OUTCOME_COUNT], reasons[CLA_REASON_COUNT];
    uint8_t seen[BUNDLES_MAX];
    bool up, refuse, closed;
    uint32_t next, total; /* still to be sent */
    uint32_t windows;     /* how often it changed */
    uint64_t tokens[BUNDLES_MAX];
    char said_text[512];
    struct scene *world;
    void *shared;
};

struct scene {
    struct world *world;
    uv_loop_t *loop; /* of it */
    uv_timer_t timer;
    struct end a, b;
    bool confirm, hold; /* hold: the answer is given by the test */
    uint64_t size_max;
    bool framed; /* with a bundle's frame, so that its end is found in an aggregate */
};

/* Loopback, two free ports; the pairs go to both ends. Nothing is open yet. */
struct scene *scene_new(const char *host, const char *const *pairs);
void scene_free(struct scene *w); /* closes both links and expects that nothing is left */

/* The configuration of one end: rto 50ms and the pairs (NULL: none). */
void end_configure(struct end *e, const char *host, uint16_t local, uint16_t remote,
                   const char *const *pairs);
struct cla_env end_env(struct scene *w, struct end *e, uint64_t own, uint64_t peer);
void end_open(struct scene *w, struct end *e, uint64_t own, uint64_t peer);

/* The bundle of that number as a `framed` scene sends it; the caller drops it. */
struct buf *scene_bundle(uint32_t number, uint64_t size_max);

/* Sends bundles next … total - 1 as far as the window allows; `sent` goes on with it. */
void end_send(struct end *e);

/* All of `from` were sent with success and came to `to` once and equal. */
void end_expect_all(const struct end *from, const struct end *to);

void end_closed(void *context); /* of a struct end */
void scene_tick(uv_timer_t *t);

/* Turns the loop until the condition holds or the time is over. */
#define RUN_UNTIL(w, condition, ms)                                                                \
    do {                                                                                           \
        uint64_t end_ = uv_hrtime() + (uint64_t)(ms)*TICK_MS;                                      \
        uv_timer_start(&(w)->timer, scene_tick, 5, 5);                                             \
        while (!(condition) && uv_hrtime() < end_)                                                 \
            uv_run((w)->loop, UV_RUN_ONCE);                                                        \
        uv_timer_stop(&(w)->timer);                                                                \
    } while (0)

#endif
