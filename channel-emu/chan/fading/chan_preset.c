/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The named sets of options of chan_gen.h. Where their figures come from: traces/README.md.
 * Nothing can fail.
 */
#include <string.h>

#include "channel-emu/chan/fading/chan_gen.h"

static const struct gen_preset presets[] = {
    {"A", 55, {{"good", "gamma:18.170ms,1.094"}, {"bad", "gamma:0.949ms,2.078"}}},
    {"F",
     37,
     {{"good", "gamma:13.457ms,0.547"},
      {"bad", "0.8596*gamma:1.265ms,1.791+0.1404*gamma:7.503ms,1.757"}}},
    {"H",
     33,
     {{"good", "gamma:13.480ms,1.102"},
      {"bad", "0.8689*weibull:5.105ms,1.221+0.1311*weibull:10.642ms,1.225"}}},
    {"leo-low",
     1,
     {{"scintillation", "gamma-gamma"},
      {"elevation", "0s:10,20s:12.1,40s:14.5,60s:17.3,80s:20.5,100s:24.3"},
      {"aperture", "0.2m"},
      {"coherence", "3ms"},
      {"margin", "6dB"},
      {"fec", "1dB"},
      {"interleaver", "1ms"},
      {"jitter", "0.2"}}},
    {"leo-high",
     1,
     {{"scintillation", "gamma-gamma"},
      {"elevation", "0s:54.9,10s:60.8,20s:67.4,30s:74.5,40s:82.1,50s:90,60s:82.1,70s:74.5,80s:67.4,"
                    "90s:60.8,100s:54.9"},
      {"aperture", "0.2m"},
      {"coherence", "1ms"},
      {"margin", "3dB"},
      {"fec", "1dB"},
      {"interleaver", "1ms"},
      {"jitter", "0.2"}}},
    {"jpl-47km", 1, {{"scintillation", "gamma-gamma"}, {"index", "0.43"}}},
};

const struct gen_preset *gen_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}
