/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both logs are files with a writer thread of their own (os/log/log_writer.h), so that a slow disk
 * stalls nothing. What can go wrong: a file cannot be opened, which is said, and at the start ends
 * the node; lines that the disk does not take are said, now and then, and counted (helioctl
 * counters).
 */
#include "node/node_log.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cla/seglog.h"
#include "os/clock.h"

#define TROUBLE_PAUSE (10 * TICK_S)

void node_say_init(struct say *s, const struct config *config, const struct eid *node)
{
    char name[EID_TEXT_MAX];
    eid_text(node, name);
    say_init(s, (enum say_level)config->log.level, config->log.format == LOG_JSON, name);
}

uint32_t node_bundle_line(const struct node *n, const struct bundle_event *e, uint64_t epoch,
                          char out[BUNDLE_EVENT_CSV_MAX])
{
    char name[EID_TEXT_MAX];
    const char *link = NULL;
    eid_text(&n->config->node, name);
    if (e->link >= 0 && (size_t)e->link < n->links_len && n->links[e->link] != NULL)
        link = n->links[e->link]->config->name;
    return bundle_event_csv(e, name, link, epoch, out);
}

static void take_event(void *context, const struct bundle_event *e)
{
    struct node *n = context;
    char *room = log_writer_room(n->bundle_log, BUNDLE_EVENT_CSV_MAX);
    if (room != NULL)
        log_writer_put(n->bundle_log, node_bundle_line(n, e, n->log_epoch, room));
}

static int say_failed(struct node *n, const char *path, int err)
{
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "log: %s: %s", path,
            helio_errno(err) == EBUSY ? "another program writes to it; give each its own file"
                                      : helio_strerror(err));
    return err;
}

int node_log_open(struct node *n)
{
    const char *segments = n->config->log.segments, *bundles = n->config->log.bundles;
    int err = 0;
    n->log_epoch = clock_offset();
    if (*segments != '\0') {
        err = seglog_open(&n->segments, segments, n->config->node.node, n->log_epoch);
        n->sink = err < 0 ? NULL : seglog_sink;
        n->sink_context = n->segments;
        if (say_failed(n, segments, err) < 0)
            return err;
    }
    if (*bundles == '\0')
        return 0;
    err = log_writer_open(&n->bundle_log, bundles, LOG_APPEND | LOG_LINES,
                          slice_of(bundle_event_csv_header, strlen(bundle_event_csv_header)));
    n->bundle_sink = err < 0 ? NULL : take_event;
    n->bundle_sink_context = n;
    return say_failed(n, bundles, err);
}

bool node_log_any(const struct node *n)
{
    return n->segments != NULL || n->bundle_log != NULL;
}

static struct log_writer *segment_file(const struct node *n)
{
    return n->segments != NULL ? n->segments->file : NULL;
}

static void tell_trouble(struct node *n, const struct log_writer *log, const char *path)
{
    int trouble = log_writer_trouble(log);
    tick now = node_now(n).now;
    if (trouble == 0 || now < n->log_quiet)
        return;
    n->log_quiet = now + TROUBLE_PAUSE;
    say(&n->say, LEVEL_ERROR, "log: %s: %s; %llu lines are lost", path, helio_strerror(trouble),
        (unsigned long long)log_writer_lost(log));
}

static void flush_log(struct node *n, struct log_writer *log, const char *path)
{
    if (log == NULL)
        return;
    tell_trouble(n, log, path);
    log_writer_flush(log);
}

void node_log_flush(struct node *n)
{
    flush_log(n, segment_file(n), n->config->log.segments);
    flush_log(n, n->bundle_log, n->config->log.bundles);
}

static bool reopen(struct node *n, struct log_writer *log, const char *path)
{
    int err = log != NULL ? log_writer_reopen(log) : 0;
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "log: %s: %s; the old file stays in use", path,
            helio_strerror(err));
    return err == 0;
}

void node_log_reopen(struct node *n)
{
    bool segments = reopen(n, segment_file(n), n->config->log.segments);
    bool bundles = reopen(n, n->bundle_log, n->config->log.bundles);
    if (segments && bundles)
        say(&n->say, LEVEL_INFO, "logs were reopened");
}

int node_log_sync(struct node *n, unsigned timeout_ms)
{
    int segments = n->segments != NULL ? log_writer_sync(n->segments->file, timeout_ms) : 0;
    int bundles = n->bundle_log != NULL ? log_writer_sync(n->bundle_log, timeout_ms) : 0;
    return segments < 0 ? segments : bundles;
}

void node_log_close(struct node *n)
{
    seglog_close(n->segments);
    log_writer_free(n->bundle_log);
    n->segments = NULL;
    n->bundle_log = NULL;
}
