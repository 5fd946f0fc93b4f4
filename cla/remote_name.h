/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a link's `remote`: the configured address, or the latest answers of the system's
 * resolver for a host name. The adapter starts a look-up with each attempt to connect, or
 * periodically. Only a name without any known address waits for the answer; a known address is used
 * at once.
 *
 * If a look-up fails, the addresses of the last answer stay in use: a name server that is out of
 * order does not interrupt a working link. Forged answers can redirect the link, so a link by name
 * is only as safe as the name service (SECURITY.md).
 */
#ifndef CLA_REMOTE_NAME_H
#define CLA_REMOTE_NAME_H

#include "os/net/lookup.h"
#include "os/net/udp_io.h"

#define REMOTE_NAME_REFRESH (60 * TICK_S) /* from an answer to the next look-up */
#define REMOTE_NAME_PAUSE TICK_S          /* after a failed look-up; doubled for each, up to */
#define REMOTE_NAME_PAUSE_MAX (60 * TICK_S)
#define REMOTE_NAME_WHY_MAX 160

struct json_t;

/* All 0: `remote` is not given; all functions may be called. */
struct remote_name {
    struct world *world;
    struct host_address at;
    struct lookup lookup;
    struct alarm alarm; /* for the next look-up; or to report a failed start of a look-up */
    bool watched, unasked;
    tick pause;
    struct address found[LOOKUP_ADDRESSES_MAX]; /* the last good answer, in its order */
    struct address tried[LOOKUP_ADDRESSES_MAX]; /* tried since the last remote_name_reached */
    size_t found_len, tried_len;
    struct address current; /* the last one that remote_name_next chose */
    bool failed;            /* the last look-up failed; `why` has the reason */
    char why[REMOTE_NAME_WHY_MAX];
    tick say_after; /* next time that a failure is logged */
    uint64_t lookups, lookups_failed;
    void (*answered)(void *context);
    void *context;
};

/* Copies *at. family: of the usable addresses, AF_UNSPEC: any. `answered` is called in the world's
 * loop after each look-up; it may end the link. Returns 0, or HELIO_EINVAL with a text: this world
 * has no resolver. */
int remote_name_open(struct remote_name *r, struct world *w, const struct host_address *at,
                     int family, char *why, size_t why_cap);
void remote_name_on_answer(struct remote_name *r, void (*answered)(void *context), void *context);
/* A running look-up is dropped. */
void remote_name_close(struct remote_name *r);

/* Is it a host name, and not an address? */
bool remote_name_is_name(const struct remote_name *r);

/* For a name: starts a look-up, unless one is running. `answered` follows after the call. */
void remote_name_ask(struct remote_name *r);

/* For a name: starts a look-up now, and again after each answer, after REMOTE_NAME_REFRESH or the
 * growing pause. Nothing for an address. */
void remote_name_watch(struct remote_name *r);

/* The address for the next attempt: the first one of the last answer that was not tried since the
 * last remote_name_reached, else the first one. False: none is known. */
bool remote_name_next(struct remote_name *r, struct address *out);
/* The peer was reached: the next attempt begins with the first address. */
void remote_name_reached(struct remote_name *r);

/* For an adapter that connects, in `answered`: the last answer has addresses, and the address of
 * the last attempt is not among them. False before the first attempt. */
bool remote_name_moved(const struct remote_name *r);

/* The operator's log line for a failed look-up; "": none is due. The first failure has a line,
 * later ones one every 10 min. */
#define REMOTE_NAME_SAY_MAX 512
void remote_name_failure(struct remote_name *r, char text[REMOTE_NAME_SAY_MAX]);

/* For an adapter that sends datagrams to one address, in `answered`. If the last answer lacks the
 * address in *to, its first address replaces it, io forgets the former one, and true is returned.
 * text: a line for the operator's log, *level as in cla_events.say; "": none is due. */
bool remote_name_update(struct remote_name *r, struct udp_io *io, struct udp_peer *to, int *level,
                        char text[REMOTE_NAME_SAY_MAX]);

/* Is `from` at the host of one of the known addresses? False: none is known. */
bool remote_name_has_host(const struct remote_name *r, const struct address *from);
/* The same for the first ADDRESS_KEY_HOST bytes of an address_key. */
bool remote_name_has_key(const struct remote_name *r, const uint8_t *key);

/* "192.0.2.7:4556", "gs1.example.net:4556 (192.0.2.7:4556)": with the address of the last
 * attempt. */
#define REMOTE_NAME_TEXT_MAX (HOST_ADDRESS_TEXT_MAX + ADDRESS_TEXT_MAX + 4)
const char *remote_name_write(const struct remote_name *r, char text[REMOTE_NAME_TEXT_MAX]);

/* For a name: adds remote_address, lookups and lookups_failed. Nothing for an address. */
void remote_name_status(const struct remote_name *r, struct json_t *object);

#endif
