/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of cla/link_state.h over virtual time: what is called up was heard. */
#include <string.h>

#include "cla/link_state.h"
#include "tests/unit/suite.h"

#define S(n) ((n)*TICK_S)

/* Open since 100 s, nothing sent, nothing heard. */
static struct link_facts opened(void)
{
    return (struct link_facts){.now = S(100),
                               .open = true,
                               .opened = S(100),
                               .next = TICK_NEVER,
                               .heard = TICK_NEVER,
                               .asked = TICK_NEVER,
                               .rto = 100 * TICK_MS};
}

static void is(struct link_facts f, tick now, enum link_state state, const char *why)
{
    char text[LINK_WHY_MAX];
    f.now = now;
    ck_assert_str_eq(link_state_word(link_state_of(&f)), link_state_word(state));
    ck_assert_str_eq(link_state_why(&f, text), why);
}

START_TEST(patience)
{
    ck_assert_uint_eq(link_patience(0), S(2));
    ck_assert_uint_eq(link_patience(200 * TICK_MS), S(2));
    ck_assert_uint_eq(link_patience(S(1)), S(10));
    ck_assert_uint_eq(link_patience(S(6)), S(60));
    ck_assert_uint_eq(link_patience(S(12)), S(60));
    ck_assert_uint_eq(link_patience(S(40)), S(120));
    ck_assert_uint_eq(link_patience(S(2400)), S(7200));
    ck_assert_uint_eq(link_patience(TICK_NEVER), TICK_NEVER);
    ck_assert_uint_eq(link_patience(TICK_NEVER - 1), TICK_NEVER);
}
END_TEST

/* The peer's segments come; of ours none is confirmed, or only short ones are. */
START_TEST(heard_but_confirms_nothing)
{
    struct link_facts f = opened();
    f.opened = S(50);
    f.heard = S(149);
    f.unconfirmed = S(99);
    is(f, S(100), LINK_STATE_UP, "last heard 0 ms ago");
    is(f, S(150), LINK_STATE_UP,
       "the peer is heard, but has answered none of this node's segments for 51 s: datagrams do "
       "not reach "
       "it (remote, port, NAT), or only short ones do (MTU: lower segment)");
    f.answers_short = true;
    is(f, S(150), LINK_STATE_UP,
       "the peer answers short segments, but has answered no long ones for 51 s: long datagrams do "
       "not reach "
       "it (MTU: lower segment)");
    is(f, S(149 + 61), LINK_STATE_UNHEARD, "last heard 61 s ago; no answer is due");
    f.opened = S(120); /* what was before does not count */
    is(f, S(150), LINK_STATE_UP, "last heard 1 s ago");
    f.opened = S(50);
    f.open = false;
    is(f, S(150), LINK_STATE_DOWN, "");
}
END_TEST

START_TEST(nothing_sent_nothing_heard)
{
    struct link_facts f = opened();
    is(f, S(100), LINK_STATE_UNHEARD, "never heard since it opened 0 ms ago; no answer is due");
    is(f, S(103), LINK_STATE_UNHEARD, "never heard since it opened 3 s ago; no answer is due");
    is(f, S(100 + 7300), LINK_STATE_UNHEARD,
       "never heard since it opened 2.0 h ago; no answer is due");
}
END_TEST

START_TEST(asked_and_never_heard)
{
    struct link_facts f = opened();
    f.asked = S(110);
    is(f, S(111), LINK_STATE_UNHEARD,
       "never heard since it opened 11 s ago; silent if no answer comes within 1 s");
    is(f, S(112), LINK_STATE_UNHEARD,
       "never heard since it opened 12 s ago; silent if no answer comes within 0 ms");
    is(f, S(112) + 1, LINK_STATE_SILENT, "no answer for 2 s; never heard since it opened 12 s ago");
    is(f, S(400), LINK_STATE_SILENT, "no answer for 5 min; never heard since it opened 5 min ago");
}
END_TEST

/* It is there, and this node refuses what it sends. */
START_TEST(refused_here)
{
    struct link_facts f = opened();
    f.refusal = "its key is another one";
    f.refused_at = S(101);
    is(f, S(103), LINK_STATE_UNHEARD,
       "never heard since it opened 3 s ago; no answer is due; datagrams in its name are refused "
       "here: its key is another one");
    f.asked = S(110);
    is(f, S(120), LINK_STATE_SILENT,
       "no answer for 10 s; never heard since it opened 20 s ago; datagrams in its name are "
       "refused here: its key is another one");
    f.heard = S(119); /* since then it was heard */
    f.asked = TICK_NEVER;
    is(f, S(120), LINK_STATE_UP, "last heard 1 s ago");
    f.heard = TICK_NEVER;
    f.refused_at = S(99); /* before the link opened */
    is(f, S(103), LINK_STATE_UNHEARD, "never heard since it opened 3 s ago; no answer is due");
}
END_TEST

START_TEST(heard_and_then_not)
{
    struct link_facts f = opened();
    f.heard = S(110);
    is(f, S(110), LINK_STATE_UP, "last heard 0 ms ago");
    is(f, S(170), LINK_STATE_UP, "last heard 60 s ago");
    is(f, S(170) + 1, LINK_STATE_UNHEARD, "last heard 60 s ago; no answer is due");
    f.asked = S(111);
    is(f, S(113), LINK_STATE_UP, "last heard 3 s ago");
    is(f, S(114), LINK_STATE_SILENT, "no answer for 3 s; last heard 4 s ago");
    f.heard = S(114);
    f.asked = TICK_NEVER;
    is(f, S(114), LINK_STATE_UP, "last heard 0 ms ago");
    f.rto = S(2400); /* an hour of light there and back: an hour without a word says nothing */
    is(f, S(114 + 7200), LINK_STATE_UP, "last heard 2.0 h ago");
}
END_TEST

/* What was heard before it opened is no sign that this contact works; what was asked then may have
 * been answered into the void. */
START_TEST(opens_again)
{
    struct link_facts f = opened();
    f.heard = S(99);
    is(f, S(101), LINK_STATE_UNHEARD, "never heard since it opened 1 s ago; no answer is due");
    f.asked = S(50);
    is(f, S(101), LINK_STATE_UNHEARD,
       "never heard since it opened 1 s ago; silent if no answer comes within 1 s");
    is(f, S(103), LINK_STATE_SILENT, "no answer for 3 s; never heard since it opened 3 s ago");
}
END_TEST

START_TEST(given_up)
{
    struct link_facts f = opened();
    f.given_up = true;
    is(f, S(101), LINK_STATE_SILENT,
       "no answer to the last exchange; never heard since it opened 1 s ago");
    f.session = true; /* of another peer: the failed session has more weight */
    is(f, S(101), LINK_STATE_SILENT,
       "no answer to the last exchange; never heard since it opened 1 s ago");
}
END_TEST

START_TEST(sessions)
{
    struct link_facts f = opened();
    f.session = true;
    f.heard = S(99); /* the handshake, before it opened */
    is(f, S(9000), LINK_STATE_UP, "a session is established");
}
END_TEST

START_TEST(not_open)
{
    struct link_facts f = opened();
    f.open = false;
    f.heard = S(99);
    is(f, S(101), LINK_STATE_DOWN, "");
    f.refused = true;
    is(f, S(101), LINK_STATE_REFUSED, "");
    f.planned = true;
    f.next = S(341);
    is(f, S(101), LINK_STATE_WAITING, "its next contact begins in 4 min");
    f.next = TICK_NEVER;
    is(f, S(101), LINK_STATE_DOWN, "the contact plan has no further contact of this link");
    f.contact = true; /* the plan lets it, and the peer does not */
    is(f, S(101), LINK_STATE_REFUSED, "");
    f.off = true;
    is(f, S(101), LINK_STATE_DOWN, "it is set to down; helioctl link NAME up changes that");
    f.contact = false;
    is(f, S(101), LINK_STATE_DOWN, "it is set to down; helioctl link NAME up changes that");
}
END_TEST

/* All combinations: up only if heard since it opened, or in a session; closed links are never up,
 * unheard or silent, open ones never waiting, down or refused. */
START_TEST(combinations)
{
    static const tick times[] = {S(10), S(99), S(150), S(199), TICK_NEVER};
    for (unsigned k = 0; k < 128; k++)
        for (unsigned h = 0; h < 5; h++)
            for (unsigned a = 0; a < 5; a++) {
                char why[LINK_WHY_MAX];
                struct link_facts f = opened();
                f.now = S(200);
                f.open = k & 1;
                f.off = k & 2;
                f.planned = k & 4;
                f.contact = f.planned && (k & 8);
                f.refused = k & 16;
                f.session = k & 32;
                f.given_up = k & 64;
                f.heard = times[h];
                f.asked = times[a];
                enum link_state s = link_state_of(&f);
                ck_assert_int_eq(s <= LINK_STATE_SILENT, f.open);
                if (s == LINK_STATE_UP)
                    ck_assert(f.session || (f.heard != TICK_NEVER && f.heard >= f.opened));
                if (s == LINK_STATE_UP || s == LINK_STATE_UNHEARD)
                    ck_assert(!f.given_up);
                ck_assert_uint_lt(strlen(link_state_why(&f, why)), LINK_WHY_MAX - 1);
            }
}
END_TEST

SUITE(cla_link_state, t)
{
    tcase_add_test(t, patience);
    tcase_add_test(t, heard_but_confirms_nothing);
    tcase_add_test(t, nothing_sent_nothing_heard);
    tcase_add_test(t, asked_and_never_heard);
    tcase_add_test(t, refused_here);
    tcase_add_test(t, heard_and_then_not);
    tcase_add_test(t, opens_again);
    tcase_add_test(t, given_up);
    tcase_add_test(t, sessions);
    tcase_add_test(t, not_open);
    tcase_add_test(t, combinations);
}
