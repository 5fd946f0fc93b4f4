/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups of the kernel's world (os/net/lookup.h), in separate threads. A look-up that hangs does
 * not delay others: each grade has its own queue and threads.
 *
 *   brief ──no answer, late──► patient, at once ──no answer, late──► hung, from the next question
 *   patient, hung ──quick answer──► brief; late answer ──► patient
 *   brief, patient, hung ──an answer that may be cut──► TCP, at once ──► brief
 *
 * A host has one question at a time, for all requests. A question that exceeds its time has failed
 * for all of them, and a new thread replaces its thread.
 */
#ifndef OS_UV_LOOKUP_H
#define OS_UV_LOOKUP_H

#include "os/net/lookup.h"

struct uv_loop_s;
struct uv_lookups;

/* Threads of each grade. */
#define LOOKUP_THREADS_BRIEF 64u
#define LOOKUP_THREADS_PATIENT 8u
#define LOOKUP_THREADS_HUNG 8u
#define LOOKUP_THREADS_TCP 8u
/* Hanging threads of all grades that have been replaced. */
#define LOOKUP_REPLACED_MAX 32u
/* s until a question counts as hanging; until there may be a new one about its host. */
#define LOOKUP_END_BRIEF_S 10
#define LOOKUP_END_PATIENT_S 60
#define LOOKUP_END_TCP_S 30
#define LOOKUP_ANEW_S 600

/* For a loop's thread. resolve: as lookup_resolve, in any of the threads. 0 or HELIO_E*. */
int uv_lookups_open(struct uv_lookups **out, struct uv_loop_s *loop,
                    bool (*resolve)(struct lookup *l, enum lookup_grade grade));
/* No more answers are reported, and threads that wait for the resolver end by themselves. The loop
 * must run once more. NULL is allowed. */
void uv_lookups_close(struct uv_lookups *u);

/* Before the first question, for tests: other times than LOOKUP_END_. */
void uv_lookups_ends(struct uv_lookups *u, const tick times[LOOKUP_GRADES]);

/* As lookup_begin and lookup_forget. */
int uv_lookups_begin(struct uv_lookups *u, struct lookup *l);
void uv_lookups_forget(struct uv_lookups *u, struct lookup *l);

#endif
