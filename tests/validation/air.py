# SPDX-License-Identifier: Apache-2.0
"""The formulas of the air against integrals over heights and wave numbers, worked out here."""
import math

import numpy as np
import optical
from rows import Row, check, powers, run

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
    yield Row("Greenwood's frequency at 30°, Bufton's wind with 5 m/s at the ground, slew of 5 mrad/s", "2.31 λ^(−6/5) (sec ζ ∫C v^(5/3) dh)^(3/5) (Tyson)", tyson,
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

NOLL = (1.0299, 0.582, 0.134, 0.111, 0.0880, 0.0648, 0.0587, 0.0525, 0.0463, 0.0401, 0.0377, 0.0352, 0.0328, 0.0304, 0.0279, 0.0267, 0.0255, 0.0243, 0.0232, 0.0220, 0.0208)


@check("Air")
def profiles(bin_dir):
    """By names: r0 by an integral of their pieces, each in closed form."""
    day = ((0, 18.5, 1.7e-14, 0), (18.5, 240, 3.13e-13, -1.05), (240, 880, 1.3e-15, 0), (880, 7200, 8.87e-7, -3), (7200, 20000, 2e-16, -0.5))
    night = ((0, 18.5, 8.4e-15, 0), (18.5, 110, 2.87e-12, -2), (110, 1500, 2.5e-16, 0), (1500, 7200, 8.87e-7, -3), (7200, 20000, 2e-16, -0.5))
    for name, pieces in (("slc-day", day), ("slc-night", night)):
        whole = sum(c * (b ** (p + 1) - a ** (p + 1)) / (p + 1) for a, b, c, p in pieces)
        yield Row(f"Fried's parameter of `{name}` in the zenith, 500 nm", "(0.423 k² ∫C dh)^(−3/5), ∫C dh piece by piece", 100 * (0.423 * (2 * math.pi / 500e-9) ** 2 * whole) ** -0.6,
                  100 * values(bin_dir, ("slc", int(name == "slc-night"), 90, 500))[0], 0.005, unit="cm")
    yield Row("Variance of the logarithm at r₀ = 5 cm in the zenith, 30°: share of that with the profile's own", "(r₀ / 5 cm)^(5/3), with the program's r₀",
              (values(bin_dir, ("fried", 90, 1550))[0] / 0.05) ** (5 / 3), values(bin_dir, ("scaled", 0.05, 30, 1550))[0] / values(bin_dir, ("rytov", 30, 1550))[0], 1e-9)


@check("Air")
def zernike(bin_dir):
    s = (np.arange(200000) + 0.5) / 200000  # distance of two points of the pupil / its diameter, and how often it comes
    often = 16 * s / math.pi * (np.arccos(s) - s * np.sqrt(1 - s * s))
    whole = float((often * 6.88387718 * s ** (5 / 3) / 2).mean())
    yield Row("Phase variance over the pupil, D = r₀", "half the mean structure function between two points", whole, values(bin_dir, ("residual", 1))[0], 1e-6)
    found = values(bin_dir, *(("residual", j + 1) for j in range(len(NOLL))))
    worst = max(range(len(NOLL)), key=lambda j: abs(found[j] / NOLL[j] - 1))
    yield Row(f"Left by the first J Zernike modes, the worst of J = 1 to 21 (J = {worst + 1})", "table IV of Noll 1976, printed with three digits", NOLL[worst], found[worst], 0.006)
    yield Row("… J = 50", "0.2944 J^(−√3/2), Noll 1976 for many modes", 0.2944 * 50 ** (-math.sqrt(3) / 2), values(bin_dir, ("residual", 50))[0], 0.02)


def noll_covariance(n, k, m):
    """Of the coefficients of two Zernike polynomials of orders n and k with the same m, D = r0 (Noll 1976, eq. A2)."""
    constant = math.gamma(11 / 6) ** 2 / (2 * math.pi ** (11 / 3)) * (24 / 5 * math.gamma(6 / 5)) ** (5 / 6)
    below = math.gamma((n - k + 17 / 3) / 2) * math.gamma((k - n + 17 / 3) / 2) * math.gamma((n + k + 23 / 3) / 2)
    return constant * 2 ** (-5 / 3) * (-1) ** ((n + k - 2 * m) // 2) * math.sqrt((n + 1) * (k + 1)) * math.pi ** (8 / 3) * math.gamma(14 / 3) \
        * math.gamma((n + k - 5 / 3) / 2) / below


def polynomials(top, rho, theta):
    """(order, m, is a sine) and values of all polynomials up to an order in Noll's order, without piston."""
    names, at = [], []
    for n in range(1, top + 1):
        j = n * (n + 1) // 2 + 1
        for m in [m for m in range(n + 1) if (n - m) % 2 == 0]:
            radial = sum((-1) ** s * math.factorial(n - s) / (math.factorial(s) * math.factorial((n + m) // 2 - s) * math.factorial((n - m) // 2 - s)) * rho ** (n - 2 * s)
                         for s in range((n - m) // 2 + 1))
            for _ in range(2 if m else 1):
                sine = m > 0 and j % 2 == 1
                names.append((n, m, sine))
                at.append(math.sqrt((n + 1) * (2 if m else 1)) * radial * (np.sin(m * theta) if sine else np.cos(m * theta)))
                j += 1
    return names, np.array(at)


@check("Air")
def fibre_coupling(bin_dir):
    """The wave behind the telescope drawn from Zernike polynomials up to the 14th order, and its overlap with the fibre's mode."""
    grid = (np.arange(48) + 0.5) / 24 - 1
    x, y = np.meshgrid(grid, grid)
    inside = np.hypot(x, y) < 1
    rho, theta = np.hypot(x, y)[inside], np.arctan2(y, x)[inside]
    mode = np.exp(-((1.1209 * rho) ** 2))  # the mode seen in the pupil; this width takes most of a plane wave
    plane = mode.sum() ** 2
    yield Row("Plane wave into a single-mode fibre", "0.8145, Shaklan and Roddier 1988", 0.8145, plane * (2 / 48) ** 2 / len(rho) / (math.pi / (2 * 1.1209**2)), 0.003)
    names, at = polynomials(14, rho, theta)
    covariance = np.array([[noll_covariance(a[0], b[0], a[1]) if a[1:] == b[1:] else 0.0 for b in names] for a in names])
    root = np.linalg.cholesky(covariance)
    rng = np.random.default_rng(7)
    drawn = root @ rng.standard_normal((len(names), 3000))
    for modes, variance in ((3, 0.2), (3, 1.0), (10, 0.2), (10, 0.5), (10, 1.0), (36, 0.5)):
        left = values(bin_dir, ("residual", modes))[0]
        ratio = (variance / left) ** (3 / 5)
        phase = (drawn[modes - 1:] * ratio ** (5 / 6)).T @ at[modes - 1:]
        power = np.abs((np.exp(1j * phase) * mode).sum(axis=1)) ** 2 / plane
        beyond = math.exp(-values(bin_dir, ("residual", len(names) + 1))[0] * ratio ** (5 / 3))
        yield Row(f"Mean coupling, {modes} modes corrected, variance left {variance} rad²", "3000 drawn wave fronts, overlap with the mode; with the program's residual variances", float(power.mean()) * beyond,
                  values(bin_dir, ("coupling", modes, f"{ratio:.12g}"))[0], 0.03 + 0.15 * variance, deviation=float(power.std() / power.mean()) / len(power) ** 0.5)


@check("Air")
def fibre_trace(bin_dir):
    pass_ = ("--elevation", "0s:10,100s:80", "--aperture", "0.4m", "--fibre", "10", "--profile", "slc-day", "--fried", "0.12m", "--step", "100ms", "--steps", "1000")
    found = powers(bin_dir, *pass_)
    earth, sky = 6371.0, 6921.0
    far = [math.sqrt(sky**2 - (earth * math.cos(math.radians(e))) ** 2) - earth * math.sin(math.radians(e)) for e in (10, 80)]
    r0 = [0.12 * math.sin(math.radians(e)) ** 0.6 for e in (10, 80)]
    rest = values(bin_dir, ("residual", 10))[0]
    want = [(far[1] / far[i]) ** 2 * math.exp(-rest * (0.4 / r0[i]) ** (5 / 3)) for i in (0, 1)]
    yield Row("Power in the fibre at 10° of a pass, over that at 80°", "range, r₀ by the elevation, exp(−variance), with the program's residual variance", want[0] / want[1], float(found[0] / found[-1]), 0.03)
