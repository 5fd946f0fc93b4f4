/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's side of a service instance: operations to invoke; answers and frames are notices of
 * its link (sle/engine.h).
 *
 * All operations are pipelined: none waits for the return of another but START, STOP and UNBIND,
 * which change the state. They return 0; HELIO_EINVAL: an argument is out of its range;
 * HELIO_ESTOPPED: not in this state (not bound, not active, …); HELIO_EAGAIN: too much is
 * outstanding; HELIO_ENOMEM. Each return is awaited for return_timeout, then PEER-ABORT (return
 * timeout) ends the association.
 */
#ifndef SLE_USER_H
#define SLE_USER_H

#include "sle/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 takes the default in brackets; strings are copied. */
struct sle_user_config {
    const char *id;        /* service instance identifier; says service and mode */
    const char *responder; /* authority identifier of the provider's side; a peer of the engine */
    const char *responder_port; /* its port identifier, sent in BIND */
    uint8_t version;            /* 2..5 [5] */
    bool respond; /* the provider binds (return services): sle_accept, not sle_connect */
    uint16_t return_timeout_s; /* 1..600 [30] */
    uint32_t outstanding_max;  /* expected returns, without CLTUs [1024] */
    /* FCLTU: CLTUs sent and not answered [32768]; their octets are bounded by what the provider
     * said to have available, unless `cltu_blind` */
    uint32_t cltus_max;
    bool cltu_blind;
};

/* 0; HELIO_EINVAL; HELIO_EEXIST; HELIO_ENOMEM. */
int sle_user_add(struct sle *s, const struct sle_user_config *config, struct sle_instance **out);

/* Only in SLE_READY. SLE_STARTED follows, frames may arrive before it is polled. */
int sle_user_start(struct sle_instance *i, const struct sle_start *start, tick now);
/* Only in SLE_ACTIVE. Frames arrive until SLE_STOPPED. */
int sle_user_stop(struct sle_instance *i, tick now);
/* Only in SLE_READY. SLE_UNBOUND and SLE_OVER follow. */
int sle_user_unbind(struct sle_instance *i, enum sle_unbind reason, tick now);
/* In SLE_READY or SLE_ACTIVE, as the next two. */
int sle_user_schedule(struct sle_instance *i, const struct sle_schedule *schedule, tick now);
/* GET-PARAMETER. Returns 0 or HELIO_E*; SLE_PARAMETER follows. */
int sle_user_get(struct sle_instance *i, enum sle_parameter parameter, tick now);
/* FCLTU: THROW-EVENT. Returns 0 or HELIO_E*; SLE_EVENT_ANSWER follows. */
int sle_user_event(struct sle_instance *i, const struct sle_event *event, tick now);

/*
 * FCLTU, only in SLE_ACTIVE: sends the CLTU, whose octets are copied, with the next id (cltu->id is
 * ignored; *id is set, may be NULL). HELIO_EAGAIN: the window is closed; try again after the next
 * SLE_CLTU_ANSWER or SLE_NOTIFIED.
 *
 * The window is the provider's last reported free space minus the CLTUs in transmission; one CLTU
 * may always be sent. After a negative answer all later ones are answered "out of sequence": after
 * the last of these answers the next id is again the one that the provider expects; until then
 * HELIO_EAGAIN.
 */
int sle_user_cltu(struct sle_instance *i, const struct sle_cltu *cltu, uint32_t *id, tick now);
/* Octets of CLTUs for which the window has room. */
uint64_t sle_user_cltu_room(const struct sle_instance *i);

#ifdef __cplusplus
}
#endif

#endif
