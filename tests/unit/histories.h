/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many random histories a test plays. Under sanitizers each takes five to ten times as long, so
 * that a part of them is played there; the release build of the same run plays all.
 */
#ifndef TESTS_UNIT_HISTORIES_H
#define TESTS_UNIT_HISTORIES_H

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HISTORIES_PART 4
#endif
#endif
#if defined __SANITIZE_ADDRESS__ && !defined HISTORIES_PART
#define HISTORIES_PART 4
#endif
#ifndef HISTORIES_PART
#define HISTORIES_PART 1
#endif

#define HISTORIES_OF(n) (((n) + HISTORIES_PART - 1) / HISTORIES_PART)

#endif
