/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that requires authentication and a cookie, under
 * datagrams that nobody authenticated: whatever they are, nothing changes. The first byte chooses
 * what the ciphersuite thinks of the rest: only its word lets a segment in.
 */
#include <assert.h>

#include "ltp/ltp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool sign(void *context, struct slice covered, uint8_t *value)
{
    (void)context;
    memset(value, (int)covered.len, 10);
    return true;
}

static bool verify(void *context, struct slice covered, struct slice value)
{
    assert(covered.data + covered.len == value.data && value.len > 0);
    return *(const bool *)context;
}

static struct ltp *engine_new(const struct ltp_auth *auth)
{
    struct ltp *l = NULL;
    struct ltp_config config = {.engine = 2, .seed = 5};
    struct ltp_span span = {.peer = 1,
                            .segment_max = 300,
                            .rto = TICK_S,
                            .auth = auth,
                            .auth_mode = LTP_AUTH_REQUIRE,
                            .cookie = {7},
                            .cookie_len = 1};
    if (ltp_new(&l, &config) < 0 || ltp_span_set(l, &span, 0) < 0) {
        ltp_free(l);
        return NULL;
    }
    ltp_link(l, 1, true, 0);
    return l;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool opinion = len > 0 && (data[0] & 1) != 0;
    struct ltp_auth auth = {.value_len = 10, .context = &opinion, .sign = sign, .verify = verify};
    struct ltp *l = len == 0 ? NULL : engine_new(&auth);
    if (l == NULL)
        return 0;
    uint64_t idle_before = ltp_idle(l);
    enum verdict v = ltp_input(l, data + 1, len - 1, 1);
    if (!opinion) {
        assert(v != VERDICT_OK && v != VERDICT_DUPLICATE);
        assert(ltp_idle(l) == idle_before && ltp_deadline(l) == TICK_NEVER);
        assert(!ltp_has_output(l, 1));
    }
    ltp_check(l);
    ltp_free(l);
    return 0;
}
