/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream's two buffers as OpenSSL's source and sink. Reading returns the received bytes, and
 * "retry" when there are no more. Writing accepts everything: the caller ensures that there is
 * room.
 */
#include <assert.h>
#include <string.h>

#include "os/tls/tls_private.h"

static int read_in(BIO *b, char *to, size_t len, size_t *got)
{
    struct tls_stream *s = BIO_get_data(b);
    size_t there = s->in_tail - s->in_head;
    assert(s->in_head <= s->in_tail && s->in_tail <= TLS_IN);
    BIO_clear_retry_flags(b);
    *got = len < there ? len : there;
    if (*got == 0) {
        BIO_set_retry_read(b);
        return 0;
    }
    memcpy(to, s->in + s->in_head, *got);
    s->in_head += *got;
    if (s->in_head == s->in_tail)
        s->in_head = s->in_tail = 0;
    return 1;
}

static int write_out(BIO *b, const char *from, size_t len, size_t *put)
{
    struct tls_stream *s = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    *put = 0;
    if (len > TLS_OUT_ROOM - s->out_tail)
        return 0; /* then the stream ends: a limit that nothing should reach */
    memcpy(s->out + s->out_tail, from, len);
    s->out_tail += len;
    s->answered = true;
    *put = len;
    return 1;
}

static long control(BIO *b, int what, long number, void *at)
{
    (void)b;
    (void)number;
    (void)at;
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *tls_method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream");
    if (m != NULL && BIO_meth_set_read_ex(m, read_in) == 1 &&
        BIO_meth_set_write_ex(m, write_out) == 1 && BIO_meth_set_ctrl(m, control) == 1)
        return m;
    BIO_meth_free(m);
    return NULL;
}
