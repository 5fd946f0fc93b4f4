/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call finds the event and looks up what to do in the state table of 232.1-B-2: one row for an
 * event, one column for a state. The normal case is E19 (data), E41 (sent), E2 or E6
 * (acknowledged). What can go wrong: CLCWs that ask for retransmission, or contradict what was
 * sent; silence, which the timer ends.
 */
#include "frames/fop.h"

#include <assert.h>
#include <string.h>

#include "frames/fop_table.h"

enum { UNLOCK = 0x00, SET_V_R = 0x82, COP_1 = 1, NUMBERS = 256 };
static_assert(FOP_SENT_MAX < NUMBERS, "numbers of sent frames differ");

/* The arguments of an event. */
struct cause {
    tick now;
    uint64_t id;
    bool data; /* a request of data, not a directive */
    enum fop_directive directive;
    uint32_t qualifier;
    uint8_t report; /* N(R) */
};

enum fop_state fop_next(enum fop_state state, enum fop_event event)
{
    assert(state < FOP_STATES && event < FOP_EVENTS);
    unsigned next = table[event][state].next;
    return next == 0 ? FOP_STATES : (enum fop_state)(next - 1);
}

void fop_init(struct fop *f, const struct fop_config *c)
{
    assert(c->window >= 1 && c->limit >= 1 && c->timeout_type <= 1 && c->timer >= 1);
    memset(f, 0, sizeof *f);
    f->config = *c;
    f->state = FOP_INITIAL;
    f->count = 1;
    f->deadline = TICK_NEVER;
    for (int s = 0; s < FOP_SERVICES; s++)
        f->ready[s] = true;
}

static void give_notice(struct fop *f, enum fop_notice_kind kind, uint64_t id)
{
    assert(f->notice_count < FOP_NOTICES_MAX);
    f->notices[f->notice_count++] = (struct fop_notice){.kind = kind, .id = id};
}

static struct fop_frame *frame_at(struct fop *f, unsigned i)
{
    return &f->sent[(f->sent_at + i) % (FOP_SENT_MAX + 1)];
}

static void start_timer(struct fop *f, tick now)
{
    f->deadline = now > TICK_NEVER - f->config.timer ? TICK_NEVER - 1 : now + f->config.timer;
}

static void put_out(struct fop *f, const struct fop_transmission *t)
{
    assert(f->ready[t->service] && !f->has_out[t->service]);
    f->ready[t->service] = false;
    f->out[t->service] = *t;
    f->has_out[t->service] = true;
}

static void transmit_frame(struct fop *f, tick now, struct fop_frame *frame)
{
    struct fop_transmission t = {.service = FOP_AD, .id = frame->id, .number = frame->number};
    frame->again = false;
    start_timer(f, now);
    put_out(f, &t);
}

/* Finds the oldest frame to retransmit; else the one in the Wait_Queue, if the window has room. */
static void look_for_data(struct fop *f, tick now)
{
    if (!f->ready[FOP_AD])
        return;
    for (unsigned i = 0; i < f->sent_count; i++) {
        if (frame_at(f, i)->again) {
            transmit_frame(f, now, frame_at(f, i));
            return;
        }
    }
    if (!f->waiting || f->sent_count >= f->config.window)
        return;
    f->waiting = false;
    give_notice(f, FOP_ACCEPTED, f->wait_id);
    if (f->sent_count == 0)
        f->count = 1;
    struct fop_frame *frame = frame_at(f, f->sent_count++);
    *frame = (struct fop_frame){.id = f->wait_id, .number = f->v_s++};
    transmit_frame(f, now, frame);
}

static void look_for_command(struct fop *f, tick now)
{
    if (!f->ready[FOP_BC] || !f->bc_held || !f->bc_again)
        return;
    f->bc_again = false;
    start_timer(f, now);
    put_out(f, &f->bc);
}

static void remove_acknowledged(struct fop *f, uint8_t report)
{
    while (f->nn_r != report) {
        assert(f->sent_count > 0 && frame_at(f, 0)->number == f->nn_r);
        give_notice(f, FOP_CONFIRMED, frame_at(f, 0)->id);
        f->sent_at = (f->sent_at + 1) % (FOP_SENT_MAX + 1);
        f->sent_count--;
        f->nn_r++;
    }
    f->count = 1;
}

/* Frames that were not passed on yet are not sent; the layer below must drop the others. */
static void abort_output(struct fop *f)
{
    for (int s = FOP_AD; s <= FOP_BC; s++) {
        f->ready[s] = f->ready[s] || f->has_out[s];
        f->has_out[s] = false;
    }
    give_notice(f, FOP_ABORT, 0);
}

static void begin_again(struct fop *f, tick now)
{
    abort_output(f);
    f->count++;
    start_timer(f, now);
    for (unsigned i = 0; i < f->sent_count; i++)
        frame_at(f, i)->again = true;
    f->bc_again = f->bc_held;
}

static void purge_queues(struct fop *f)
{
    for (unsigned i = 0; i < f->sent_count; i++)
        give_notice(f, FOP_FAILED, frame_at(f, i)->id);
    f->sent_count = 0;
    f->bc_held = f->bc_again = false;
    if (f->waiting)
        give_notice(f, FOP_REJECTED, f->wait_id);
    f->waiting = false;
    f->nn_r = f->v_s;
}

static void alert_user(struct fop *f, enum fop_alert alert)
{
    f->deadline = TICK_NEVER;
    abort_output(f);
    purge_queues(f);
    if (f->directed)
        give_notice(f, FOP_DIRECTIVE_FAILED, f->directive_id);
    f->directed = false;
    f->suspend = 0;
    give_notice(f, FOP_ALERTED, 0);
    f->notices[f->notice_count - 1].alert = alert;
}

/* Accepts the directive, which begins the service. */
static void initialise(struct fop *f, const struct cause *c)
{
    give_notice(f, FOP_DIRECTIVE_ACCEPTED, c->id);
    purge_queues(f);
    if (f->directed) /* an initiation that was suspended */
        give_notice(f, FOP_DIRECTIVE_FAILED, f->directive_id);
    f->count = 1;
    f->suspend = 0;
    f->directed = true;
    f->directive_id = c->id;
}

static void confirm_initiation(struct fop *f)
{
    assert(f->directed);
    give_notice(f, FOP_DIRECTIVE_CONFIRMED, f->directive_id);
    f->directed = false;
}

static void hold_command(struct fop *f, tick now, const uint8_t *command, uint8_t len)
{
    f->bc = (struct fop_transmission){.service = FOP_BC, .command_len = len};
    memcpy(f->bc.command, command, len);
    f->bc_held = f->bc_again = true;
    look_for_command(f, now);
}

static void start_by_number(struct fop *f, const struct cause *c)
{
    const uint8_t command[3] = {SET_V_R, 0, (uint8_t)c->qualifier};
    initialise(f, c);
    f->v_s = f->nn_r = (uint8_t)c->qualifier;
    hold_command(f, c->now, command, sizeof command);
}

static void reject_request(struct fop *f, const struct cause *c)
{
    give_notice(f, c->data ? FOP_REJECTED : FOP_DIRECTIVE_REJECTED, c->id);
}

static void answer_directive(struct fop *f, const struct cause *c)
{
    give_notice(f, FOP_DIRECTIVE_ACCEPTED, c->id);
    give_notice(f, FOP_DIRECTIVE_CONFIRMED, c->id);
}

static void set_value(struct fop *f, const struct cause *c)
{
    if (c->directive == FOP_SET_WINDOW)
        f->config.window = (uint8_t)c->qualifier;
    else if (c->directive == FOP_SET_TIMER)
        f->config.timer = c->qualifier * TICK_MS;
    else if (c->directive == FOP_SET_LIMIT)
        f->config.limit = (uint8_t)c->qualifier;
    else
        f->config.timeout_type = (uint8_t)c->qualifier;
    answer_directive(f, c);
}

/* While the service is suspended the number stays. */
static void set_number(struct fop *f, const struct cause *c)
{
    if (f->suspend != 0) {
        reject_request(f, c);
        return;
    }
    f->v_s = f->nn_r = (uint8_t)c->qualifier;
    answer_directive(f, c);
}

static void suspend_service(struct fop *f)
{
    f->deadline = TICK_NEVER;
    f->suspend = (unsigned)f->state + 1;
    give_notice(f, FOP_SUSPENDED, 0);
}

static void end_service(struct fop *f, const struct cause *c)
{
    give_notice(f, FOP_DIRECTIVE_ACCEPTED, c->id);
    alert_user(f, FOP_ALERT_TERM);
    give_notice(f, FOP_DIRECTIVE_CONFIRMED, c->id);
}

static void send_expedited(struct fop *f, const struct cause *c)
{
    struct fop_transmission t = {.service = FOP_BD, .id = c->id};
    give_notice(f, FOP_ACCEPTED, c->id);
    put_out(f, &t);
}

static void hold_data(struct fop *f, const struct cause *c)
{
    assert(!f->waiting);
    f->waiting = true;
    f->wait_id = c->id;
}

/* Of CLCWs and the timer. */
static void do_reported(struct fop *f, enum action action, const struct cause *c)
{
    if (action == ACK_STOP_LOOK || action == ACK_LOOK || action == ACK_LIMIT ||
        action == ACK_AGAIN_LOOK || action == ACK)
        remove_acknowledged(f, c->report);
    if (action == ACK_STOP_LOOK || action == READY_STOP)
        f->deadline = TICK_NEVER;
    if (action == ACK_AGAIN_LOOK || action == AGAIN_LOOK || action == AGAIN_BC)
        begin_again(f, c->now);
    if (action == ACK_STOP_LOOK || action == ACK_LOOK || action == ACK_AGAIN_LOOK ||
        action == AGAIN_LOOK)
        look_for_data(f, c->now);
    if (action == AGAIN_BC)
        look_for_command(f, c->now);
    if (action == ACK_LIMIT)
        alert_user(f, FOP_ALERT_LIMIT);
    if (action == READY_STOP) {
        if (f->directed) /* not after a resumption */
            confirm_initiation(f);
        f->bc_held = f->bc_again = false;
    }
}

/* Of data and directives. */
static void do_requested(struct fop *f, enum action action, const struct cause *c)
{
    static const uint8_t unlock[1] = {UNLOCK};
    switch (action) {
    case HOLD_LOOK:
    case HOLD:
        hold_data(f, c);
        if (action == HOLD_LOOK)
            look_for_data(f, c->now);
        break;
    case SEND_BD:
        send_expedited(f, c);
        break;
    case REJECT:
        reject_request(f, c);
        break;
    case START:
        initialise(f, c);
        confirm_initiation(f);
        break;
    case START_CLCW:
        initialise(f, c);
        start_timer(f, c->now);
        break;
    case START_UNLOCK:
        initialise(f, c);
        hold_command(f, c->now, unlock, sizeof unlock);
        break;
    case START_SET_V_R:
        start_by_number(f, c);
        break;
    case TERMINATE:
        end_service(f, c);
        break;
    case RESUME:
        start_timer(f, c->now);
        f->suspend = 0;
        answer_directive(f, c);
        break;
    case CONFIRM:
        answer_directive(f, c);
        break;
    case SET_V_S:
        set_number(f, c);
        break;
    default:
        assert(action == SET_VALUE);
        set_value(f, c);
    }
}

static void do_ready(struct fop *f, enum action action, tick now)
{
    f->ready[action == READY_BD                              ? FOP_BD
             : action == READY_AD || action == READY_AD_LOOK ? FOP_AD
                                                             : FOP_BC] = true;
    if (action == READY_AD_LOOK)
        look_for_data(f, now);
    if (action == READY_BC_LOOK)
        look_for_command(f, now);
}

static void process_event(struct fop *f, enum fop_event event, const struct cause *c)
{
    const struct cell *cell = &table[event][f->state];
    enum action action = (enum action)cell->action;
    assert(f->notice_count == 0);
    if (cell->next == 0) /* not applicable: nothing is outstanding in these states */
        return;
    if (action >= ALERT_LIMIT && action <= ALERT_LLIF)
        alert_user(f, (enum fop_alert)(action - ALERT_LIMIT + FOP_ALERT_LIMIT));
    else if (action == SUSPEND)
        suspend_service(f);
    else if (action <= READY_STOP)
        do_reported(f, action, c);
    else if (action >= READY_AD_LOOK)
        do_ready(f, action, c->now);
    else
        do_requested(f, action, c);
    f->state = (enum fop_state)(cell->next - 1);
    fop_check(f);
}

void fop_send(struct fop *f, tick now, enum fop_service service, uint64_t id)
{
    struct cause c = {.now = now, .id = id, .data = true};
    assert(service == FOP_AD || service == FOP_BD);
    if (service == FOP_AD)
        process_event(f, f->waiting ? FOP_E20 : FOP_E19, &c);
    else
        process_event(f, f->ready[FOP_BD] ? FOP_E21 : FOP_E22, &c);
}

static bool qualifier_fits(enum fop_directive directive, uint32_t qualifier)
{
    switch (directive) {
    case FOP_INITIATE_SET_V_R:
    case FOP_SET_V_S:
        return qualifier < NUMBERS;
    case FOP_SET_WINDOW:
    case FOP_SET_LIMIT:
        return qualifier >= 1 && qualifier < NUMBERS;
    case FOP_SET_TIMER:
        return qualifier >= 1;
    case FOP_SET_TIMEOUT_TYPE:
        return qualifier <= 1;
    default:
        return directive < FOP_DIRECTIVES;
    }
}

static enum fop_event classify_directive(const struct fop *f, const struct cause *c)
{
    static const enum fop_event resume[] = {FOP_E30, FOP_E31, FOP_E32, FOP_E33, FOP_E34};
    if (!qualifier_fits(c->directive, c->qualifier))
        return FOP_E40;
    switch (c->directive) {
    case FOP_INITIATE:
        return FOP_E23;
    case FOP_INITIATE_CLCW:
        return FOP_E24;
    case FOP_INITIATE_UNLOCK:
        return f->ready[FOP_BC] ? FOP_E25 : FOP_E26;
    case FOP_INITIATE_SET_V_R:
        return f->ready[FOP_BC] ? FOP_E27 : FOP_E28;
    case FOP_TERMINATE:
        return FOP_E29;
    case FOP_RESUME:
        assert(f->suspend < sizeof resume / sizeof resume[0]);
        return resume[f->suspend];
    case FOP_SET_V_S:
        return FOP_E35;
    default:
        return (enum fop_event)(FOP_E36 + (c->directive - FOP_SET_WINDOW));
    }
}

void fop_direct(struct fop *f, tick now, enum fop_directive directive, uint32_t qualifier,
                uint64_t id)
{
    static_assert(FOP_E39 - FOP_E36 == FOP_SET_TIMEOUT_TYPE - FOP_SET_WINDOW, "the same order");
    struct cause c = {.now = now, .id = id, .directive = directive, .qualifier = qualifier};
    process_event(f, classify_directive(f, &c), &c);
}

/* Some frames are not acknowledged (5.2, table 5-1). */
static enum fop_event classify_part(const struct fop *f, const struct clcw *c)
{
    bool none = c->report_value == f->nn_r;
    if (!c->retransmit)
        return c->wait ? FOP_E7 : none ? FOP_E5 : FOP_E6;
    if (f->config.limit == 1)
        return none ? FOP_E102 : FOP_E101;
    if (!none)
        return c->wait ? FOP_E9 : FOP_E8;
    if (f->count < f->config.limit)
        return c->wait ? FOP_E11 : FOP_E10;
    return c->wait ? FOP_E103 : FOP_E12;
}

static enum fop_event classify_clcw(const struct fop *f, const struct clcw *c)
{
    uint8_t acknowledged = (uint8_t)(c->report_value - f->nn_r);
    uint8_t outstanding = (uint8_t)(f->v_s - f->nn_r);
    if (c->cop != COP_1)
        return FOP_E15;
    if (c->lockout)
        return FOP_E14;
    if (acknowledged > outstanding)
        return FOP_E13;
    if (acknowledged < outstanding)
        return classify_part(f, c);
    if (c->retransmit)
        return FOP_E4;
    return c->wait ? FOP_E3 : acknowledged == 0 ? FOP_E1 : FOP_E2;
}

void fop_clcw(struct fop *f, tick now, const struct clcw *c)
{
    struct cause cause = {.now = now, .report = c->report_value};
    if (c->vcid == f->config.vcid)
        process_event(f, classify_clcw(f, c), &cause);
}

void fop_response(struct fop *f, tick now, enum fop_service service, bool accepted)
{
    static const enum fop_event events[FOP_SERVICES][2] = {
        {FOP_E42, FOP_E41}, {FOP_E44, FOP_E43}, {FOP_E46, FOP_E45}};
    struct cause c = {.now = now};
    assert(service < FOP_SERVICES && !f->has_out[service]);
    if (!accepted)
        f->ready[service] = true;
    process_event(f, events[service][accepted], &c);
}

tick fop_deadline(const struct fop *f)
{
    return f->deadline;
}

void fop_expire(struct fop *f, tick now)
{
    struct cause c = {.now = now};
    bool last = f->count >= f->config.limit, suspends = f->config.timeout_type == 1;
    if (now < f->deadline)
        return;
    f->deadline = TICK_NEVER;
    process_event(f, last ? suspends ? FOP_E18 : FOP_E17 : suspends ? FOP_E104 : FOP_E16, &c);
}

bool fop_notice(struct fop *f, struct fop_notice *out)
{
    if (f->notice_at == f->notice_count) {
        f->notice_at = f->notice_count = 0;
        return false;
    }
    *out = f->notices[f->notice_at++];
    return true;
}

bool fop_transmit(struct fop *f, struct fop_transmission *out)
{
    for (int s = 0; s < FOP_SERVICES; s++) {
        if (f->has_out[s]) {
            f->has_out[s] = false;
            *out = f->out[s];
            return true;
        }
    }
    return false;
}

/* Tests rely on it with NDEBUG, too. */
#undef NDEBUG
#include <assert.h>

void fop_check(const struct fop *f)
{
    bool suspended = f->suspend != 0;
    assert(f->state < FOP_STATES && f->suspend <= FOP_INITIALISING + 1);
    assert(f->sent_count == (uint8_t)(f->v_s - f->nn_r));
    assert(f->sent_count <= FOP_SENT_MAX && f->count >= 1);
    assert(!suspended || f->state == FOP_INITIAL);
    assert(f->state != FOP_INITIAL || suspended || (f->sent_count == 0 && !f->waiting));
    assert(f->state != FOP_INITIAL || f->deadline == TICK_NEVER);
    assert(!f->bc_held || f->state == FOP_INITIALISING_BC);
    assert(f->state != FOP_INITIALISING_BC || f->bc_held);
    for (int s = 0; s < FOP_SERVICES; s++)
        assert(!f->has_out[s] || !f->ready[s]);
}
