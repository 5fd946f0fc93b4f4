/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a trace: the fields of its file beside the runs (docs/trace-format.md). */
#ifndef CHANNEL_EMU_CHAN_ABOUT_H
#define CHANNEL_EMU_CHAN_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_GENERATOR_MAX 32u
#define TRACE_PARAMETERS_MAX 512u

/* Both texts are one line of printable ASCII with its zero; empty: not known. The generator is one
 * word. */
struct trace_about {
    char generator[TRACE_GENERATOR_MAX];
    char parameters[TRACE_PARAMETERS_MAX];
    bool seeded;
    uint64_t seed;
};

#ifdef __cplusplus
}
#endif

#endif
