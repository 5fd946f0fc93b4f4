# SPDX-License-Identifier: Apache-2.0
"""BER of an independent origin against ours: PDUs with drawn values, encoded by pyasn1 from LibreCube's ASN.1 types, those of ROCF
by jasn1 from dariolucia's (sle/Oracle.java), must be decoded by sle/, and what sle/ encodes of the decoded values must be the same
octets; of a TRANSFER-BUFFER, the same values.

usage: VENV/bin/python sle_oracle_test.py PROGRAM DIR [SEED]        PROGRAM: sle_pdus, DIR: what sle.sh made"""

import random
import subprocess
import sys
import unittest

from pyasn1.codec.ber.encoder import encode
from pyasn1.type import char, constraint, univ
from sle.datatypes import cltu_pdu, raf_pdu, rcf_pdu

PROGRAM, DIR, SEED, EACH = "", "", 1, 40
# Parameters that LibreCube's types call otherwise.
NUMBERS = {"parReturnTimeout": 29, "parReqFrameQuality": 27, "parReqGvcId": 28, "parCltuIdentification": 10,
           "parEventInvocationIdentification": 9, "parMaximumCltuLength": 21, "parPermittedGvcedSet": 24, "parMinReportingCycle": 301,
           "parPermittedFrameQuality": 302}
PDUS = {("raf", "user"): raf_pdu.RafUserToProviderPdu, ("raf", "provider"): raf_pdu.RafProviderToUserPdu,
         ("rcf", "user"): rcf_pdu.RcfUserToProviderPdu, ("rcf", "provider"): rcf_pdu.RcfProviderToUserPdu,
         ("cltu", "user"): cltu_pdu.CltuUserToProviderPdu, ("cltu", "provider"): cltu_pdu.CltuProviderToUserPdu}
# LibreCube's types are those of version 5, whatever the version: these are others in version 4, or do not exist there. They are decoded.
ONLY_5 = ("parMinReportingCycle", "parPermittedFrameQuality", "parPermittedGvcedSet", "parReqGvcId", "parClcwGlobalVcId", "parClcwPhysicalChannel")


def bounds(spec, kind):
    """Of all constraints of that kind: (least, most)."""
    low, high, found = 0, None, [spec.subtypeSpec, getattr(spec, "sizeSpec", None)]
    while found:
        one = found.pop()
        if type(one) is kind:
            low, high = max(low, one.start) if kind is constraint.ValueSizeConstraint else one.start, one.stop
        elif isinstance(one, constraint.AbstractConstraintSet):
            found += list(one)
    return low, high


class Draw:
    """Values for ASN.1 types."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def integer(self, spec):
        names = list(spec.namedValues.values()) if len(spec.namedValues) else None
        if names:
            return spec.clone(self.rng.choice(names))
        low, high = bounds(spec, constraint.ValueRangeConstraint)
        high = 2**31 - 1 if high is None else high
        edges = [v for v in (low, high, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31) if low <= v <= high]
        return spec.clone(self.rng.choice([*edges, self.rng.randint(low, high)]))

    def octets(self, spec):
        low, high = bounds(spec, constraint.ValueSizeConstraint)
        length = self.rng.choice([low or 1, min(high or 300, 300), self.rng.randint(low or 1, min(high or 300, 300))])
        if length in (8, 10) and low == high:  # CDS time: a day has 86,400,000 ms
            day, ms, rest = self.rng.randrange(65536), self.rng.randrange(86400000), self.rng.randrange(1000 if length == 8 else 10**9)
            return spec.clone(day.to_bytes(2, "big") + ms.to_bytes(4, "big") + rest.to_bytes(length - 6, "big"))
        return spec.clone(self.rng.randbytes(length))

    def text(self, spec):
        low, high = bounds(spec, constraint.ValueSizeConstraint)
        high = min(high or 16, 60)
        return spec.clone("".join(self.rng.choice("ABCXYZ-.09") for _ in range(self.rng.randint(max(3, low), max(3, high)))))

    def of(self, spec, name=""):
        if name in ("serviceInstanceIdentifier",):
            return self.instance(spec)
        if isinstance(spec, univ.Choice):
            return self.choice(spec, self.rng.choice([t.name for t in spec.componentType.namedTypes]))
        if isinstance(spec, univ.SetOf) and isinstance(spec.componentType, univ.Integer):
            out, numbers = spec.clone(), list(spec.componentType.namedValues.values()) or list(range(64))
            for i, number in enumerate(sorted(self.rng.sample(numbers, self.rng.randint(1, min(3, len(numbers)))))):
                out.setComponentByPosition(i, spec.componentType.clone(number))  # ascending and once, as sets are written
            return out
        if isinstance(spec, (univ.SequenceOf, univ.SetOf)):
            out = spec.clone()
            for i in range(self.rng.randint(1, 3)):
                out.setComponentByPosition(i, self.of(spec.componentType), matchTags=False, matchConstraints=False)
            return out
        if isinstance(spec, univ.Sequence):
            out = spec.clone()
            for t in spec.componentType.namedTypes:
                if t.isOptional:  # there is none in the books; RCF's frames have no quality
                    continue
                out.setComponentByName(t.name, self.of(t.asn1Object, t.name), matchTags=False, matchConstraints=False)
            return out
        if isinstance(spec, univ.Null):
            return spec.clone("")
        if isinstance(spec, univ.ObjectIdentifier):
            return spec.clone((1, 3, 112, 4, self.rng.randrange(200), self.rng.randrange(100000)))
        if isinstance(spec, char.AbstractCharacterString):
            return self.text(spec)
        if isinstance(spec, univ.OctetString):
            return self.octets(spec)
        return self.integer(spec)

    def choice(self, spec, name):
        out, inner = spec.clone(), self.of(spec.componentType[name].asn1Object, name)
        if name.startswith("par"):  # the name of a parameter is in its value, too
            named = inner.componentType["parameterName"].asn1Object
            inner.setComponentByName("parameterName", named.clone(NUMBERS.get(name) or named.namedValues[name[3].lower() + name[4:]]))
        out.setComponentByName(name, inner, matchTags=False, matchConstraints=False)
        return out

    def instance(self, spec):
        from sle.datatypes.service_instance import ServiceInstanceAttribute, ServiceInstanceAttributeElement
        out = spec.clone()
        for i, (last, value) in enumerate(((52, "A"), (53, "SPACK-1"), (38, "1"), (22, "onlc" + str(self.rng.randrange(1000))))):
            element = ServiceInstanceAttributeElement()
            element["identifier"], element["siAttributeValue"] = (1, 3, 112, 4, 3, 1, 2, last), value
            attribute = ServiceInstanceAttribute()
            attribute[0] = element
            out[i] = attribute
        return out


def ask(pdus, version, lines):
    """Of a service and of who sends them."""
    done = subprocess.run([PROGRAM, pdus[0], str(version), pdus[1]], input="".join(x.hex() + "\n" for x in lines), capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Oracle(unittest.TestCase):
    def compare(self, pdus, version):
        spec, draw = PDUS[pdus](), Draw(f"{SEED}-{pdus}-{version}")
        cases = [(t.name, draw.choice(spec, t.name)) for t in spec.componentType.namedTypes for _ in range(EACH)]
        octets = [encode(value) for _, value in cases]
        answers = ask(pdus, version, octets)
        self.assertEqual(len(answers), len(cases))
        wrong = {}
        for (name, value), sent, got in zip(cases, octets, answers):
            if not self.same(name, value, sent, got) and not (version < 5 and self.only_five(name, value) and got != "bad"):
                wrong.setdefault(name, []).append((sent.hex(), got))
        self.assertEqual({k: len(v) for k, v in wrong.items()}, {}, {k: v[0] for k, v in wrong.items()})

    def only_five(self, name, value):
        result = value[name]["result"] if name.lower().endswith("getparameterreturn") else None
        return result is not None and result.getName() == "positiveResult" and result.getComponent().getName() in ONLY_5

    def same(self, name, value, sent, got):
        if not name.lower().endswith("transferbuffer"):
            return got == sent.hex()
        return got == " ".join(["buffer", *map(self.item, value[name])])

    def item(self, item):
        """As sle_pdus prints it."""
        one = item.getComponent()
        if item.getName() == "syncNotification":
            kinds = [t.name for t in one["notification"].componentType.namedTypes]
            return f"sync:{kinds.index(one['notification'].getName())}"
        time = bytes(one["earthReceiveTime"].getComponent())
        rest = int.from_bytes(time[6:], "big") * (10**6 if len(time) == 8 else 1)
        antenna, note = one["antennaId"].getComponent(), one["privateAnnotation"]
        is_global = one["antennaId"].getName() == "globalForm"
        antenna = encode(univ.ObjectIdentifier(tuple(antenna)))[2:] if is_global else bytes(antenna)
        quality = int(one["deliveredFrameQuality"]) if one["deliveredFrameQuality"].isValue else 0
        return (f"frame:{int.from_bytes(time[:2], 'big')}.{int.from_bytes(time[2:6], 'big')}.{rest}:{antenna.hex()}:{int(is_global)}:"
                f"{int(one['dataLinkContinuity'])}:{quality}:{'' if note.getName() == 'null' else bytes(note.getComponent()).hex()}:"
                f"{bytes(one['data']).hex()}")


class Rocf(unittest.TestCase):
    """All PDUs of ROCF but BIND, UNBIND and PEER-ABORT, which are those of the other services."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run(["java", "-XX:+UseSerialGC", "-cp", f"{DIR}/classes:{DIR}/lib/*", "Oracle", str(SEED), str(EACH)],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        cls.rows = [line.split() for line in done.stdout.splitlines()]

    def compare(self, speaker, version, kinds):
        rows = [r for r in self.rows if r[:2] == [speaker, str(version)]]
        self.assertEqual({r[2] for r in rows}, kinds)
        self.assertEqual(len(rows), EACH * len(kinds))
        wrong = {}
        for (_, _, name, octets, *items), got in zip(rows, ask(("rocf", speaker), version, [bytes.fromhex(r[3]) for r in rows]), strict=True):
            if got != (" ".join(["buffer", *items]) if name == "TransferBuffer" else octets):
                wrong.setdefault(name, []).append((octets, got))
        self.assertEqual({k: len(v) for k, v in wrong.items()}, {}, {k: v[0] for k, v in wrong.items()})


for speaker, kinds in (("user", {"StartInvocation", "StopInvocation", "ScheduleStatusReportInvocation", "GetParameterInvocation"}),
                       ("provider", {"StartReturn", "StopReturn", "ScheduleStatusReportReturn", "GetParameterReturn", "StatusReportInvocation",
                                     "TransferBuffer"})):
    for number in (2, 4, 5):
        setattr(Rocf, f"test_rocf_{speaker}_v{number}", lambda self, s=speaker, v=number, k=kinds: self.compare(s, v, k))


def add(pdus, version):
    setattr(Oracle, f"test_{pdus[0]}_{pdus[1]}_v{version}", lambda self: self.compare(pdus, version))


for one in PDUS:
    for number in (4, 5):
        add(one, number)

if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    DIR = sys.argv.pop(1)
    SEED = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
    unittest.main(verbosity=2)
