# SPDX-License-Identifier: Apache-2.0
"""The parts of docs/figures/optical.py: what helio-trace and a scenario's channel draw beside closed forms; the greatest error of each."""
import math

import optical
from rows import Row, check

# as e2e_optical_figures has them
BOUNDS = {"bias": (0.02, 0), "uplink": (0.01, 0), "extinction": (0, 0.001), "scales": (0, 0.015), "table": (0.02, 0.0177), "sites": (0.05, 0.0005),
          "coherence": (0.13, 0), "clouds": (0.06, 0.004), "interleaver": (0, 0.0003), "jitter": (0, 0.015)}
STEADY = ("extinction", "interleaver")  # nothing is drawn
CLAIMS = {"bias": "Pointing bias: mean power", "uplink": "Uplink's beam wander: mean power", "extinction": "Extinction and range, dB",
          "scales": "Two time scales: autocorrelation", "table": "Table of error rates: loss of frames", "sites": "Site diversity: time without a clear sky",
          "coherence": "Coherence time as drawn", "clouds": "Clouds by elevation: share of the time", "interleaver": "Interleaver: loss of frames",
          "jitter": "Jitter that remembers: autocorrelation"}


def flat(x):
    return [v for y in x.values() for v in flat(y)] if isinstance(x, dict) else [v for y in x for v in flat(y)] if isinstance(x, list) else [x]


@check("Models of the figure", fast=False)
def parts(bin_dir):
    for name, (relative, absolute) in BOUNDS.items():
        numbers = optical.PARTS[name](bin_dir)
        drawn, closed = (flat(numbers[key + ("_db" if "drawn_db" in numbers else "")]) for key in ("drawn", "closed"))
        worst = max(zip(drawn, closed), key=lambda pair: abs(pair[0] - pair[1]) - relative * abs(pair[1]) - absolute)
        yield Row(f"{CLAIMS[name]}, the worst of {len(drawn)} points", "docs/figures/optical.py", worst[1], worst[0],
                  relative * abs(worst[1]) + absolute, relative=False, deviation=0.0 if name in STEADY else math.nan)
    spectra = optical.PARTS["spectra"](bin_dir)
    for kind, slope in spectra["wanted"].items():
        yield Row(f"Slope of the spectrum `{kind}`", "Tatarskii 1971; Clifford 1971", slope, spectra["slope"][kind], 0.25, relative=False, deviation=math.nan)
