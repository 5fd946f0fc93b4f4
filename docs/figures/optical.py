#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The figure of docs/helio-trace.md: what the generators of optical links draw, beside closed forms or an independent computation.
All of it is synthetic: models with the parameters given here, not measurements.

usage: optical.py BIN_DIR numbers        prints the numbers as JSON (docs/figures/optical.json)
       optical.py draw JSON PICTURE      draws them (docs/figures/optical.png)
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
EARTH = 6371e3


def powers(bin_dir, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.csv")
        subprocess.run([os.path.join(bin_dir, "helio-trace"), "gen", *options, "--power", path, "-o", os.path.join(folder, "t.htr")],
                       check=True, timeout=600)
        return np.loadtxt(path, skiprows=1)


# ---- pointing bias: mean e^(-2 b^2 / (1 + 4 j^2)) / (1 + 4 j^2) ----

def bias(bin_dir):
    jitter, out = 0.3, {"b": [], "drawn": [], "closed": []}
    for b in (0.0, 0.25, 0.5, 0.75, 1.0, 1.25):
        p = powers(bin_dir, "--jitter", str(jitter), "--jitter-coherence", "1ms", "--bias", str(b), "-n", "300000")
        spread = 1 + 4 * jitter**2
        out["b"].append(b)
        out["drawn"].append(float(p.mean()))
        out["closed"].append(math.exp(-2 * b * b / spread) / spread)
    return out


# ---- uplink: wander from the Hufnagel-Valley profile, integrated here by itself ----

def hufnagel(h):
    return (0.00594 * (21 / 27) ** 2 * (1e-5 * h) ** 10 * np.exp(-h / 1000) + 2.7e-16 * np.exp(-h / 1500) + 1.7e-14 * np.exp(-h / 100))


def wander(radius, elevation, wavelength=1550e-9):
    """Deviation per axis / half-width of the beam."""
    h = np.linspace(0, 30000, 600001)
    c = hufnagel(h)
    integral = float(((c[1:] + c[:-1]) / 2).sum() * (h[1] - h[0]))
    r0 = (0.423 * (2 * math.pi / wavelength) ** 2 * integral / math.sin(math.radians(elevation))) ** (-3 / 5)
    return math.sqrt(0.27) * math.pi / 2 * (2 * radius / r0) ** (5 / 6)


def uplink(bin_dir):
    out = {"residual": [1.0, 0.3, 0.1], "radius": [0.01, 0.02, 0.04, 0.06, 0.08], "drawn": [], "closed": []}
    for residual in out["residual"]:
        drawn, closed = [], []
        for radius in out["radius"]:
            p = powers(bin_dir, "--scintillation", "lognormal", "--index", "0.05", "--coherence", "1ms", "--elevation", "40", "--uplink", f"{radius}m",
                       "--residual", str(residual), "--jitter", "0", "--jitter-coherence", "1ms", "-n", "300000")
            drawn.append(float(p.mean()))
            closed.append(1 / (1 + 4 * residual * wander(radius, 40) ** 2))
        out["drawn"].append(drawn)
        out["closed"].append(closed)
    return out


# ---- extinction by elevation: Kasten and Young's air mass, and the range over a round Earth ----

def air_mass(elevation):
    return 1 / (math.sin(math.radians(elevation)) + 0.50572 * (elevation + 6.07995) ** -1.6364)


def distance(elevation, altitude):
    s = math.sin(math.radians(elevation))
    return math.sqrt((EARTH * s) ** 2 + 2 * EARTH * altitude + altitude**2) - EARTH * s


def extinction(bin_dir):
    out = {"elevation": [], "drawn_db": [], "closed_db": []}
    p = powers(bin_dir, "--elevation", "0s:10,80s:90", "--altitude", "550km", "--extinction", "0.5dB", "--step", "1s", "-n", "80")
    for t in range(0, 80, 4):
        e = 10 + t
        out["elevation"].append(e)
        out["drawn_db"].append(10 * math.log10(p[t]))
        out["closed_db"].append(20 * math.log10(550e3 / distance(e, 550e3)) - 0.5 * (air_mass(e) - air_mass(90)))
    return out


# ---- two scales: the covariance of X Y, each a gamma variable bent from a normal process ----

def gamma_quantiles(shape, z):
    """By the distribution's series, at the points of a grid."""
    x = np.exp(np.linspace(math.log(1e-9), math.log(shape + 60 + 12 * math.sqrt(shape)), 200001))
    density = np.exp(shape * np.log(x) - x - math.lgamma(shape))  # over the logarithm of x
    below = np.concatenate(([0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(np.log(x)))))
    return np.interp([NORMAL.cdf(v) for v in z], below / below[-1], x) / shape


def bent_correlation(shape, rho, n=400):
    """Of two gamma variables whose normal numbers are correlated by rho; by Hermite polynomials."""
    z, w = np.polynomial.hermite_e.hermegauss(n // 4)
    w = w / w.sum()
    values = gamma_quantiles(shape, z)
    total, term = 0.0, np.ones_like(z)
    previous = np.zeros_like(z)
    factorial = 1.0
    for k in range(1, 13):
        term, previous = z * term - (k - 1) * previous, term
        factorial *= k
        total += float((w * values * term).sum()) ** 2 / factorial * rho**k
    return total  # the covariance; variance 1 / shape at rho = 1


def shapes(index):
    """Alpha, beta and the Rytov variance of a gamma-gamma index, by bisection."""
    low, high = 1e-4, 12.0
    for _ in range(200):
        s = (low + high) / 2
        a = 1 / math.expm1(0.49 * s / (1 + 1.11 * s ** 1.2) ** (7 / 6))
        b = 1 / math.expm1(0.51 * s / (1 + 0.69 * s ** 1.2) ** (5 / 6))
        low, high = (s, high) if 1 / a + 1 / b + 1 / (a * b) < index else (low, s)
    return a, b, s


def poles(t):
    return (1 + t + t * t / 3) * math.exp(-t)


def scales(bin_dir):
    index, coherence, step = 1.0, 5.0, 0.1
    a, b, s = shapes(index)
    ratio = math.sqrt(3 * (1 + 0.69 * s ** 1.2) / (2.61 / (1 + 1.11 * s ** 1.2)))
    out = {"lag_ms": [0, 1, 2, 3, 5, 7, 10, 15, 20, 30], "ratio": ratio, "drawn": {}, "closed": {}}
    for kind, times in (("one", (coherence, coherence)), ("two", (coherence * math.sqrt(ratio), coherence / math.sqrt(ratio)))):
        p = powers(bin_dir, "--scintillation", "gamma-gamma", "--index", str(index), "--coherence", f"{coherence}ms", "--scales", kind, "-n", "2000000")
        p = p - p.mean()
        drawn = [float((p[:len(p) - round(lag / step)] * p[round(lag / step):]).mean() / (p * p).mean()) for lag in out["lag_ms"]]
        closed = []
        for lag in out["lag_ms"]:
            x, y = (bent_correlation(shape, poles(2.904 * lag / t)) for shape, t in zip((a, b), times))
            closed.append(((1 + x) * (1 + y) - 1) / index)
        out["drawn"][kind], out["closed"][kind] = drawn, closed
    return out


# ---- table of error rates over power: log-linear, and 1 - (1 - p)^n for n codewords ----

def table(bin_dir):
    out = {"db": [-4 + 0.25 * i for i in range(17)], "codewords": [1, 4], "drawn": [], "closed": []}
    for words in out["codewords"]:
        drawn, closed = [], []
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "p.csv"), "w", encoding="ascii") as f:
                f.write("power\n" + "".join(f"{db}\n" for db in out["db"]))
            with open(os.path.join(folder, "s.yaml"), "w", encoding="ascii") as f:
                f.write("overhead: 0B\nforward:\n  start: 0\n  erasures:\n    power: {file: p.csv, unit: dB, step: 1s, codeword: 100B, table: "
                        "[{power: -3dB, loss: 1}, {power: -1dB, loss: 1e-2}]}\n")
            frames = "".join(f"{i * 10**9 + k * 10000} {100 * words} 0\n" for i in range(len(out["db"])) for k in range(20000))
            done = subprocess.run([os.path.join(bin_dir, "chan_play"), f.name], input=frames, capture_output=True, text=True, timeout=600, check=True)
        lost = [0] * len(out["db"])
        for line in done.stdout.splitlines():
            number, what, _, _ = line.split()
            lost[(int(number) - 1) // 20000] += what == "trace"
        for n, db in zip(lost, out["db"]):
            p = 1 if db <= -3 else 1e-2 if db >= -1 else 10 ** (-(db + 3))
            drawn.append(n / 20000)
            closed.append(1 - (1 - p) ** words)
        out["drawn"].append(drawn)
        out["closed"].append(closed)
    return out


# ---- spectra of the scintillation ----

def spectra(bin_dir):
    wanted = {"point": -8 / 3, "aperture": -17 / 3, "steep": -6.0}
    out = {"slope": {}, "wanted": wanted, "frequency": [], "density": {}}
    for kind in wanted:
        p = np.log(powers(bin_dir, "--scintillation", "lognormal", "--index", "0.05", "--coherence", "20ms", "--spectrum", kind, *(("--inner", "0.5ms") if kind == "point" else ()), "-n", "2097152"))
        blocks = (p - p.mean()).reshape(-1, 16384) * np.hanning(16384)
        density = (np.abs(np.fft.rfft(blocks)) ** 2).mean(axis=0)
        f = np.fft.rfftfreq(16384, 1e-4)
        edges = np.geomspace(5, 3000, 36)
        middle = [float(density[(f >= a) & (f < b)].mean()) for a, b in zip(edges, edges[1:])]
        centre = np.sqrt(edges[:-1] * edges[1:])
        good = (centre > 100) & (centre < 600)
        out["slope"][kind] = float(np.polyfit(np.log(centre[good]), np.log(np.array(middle)[good]), 1)[0])
        out["density"][kind] = [v / middle[0] for v in middle]
        out["frequency"] = [float(v) for v in centre]
    return out


# ---- coherence time of the scintillation: the whole integral of weak scintillation over heights and wave numbers ----

def polynomial(x, *coefficients):
    return sum(c * x**i for i, c in enumerate(coefficients))


def bessel(order, x):
    """J0 and J1 to 1e-7 (Abramowitz and Stegun, 9.4.1 to 9.4.6), x >= 0."""
    small, large = np.minimum(x, 3) / 3, 3 / np.maximum(x, 3)
    if order == 0:
        low = polynomial(small**2, 1, -2.2499997, 1.2656208, -0.3163866, 0.0444479, -0.0039444, 0.0002100)
        size = polynomial(large, 0.79788456, -0.00000077, -0.00552740, -0.00009512, 0.00137237, -0.00072805, 0.00014476)
        angle = polynomial(large, -0.78539816, -0.04166397, -0.00003954, 0.00262573, -0.00054125, -0.00029333, 0.00013558)
    else:
        low = x * polynomial(small**2, 0.5, -0.56249985, 0.21093573, -0.03954289, 0.00443319, -0.00031761, 0.00001109)
        size = polynomial(large, 0.79788456, 0.00000156, 0.01659667, 0.00017105, -0.00249511, 0.00113653, -0.00020033)
        angle = polynomial(large, -2.35619449, 0.12499612, 0.00005650, -0.00637879, 0.00074348, 0.00079824, -0.00029166)
    return np.where(x < 3, low, size * np.cos(x + angle) / np.sqrt(np.maximum(x, 3)))


def coherence_closed(elevation, aperture, ground=5.0, altitude=550e3, wavelength=1550e-9):
    """When the covariance is 1/e, with Bufton's wind and the slew of a circular orbit through the zenith."""
    sine, k = math.sin(math.radians(elevation)), 2 * math.pi / wavelength
    orbit = EARTH + altitude
    nadir = math.asin(EARTH / orbit * math.cos(math.radians(elevation)))
    slew = math.sqrt(3.986004418e14 / orbit) * math.cos(nadir) / distance(elevation, altitude)
    h = np.expm1(np.linspace(0, math.log(3001), 151)[1:]) * 10
    wind = slew * h + ground + 30 * np.exp(-(((h - 9400) / 4800) ** 2))
    kappa = np.geomspace(0.05, 3000, 1501)
    weight = hufnagel(h)[:, None] * kappa ** (-8 / 3) * (1 - np.cos(kappa**2 * (h / sine)[:, None] / k))
    if aperture > 0:
        x = kappa * aperture / 2
        weight = weight * (2 * bessel(1, x) / x) ** 2
    weight = weight * (kappa * np.gradient(np.log(kappa))) * ((h + 10) * np.gradient(np.log(h + 10)))[:, None]

    def covariance(t):
        return float((weight * bessel(0, kappa * wind[:, None] * t)).sum()) / float(weight.sum())

    low, high = 1e-6, 1.0
    for _ in range(40):
        t = math.sqrt(low * high)
        low, high = (t, high) if covariance(t) > math.exp(-1) else (low, t)
    return 1e3 * low


def coherence(bin_dir):
    out = {"elevation": [10, 20, 40, 90], "aperture": [0.0, 0.4], "drawn": [], "closed": []}
    for aperture in out["aperture"]:
        drawn, step = [], 0.05
        for elevation in out["elevation"]:
            p = np.log(powers(bin_dir, "--scintillation", "lognormal", "--index", "0.05", "--elevation", str(elevation), "--wind", "5m/s",
                              "--aperture", f"{aperture}m", "--step", f"{step}ms", "-n", "400000"))
            p = p - p.mean()
            lag, before, now = 0, 1.0, 1.0
            while now > math.exp(-1):
                lag, before = lag + 1, now
                now = float((p[:-lag] * p[lag:]).mean() / (p * p).mean())
            drawn.append(step * (lag - (math.exp(-1) - now) / (before - now)))
        out["drawn"].append(drawn)
        out["closed"].append([coherence_closed(elevation, aperture) for elevation in out["elevation"]])
    return out


# ---- clouds by elevation: 1 - (1 - share)^(1 / sin) ----

def clouds(bin_dir):
    out = {"elevation": [10, 20, 30, 50, 90], "share": [0.05, 0.2, 0.4], "drawn": [], "closed": []}
    for share in out["share"]:
        drawn = []
        for elevation in out["elevation"]:
            p = powers(bin_dir, "--elevation", str(elevation), "--cloud", f"{share},60s", "--step", "1s", "-n", "400000")
            drawn.append(float((p < 1e-20).mean()))
        out["drawn"].append(drawn)
        out["closed"].append([1 - (1 - share) ** (1 / math.sin(math.radians(e))) for e in out["elevation"]])
    return out


# ---- interleaver: a frame that comes t before a fade of length L, spread over D, meets the mean over both ----

def interleaver(bin_dir):
    fade, period, least = 5.0, 50.0, 0.4
    out = {"depth_ms": [0.5 * i for i in range(1, 25)], "drawn": [], "closed": [], "delay_ms": []}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "p.csv"), "w", encoding="ascii") as f:
            f.write("power\n" + "".join(f"{0 if 200 <= i < 250 else 1}\n" for i in range(500)))
        for depth in out["depth_ms"]:
            with open(os.path.join(folder, "s.yaml"), "w", encoding="ascii") as f:
                f.write(f"overhead: 0B\nforward:\n  start: 0\n  erasures:\n    power: {{file: p.csv, step: 0.1ms, interleaver: {depth}ms, table: "
                        f"[{{power: -99dB, loss: 1}}, {{power: {10 * math.log10(least)}dB, loss: 0}}]}}\n")
            frames = "".join(f"{i * 10000} 100 0\n" for i in range(5000))
            done = subprocess.run([os.path.join(bin_dir, "chan_play"), f.name], input=frames, capture_output=True, text=True, timeout=600, check=True)
            rows = [line.split() for line in done.stdout.splitlines()]
            delays = {int(t) - (int(number) - 1) * 10000 for number, what, t, _ in rows if what == "out"}
            out["delay_ms"].append([t / 1e6 for t in sorted(delays)])
            out["drawn"].append(sum(what == "trace" for _, what, _, _ in rows) / 5000)
            dark = (1 - least) * depth  # so much of what it is spread over may be in the fade
            out["closed"].append((fade + depth - 2 * dark) / period if fade > dark else 0.0)
    return out


# ---- jitter that remembers: a law bent from a normal number, correlation 0.9 from frame to frame ----

def jitter(bin_dir):
    spread = math.log(2)  # of the lognormal law whose deviation is its mean
    laws = {"normal": ("5ms", "1ms", lambda r: r), "uniform": ("5ms", "2ms", lambda r: 6 / math.pi * math.asin(r / 2)),
            "lognormal": ("5ms", "5ms", lambda r: math.expm1(spread * r) / math.expm1(spread))}
    out = {"lag": list(range(0, 31, 2)), "law": list(laws), "drawn": [], "closed": []}
    frames = "".join(f"{i * 1000000} 100 0\n" for i in range(400000))
    for law, (mean, deviation, closed) in laws.items():
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(f"forward: {{jitter: {{law: {law}, mean: {mean}, sd: {deviation}, correlation: 0.9}}}}\n")
            f.flush()
            done = subprocess.run([os.path.join(bin_dir, "chan_play"), f.name], input=frames, capture_output=True, text=True, timeout=600, check=True)
        delay = np.zeros(400000)
        for line in done.stdout.splitlines():
            number, _, t, _ = line.split()
            delay[int(number) - 1] = int(t) - (int(number) - 1) * 1000000
        delay -= delay.mean()
        out["drawn"].append([float((delay[:len(delay) - lag] * delay[lag:]).mean() / (delay * delay).mean()) for lag in out["lag"]])
        out["closed"].append([closed(0.9**lag) for lag in out["lag"]])
    return out


# ---- site diversity ----

def joint(share, r, n):
    """All of n covered: the mean over the common number, by Gauss and Hermite."""
    if r == 0:
        return share**n
    z, w = np.polynomial.hermite_e.hermegauss(120)
    a = NORMAL.inv_cdf(share)
    each = np.array([NORMAL.cdf((a - math.sqrt(r) * m) / math.sqrt(1 - r)) for m in z])
    return float((w / w.sum() * each**n).sum())


SHARE = 0.4


def never_clear(bin_dir, n, r):
    """The share of ten years in which none of n stations is clear."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([os.path.join(bin_dir, "helio-trace"), "sites", "--sites", str(n), "--cloud", f"{SHARE},30min", "--correlation", str(r),
                               "--step", "60s", "--duration", "3650d", "-o", os.path.join(folder, "s")], check=True, timeout=600,
                              capture_output=True, text=True).stdout
    line = next(line for line in said.splitlines() if line.startswith("any of"))
    return round(1 - float(line.split("available ")[1].split(",")[0]), 6)


def sites(bin_dir):
    correlations, counts = (0.0, 0.3, 0.6), (1, 2, 3, 4, 5, 6)
    return {"share": SHARE, "correlation": correlations, "count": counts,
            "drawn": [[never_clear(bin_dir, n, r) for n in counts] for r in correlations],
            "closed": [[joint(SHARE, r, n) for n in counts] for r in correlations]}


PARTS = {"bias": bias, "uplink": uplink, "extinction": extinction, "scales": scales, "table": table, "spectra": spectra, "sites": sites,
         "coherence": coherence, "clouds": clouds, "interleaver": interleaver, "jitter": jitter}


def numbers(bin_dir, parts=tuple(PARTS)):
    return {name: PARTS[name](bin_dir) for name in parts}


# ---- the picture ----

def draw(n, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    colours = ("#0072b2", "#d55e00", "#009e73")
    figure, axes = plt.subplots(4, 3, figsize=(11.5, 12.8), layout="constrained")
    axes = axes.flat

    def panel(title, x, y, **scale):
        a = next(axes)
        a.set_title(title, fontsize=10)
        a.set_xlabel(x, fontsize=9)
        a.set_ylabel(y, fontsize=9)
        a.set(**scale)
        a.grid(alpha=0.3)
        return a

    def pair(a, x, drawn, closed, i=0, label=None):
        a.plot(x, closed, color=colours[i], linewidth=1.2, label=label)
        a.plot(x, drawn, "o", color=colours[i], markersize=4, markerfacecolor="none")

    d = n["bias"]
    pair(panel("Pointing bias (jitter 0.3)", "bias / half-width of the beam", "mean power"), d["b"], d["drawn"], d["closed"])
    d = n["uplink"]
    a = panel("Uplink at 40 degrees: beam wander", "radius of the beam, m", "mean power")
    for i, residual in enumerate(d["residual"]):
        pair(a, d["radius"], d["drawn"][i], d["closed"][i], i, f"residual {residual:g}")
    a.legend(fontsize=8)
    d = n["extinction"]
    pair(panel("Extinction 0.5 dB and range, 550 km", "elevation, degrees", "power, dB"), d["elevation"], d["drawn_db"], d["closed_db"])
    d = n["scales"]
    a = panel(f"Gamma-gamma, index 1: time scales ({d['ratio']:.1f} apart)", "lag, ms", "autocorrelation of the power")
    for i, kind in enumerate(("one", "two")):
        pair(a, d["lag_ms"], d["drawn"][kind], d["closed"][kind], i, f"{kind} scale{'s' * i}")
    a.legend(fontsize=8)
    d = n["table"]
    a = panel("Table of error rates: 1 at -3 dB, 0.01 at -1 dB", "power, dB", "loss of frames", yscale="log")
    for i, words in enumerate(d["codewords"]):
        pair(a, d["db"], d["drawn"][i], d["closed"][i], i, f"{words} codeword{'s' if words > 1 else ''} a frame")
    a.legend(fontsize=8)
    d = n["spectra"]
    a = panel("Spectra of the scintillation", "frequency, Hz", "density", xscale="log", yscale="log", ylim=(1e-10, 3))
    f = np.array(d["frequency"])
    for i, kind in enumerate(d["wanted"]):
        y = np.array(d["density"][kind])
        at = int(np.argmin(abs(f - 250)))
        a.plot(f, y, "o", color=colours[i], markersize=3, markerfacecolor="none")
        a.plot(f[f > 60], y[at] * (f[f > 60] / f[at]) ** d["wanted"][kind], color=colours[i], linewidth=1.2,
               label=f"{kind}: {d['wanted'][kind]:.2f} (drawn {d['slope'][kind]:.2f})")
    a.legend(fontsize=8)
    d = n["sites"]
    a = panel("Site diversity: each covered 40 % of the time", "stations", "time without any clear sky", yscale="log")
    for i, r in enumerate(d["correlation"]):
        pair(a, d["count"], d["drawn"][i], d["closed"][i], i, f"correlation {r:g}")
    a.legend(fontsize=8)
    d = n["coherence"]
    a = panel("Coherence time by wind and slew (550 km)", "elevation, degrees", "ms")
    for i, aperture in enumerate(d["aperture"]):
        pair(a, d["elevation"], d["drawn"][i], d["closed"][i], i, f"aperture {aperture:g} m" if aperture else "point")
    a.legend(fontsize=8)
    d = n["clouds"]
    a = panel("Clouds in the line of sight", "elevation, degrees", "share of the time", ylim=(0, 1))
    for i, share in enumerate(d["share"]):
        pair(a, d["elevation"], d["drawn"][i], d["closed"][i], i, f"{share:g} in the zenith")
    a.legend(fontsize=8)
    d = n["interleaver"]
    pair(panel("Interleaver: fades of 5 ms each 50 ms, least 0.4", "depth (and delay), ms", "loss of frames"), d["depth_ms"], d["drawn"], d["closed"])
    d = n["jitter"]
    a = panel("Jitter, correlation 0.9 a frame", "lag, frames", "autocorrelation of the delay")
    for i, law in enumerate(d["law"]):
        pair(a, d["lag"], d["drawn"][i], d["closed"][i], i, law)
    a.legend(fontsize=8)
    a = next(axes)
    a.axis("off")
    a.text(0, 0.5, "rings: drawn by helio-trace, or by a\nscenario's channel\nlines: closed form or integral\n\nall of it synthetic:\nmodels, no measurements", fontsize=10)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "numbers":
        json.dump(numbers(sys.argv[1]), sys.stdout, indent=1)
        print()
    elif len(sys.argv) == 4 and sys.argv[1] == "draw":
        with open(sys.argv[2], encoding="utf-8") as stored:
            draw(json.load(stored), sys.argv[3])
    else:
        sys.exit(__doc__)
