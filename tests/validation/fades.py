# SPDX-License-Identifier: Apache-2.0
"""Powers and traces that helio-trace draws, against the moments and crossing rates of their laws."""
import math
import os
import tempfile
from statistics import NormalDist

import numpy as np
from rows import Row, blocks_error, check, drawn, moment, powers, ratio_error, run, runs_of

NORMAL = NormalDist()
DECAY = 2.90449  # (1 + x + x²/3) e^(−x) is 1/e there


@check("Fades")
def lognormal(bin_dir):
    index = 0.3
    p = powers(bin_dir, "--scintillation", "lognormal", "--index", str(index), "--coherence", "1ms", "-n", "1000000", "-s", "3")
    spread = math.log1p(index)
    yield moment("Lognormal, index 0.3: mean power", "1", 1, p)
    yield moment("… scintillation index", "as asked for", index, (p - 1) ** 2)
    yield moment("… third moment", "(1 + index)³", (1 + index) ** 3, p**3)
    yield moment("… mean of the logarithm", "−ln(1 + index) / 2", -spread / 2, np.log(p))
    yield moment("… variance of the logarithm", "ln(1 + index)", spread, (np.log(p) + spread / 2) ** 2)


def shapes(index):
    """Alpha and beta of Al-Habash et al. for a scintillation index, by bisection of the Rytov variance."""
    low, high = 1e-4, 8.0
    for _ in range(100):
        s = (low + high) / 2
        a = 1 / math.expm1(0.49 * s / (1 + 1.11 * s**1.2) ** (7 / 6))
        b = 1 / math.expm1(0.51 * s / (1 + 0.69 * s**1.2) ** (5 / 6))
        low, high = (s, high) if 1 / a + 1 / b + 1 / a / b < index else (low, s)
    return a, b


@check("Fades")
def gamma_gamma(bin_dir):
    index = 0.8
    a, b = shapes(index)
    p = powers(bin_dir, "--scintillation", "gamma-gamma", "--index", str(index), "--coherence", "1ms", "-n", "1000000", "-s", "3")
    yield moment("Gamma-gamma, index 0.8: mean power", "1", 1, p)
    yield moment("… scintillation index", "1/α + 1/β + 1/(αβ)", index, (p - 1) ** 2)
    third = (1 + 1 / a) * (1 + 2 / a) * (1 + 1 / b) * (1 + 2 / b)
    yield moment("… third moment", "Γ(α+3) Γ(β+3) / (Γ(α) Γ(β) (αβ)³)", third, p**3)
    yield moment("… mean of 1 / √power", "Γ(α−½) Γ(β−½) √(αβ) / (Γ(α) Γ(β))", math.exp(math.lgamma(a - .5) + math.lgamma(b - .5) - math.lgamma(a) - math.lgamma(b))
                 * math.sqrt(a * b), p**-0.5)
    rng = np.random.default_rng(1)
    share = (rng.gamma(a, 1 / a, 4_000_000) * rng.gamma(b, 1 / b, 4_000_000) < 0.3).mean()
    below = p < 0.3
    yield drawn("… share of the time below 0.3 of the mean", "products of 4 million pairs of numpy's gamma numbers", float(share), float(below.mean()),
                math.hypot(blocks_error(below), math.sqrt(share / 4e6)))


@check("Fades")
def measured(bin_dir):
    p = powers(bin_dir, "--preset", "jpl-47km", "--coherence", "1ms", "-n", "1000000", "-s", "3")
    yield moment("Preset `jpl-47km`: scintillation index", "the input of its generator, 0.43 (measured: 0.43 ± 0.22, Biswas et al. 2000)", 0.43, (p - 1) ** 2)


def states_of(runs):
    """1 for each bad step."""
    return np.repeat([float(bad) for bad, _ in runs], [n for _, n in runs])


def from_mean(bin_dir, power, margin):
    """The steps of powers whose mean is so many dB above the receiver's need."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.csv")
        np.savetxt(path, power, fmt="%.9g")
        lines = run(bin_dir, "helio-trace", "from-power", path, "--mean-margin", f"{margin:g}dB", "-o", "-").splitlines()
    return states_of([(line[0] == "1", int(line.split()[1])) for line in lines if line and line[0] in "01"])


def crossings(p, level):
    return (p[:-1] >= level) & (p[1:] < level)


@check("Fades")
def rice(bin_dir):
    """Three equal poles: ρ = 1 − x²/6 + …, x = 2.904 t / coherence."""
    index, coherence, step, seeds = 0.3, 10e-3, 0.1e-3, (5, 6, 7)
    drawn_powers = [powers(bin_dir, "--scintillation", "lognormal", "--index", str(index), "--coherence", "10ms", "--step", "0.1ms", "-n", "2000000", "-s", str(seed))
                    for seed in seeds]
    sigma = math.sqrt(math.log1p(index))
    zero = DECAY / coherence / math.sqrt(3) / (2 * math.pi)  # crossings of the median a second
    for db in (0, -3, -5):
        u = (db * math.log(10) / 10 + sigma**2 / 2) / sigma
        down = np.concatenate([crossings(p, 10 ** (db / 10)) for p in drawn_powers])
        yield drawn(f"Lognormal, index 0.3, coherence 10 ms, {len(seeds)} seeds: fades below {db} dB a second", "Rice's formula", zero * math.exp(-u * u / 2), float(down.mean()) / step,
                    blocks_error(down) / step, unit="/s")
        share = NORMAL.cdf(u)
        duration = share / (zero * math.exp(-u * u / 2))
        below = np.concatenate([p[1:] < 10 ** (db / 10) for p in drawn_powers])
        got = float(below.mean()) / float(down.mean()) * step
        yield drawn(f"… their mean duration below {db} dB", "share of the time / Rice's formula", 1e3 * duration, 1e3 * got, ratio_error(below, down), relative=True, unit="ms")


def density(f, corner, end):
    """Scintillation behind a point receiver (Tatarskii 1971): flat, then f^(−8/3), up to the inner scale."""
    return (1 + (f / corner) ** 2) ** (-4 / 3) * np.exp(-((f / end) ** 2))


def crossings_of_a_point(coherence, inner):
    """Of the median, a second: by the second moment of the spectrum whose corner makes the correlation 1/e at the coherence time."""
    end = 5.92 / inner / (2 * math.pi)
    f = np.geomspace(1e-5 / coherence, 8 * end, 200_000)
    width = np.gradient(f)
    low, high = 0.01 / coherence, 10 / coherence
    for _ in range(40):
        corner = math.sqrt(low * high)
        s = density(f, corner, end) * width
        low, high = (corner, high) if (s * np.cos(2 * np.pi * f * coherence)).sum() / s.sum() > 1 / math.e else (low, corner)
    return math.sqrt((s * f**2).sum() / s.sum())


@check("Fades")
def rice_of_a_point(bin_dir):
    seeds, step = (5, 6, 7, 8), 0.1e-3
    for coherence, inner, steps in ((100, 2, 2_000_000), (30, 1, 1_000_000)):
        options = ("--scintillation", "lognormal", "--index", "0.3", "--coherence", f"{coherence}ms", "--spectrum", "point", "--inner", f"{inner}ms", "--step", "0.1ms",
                   "-n", str(steps))
        down = np.concatenate([crossings(powers(bin_dir, *options, "-s", str(seed)), 1 / math.sqrt(1.3)) for seed in seeds])
        yield drawn(f"Spectrum `point`, coherence {coherence} ms, inner scale {inner} ms, {len(seeds)} seeds: crossings of the median a second",
                    "Rice's formula, integral of Tatarskii's spectrum", crossings_of_a_point(coherence / 1e3, inner / 1e3), float(down.mean()) / step,
                    blocks_error(down, 100) / step, unit="/s")


@check("Fades")
def pointing(bin_dir):
    j = 0.35
    p = powers(bin_dir, "--jitter", str(j), "--jitter-coherence", "1ms", "-n", "1000000", "-s", "7")
    beta = 1 / (4 * j * j)
    yield moment("Pointing jitter 0.35: mean power", "β/(β+1), β = 1/(4 jitter²)", beta / (beta + 1), p)
    yield moment("… mean square of the power", "β/(β+2)", beta / (beta + 2), p * p)
    yield moment("… share of the time below −3 dB", "10^(−0.3 β)", 10 ** (-0.3 * beta), p < 10**-0.3)


@check("Fades")
def margins(bin_dir):
    """--margin counts from the power without pointing loss, --mean-margin from the mean of the powers: both by the beta law."""
    j, margin = 0.4, 6.0
    beta = 1 / (4 * j * j)
    options = ("--jitter", str(j), "--jitter-coherence", "1ms", "-n", "1000000", "-s", "11")
    for words, level, state in (("`gen --margin`", 10 ** (-margin / 10), states_of(runs_of(bin_dir, *options, "--margin", f"{margin:g}dB"))),
                                ("`from-power --mean-margin`", 10 ** (-margin / 10) * beta / (beta + 1), from_mean(bin_dir, powers(bin_dir, *options), margin))):
        yield moment(f"Pointing jitter {j}, {words} of {margin:g} dB: share of bad time", "level^β", level**beta, state)


@check("Fades")
def other_direction(bin_dir):
    """Both are lognormal, so the logarithms' covariance is R σ², and that of the powers e^(R σ²) − 1."""
    index, share, lag = 0.3, 0.8, 120
    options = ("--scintillation", "lognormal", "--index", str(index), "--coherence", "1ms", "-n", "1000000", "-s", "9")
    forward = powers(bin_dir, *options)
    back = powers(bin_dir, *options, "--return", f"{share},12ms")
    spread = math.log1p(index)
    a, b = np.log(forward) + spread / 2, np.log(back) + spread / 2
    yield moment("Both directions, R = 0.8, 12 ms later: covariance of the logarithms", "R ln(1 + index)", share * spread, a[:-lag] * b[lag:])
    yield moment("… of the powers", "(1 + index)^R − 1", math.expm1(share * spread), (forward[:-lag] - 1) * (back[lag:] - 1))
    yield moment("… of the logarithms, at the same time", "0", 0, a * b)
    yield moment("… scintillation index of the direction back", "as asked for", index, (back - 1) ** 2)


@check("Traces")
def markov(bin_dir):
    good, bad = 20.0, 5.0  # steps
    runs = runs_of(bin_dir, "--gilbert", "2ms,0.5ms", "--step", "0.1ms", "-n", "4000000", "-s", "2")
    state = states_of(runs)
    share = bad / (good + bad)
    yield moment("Gilbert–Elliott, 2 ms and 0.5 ms: share of bad steps", "b / (g + b)", share, state)
    keep = 1 - 1 / good - 1 / bad
    for lag in (1, 5, 10):
        yield moment(f"… covariance, lag {lag}", "share (1 − share) (1 − 1/g − 1/b)^lag", share * (1 - share) * keep**lag,
                     (state[:-lag] - share) * (state[lag:] - share))
    lengths = np.array([n for b, n in runs[1:-1] if b], dtype=float)
    yield moment("… mean length of bad runs, steps", "geometric", bad, lengths)
    yield moment("… variance of their lengths", "b² − b", bad * bad - bad, (lengths - bad) ** 2)


@check("Traces")
def published(bin_dir):
    """Caini et al., IEEE TAES 59(6), 2023: the laws were fitted to their figures; another seed than the stored ones', and a longer trace."""
    figures = {"A": (0.0498, 0.95, 0.66, 18.17, 17.37), "F": (0.137, 2.14, 3.15, 13.46, 18.19), "H": (0.288, 5.46, 5.02, 13.48, 12.84)}
    for name, want in figures.items():
        runs = runs_of(bin_dir, "--preset", name, "-n", "10000000", "-s", "9001")
        bad = np.array([n for b, n in runs[1:-1] if b]) / 10
        good = np.array([n for b, n in runs[1:-1] if not b]) / 10
        found = (bad.sum() / (bad.sum() + good.sum()), bad.mean(), bad.std(), good.mean(), good.std())
        mean_errors = [float(x.std() / len(x) ** 0.5 / x.mean()) for x in (bad, good)]
        deviation_errors = [float((((x - x.mean()) ** 2).var() / len(x)) ** 0.5 / 2 / x.var()) for x in (bad, good)]
        errors = ((1 - found[0]) * math.hypot(*mean_errors), mean_errors[0], deviation_errors[0], mean_errors[1], deviation_errors[1])
        names = ("share of bad time", "mean of bad runs", "deviation of bad runs", "mean of good runs", "deviation of good runs")
        for what, a, b, error in zip(names, want, found, errors):
            yield Row(f"Trace {name}: {what}", "published table (Caini et al. 2023)", a, float(b), 0.02, unit="" if a < 0.5 and "share" in what else "ms",
                      deviation=float(error))


@check("Traces")
def equilibrium(bin_dir):
    """A renewal process in equilibrium is bad for the same share of each time, however short: the means of the laws of trace H (traces/README.md) have it."""
    bad = sum(share * scale * math.gamma(1 + 1 / shape) for share, scale, shape in ((0.8689, 5.105, 1.221), (0.1311, 10.642, 1.225)))
    found = []
    for seed in range(400):
        runs = runs_of(bin_dir, "--preset", "H", "-n", "100", "-s", str(5000 + seed))
        found.append(sum(n for b, n in runs if b) / 100)
    yield drawn("Trace H: share of bad time in the first 10 ms, 400 seeds", "μb / (μg + μb) of its laws: in equilibrium from the first step on", bad / (bad + 13.480),
                float(np.mean(found)), float(np.std(found, ddof=1)) / len(found) ** 0.5)


@check("Traces")
def begins(bin_dir):
    """Runs of fixed lengths, g good and b bad steps: a trace begins in a bad one with b / (g + b), and what is left of the first run is 1 to all of it, alike."""
    good, bad, seeds = 100, 50, 300
    first = [runs_of(bin_dir, "--good", "fixed:10ms", "--bad", "fixed:5ms", "--step", "0.1ms", "-n", "200", "-s", str(9000 + seed))[0] for seed in range(seeds)]
    share = bad / (good + bad)
    yield drawn("Renewal, runs of 10 and 5 ms exactly, 300 seeds: share that begins bad", "b / (g + b)", share, sum(b for b, _ in first) / seeds, math.sqrt(share * (1 - share) / seeds))
    for words, is_bad, length in (("good", False, good), ("bad", True, bad)):
        left = [n for b, n in first if b == is_bad]
        yield drawn(f"… left of a {words} first run, steps", "(1 + length) / 2", (1 + length) / 2, sum(left) / len(left), math.sqrt((length**2 - 1) / 12 / len(left)))


@check("Traces")
def gaps(bin_dir):
    """An alternating renewal process: the variance of the bad time of a long window is T (μg² σb² + μb² σg²) / (μg + μb)³ (Takács 1957)."""
    good, bad, window = (10.0, 2.0), (4.0, 1.5), 2000.0  # gamma: mean, shape; ms
    runs = runs_of(bin_dir, "--good", "gamma:10ms,2", "--bad", "gamma:4ms,1.5", "--step", "0.1ms", "-n", "40000000", "-s", "6")
    state = np.repeat(np.array([b for b, _ in runs], dtype=np.uint8), [n for _, n in runs])
    sums = state.reshape(-1, int(window * 10)).sum(axis=1) / 10
    (mg, kg), (mb, kb) = good, bad
    want = window * (mg**2 * mb**2 / kb + mb**2 * mg**2 / kg) / (mg + mb) ** 3
    yield drawn("Renewal, gamma runs of 10 and 4 ms: share of bad time", "μb / (μg + μb)", mb / (mg + mb), float(state.mean()), math.sqrt(want / 4e6 / window))
    yield drawn("… deviation of the bad time in 2 s", "√(T (μg² σb² + μb² σg²) / (μg + μb)³)", math.sqrt(want), float(sums.std(ddof=1)),
                1 / math.sqrt(2 * len(sums)), relative=True, unit="ms")
