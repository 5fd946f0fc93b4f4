/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several links in one file (docs/helio-emu-links.md): each is a scenario with the addresses whose
 * datagrams it transports; shared transmitters; links whose traffic is handed over at known times.
 */
#ifndef CHANNEL_EMU_SCENARIO_LINKS_H
#define CHANNEL_EMU_SCENARIO_LINKS_H

#include "channel-emu/chan/chan_hand.h"
#include "channel-emu/scenario/scenario.h"

#define SCENARIO_LINKS_MAX 256u
#define SCENARIO_NAME_MAX 32u
#define SCENARIO_HANDOVERS_MAX 65536u

/* In `listen`, `to` …: as written; "": not given. */
struct scenario_link {
    char *name;
    char *listen, *to, *return_from, *return_to;
    struct scenario scenario;
    struct chan_handover *overs; /* owned; `at` after the start, `to` an index of the links */
    size_t over_count;           /* > 0: it has no channel of its own */
    int shared[2];               /* whose transmitter each direction takes; -1: its own */
    uint32_t line, handover_line;
    uint32_t listen_line, to_line, return_from_line, return_to_line;
};

/* A transmitter: of the direction its rate, queue, CoDel, mark and changes. */
struct scenario_shared {
    char *name;
    struct scenario_direction direction;
    size_t members;
    uint32_t line;
};

struct scenario_links {
    uint64_t seed;
    struct scenario_direction
        origin;                 /* of hand-overs and of changes of transmitters: its `start` */
    struct scenario_link *link; /* owned */
    size_t count;
    struct scenario_shared *shared; /* owned */
    size_t shared_count;
};

/* A file that names all of it; its paths are relative to it. 0, HELIO_ENOMEM, or HELIO_EFORMAT with
 * what is wrong in *errors. scenario_links_fini in any case. */
int scenario_links_load(struct scenario_links *s, const char *path, struct conf_errors *errors);
/* The same from a text; paths are relative to `directory` ("" or ending in '/'). */
int scenario_links_read(struct scenario_links *s, const char *data, size_t len,
                        const char *directory, struct conf_errors *errors);
void scenario_links_fini(struct scenario_links *s);

/* The link, or the transmitter, of this name; its index, or -1. */
int scenario_links_find(const struct scenario_links *s, const char *name);
int scenario_links_find_shared(const struct scenario_links *s, const char *name);

/* A transmitter's configuration, which borrows from *s; as scenario_chan. */
struct chan_shared_config;
struct chan_shared_config scenario_links_shared(const struct scenario_links *s, size_t i,
                                                tick started, tick wall);
/* Time zero of the hand-overs on the channels' clock. */
tick scenario_links_origin(const struct scenario_links *s, tick started, tick wall);

/* Changes in mid-run: a map of names, each with what scenario_change_read reads, or, of a
 * transmitter, with a rate. */
struct scenario_links_change {
    int link, shared; /* the index of one of them; the other is -1 */
    struct scenario_change of_link;
    uint64_t rate_bps; /* of the transmitter */
};
#define SCENARIO_LINKS_CHANGES_MAX 64u
/* How many, or HELIO_EFORMAT with what is wrong in *errors. */
int scenario_links_change_read(struct scenario_links_change out[SCENARIO_LINKS_CHANGES_MAX],
                               const struct scenario_links *s, const char *data, size_t len,
                               struct conf_errors *errors);

/* scenario_links_suit.c, for scenario_links.c: relations between the links. */
void scenario_links_suit(const struct scenario_links *s, struct conf_errors *errors);
/* scenario_links_over.c: the list of hand-overs of a link, once all have their names. */
void scenario_links_over(struct scenario_links *s, struct scenario_link *l,
                         const struct conf_tree *map, struct conf_errors *errors);
/* scenario_links_line.c: the map of transmitters. */
void scenario_links_lines(struct scenario_links *s, const struct conf_tree *root,
                          struct conf_errors *errors);

#endif
