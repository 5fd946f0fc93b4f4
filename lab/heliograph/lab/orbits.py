# SPDX-License-Identifier: Apache-2.0
"""The direction and distance of a satellite from a station: SGP4 for the orbit, the earth as a rotating ellipsoid.

The error is some hundred metres, in addition to that of the elements: polar motion and refraction are left out.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any

A, F = 6378.137, 1 / 298.257223563  # WGS 84: equatorial radius (km), flattening
LIGHT = 299792.458                  # km/s
UTC = datetime.timezone.utc


class OrbitError(ValueError):
    pass


@dataclasses.dataclass(frozen=True)
class Station:
    name: str
    latitude: float   # degrees, north
    longitude: float  # degrees, east
    altitude: float   # km above the ellipsoid

    def fixed(self) -> Any:
        """Its place, km, in axes that turn with the earth."""
        lat, lon = math.radians(self.latitude), math.radians(self.longitude)
        e2 = F * (2 - F)
        n = A / math.sqrt(1 - e2 * math.sin(lat) ** 2)
        return ((n + self.altitude) * math.cos(lat) * math.cos(lon), (n + self.altitude) * math.cos(lat) * math.sin(lon),
                (n * (1 - e2) + self.altitude) * math.sin(lat))


@dataclasses.dataclass
class Pass:
    station: str
    rise: float       # seconds after the start, as are all times
    culmination: float
    set: float
    elevation: float  # degrees, the highest
    points: list[Any]      # (time, elevation in degrees, distance in km) from rise to set


def julian(when: Any) -> Any:
    """The Julian day of a date, as whole and fraction."""
    since = when - datetime.datetime(2000, 1, 1, 12, tzinfo=UTC)
    return 2451545.0, since.total_seconds() / 86400


def sidereal(day: Any, fraction: Any) -> Any:
    """Greenwich mean sidereal time of a Julian day, radians (IAU 1982)."""
    t = (day - 2451545.0 + fraction) / 36525
    seconds = 67310.54841 + (876600 * 3600 + 8640184.812866) * t + 0.093104 * t * t - 6.2e-6 * t ** 3
    return math.radians(seconds / 240 % 360)


class Satellite:
    """By its two lines of elements."""

    def __init__(self, name: str, first: Any, second: Any) -> None:
        from sgp4.api import Satrec  # needed here only
        self.name = name
        self.record = Satrec.twoline2rv(first, second)

    def fixed(self, when: Any) -> Any:
        day, fraction = julian(when)
        error, (x, y, z), _ = self.record.sgp4(day, fraction)
        if error:
            raise OrbitError(f"{self.name}: the elements cannot be used at {when:%Y-%m-%d %H:%M} (SGP4 error {error})")
        turn = sidereal(day, fraction)
        c, s = math.cos(turn), math.sin(turn)
        return c * x + s * y, c * y - s * x, z


def look(station: Any, place: Any) -> Any:
    """Elevation in degrees and distance in km of a place, from a station."""
    lat, lon = math.radians(station.latitude), math.radians(station.longitude)
    d = [a - b for a, b in zip(place, station.fixed())]
    up = math.cos(lat) * math.cos(lon) * d[0] + math.cos(lat) * math.sin(lon) * d[1] + math.sin(lat) * d[2]
    distance = math.sqrt(sum(x * x for x in d))
    return math.degrees(math.asin(up / distance)), distance


def checksum(line: Any) -> Any:
    return sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10


def read_elements(path: str) -> Any:
    """The satellites of a file of two-line elements, with or without names; OrbitError with file and line."""
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [(i + 1, line.rstrip()) for i, line in enumerate(f) if line.strip()]
    found, name = [], None
    i = 0
    while i < len(lines):
        number, line = lines[i]
        if not line.startswith("1 ") or len(line) < 60:
            name, i = line.removeprefix("0 ").strip(), i + 1
            continue
        if i + 1 == len(lines) or not lines[i + 1][1].startswith("2 "):
            raise OrbitError(f"{path}:{number}: the second line of the elements is missing; it begins with 2")
        for at, text in (lines[i], lines[i + 1]):
            if len(text) < 69 or not text[68].isdigit() or checksum(text) != int(text[68]):
                raise OrbitError(f"{path}:{at}: the check digit of this line should be {checksum(text)}; were some characters lost?")
        found.append(Satellite(name or line[2:7].strip(), line, lines[i + 1][1]))
        name, i = None, i + 2
    if not found:
        raise OrbitError(f"{path}: there are no two-line elements (lines that begin with 1 and 2)")
    return found


class Scan:
    """One satellite above one station, from a date on."""

    def __init__(self, satellite: Any, station: Any, start: Any) -> None:
        self.satellite, self.station, self.start = satellite, station, start

    def at(self, seconds: float) -> Any:
        return look(self.station, self.satellite.fixed(self.start + datetime.timedelta(seconds=seconds)))

    def cross(self, low: Any, high: Any, elevation: Any) -> Any:
        """When, between two times, the elevation crosses this one, to a millisecond."""
        below = self.at(low)[0] < elevation
        while high - low > 1e-3:
            middle = (low + high) / 2
            if (self.at(middle)[0] < elevation) == below:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def passes(self, seconds: float, elevation: Any, step: Any) -> Any:
        """Those within so many seconds; what has begun before is cut at the start, likewise at the end."""
        coarse, out, rise = 20.0, [], None
        t, above = 0.0, self.at(0)[0] >= elevation
        if above:
            rise = 0.0
        while t < seconds:
            following = min(t + coarse, seconds)
            now = self.at(following)[0] >= elevation
            if now and not above:
                rise = self.cross(t, following, elevation)
            elif above and not now:
                out.append(self.one(rise, self.cross(t, following, elevation), step))
            t, above = following, now
        if above:
            out.append(self.one(rise, seconds, step))
        return out

    def one(self, rise: Any, end: Any, step: Any) -> Any:
        count = max(1, math.ceil((end - rise) / step))
        times = [rise + (end - rise) * i / count for i in range(count + 1)]
        points = [(t, *self.at(t)) for t in times]
        top = max(points, key=lambda point: float(point[1]))
        return Pass(self.station.name, rise, top[0], end, top[1], points)
