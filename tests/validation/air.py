# SPDX-License-Identifier: Apache-2.0
"""The formulas of the air against integrals over heights and wave numbers, worked out here."""
import math

import numpy as np
import optical
from rows import Row, check, run

WAVELENGTH = 1550e-9
K = 2 * math.pi / WAVELENGTH
KOLMOGOROV = math.gamma(8 / 3) * math.sin(math.pi / 3) / (4 * math.pi**2)  # of the spectrum C kappa^(-11/3): 0.0330


def values(bin_dir, *asked):
    text = "".join(" ".join(str(x) for x in line) + "\n" for line in asked)
    return [float(line) for line in run(bin_dir, "air_values", text=text).split()]


def heights(n=600):
    """Middles and depths of n layers, 0 to 30 km."""
    edges = 10 * np.expm1(np.linspace(0, math.log(3001), n + 1))
    return (edges[1:] + edges[:-1]) / 2, np.diff(edges)


def variance(elevation, diameter):
    """Of the logarithm of the power behind an aperture, by weak turbulence (Tatarskii 1971; Andrews and Phillips 2005, ch. 12)."""
    h, depth = heights()
    z = h / math.sin(math.radians(elevation))
    kappa = np.geomspace(1e-3, 3e3, 12001)
    through = (2 * optical.bessel(1, kappa * diameter / 2) / (kappa * diameter / 2)) ** 2 if diameter > 0 else 1
    sums = np.array([(kappa ** (-5 / 3) * through * (1 - np.cos(kappa**2 * one / K))).sum() for one in z]) * math.log(kappa[1] / kappa[0])
    if diameter <= 0:
        sums += kappa[-1] ** (-5 / 3) * 3 / 5  # above the last wave number, the cosine's mean being 0
    return 8 * math.pi**2 * KOLMOGOROV * K**2 / math.sin(math.radians(elevation)) * float((optical.hufnagel(h) * sums * depth).sum())


@check("Air")
def rytov_variance(bin_dir):
    for elevation in (10, 30, 90):
        yield Row(f"Rytov variance at {elevation}°, 1550 nm", "double integral of weak turbulence", variance(elevation, 0),
                  values(bin_dir, ("rytov", elevation, 1550))[0], 0.002)


@check("Air")
def aperture_averaging(bin_dir):
    for diameter in (0.05, 0.2, 0.6):
        for elevation in (10, 20, 40, 90):
            yield Row(f"Aperture averaging, {diameter} m at {elevation}°", "double integral of weak turbulence",
                      variance(elevation, diameter) / variance(elevation, 0), values(bin_dir, ("aperture", elevation, 1550, diameter))[0], 0.0002)


@check("Air")
def wide_aperture(bin_dir):
    h, depth = heights()
    want = 17.34 * 4 ** (-7 / 3) * float((optical.hufnagel(h) * h**2 * depth).sum())
    rytov, averaged = values(bin_dir, ("rytov", 90, 1550), ("aperture", 90, 1550, 4))
    yield Row("Index behind 4 m in the zenith", "17.34 D^(−7/3) ∫C h² dh, the limit of wide apertures (Roddier 1981)", want, rytov * averaged, 0.1)


@check("Air")
def phase(bin_dir):
    h, depth = heights()
    x = np.geomspace(0.1, 1e4, 400001)
    below = 3 / 4 * x[0] ** (1 / 3) - 3 / 7 * x[0] ** (7 / 3) / 64  # 1 - J0 = x²/4 - x⁴/64 there
    above = 3 / 5 * x[-1] ** (-5 / 3)
    sums = float((x ** (-5 / 3) * (1 - optical.bessel(0, x))).sum() * math.log(x[1] / x[0]))
    structure = 8 * math.pi**2 * KOLMOGOROV * (below + sums + above)
    for elevation in (30, 90):
        sine = math.sin(math.radians(elevation))
        r0 = (6.8839 / (structure * K**2 / sine * float((optical.hufnagel(h) * depth).sum()))) ** (3 / 5)
        yield Row(f"Fried's parameter at {elevation}°", "phase structure function, D = 6.88 (r/r₀)^(5/3)", 100 * r0,
                  100 * values(bin_dir, ("fried", elevation, 1550))[0], 0.003, unit="cm")
    wind = 0.005 * h + 5 + 30 * np.exp(-(((h - 9400) / 4800) ** 2))
    tyson = 2.31 * WAVELENGTH**-1.2 * (2 * float((optical.hufnagel(h) * wind ** (5 / 3) * depth).sum())) ** 0.6
    yield Row("Greenwood's frequency at 30°", "2.31 λ^(−6/5) (sec ζ ∫C v^(5/3) dh)^(3/5) (Tyson)", tyson,
              values(bin_dir, ("greenwood", 30, 1550, 5, 0.005))[0], 0.005, unit="Hz")


def density(h):
    """Of the U.S. Standard Atmosphere 1976 up to 32 km, over that at sea level; exponential above."""
    t, p = 288.15, 1.0
    for base, top, lapse in ((0, 11000, -0.0065), (11000, 20000, 0.0), (20000, 32000, 0.001)):
        rise = min(h, top) - base
        if rise <= 0:
            break
        p *= (1 + lapse * rise / t) ** (-0.0341632 / lapse) if lapse else math.exp(-0.0341632 * rise / t)
        t += lapse * rise
    return p * 288.15 / t * (math.exp(-(h - 32000) / 6700) if h > 32000 else 1)


@check("Air")
def air_mass(bin_dir):
    h = np.arange(50, 80000, 100.0)
    rho = np.array([density(x) for x in h])
    for elevation in (5, 10, 30):
        sine = math.sin(math.radians(elevation))
        path = (6371e3 + h) / np.sqrt((6371e3 * sine) ** 2 + 2 * 6371e3 * h + h * h)  # of a straight ray, per metre of height
        yield Row(f"Air mass at {elevation}°", "straight ray through the U.S. Standard Atmosphere 1976", float((rho * path).sum() / rho.sum()),
                  values(bin_dir, ("mass", elevation))[0], 0.02)


@check("Air")
def geometry(bin_dir):
    earth, orbit, speed = 6371e3, 6921e3, math.sqrt(3.986004418e14 / 6921e3)
    for angle in (0.05, 0.2):
        def elevation(a):
            return math.atan2(orbit * math.cos(a) - earth, orbit * math.sin(a))
        slew = (elevation(angle - 1e-5) - elevation(angle + 1e-5)) / 2e-5 * speed / orbit
        degrees = math.degrees(elevation(angle))
        distance = math.hypot(orbit * math.cos(angle) - earth, orbit * math.sin(angle)) / 1e3
        got = values(bin_dir, ("slew", degrees, 550), ("range", degrees, 550))
        yield Row(f"Slew to 550 km at {degrees:.1f}°", "difference quotient along the orbit", 1e3 * slew, 1e3 * got[0], 1e-5, unit="mrad/s")
        yield Row(f"Range to 550 km at {degrees:.1f}°", "coordinates", distance, got[1], 1e-9, unit="km")


@check("Air")
def coherence_time(bin_dir):
    for elevation in (10, 30, 90):
        for aperture in (0.0, 0.2, 1.0):
            slew = values(bin_dir, ("slew", elevation, 550))[0]
            got = 1e3 * values(bin_dir, ("coherence", elevation, 1550, aperture, 5, slew))[0]
            yield Row(f"Coherence time, {aperture:g} m at {elevation}°, 550 km", "double integral of the covariance, frozen turbulence",
                      optical.coherence_closed(elevation, aperture), got, 0.12, unit="ms")
