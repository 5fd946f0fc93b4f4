/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS stream over a stream. Received bytes are in `in` until OpenSSL has read them and its user
 * has room. Written data is encrypted at once into `out`, in whole records, and is written to the
 * lower stream together with earlier output.
 *
 * The steps of the handshake, with their signatures, are done by another thread if the world has
 * some: until a step is done the lower stream is neither read nor written, and its events are
 * processed afterwards. Every event of the lower stream, and the alarm, ends in advance_stream,
 * which does all possible work and calls the user. Calls of the user only leave work for it.
 *
 * What can go wrong: a failed handshake or invalid records (the stream ends, the peer gets an
 * alert, tls_why has the reason); the end of the lower stream; memory.
 */
#include <assert.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/tls/tls_private.h"

static const struct stream_ops tls_stream_ops;

struct tls_stream *tls_stream_of(struct stream *s)
{
    assert(s->ops == &tls_stream_ops);
    return container_of(s, struct tls_stream, base);
}

/* Soon, from the loop. */
static void call_back(struct tls_stream *s)
{
    alarm_set(&s->alarm, 0);
}

/* ---- the end ---- */

static void end_stream(struct tls_stream *s, int error)
{
    if (s->state == TLS_OVER)
        return;
    s->state = TLS_OVER;
    s->error = error;
}

/* OpenSSL 3.0 has no name for those of TLS 1.3, but its reason has. */
static const char *alert_text(int alert, const char *reason)
{
    const char *text = SSL_alert_desc_string_long(alert);
    return strcmp(text, "unknown") == 0 && reason != NULL ? reason : text;
}

/* The cause of a failure, if known. */
static void note_failure(struct tls_stream *s)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (s->why[0] != '\0')
        return;
    if (s->alert >= 0)
        snprintf(s->why, sizeof s->why, "the peer refuses: %s", alert_text(s->alert, reason));
    else if (s->verify && s->unverified != NULL)
        snprintf(s->why, sizeof s->why, "the peer's certificate: %s%s%.100s", s->unverified,
                 s->untrusted ? "; the trusted certificates are in " : "",
                 s->untrusted ? s->tls->paths[TLS_CA] : "");
    else
        snprintf(s->why, sizeof s->why, "%s", reason != NULL ? reason : "not TLS");
}

static void fail_stream(struct tls_stream *s)
{
    note_failure(s);
    end_stream(s, HELIO_EFORMAT);
}

/* The lower stream has ended; everything before was read. */
static void end_below(struct tls_stream *s)
{
    bool shaking = s->state == TLS_SHAKING;
    s->cut = true;
    if (shaking && s->below_error == 0)
        snprintf(s->why, sizeof s->why, "the peer ended the connection in the handshake");
    end_stream(s, shaking && s->below_error == 0 ? HELIO_EFORMAT : s->below_error);
}

/* Evaluates an OpenSSL call that did not succeed. True: it continues when more arrives. */
static bool goes_on(struct tls_stream *s, int error)
{
    if (error == SSL_ERROR_WANT_READ) {
        if (s->below_over)
            end_below(s);
        return s->state != TLS_OVER;
    }
    if (error == SSL_ERROR_ZERO_RETURN)
        end_stream(s, 0);
    else
        fail_stream(s);
    return false;
}

/* ---- below ---- */

static void flush_out(struct tls_stream *s)
{
    if (s->working)
        return;
    size_t len = s->out_tail - s->out_head;
    if (len == 0 || s->below_full || s->below_over)
        return;
    struct slice all = slice_of(s->out + s->out_head, len);
    size_t got = stream_write(s->lower, &all, 1);
    assert(got <= len);
    s->below_full = got < len;
    s->out_head += got;
    if (s->out_head == s->out_tail)
        s->out_head = s->out_tail = 0;
}

/* Is there unread input? */
static bool has_input(const struct tls_stream *s)
{
    return s->in_head < s->in_tail || SSL_pending(s->ssl) > 0;
}

static void watch_below(struct tls_stream *s)
{
    bool wanted = s->state == TLS_SHAKING || (s->state == TLS_OPEN && s->reading);
    bool on = wanted && !s->working && !s->below_over && s->in_tail < TLS_IN &&
              s->out_tail <= TLS_OUT_PAUSE;
    if (on == s->below_reading)
        return;
    s->below_reading = on;
    stream_read(s->lower, on);
}

/* ---- the handshake ---- */

static struct tls_stream *stream_of_step(struct work *w)
{
    return container_of(w, struct tls_stream, step);
}

/* In any thread: OpenSSL's errors are those of the thread that called it. */
static void run_step(struct work *w)
{
    struct tls_stream *s = stream_of_step(w);
    ERR_clear_error();
    s->shaken = SSL_do_handshake(s->ssl);
    s->shaken_error = s->shaken == 1 ? SSL_ERROR_NONE : SSL_get_error(s->ssl, s->shaken);
    if (s->shaken != 1 && s->shaken_error != SSL_ERROR_WANT_READ)
        note_failure(s);
}

static void end_step(struct tls_stream *s)
{
    if (s->shaken != 1) {
        (void)goes_on(s, s->shaken_error);
        return;
    }
    if (!tls_look_at_peer(s)) {
        end_stream(s, s->why[0] != '\0' ? HELIO_EFORMAT : HELIO_ENOMEM);
        return;
    }
    assert(!s->verify || s->unverified == NULL);
    s->state = TLS_OPEN;
}

static void free_stream(struct tls_stream *s);
static void advance_stream(struct tls_stream *s);

static void on_step_done(struct work *w)
{
    struct tls_stream *s = stream_of_step(w);
    assert(s->working && !s->busy);
    s->working = false;
    if (s->closed) {
        free_stream(s);
        return;
    }
    end_step(s);
    advance_stream(s);
}

/* True: the step is another thread's now. */
static bool shake_hands(struct tls_stream *s)
{
    if (s->begun && s->in_head == s->in_tail) { /* the peer's turn */
        if (s->below_over)
            end_below(s);
        return false;
    }
    s->begun = true;
    s->shaken = -1;
    s->shaken_error = SSL_ERROR_SSL; /* unless it is done */
    s->working = true;
    if (world_work(s->world, &s->step))
        return true;
    s->working = false;
    run_step(&s->step);
    end_step(s);
    return false;
}

/* ---- to the user ---- */

/* Reads one piece; false: there is no more at present. */
static bool read_piece(struct tls_stream *s)
{
    size_t room = 0, got = 0;
    uint8_t *at = s->base.user->space(s->base.context, &room);
    if (s->closed)
        return false;
    if (at == NULL) {
        end_stream(s, HELIO_ENOMEM);
        return false;
    }
    assert(room > 0);
    ERR_clear_error();
    int r = SSL_read_ex(s->ssl, at, room, &got);
    if (r != 1) {
        (void)goes_on(s, SSL_get_error(s->ssl, r));
        return false;
    }
    s->base.user->fed(s->base.context, got);
    return !s->closed;
}

/* No more than the buffer holds: then others have their turn. */
static void read_on(struct tls_stream *s)
{
    while (s->state == TLS_OPEN && s->reading && (s->out_tail <= TLS_OUT_PAUSE || s->below_over))
        if (!read_piece(s))
            break;
}

static void tell_writable(struct tls_stream *s)
{
    bool first = !s->announced;
    if (s->state != TLS_OPEN || (!first && (!s->full || s->out_tail > 0)))
        return;
    s->announced = true;
    s->full = false;
    s->base.user->writable(s->base.context);
}

/* Like any stream: an end without error is reported to a user that reads or waits for room. */
static void tell_end(struct tls_stream *s)
{
    if (s->state == TLS_OPEN && s->below_over && (s->below_error != 0 || s->full))
        end_below(s);
    bool heard = s->reading || s->full || s->error != 0 || !s->announced;
    if (s->state != TLS_OVER || s->told || !heard)
        return;
    s->told = true;
    s->base.user->ended(s->base.context, s->error);
}

static void free_stream(struct tls_stream *s)
{
    tls_forget_peer(s);
    SSL_free(s->ssl);
    tls_free(s->tls);
    free(s);
}

static void advance_stream(struct tls_stream *s)
{
    assert(!s->busy && !s->closed);
    if (s->working)
        return; /* on_step_done looks at it */
    if (s->state == TLS_SHAKING && shake_hands(s)) {
        watch_below(s);
        return;
    }
    s->busy = true;
    flush_out(s);
    tell_writable(s);
    if (!s->closed)
        read_on(s);
    if (!s->closed) {
        flush_out(s);
        tell_end(s);
    }
    s->busy = false;
    if (s->closed)
        free_stream(s);
    else
        watch_below(s);
}

static void on_alarm(void *context)
{
    advance_stream(context);
}

/* ---- events of the lower stream ---- */

static uint8_t *space_below(void *context, size_t *len)
{
    struct tls_stream *s = context;
    assert(!s->working);
    if (s->in_head > 0 && TLS_IN - s->in_tail < TLS_IN / 4) {
        memmove(s->in, s->in + s->in_head, s->in_tail - s->in_head);
        s->in_tail -= s->in_head;
        s->in_head = 0;
    }
    *len = TLS_IN - s->in_tail;
    if (s->state == TLS_SHAKING && *len > TLS_HELLO_MAX)
        *len = TLS_HELLO_MAX; /* an unknown peer's connection touches no more of the buffer */
    assert(*len > 0);
    return s->in + s->in_tail;
}

/* OpenSSL keeps a ClientHello until it is whole, of up to 128 KiB; an honest one has some 2 KiB. */
static void count_hello(struct tls_stream *s, size_t len)
{
    if (s->state != TLS_SHAKING || s->answered || SSL_is_server(s->ssl) == 0)
        return;
    s->hello += len;
    if (s->hello <= TLS_HELLO_MAX)
        return;
    snprintf(s->why, sizeof s->why, "the ClientHello is longer than %u octets", TLS_HELLO_MAX);
    end_stream(s, HELIO_EFORMAT);
}

static void fed_below(void *context, size_t len)
{
    struct tls_stream *s = context;
    assert(len <= TLS_IN - s->in_tail);
    s->in_tail += len;
    count_hello(s, len);
    advance_stream(s);
}

static void writable_below(void *context)
{
    struct tls_stream *s = context;
    s->below_full = false;
    advance_stream(s);
}

static void ended_below(void *context, int error)
{
    struct tls_stream *s = context;
    s->below_over = true;
    s->below_error = error;
    advance_stream(s);
}

static const struct stream_user below = {space_below, fed_below, writable_below, ended_below};

/* ---- writing ---- */

/* Iterates over the parts of a write. */
struct walk {
    const struct slice *parts;
    size_t len, at, off; /* of parts; in the one at `at` */
    size_t left;         /* bytes in all */
};

/* The next bytes as one piece of at most one record: in place, or copied to `record`. */
static struct slice next_piece(struct tls_stream *s, struct walk *w)
{
    size_t want = w->left < TLS_RECORD ? w->left : TLS_RECORD, have = 0;
    while (have < want) {
        const struct slice *part = &w->parts[w->at];
        size_t there = part->len - w->off, take = there < want - have ? there : want - have;
        const uint8_t *from = part->data + w->off;
        w->off += take;
        if (w->off == part->len) {
            w->at++;
            w->off = 0;
        }
        w->left -= take;
        if (take == want)
            return slice_of(from, take);
        if (take > 0)
            memcpy(s->record + have, from, take);
        have += take;
    }
    return slice_of(s->record, want);
}

/* RFC 8446 §5.5: a key may encrypt so much. TLS 1.2 has no such change, and OpenSSL does none by
 * itself.
 */
static bool change_keys(struct tls_stream *s, size_t len)
{
    s->since += len;
    if (s->since <= s->rekey || SSL_version(s->ssl) != TLS1_3_VERSION)
        return true;
    s->since = len;
    return SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
}

static bool seal_piece(struct tls_stream *s, struct slice piece)
{
    size_t put = 0;
    ERR_clear_error();
    if (!change_keys(s, piece.len) || SSL_write_ex(s->ssl, piece.data, piece.len, &put) != 1) {
        fail_stream(s);
        call_back(s);
        return false;
    }
    assert(put == piece.len);
    return true;
}

static size_t write_tls(struct stream *base, const struct slice *parts, size_t n)
{
    struct tls_stream *s = tls_stream_of(base);
    struct walk w = {.parts = parts, .len = n};
    size_t got = 0;
    assert(!s->closed && n <= STREAM_PARTS_MAX);
    for (size_t i = 0; i < n; i++)
        w.left += parts[i].len;
    if (w.left == 0)
        return 0;
    while (s->state == TLS_OPEN && s->announced && !s->full && w.left > 0) {
        if (s->out_tail >= TLS_OUT)
            flush_out(s);
        if (s->out_tail >= TLS_OUT)
            break;
        struct slice piece = next_piece(s, &w);
        if (!seal_piece(s, piece))
            return got;
        got += piece.len;
    }
    flush_out(s);
    s->full = w.left > 0;
    if (s->full && s->below_over)
        call_back(s);
    return got;
}

/* ---- the table ---- */

static void read_tls(struct stream *base, bool on)
{
    struct tls_stream *s = tls_stream_of(base);
    assert(!s->closed);
    s->reading = on;
    if (s->busy || s->working)
        return; /* advance_stream processes it after the call, or at the alarm: */
    if (on && (has_input(s) || s->below_over || s->state == TLS_OVER))
        call_back(s);
    watch_below(s);
}

static void grow_buffers(struct stream *base, uint32_t bytes)
{
    stream_buffers(tls_stream_of(base)->lower, bytes);
}

static int choose_congestion(struct stream *base, const char *name)
{
    return stream_congestion(tls_stream_of(base)->lower, name);
}

static uint64_t count_unheard(const struct stream *base)
{
    const struct tls_stream *s = tls_stream_of((struct stream *)(uintptr_t)base);
    return stream_unheard(s->lower) + (s->working ? 0 : s->out_tail - s->out_head);
}

static bool find_peer(const struct stream *base, struct address *out)
{
    const struct tls_stream *s = tls_stream_of((struct stream *)(uintptr_t)base);
    return stream_peer(s->lower, out);
}

static void close_tls(struct stream *base)
{
    struct tls_stream *s = tls_stream_of(base);
    assert(!s->closed);
    s->closed = true;
    if (s->state == TLS_OPEN) {
        ERR_clear_error();
        (void)SSL_shutdown(s->ssl); /* close_notify; the peer's is not waited for */
    }
    flush_out(s);
    stream_close(s->lower);
    alarm_fini(&s->alarm);
    if (s->working && world_take_back(s->world, &s->step))
        s->working = false;
    if (!s->busy && !s->working)
        free_stream(s);
}

static const struct stream_ops tls_stream_ops = {
    .read = read_tls,
    .write = write_tls,
    .buffers = grow_buffers,
    .congestion = choose_congestion,
    .unheard = count_unheard,
    .peer = find_peer,
    .close = close_tls,
};

/* ---- a new one ---- */

static void note_alert(const SSL *ssl, int where, int value)
{
    struct tls_stream *s = SSL_get_app_data(ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && value >> 8 == SSL3_AL_FATAL)
        s->alert = value;
}

/* 0: there is no clock, and no certificate is too old. */
static void set_time(SSL *ssl, const struct world *w)
{
    uint64_t wall = world_wall(w);
    if (wall == 0)
        (void)X509_VERIFY_PARAM_set_flags(SSL_get0_param(ssl), X509_V_FLAG_NO_CHECK_TIME);
    else
        X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), (time_t)(wall / TICK_S));
}

static bool begin_ssl(struct tls_stream *s, struct world *w, const struct tls_setup *setup)
{
    s->ssl = SSL_new(s->tls->context);
    BIO *bio = s->ssl == NULL ? NULL : BIO_new(s->tls->method);
    if (bio == NULL)
        return false;
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    if (SSL_set_app_data(s->ssl, s) != 1)
        return false;
    int mode = SSL_VERIFY_PEER | (setup->verify ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    SSL_set_verify(s->ssl, mode, tls_verify);
    SSL_set_info_callback(s->ssl, note_alert);
    set_time(s->ssl, w);
    if (setup->server)
        SSL_set_accept_state(s->ssl);
    else
        SSL_set_connect_state(s->ssl);
    return setup->server || setup->host == NULL ||
           SSL_set_tlsext_host_name(s->ssl, setup->host) == 1;
}

/* The peer's, so that none gets more of the threads than another; zeros: not known. */
static void set_host(struct tls_stream *s)
{
    struct address at;
    uint8_t key[ADDRESS_KEY_MAX];
    s->step.run = run_step;
    s->step.done = on_step_done;
    if (stream_peer(s->lower, &at) && address_key(&at, key).len >= ADDRESS_KEY_HOST)
        memcpy(s->step.host, key, ADDRESS_KEY_HOST);
}

int tls_stream(struct stream **out, struct tls *t, struct world *w, struct stream *lower,
               const struct tls_setup *setup)
{
    if ((setup->server && t->paths[TLS_CERTIFICATE] == NULL) ||
        (setup->verify && t->paths[TLS_CA] == NULL) || setup->early.len > TLS_IN)
        return HELIO_EINVAL;
    struct tls_stream *s = malloc(sizeof *s); /* its buffers need not be zero */
    if (s == NULL)
        return HELIO_ENOMEM;
    memset(s, 0, offsetof(struct tls_stream, in));
    s->base.ops = &tls_stream_ops;
    s->tls = t;
    tls_keep(t);
    s->alert = -1;
    s->verify = setup->verify;
    s->any_purpose = setup->any_purpose;
    s->nodes_issue = setup->nodes_issue;
    s->rekey = setup->rekey_bytes == 0 ? TLS_REKEY_BYTES : setup->rekey_bytes;
    if (!begin_ssl(s, w, setup)) {
        free_stream(s);
        ERR_clear_error();
        return HELIO_ENOMEM;
    }
    s->in_tail = s->hello = setup->early.len;
    if (s->in_tail > 0)
        memcpy(s->in, setup->early.data, s->in_tail);
    s->lower = lower;
    s->world = w;
    set_host(s);
    stream_use(lower, &below, s);
    stream_read(lower, false); /* as below_reading has it */
    alarm_init(&s->alarm, w, ALARM_STREAM, on_alarm, s);
    call_back(s);
    *out = &s->base;
    return 0;
}
