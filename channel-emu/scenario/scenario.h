/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a link does in each direction and what is written about it: the scenario file of
 * docs/scenario.md as a struct, from which channels are made. The emulator reads it from a file and
 * from options, which are laid over the file.
 */
#ifndef CHANNEL_EMU_SCENARIO_H
#define CHANNEL_EMU_SCENARIO_H

#include <jansson.h>

#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_jitter.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/scenario/ltp_rules.h"
#include "channel-emu/trace/trace_file.h"
#include "conf/conf_section.h"

#define SCENARIO_FORWARD 0
#define SCENARIO_RETURN 1

/* Time zero of a direction's trace, contacts and table of delays. */
enum scenario_start {
    START_FIRST, /* its first frame */
    START_AFTER, /* so long after the emulator's start */
    START_AT     /* a time of day: nanoseconds since 1970 */
};

struct scenario_direction {
    int start;         /* enum scenario_start */
    tick start_time;   /* of START_AFTER, START_AT */
    uint64_t rate_bps; /* 0: unlimited */
    uint64_t queue_bytes;
    tick queue_time;
    struct {
        tick target, interval; /* interval 0: off */
        bool ecn;
    } codel;
    tick mark; /* 0: off */
    tick delay;
    struct chan_point *points; /* owned; point_count > 0: instead of delay */
    size_t point_count;
    tick jitter; /* uniform; 0 when there is a law */
    struct {
        bool on;
        int law; /* enum chan_jitter_law */
        struct chan_jitter values;
        tick *table; /* owned */
        uint32_t line;
    } law; /* of jitter */
    bool reorder;
    struct chan_change *changes; /* owned */
    size_t change_count;
    struct chan_window *windows; /* owned */
    size_t window_count;
    bool windows_off; /* they are outages */
    int off;          /* 0 drop, 1 hold */
    struct {
        struct trace_source source; /* owned; its `loss` is not used */
        char *name;                 /* as written; "none" */
        tick offset;
        bool loop;
    } trace;
    struct {
        char *name, *column; /* owned; of the file, "none"; "": the only one */
        int unit;            /* 0 linear, 1 dB, 2 dBm, 3 mW, 4 W */
        tick step, offset, interleaver;
        bool loop;
        char *threshold;       /* owned; as written: the least power that is received; "": none */
        tick block, reacquire; /* with it: as of struct receiver_config */
        double correct;
        uint64_t codeword_bytes; /* 0: the table is of frames */
        int code;                /* 0 none; a curve of chan_code.h by its number + 1 */
        char *noise;             /* owned; as written: the power at which its Es/N0 is 0 dB */
        uint64_t slope;          /* dB of Es/N0 for each dB of power */
        struct powers values;    /* owned, like the tables */
        double *sums, *lost, *lost_sums;
        struct chan_power_point *points;
        struct chan_power power; /* len 0: none */
        uint32_t line;
    } power;
    int frame; /* a frame meets a bad step by 0 any part of its time on the air, 1 its start */
    double iid;
    struct chan_burst burst;
    double duplicate, corrupt, bit_errors;
    struct ltp_rule *rules; /* owned, like the texts */
    char **rule_texts;
    size_t rules_len;
    struct {
        uint32_t queue, off_contact, offset, burst, changes, codel, mark;
    } line; /* of these keys in the file; 0: in none */
};

struct scenario {
    uint64_t seed;
    uint64_t overhead; /* bytes on the air beside each frame */
    struct scenario_direction directions[2];
    char *drop_log, *pcap_before, *pcap_after; /* owned; "": none */
    tick tolerance; /* a frame that leaves later than this is late; 0: by the batch */
    int exempt;     /* bridge: 0 none, 1 signalling passes unharmed */
};

/* Everything at its default: a wire without delay. 0 or HELIO_ENOMEM. */
int scenario_init(struct scenario *s);
void scenario_fini(struct scenario *s);

/* Applies the map of a YAML text to *s: its keys are replaced. Paths are relative to `directory`
 * ("" or ending in '/'). Returns 0, or HELIO_EFORMAT with the errors in *errors (then only
 * scenario_fini may follow). */
int scenario_apply(struct scenario *s, const char *data, size_t len, const char *directory,
                   struct conf_errors *errors);
/* The same from a file; its paths are relative to it. */
int scenario_load(struct scenario *s, const char *path, struct conf_errors *errors);
/* The same for one key, "forward.rate", with a value that is YAML, or, with `plain`, just text. */
int scenario_set(struct scenario *s, const char *key, const char *value, bool plain,
                 struct conf_errors *errors);

/* The same from a tree whose keys have `outer` before them in messages, some of them the caller's:
 * `more` (or NULL), and `words`, which begin with both, forward and return. What is wrong is in
 * *errors. */
void scenario_apply_tree(struct scenario *s, const struct conf_tree *root, const char *outer,
                         const struct conf_part *more, const char *const *words,
                         const char *directory, struct conf_errors *errors);
/* The directory of a file, absolute: "/a/b/"; the caller frees it. NULL: no memory, or there is no
 * such path (errno). */
char *scenario_directory(const char *path);

/* One more rule (ltp_rules.h). 0, HELIO_ENOMEM, or HELIO_EFORMAT with what is wrong in `why`. */
int scenario_add_rule(struct scenario *s, int direction, const char *text,
                      char why[LTP_RULE_ERROR_MAX]);

/* Relations between values, once all is laid over each other; `line` of an error may be 0. */
int scenario_check(const struct scenario *s, struct conf_errors *errors);

/* What is in effect, with the keys of the file; NULL when memory is out. */
json_t *scenario_json(const struct scenario *s);
/* The same as YAML that scenario_apply reads, the caller's to free; NULL when memory is out. */
char *scenario_yaml(const struct scenario *s);

/* A direction's channel configuration, which borrows from *s. `started` is the emulator's start on
 * the channel's clock, `wall` the same instant in nanoseconds since 1970. What a direction draws is
 * its own: neither the other direction of this seed nor any direction of another one draws it. */
struct chan_config scenario_chan(const struct scenario *s, int direction, tick started, tick wall);

/* Time zero of a direction that does not begin with its first frame; the arguments as there. */
tick scenario_origin(const struct scenario_direction *w, tick started, tick wall);

/* What changes at once in mid-run: the map of a YAML text with the keys of a scenario's `changes`
 * but for `at`, under forward, return or both, and `link: up|down`. */
struct scenario_change {
    struct chan_change directions[2]; /* keys 0: none of these */
    int link[2];                      /* 0 as it is, 1 up, 2 down */
};
/* 0, or HELIO_EFORMAT with what is wrong in *errors, also when the direction of *s has no such
 * thing (a rate). */
int scenario_change_read(struct scenario_change *out, const struct scenario *s, const char *data,
                         size_t len, struct conf_errors *errors);
/* The same from a map whose keys have `outer` before them in messages, all of which are in *errors.
 */
void scenario_change_tree(struct scenario_change *out, const struct scenario *s,
                          const struct conf_tree *root, const char *outer,
                          struct conf_errors *errors);
/* Changes as the list of the file; NULL when memory is out. */
json_t *scenario_changes_json(const struct chan_change *changes, size_t count);

/* scenario_direction.c, for scenario.c: the keys of one direction. */
int scenario_direction_init(struct scenario_direction *w);
void scenario_direction_fini(struct scenario_direction *w);
void scenario_direction_read(struct scenario *s, int direction, const struct conf_tree *map,
                             const char *where, const char *directory, struct conf_errors *errors);
void scenario_start_read(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                         struct conf_errors *errors);
/* scenario_list.c, for scenario_direction.c: replace the list by the tree's; `where` is the key's
 * name.
 */
void scenario_windows(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                      struct conf_errors *errors);
void scenario_points(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                     struct conf_errors *errors);
/* scenario_queue.c: what waits for the line, and which of it is dropped or marked. */
void scenario_queue_read(struct scenario_direction *w, const struct conf_tree *map,
                         const char *where, struct conf_errors *errors);
void scenario_queue_suit(const struct scenario_direction *w, const struct scenario_direction *other,
                         const char *where, struct conf_errors *errors);
/* As the file has it; NULL when memory is out. */
json_t *scenario_codel_json(const struct scenario_direction *w);
/* scenario_jitter.c: extra delay, uniform or by a law. */
void scenario_jitter_read(struct scenario_direction *w, const struct conf_tree *map,
                          const char *where, struct conf_errors *errors);
void scenario_jitter_fini(struct scenario_direction *w);
/* The longest, and as the file has it; NULL when memory is out. */
tick scenario_jitter_max(const struct scenario_direction *w);
json_t *scenario_jitter_json(const struct scenario_direction *w);
/* scenario_change.c: replace the list of changes. */
void scenario_changes(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                      struct conf_errors *errors);
/* … and their relations to the other values. */
void scenario_changes_suit(const struct scenario_direction *w, const char *where,
                           struct conf_errors *errors);
/* scenario_power.c: the map of powers. */
int scenario_power_init(struct scenario_direction *w);
void scenario_power_fini(struct scenario_direction *w);
void scenario_power_read(struct scenario_direction *w, const struct conf_tree *map,
                         const char *where, const char *directory, struct conf_errors *errors);
void scenario_power_suit(const struct scenario_direction *w, const char *where,
                         struct conf_errors *errors);
/* As the file has it; NULL when there is none. */
json_t *scenario_power_json(const struct scenario_direction *w);
void scenario_rules(struct scenario *s, int direction, const struct conf_tree *map,
                    const char *where, struct conf_errors *errors);
void scenario_rules_free(struct scenario_direction *w);
/* A path as the user's shell would find it. NULL when memory is out. */
char *scenario_path(const char *directory, const char *path);

#endif
