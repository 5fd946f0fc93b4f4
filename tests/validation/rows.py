# SPDX-License-Identifier: Apache-2.0
"""What the checks have in common: a row of the page, and the programs that are run."""
import dataclasses
import math
import os
import subprocess
import tempfile

import _paths  # noqa: F401

RUN_LIMIT_S = 1800
DEVIATIONS = 4  # standard errors: the bound of a figure that is drawn


@dataclasses.dataclass
class Row:
    """A figure beside the one it should be. The bound is of the error: relative (a share) or absolute (in the figure's unit). So is the standard error; 0: none, not a number: not known.
    `times`: the bound is so many standard errors; 0: it is fixed. `least`: the figure should be from there to `want`, and the error is its distance from that interval."""
    claim: str
    against: str
    want: float
    found: float
    bound: float
    relative: bool = True
    unit: str = ""
    deviation: float = 0.0
    times: float = 0.0
    least: float | None = None

    @property
    def error(self):
        if self.least is not None:
            return max(self.least - self.found, self.found - self.want, 0)
        return abs(self.found - self.want) / (abs(self.want) if self.relative else 1)

    @property
    def holds(self):
        return self.error <= self.bound  # not of a number: no

    def cells(self):
        unit = f" {self.unit}" if self.unit else ""

        def size(x):
            return f"{100 * x:.2g} %" if self.relative else f"{x:.2g}{unit}"
        spread = "–" if math.isnan(self.deviation) else size(self.deviation) if self.deviation > 1e-9 * self.bound else "none"
        error = size(self.error) if self.error > self.bound / 100 else f"< {size(self.bound / 100)}" if self.bound > 0 else "0"
        want = f"{self.want:.5g}{unit}" if self.least is None else f"{self.least:.5g} to {self.want:.5g}{unit}"
        bound = f"{size(self.bound)}, {f'{self.times:g} s.e.' if self.times else 'fixed'}"
        return [self.claim, self.against, want, f"{self.found:.5g}{unit}", error, spread, bound]


def check(part, fast=True):
    """Of a function that takes the folder of the programs and gives rows."""
    def mark(f):
        f.part, f.fast = part, fast
        return f
    return mark


def run(bin_dir, program, *arguments, text=""):
    done = subprocess.run([os.path.join(bin_dir, program), *arguments], input=text, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def powers(bin_dir, *options):
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.csv")
        run(bin_dir, "helio-trace", "gen", *options, "--power", path, "-o", os.path.join(folder, "t.htr"))
        return np.loadtxt(path, skiprows=2)


def runs_of(bin_dir, *options):
    """(bad, steps) of each run of a trace that is made so."""
    lines = run(bin_dir, "helio-trace", "gen", *options, "-o", "-").splitlines()
    return [(line[0] == "1", int(line.split()[1])) for line in lines if line and line[0] in "01"]


def play(bin_dir, scenario, frames):
    """[number, what, time, ECN field] of each frame through a scenario's forward channel."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(scenario)
        f.flush()
        said = run(bin_dir, "chan_play", f.name, text="".join(f"{t} {n} {e}\n" for t, n, e in frames))
    return sorted((int(a), b, int(c), int(d)) for a, b, c, d in (line.split() for line in said.splitlines()))


def blocks_error(values, n=50):
    """Standard error of the mean of numbers that depend on their neighbours: by the means of n blocks."""
    import numpy as np
    means = np.array([b.mean() for b in np.array_split(np.asarray(values, dtype=float), n)])
    return float(means.std(ddof=1) / n ** 0.5)


def ratio_error(above, below, n=50):
    """Standard error of the ratio of two sums, as a share of it: by leaving out one of n blocks at a time (jackknife)."""
    import numpy as np
    a, b = (np.array([part.sum() for part in np.array_split(np.asarray(values, dtype=float), n)]) for values in (above, below))
    without = (a.sum() - a) / (b.sum() - b)
    return float(((n - 1) / n * ((without - without.mean()) ** 2).sum()) ** 0.5 * b.sum() / a.sum())


def drawn(claim, against, want, found, error, relative=False, unit=""):
    """A figure that is drawn, within four of its standard errors."""
    return Row(claim, against, want, found, DEVIATIONS * error, relative, unit, error, DEVIATIONS)


def moment(claim, against, want, sample):
    """The mean of a sample that is drawn."""
    import numpy as np
    return drawn(claim, against, want, float(np.mean(sample)), blocks_error(sample))


def proportion(claim, against, p, found, n):
    """A share of n independent draws."""
    return drawn(claim, against, p, found, (p * (1 - p) / n) ** 0.5)
