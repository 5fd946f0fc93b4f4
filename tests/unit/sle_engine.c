/* SPDX-License-Identifier: Apache-2.0 */
/* User and provider together: the associations, the return services, their modes. */
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

static struct pair pair;
static const struct sle_start all_frames = {.quality = SLE_ALL_FRAMES};
static const struct sle_gvcid channel5 = {.scid = 0xab, .version = 1, .vcid = 5};

static void in_order(struct pair *p, const struct sle_notice *n)
{
    ck_assert_uint_eq(frame_number(n->u.item.data), p->frames - 1);
    ck_assert_int_eq(n->u.item.continuity, p->frames == 1 ? -1 : 0);
    for (size_t i = 6; i < n->u.item.data.len; i++)
        ck_assert_uint_eq(n->u.item.data.data[i], (uint8_t)(p->frames - 1));
}

/* From BIND to UNBIND, in each version and with each level of authentication. */
START_TEST(whole_session)
{
    uint8_t version = (uint8_t)(2 + _i / 3);
    struct sle_provider_config c = {.id = RAF_ID, .buffer_frames = 4};
    pair_init(&pair, (enum sle_auth_level)(_i % 3));
    pair_add(&pair, &c, version);
    pair.frame = in_order;
    pair_connect(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_BOUND], 1);
    ck_assert_uint_eq(pair.provider.seen[SLE_BOUND], 1);
    ck_assert_uint_eq(sle_link_version(pair.provider.link), version);
    ck_assert_str_eq(sle_link_peer(pair.provider.link), "USER");
    ck_assert_str_eq(sle_link_peer(pair.user.link), "PROVIDER");
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_NOT_ACTIVE);
    pair_start(&pair, &all_frames);
    ck_assert_uint_eq(pair.user.seen[SLE_STARTED], 1);
    ck_assert_uint_eq(pair.user.of[SLE_STARTED].diag, SLE_OK);
    for (uint32_t k = 0; k < 10; k++)
        ck_assert_int_eq(pair_offer(&pair, k, 1115), SLE_TAKEN);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 8); /* two wait for the latency limit */
    pair_run(&pair, pair.now + 999 * TICK_MS);
    ck_assert_uint_eq(pair.frames, 8);
    pair_run(&pair, pair.now + TICK_MS);
    ck_assert_uint_eq(pair.frames, 10);
    ck_assert_int_eq(pair_offer(&pair, 10, 1115), SLE_TAKEN);
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 11); /* STOP sends what is there, before its return */
    ck_assert(pair.user.seen[SLE_STOPPED] == 1 && sle_link_state(pair.user.link) == SLE_READY);
    ck_assert_int_eq(sle_user_unbind(pair.asks, SLE_UNBIND_END, pair.now), 0);
    pair_settle(&pair);
    ck_assert(pair.user.over && pair.user.last.end == SLE_END_UNBOUND);
    ck_assert(pair.provider.over && pair.provider.last.end == SLE_END_UNBOUND);
    ck_assert(pair.up.ended && pair.down.ended);
    const struct sle_counts *n = sle_instance_counts(pair.serves),
                            *u = sle_instance_counts(pair.asks);
    ck_assert(n->frames == 11 && n->frames_offered == 11 && n->buffers == 4 && u->frames == 11 &&
              u->buffers == 4);
    ck_assert(n->auth_failed == 0 && u->auth_failed == 0 && n->aborts_sent == 0);
    ck_assert_uint_eq(u->octets_in, n->octets_out);
    /* And once more. */
    pair_disconnect(&pair);
    pair_connect(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_BOUND], 2);
    pair_fini(&pair);
}
END_TEST

START_TEST(provider_binds)
{
    struct sle_provider_config c = {.id = RAF_ID, .initiate = true, .buffer_frames = 1};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    ck_assert(pair.user.seen[SLE_BOUND] == 1 && pair.provider.seen[SLE_BOUND] == 1);
    pair_start(&pair, &all_frames);
    pair.frame = in_order;
    for (uint32_t k = 0; k < 3; k++)
        ck_assert_int_eq(pair_offer(&pair, k, 7), SLE_TAKEN);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 3);
    ck_assert_int_eq(sle_user_unbind(pair.asks, SLE_UNBIND_END, pair.now),
                     HELIO_ESTOPPED); /* who has bound unbinds */
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now),
                     HELIO_ESTOPPED); /* and not before STOP */
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    ck_assert_int_eq(sle_user_unbind(pair.asks, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    ck_assert_int_eq(sle_provider_unbind(pair.serves, (enum sle_unbind)128, pair.now),
                     HELIO_EINVAL);
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_SUSPEND, pair.now), 0);
    ck_assert_int_eq(sle_link_state(pair.provider.link), SLE_UNBINDING);
    pair_settle(&pair);
    ck_assert(pair.user.over && pair.user.last.end == SLE_END_UNBOUND);
    ck_assert_uint_eq(pair.user.of[SLE_UNBOUND].unbind, SLE_UNBIND_SUSPEND);
    ck_assert(pair.provider.over && pair.provider.last.end == SLE_END_UNBOUND);
    ck_assert(pair.up.ended && pair.down.ended);
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    /* And once more. */
    pair_disconnect(&pair);
    pair_connect(&pair);
    ck_assert(pair.user.seen[SLE_BOUND] == 2 && pair.provider.seen[SLE_BOUND] == 2);
    pair_fini(&pair);
}
END_TEST

/* A provider's UNBIND without an answer ends as any other operation. */
START_TEST(provider_unbinds_in_vain)
{
    struct sle_provider_config c = {.id = RAF_ID, .initiate = true, .return_timeout_s = 7};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    pair.paused = true;
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now), 0);
    pair_run(&pair, pair.now + 7 * TICK_S - 1);
    ck_assert(!pair.provider.over);
    pair_run(&pair, pair.now + 1);
    ck_assert(pair.provider.over && pair.provider.last.end == SLE_END_ABORTED);
    ck_assert_uint_eq(pair.provider.last.abort, SLE_ABORT_RETURN_TIMEOUT);
    pair_fini(&pair);
}
END_TEST

/* Where the user has bound, the provider cannot unbind. */
START_TEST(user_unbinds)
{
    struct sle_provider_config c = {.id = RAF_ID};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 4);
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    pair_connect(&pair);
    ck_assert_int_eq(sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    ck_assert_int_eq(sle_provider_unbind(pair.asks, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    ck_assert_int_eq(sle_user_unbind(pair.serves, SLE_UNBIND_END, pair.now), HELIO_ESTOPPED);
    ck_assert_int_eq(sle_link_state(pair.provider.link), SLE_READY);
    pair_fini(&pair);
}
END_TEST

/* With gaps of a head between frames a transfer buffer is two runs of octets: its own head, and all
 * frames with theirs. What has no room, or not enough, comes as well. */
START_TEST(heads_where_the_frames_are)
{
    enum { LENGTH = 1000, BUFFER = 5 };
    struct sle_provider_config c = {.id = RAF_ID, .buffer_frames = BUFFER};
    struct slice parts[16];
    pair_init(&pair, (enum sle_auth_level)_i);
    pair_add(&pair, &c, 5);
    pair.frame = in_order;
    ck_assert_uint_eq(sle_provider_head(pair.serves), 0);
    pair_connect(&pair);
    pair_start(&pair, &all_frames);
    size_t gap = sle_provider_head(pair.serves);
    ck_assert_uint_eq(gap, _i == SLE_AUTH_ALL ? 33 + 52 : 33);
    struct buf *b = buf_new(0, BUFFER * (gap + LENGTH));
    for (uint32_t k = 0; k < BUFFER; k++) {
        struct buf *frame = pair_frame(k, LENGTH);
        uint8_t *at = b->mem + k * (gap + LENGTH) + gap;
        memcpy(at, buf_data(frame), LENGTH);
        buf_drop(frame);
        struct sle_frame f = {
            .owner = b, .room = gap, .data = slice_of(at, LENGTH), .time = sle_time_of(UNIX_NS)};
        ck_assert_int_eq(sle_provider_frame(pair.serves, &f, pair.now), SLE_TAKEN);
    }
    ck_assert_uint_eq(b->refs, 2);
    ck_assert_uint_eq(sle_link_output(pair.provider.link, parts, 16, pair.now), 2);
    ck_assert_ptr_eq(parts[1].data, b->mem);
    ck_assert_uint_eq(parts[1].len, BUFFER * (gap + LENGTH));
    pair_settle(&pair);
    ck_assert_uint_eq(b->refs, 1);
    for (uint32_t k = BUFFER; k < 4 * BUFFER; k++) /* no room, too little, too much */
        ck_assert_int_eq(pair_offer_with(&pair, k, 100 + k, k % 3 * gap / 2 + k % 3), SLE_TAKEN);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 4 * BUFFER);
    ck_assert_uint_eq(sle_instance_counts(pair.asks)->auth_failed, 0);
    buf_drop(b);
    pair_fini(&pair);
}
END_TEST

/* Complete: nothing is lost, production waits. */
START_TEST(complete_mode_pushes_back)
{
    struct sle_provider_config c = {.id = RAF_ID, .buffer_frames = 5, .queue_buffers = 3};
    uint32_t k = 0;
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 4);
    pair.frame = in_order;
    pair_connect(&pair);
    pair_start(&pair, &all_frames);
    pair.paused = true;
    pair.down.room = 4000;
    ck_assert_uint_eq(sle_provider_room(pair.serves), 20);
    while (pair_offer(&pair, k, 1000) == SLE_TAKEN) {
        pair_settle(&pair);
        ck_assert_uint_lt(++k, 100);
    }
    /* One buffer is being written, three wait, one is full. */
    ck_assert_uint_eq(k, 25);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->frames_refused, 1);
    pair_run(&pair, pair.now + 100 * TICK_S); /* nobody reads, and nobody is missed meanwhile */
    ck_assert(!pair.provider.over && pair.provider.seen[SLE_ROOM] == 0);
    pair.paused = false;
    while (k < 100) {
        pair_settle(&pair);
        while (k < 100 && pair_offer(&pair, k, 1000) == SLE_TAKEN)
            k++;
    }
    ck_assert_uint_ge(pair.provider.seen[SLE_ROOM], 1);
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 100);
    pair_fini(&pair);
}
END_TEST

/* Timely: production never waits; what is lost is told and counted. */
START_TEST(timely_mode_discards)
{
    struct sle_provider_config c = {.id = RAF_TIMELY_ID, .buffer_frames = 5, .queue_buffers = 2};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    pair_start(&pair, &all_frames);
    pair.paused = true;
    pair.down.room = 3000;
    for (uint32_t k = 0; k < 100; k++) {
        ck_assert_int_eq(pair_offer(&pair, k, 1000), SLE_TAKEN);
        pair_settle(&pair);
    }
    pair.paused = false;
    pair_settle(&pair);
    const struct sle_counts *n = sle_instance_counts(pair.serves);
    ck_assert_uint_gt(n->frames_discarded, 50);
    ck_assert_uint_eq(n->frames + n->frames_discarded, 100);
    ck_assert_uint_eq(pair.frames, n->frames);
    ck_assert_uint_eq(pair.user.seen[SLE_SYNC],
                      1); /* the notification of the last one; the others were discarded, too */
    ck_assert_int_eq(pair.user.of[SLE_SYNC].u.item.sync.kind, SLE_SYNC_BACKLOG);
    ck_assert_uint_eq(n->backlogs, n->syncs + n->syncs_discarded);
    pair_fini(&pair);
}
END_TEST

START_TEST(notifications_and_reports)
{
    static const struct sle_locks locks = {SLE_IN_LOCK, SLE_IN_LOCK, SLE_NOT_IN_USE,
                                           SLE_OUT_OF_LOCK};
    struct sle_provider_config c = {.id = RAF_ID};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 4);
    pair_connect(&pair);
    pair_start(&pair, &all_frames);
    ck_assert_int_eq(pair_offer(&pair, 0, 1115), SLE_TAKEN);
    sle_provider_production(pair.serves, SLE_INTERRUPTED, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 1); /* before it, in the same buffer */
    ck_assert_int_eq(pair.user.of[SLE_SYNC].u.item.sync.kind, SLE_SYNC_PRODUCTION);
    ck_assert_uint_eq(pair.user.of[SLE_SYNC].u.item.sync.production, SLE_INTERRUPTED);
    sle_provider_loss(pair.serves, sle_now(pair.provider.sle, pair.now), &locks, pair.now);
    pair_settle(&pair);
    ck_assert_int_eq(pair.user.of[SLE_SYNC].u.item.sync.kind, SLE_SYNC_LOSS);
    ck_assert_int_eq(pair.user.of[SLE_SYNC].u.item.sync.locks.carrier, SLE_OUT_OF_LOCK);
    struct sle_schedule schedule = {SLE_REPORT_PERIODIC, 2};
    ck_assert_int_eq(sle_user_schedule(pair.asks, &schedule, pair.now), 0);
    pair_settle(&pair);
    ck_assert(pair.user.seen[SLE_SCHEDULED] == 1 && pair.user.of[SLE_SCHEDULED].diag == SLE_OK);
    ck_assert_uint_eq(pair.user.seen[SLE_STATUS], 1);
    const struct sle_status *s = &pair.user.of[SLE_STATUS].u.status;
    ck_assert(s->delivered == 1 && s->good == 1 && s->production == SLE_INTERRUPTED &&
              s->locks.carrier == SLE_OUT_OF_LOCK);
    pair_run(&pair, pair.now + 6 * TICK_S);
    ck_assert_uint_eq(pair.user.seen[SLE_STATUS], 4);
    static const struct {
        struct sle_schedule s;
        unsigned diag;
    } cases[] = {{{SLE_REPORT_PERIODIC, 1}, SLE_REPORT_INVALID_CYCLE},
                 {{SLE_REPORT_PERIODIC, 601}, SLE_REPORT_INVALID_CYCLE},
                 {{SLE_REPORT_STOP, 0}, SLE_OK},
                 {{SLE_REPORT_STOP, 0}, SLE_REPORT_ALREADY_STOPPED},
                 {{SLE_REPORT_NOW, 0}, SLE_OK}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        ck_assert_int_eq(sle_user_schedule(pair.asks, &cases[k].s, pair.now), 0);
        pair_settle(&pair);
        ck_assert_uint_eq(pair.user.of[SLE_SCHEDULED].diag, cases[k].diag);
    }
    ck_assert_uint_eq(pair.user.seen[SLE_STATUS], 5);
    sle_provider_end_of_data(pair.serves, pair.now);
    sle_provider_end_of_data(pair.serves, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_SYNC], 3);
    ck_assert_int_eq(pair.user.of[SLE_SYNC].u.item.sync.kind, SLE_SYNC_END);
    pair_fini(&pair);
}
END_TEST

static void start_diag(const struct sle_start *s, unsigned diag)
{
    pair_start(&pair, s);
    ck_assert_uint_eq(pair.user.of[SLE_STARTED].diag, diag);
    if (diag == SLE_OK) {
        ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
        pair_settle(&pair);
    }
    ck_assert_int_eq(sle_link_state(pair.user.link), SLE_READY);
    ck_assert_int_eq(sle_link_state(pair.provider.link), SLE_READY);
}

static struct sle_when at(int64_t seconds)
{
    return (struct sle_when){true,
                             sle_time_of((uint64_t)((int64_t)UNIX_NS + seconds * (int64_t)TICK_S))};
}

/* Only complete mode promises what was before START; where that is kept, it is accepted. */
START_TEST(starts_in_the_past)
{
    static const char *const ids[] = {RAF_ID, RAF_ID, RAF_TIMELY_ID};
    struct sle_provider_config c = {.id = ids[_i], .keeps_past = _i == 1};
    struct sle_start s = all_frames;
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    s.start = at(-1);
    start_diag(&s, _i == 0 ? SLE_START_INVALID_START : SLE_OK);
    pair_fini(&pair);
}
END_TEST

START_TEST(starts_online)
{
    struct sle_provider_config c = {
        .id = RAF_ID, .begin = at(-100), .end = at(100), .permitted_quality = 1u << SLE_ALL_FRAMES};
    struct sle_start s = all_frames;
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    start_diag(&s, SLE_OK);
    s.start = at(10);
    s.stop = at(5);
    start_diag(&s, SLE_OTHER_REASON);
    s.start = at(-101);
    start_diag(&s, SLE_START_INVALID_START);
    s.start = at(-1); /* before START, and nothing is kept of then */
    start_diag(&s, SLE_START_INVALID_START);
    s.start = at(10);
    s.stop = at(101);
    start_diag(&s, SLE_START_INVALID_STOP);
    s = (struct sle_start){.quality = SLE_GOOD_ONLY};
    start_diag(&s, SLE_START_UNABLE);
    sle_provider_production(pair.serves, SLE_HALTED, pair.now);
    start_diag(&all_frames, SLE_START_OUT_OF_SERVICE);
    sle_provider_production(pair.serves, SLE_RUNNING, pair.now);
    /* Frames outside the times are not of the service; behind the stop time is the end of data. */
    s = all_frames;
    s.start = at(5);
    s.stop = at(10);
    pair_start(&pair, &s);
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_FILTERED);
    pair.now = 7 * TICK_S;
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_TAKEN);
    pair.now = 11 * TICK_S;
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_FILTERED);
    pair_settle(&pair);
    ck_assert(pair.frames == 1 && pair.user.of[SLE_SYNC].u.item.sync.kind == SLE_SYNC_END);
    /* The provision period ends. */
    pair_run(&pair, 101 * TICK_S);
    ck_assert(pair.user.over && pair.user.last.end == SLE_END_PEER_ABORT &&
              pair.user.last.abort == SLE_ABORT_END_OF_PERIOD);
    pair_fini(&pair);
}
END_TEST

START_TEST(starts_offline)
{
    struct sle_provider_config c = {
        .id = RAF_OFFLINE_ID, .confirm_start = true, .buffer_frames = 3};
    struct sle_start s = all_frames;
    struct sle_schedule schedule = {SLE_REPORT_NOW, 0};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    start_diag(&s, SLE_START_MISSING_TIME);
    s.start = at(-100);
    start_diag(&s, SLE_START_MISSING_TIME);
    s.stop = at(50);
    start_diag(&s, SLE_START_INVALID_STOP);
    s.start = at(40);
    start_diag(&s, SLE_START_INVALID_START);
    ck_assert_int_eq(sle_user_schedule(pair.asks, &schedule, pair.now), 0);
    s.start = at(-100);
    s.stop = at(-50);
    pair_start(&pair, &s);
    ck_assert_uint_eq(pair.user.of[SLE_SCHEDULED].diag, SLE_REPORT_NOT_IN_MODE);
    ck_assert_int_eq(sle_link_state(pair.provider.link),
                     SLE_STARTING); /* the host looks whether it can */
    sle_provider_answer_start(pair.serves, SLE_START_UNABLE, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.of[SLE_STARTED].diag, SLE_START_UNABLE);
    pair_start(&pair, &s);
    sle_provider_answer_start(pair.serves, SLE_OK, pair.now);
    pair_settle(&pair);
    ck_assert_int_eq(sle_link_state(pair.user.link), SLE_ACTIVE);
    struct sle_frame f = {.data = slice_of("0123456789", 10), .time = s.start.at};
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(sle_provider_frame(pair.serves, &f, pair.now), SLE_TAKEN);
    pair_run(&pair, pair.now + 1000 * TICK_S);
    ck_assert_uint_eq(pair.frames, 3); /* there is no latency limit */
    sle_provider_end_of_data(pair.serves, pair.now);
    pair_settle(&pair);
    ck_assert(pair.frames == 4 && pair.user.of[SLE_SYNC].u.item.sync.kind == SLE_SYNC_END);
    pair_fini(&pair);
}
END_TEST

START_TEST(rcf_filters_channels)
{
    static const struct sle_gvcid set[] = {{.scid = 0xab, .version = 1, .vcid = 5},
                                           {.scid = 0xac, .version = 1, .vcid = SLE_MASTER}};
    struct sle_provider_config c = {
        .id = RCF_ID, .buffer_frames = 1, .gvcids = set, .gvcid_count = 2};
    struct sle_start s = {.gvcid = {.scid = 0xab, .version = 1, .vcid = 6}};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    start_diag(&s, SLE_START_INVALID_GVCID);
    s.gvcid.vcid = SLE_MASTER;
    start_diag(&s, SLE_START_INVALID_GVCID);
    s.gvcid = (struct sle_gvcid){.scid = 0xac, .version = 1, .vcid = 33};
    start_diag(&s, SLE_OK);
    s.gvcid = channel5;
    pair_start(&pair, &s);
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_TAKEN);
    struct sle_frame other = {.data = slice_of("\x6a\xc6xxxx", 6)},
                     tm = {.data = slice_of("\x0a\xbaxxxx", 6)};
    ck_assert_int_eq(sle_provider_frame(pair.serves, &other, pair.now), SLE_FILTERED);
    ck_assert_int_eq(sle_provider_frame(pair.serves, &tm, pair.now), SLE_FILTERED);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 1);
    pair_fini(&pair);
}
END_TEST

static enum sle_taken offer_word(uint32_t word)
{
    struct sle_frame f = {.data = slice_of("\x6a\xc5xxxx", 6), .has_ocf = word != 0};
    for (unsigned k = 0; k < 4; k++)
        f.ocf[k] = (uint8_t)(word >> 8 * (3 - k));
    return sle_provider_frame(pair.serves, &f, pair.now);
}

START_TEST(rocf_filters_words)
{
    struct sle_provider_config c = {.id = ROCF_ID,
                                    .buffer_frames = 1,
                                    .gvcids = &channel5,
                                    .gvcid_count = 1,
                                    .permitted_tc_vcids = 1u << 7};
    struct sle_start s = {
        .gvcid = channel5, .word = SLE_CLCW, .tc_vcid = 6, .update = SLE_CHANGE_BASED};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 4);
    pair_connect(&pair);
    start_diag(&s, SLE_START_INVALID_TC_VCID);
    s.tc_vcid = 7;
    pair_start(&pair, &s);
    ck_assert_int_eq(offer_word(0), SLE_FILTERED);
    ck_assert_int_eq(offer_word(0x011c0001), SLE_TAKEN); /* TC VC 7 */
    ck_assert_int_eq(offer_word(0x011c0001), SLE_FILTERED);
    ck_assert_int_eq(offer_word(0x01180001), SLE_FILTERED); /* 6 */
    ck_assert_int_eq(offer_word(0x811c0001), SLE_FILTERED); /* not a CLCW */
    ck_assert_int_eq(offer_word(0x011c0002), SLE_TAKEN);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 2);
    pair_fini(&pair);
}
END_TEST

/* Each parameter, before and behind START, in each version: answered, and legal. */
START_TEST(parameters)
{
    static const char *const ids[] = {RAF_ID, RCF_ID, ROCF_ID, CLTU_ID};
    static const uint32_t all[] = {
#define NUMBER(prefix, name, number, text) number,
        SLE_PARAMETERS(NUMBER, )
#undef NUMBER
    };
    uint8_t version = (uint8_t)(2 + _i % 4);
    struct sle_provider_config c = {.id = ids[_i / 4], .gvcids = &channel5, .gvcid_count = 1};
    struct sle_start s = {.gvcid = channel5, .word = SLE_CLCW, .tc_vcid = 3, .first_cltu = 9};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, version);
    pair_connect(&pair);
    struct sle_dialect d = {.service = sle_instance_service(pair.serves), .version = version};
    for (int started = 0; started < 2; started++) {
        if (started)
            pair_start(&pair, &s);
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            unsigned seen = pair.user.seen[SLE_PARAMETER];
            ck_assert_int_eq(sle_user_get(pair.asks, (enum sle_parameter)all[k], pair.now), 0);
            pair_settle(&pair);
            ck_assert_uint_eq(pair.user.seen[SLE_PARAMETER], seen + 1);
            const struct sle_notice *n = &pair.user.of[SLE_PARAMETER];
            if (!sle_parameter_exists(&d, all[k]))
                ck_assert_uint_eq(n->diag, SLE_GET_UNKNOWN);
            else if (n->diag == SLE_OK)
                ck_assert_uint_eq(n->u.value.parameter, all[k]);
            else
                ck_assert(
                    n->diag == SLE_OTHER_REASON &&
                    (!started || all[k] == SLE_PAR_CLCW_GVCID || all[k] == SLE_PAR_CLCW_CHANNEL));
        }
    }
    ck_assert(!pair.user.over && !pair.provider.over);
    ck_assert_int_eq(sle_user_get(pair.asks, (enum sle_parameter)9999, pair.now), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.of[SLE_PARAMETER].diag, SLE_GET_UNKNOWN);
    pair_fini(&pair);
}
END_TEST

START_TEST(silence_and_heartbeats)
{
    struct sle_provider_config c = {.id = RAF_ID};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 4);
    pair_connect(&pair);
    pair_run(&pair, pair.now + 3600 * TICK_S); /* heartbeats keep it alive */
    ck_assert(!pair.user.over && !pair.provider.over);
    pair.down.room = 0; /* the user hears nothing more */
    tick began = pair.now;
    pair_run(&pair, began + 200 * TICK_S);
    ck_assert(pair.user.over && pair.user.last.end == SLE_END_TML &&
              pair.user.last.abort == SLE_ABORT_TML_HEARTBEAT_TIMEOUT);
    ck_assert(pair.provider.over && pair.provider.last.end == SLE_END_CLOSED);
    pair_fini(&pair);
}
END_TEST

START_TEST(late_returns)
{
    struct sle_provider_config c = {.id = RAF_ID};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 4);
    pair_connect(&pair);
    pair.down.room = 0;
    ck_assert_int_eq(sle_user_get(pair.asks, SLE_PAR_BUFFER_SIZE, pair.now), 0);
    pair_run(&pair, pair.now + 29 * TICK_S);
    ck_assert(!pair.user.over);
    pair_run(&pair, pair.now + 2 * TICK_S);
    ck_assert(pair.user.over && pair.user.last.end == SLE_END_ABORTED &&
              pair.user.last.abort == SLE_ABORT_RETURN_TIMEOUT);
    ck_assert(pair.provider.over && pair.provider.last.abort == SLE_ABORT_RETURN_TIMEOUT);
    pair_fini(&pair);
}
END_TEST

SUITE(sle_engine, t)
{
    tcase_add_loop_test(t, whole_session, 0, 12);
    tcase_add_test(t, provider_binds);
    tcase_add_test(t, provider_unbinds_in_vain);
    tcase_add_test(t, user_unbinds);
    tcase_add_loop_test(t, heads_where_the_frames_are, 0, 3);
    tcase_add_test(t, complete_mode_pushes_back);
    tcase_add_test(t, timely_mode_discards);
    tcase_add_test(t, notifications_and_reports);
    tcase_add_loop_test(t, starts_in_the_past, 0, 3);
    tcase_add_test(t, starts_online);
    tcase_add_test(t, starts_offline);
    tcase_add_test(t, rcf_filters_channels);
    tcase_add_test(t, rocf_filters_words);
    tcase_add_loop_test(t, parameters, 0, 16);
    tcase_add_test(t, silence_and_heartbeats);
    tcase_add_test(t, late_returns);
}
