# SPDX-License-Identifier: Apache-2.0
"""BER of an independent compiler against ours: PDUs with drawn values, encoded by asn1tools from csts.asn1, must be decoded by csts/
to the same values, and what csts/ encodes of these values must be the same octets.

usage: VENV/bin/python csts_oracle_test.py PROGRAM [SEED]        PROGRAM: csts_pdus"""

import pathlib
import random
import subprocess
import sys
import unittest

import asn1tools

PROGRAM, SEED, EACH = "", 1, 60
FRAMEWORK = "1.3.112.4.4.1.1."
OIDS = {"bindDiagnostic": "3.1.2.1", "notificationStart": "3.6.2.1", "notificationDiagnostic": "3.6.2.2", "cyclicStart": "3.2.1.1.2.1",
        "cyclicDiagnostic": "3.2.1.1.2.2", "cyclicData": "3.2.1.1.2.3", "processData": "3.4.2.1", "processing": "3.4.2.2",
        "sequenceStart": "3.4.1.2.2.1", "sequenceData": "3.4.1.2.2.2", "sequencePositive": "3.4.1.2.2.3", "sequenceDiagnostic": "3.4.1.2.2.4",
        "sequenceNegative": "3.4.1.2.2.5", "sequenceStatus": "3.4.1.2.2.6", "directiveDiagnostic": "2.11.1", "directiveFailed": "2.12.1",
        "deliveryStart": "3.3.2.1", "deliveryDiagnostic": "3.3.2.2", "startDiagnostic": "2.7.1", "getResult": "2.14.1", "getDiagnostic": "2.14.2"}
OIDS = {name: FRAMEWORK + rest for name, rest in OIDS.items()}
ON_CHANGE = "1.3.112.4.4.1.2.1.2.1"
NONE = ("notUsed", None)


class Draw:
    """Values for asn1tools, each with the words that csts_pdus prints of it."""

    def __init__(self, seed, spec, roots=("1.3.112.4.4.2.1.", "0.9.", "2.999.", "2.5.")):
        self.rng, self.spec, self.roots = random.Random(seed), spec, roots

    def number(self, least=0):
        edges = [v for v in (least, 1, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1) if v >= least]
        return self.rng.choice([*edges, self.rng.randint(least, 2**32 - 1)])

    def octets(self, *lengths):
        return self.rng.randbytes(self.rng.choice(lengths))

    def oid(self):
        arcs = [self.rng.choice([0, 39, 40, 47, 127, 128, 16383, 16384, 2**21, 2**32 - 1]) for _ in range(self.rng.randint(0, 4))]
        text = self.rng.choice(self.roots) + ".".join(map(str, [4, *arcs]))
        return text, f" {text}"

    def text(self, least=0, most=40):
        text = "".join(self.rng.choice("abcxyzABC019-_.") for _ in range(self.rng.randint(least, most)))
        return text, f" '{text}'"

    def time(self):
        day, ms = self.rng.randrange(65536), self.rng.randrange(86400000)
        if self.rng.random() < 0.5:
            us = self.rng.randrange(1000)
            return ("milli", day.to_bytes(2, "big") + ms.to_bytes(4, "big") + us.to_bytes(2, "big")), f" {day}.{ms}.{us * 1000000}"
        ps = self.rng.randrange(10**9)
        return ("pico", day.to_bytes(2, "big") + ms.to_bytes(4, "big") + ps.to_bytes(4, "big")), f" {day}.{ms}.{ps}"

    def procedure(self):
        (oid, words), role = self.oid(), self.rng.randrange(3)
        if role == 1:
            number = self.number(1)
            return {"type": oid, "role": ("secondary", number)}, f"{words} role1.{number}"
        return {"type": oid, "role": (("prime", "", "association")[role], None)}, f"{words} role{role}"

    def resource(self):
        (oid, words), number = self.oid(), self.number(1)
        return {"type": oid, "instance": number}, f"{words} #{number}"

    def name(self):
        kind = self.rng.choice(["resource", "procedure"])
        (of, words), (oid, more) = getattr(self, kind)(), self.oid()
        return {"of": (kind, of), "id": oid}, words + more

    def several(self, draw, least=0, most=4):
        drawn = [draw() for _ in range(self.rng.randint(least, most))]
        return [value for value, _ in drawn], "".join(words for _, words in drawn)

    def list(self):
        kind = self.rng.randrange(8)
        name = ("empty", "names", "labels", "named", "resource", "resourceType", "procedureType", "procedure")[kind]
        value, words = {"empty": lambda: (None, ""), "names": lambda: self.several(self.name), "labels": lambda: self.several(self.oid),
                        "named": self.text, "resource": self.resource, "resourceType": self.oid, "procedureType": self.oid,
                        "procedure": self.procedure}[name]()
        return (name, value), f" list{kind}{words}"

    @staticmethod
    def embed(oid, data):
        return {"identification": ("syntax", oid), "value": data}

    def foreign(self):
        (oid, words), data = self.oid(), self.octets(0, 1, 127, 128, 200, 300)
        return self.embed(oid, data), f"{words} ={data.hex()}"

    def value(self):
        state = self.rng.randrange(4)
        if state == 0:
            pdv, words = self.foreign()
            return ("valid", pdv), f" value0{words}"
        return (("", "unavailable", "undefined", "error")[state], None), f" value{state}"

    def parameter(self):
        (name, words), (values, more) = self.name(), self.several(self.value)
        return {"name": name, "values": values}, f" parameter{words}{more}"

    def typed(self, oid, kind, value, words):
        return self.embed(OIDS[oid], self.spec.encode(kind, value)), words

    def extension(self, *draws):
        """Not used, of a type that csts/ does not know, or one of these."""
        draw = self.rng.choice([None, self.foreign, *draws, *draws])
        if draw is None:
            return NONE, ""
        pdv, words = draw()
        return ("external", pdv), words

    def report(self, oid):
        parameters, words = self.several(self.parameter)
        return self.typed(oid, "Report", {"parameters": parameters, "extension": NONE}, words)

    def cyclic_start(self):
        cycle, (chosen, words), only = self.number(1), self.list(), self.rng.choice([None, False, True])
        option = NONE
        if only is not None:
            option = ("external", self.embed(ON_CHANGE, self.spec.encode("OnChange", {"only": only, "extension": NONE})))
        more = "" if only is None else f" on-change{int(only)}"
        return self.typed("cyclicStart", "CyclicStart", {"cycle": cycle, "list": chosen, "extension": option}, f" cycle{cycle}{words}{more}")

    def notification_start(self):
        chosen, words = self.list()
        return self.typed("notificationStart", "NotificationStart", {"list": chosen, "extension": NONE}, words)

    def bind_diagnostic(self):
        number, (text, words) = self.rng.randint(1, 8), self.text()
        name = ("accessDenied", "serviceType", "version", "noInstance", "alreadyBound", "notAccessible", "inconsistent", "outOfService")
        return self.typed("bindDiagnostic", "BindDiagnostic", (name[number - 1], text), f" refused{number}{words}")

    def unknown(self):
        if self.rng.random() < 0.5:
            oid, words = self.oid()
            return ("label", oid), words
        name, words = self.name()
        return ("name", name), words

    def common(self, cyclic):
        if cyclic and self.rng.random() < 0.2:
            text, words = self.text()
            return ("outOfRange", text), f" refusal1{words}"
        kind = self.rng.randrange(7)
        name = ("resource", "resourceType", "identifiers", "list", "default", "procedureType", "procedure")[kind]
        value, words = {"resource": self.resource, "resourceType": self.oid, "identifiers": lambda: self.several(self.unknown),
                        "list": self.text, "default": self.text, "procedureType": self.oid, "procedure": self.procedure}[name]()
        return ("common", (name, value)), f" refusal0 because{kind}{words}"

    def get_diagnostic(self):
        return self.typed("getDiagnostic", "Common", *self.common(False))

    def start_diagnostic(self):
        kind = self.rng.randrange(5)
        if kind < 2:
            text, words = self.text()
            return self.typed("startDiagnostic", "StartDiagnostic", (("unable", "outOfService")[kind], text), f" refusal{2 + kind}{words}")
        if kind == 4:
            (text, words), number = self.text(), self.rng.randrange(4)
            name = ("missing", "start", "stop", "inconsistent")[number]
            inner = self.typed("deliveryDiagnostic", "DeliveryDiagnostic", (name, text), "")[0]
            return self.typed("startDiagnostic", "StartDiagnostic", ("extension", inner), f" refusal{4 + number}{words}")
        oid = ("cyclicDiagnostic", "notificationDiagnostic")[kind - 2]
        value, words = self.common(kind == 2)
        return self.typed("startDiagnostic", "StartDiagnostic", ("extension", self.typed(oid, "Common", value, "")[0]), words)

    def unit_id(self, oid):
        number = self.number()
        return self.typed(oid, "UnitId", {"id": number, "extension": NONE}, f" unit{number}")

    def when(self):
        if self.rng.random() < 0.3:
            return ("undefined", None), " any"
        time, words = self.time()
        return ("known", time), words

    def window(self, oid):
        (earliest, words), (latest, more) = self.when(), self.when()
        return self.typed(oid, "Window", {"earliest": earliest, "latest": latest, "extension": NONE}, f" window{words}{more}")

    def sequence_extension(self):
        """PROCESS-DATA with times: an extension in an extension."""
        report, (window, words) = self.rng.random() < 0.5, self.window("sequenceData")
        value = {"report": ("yes" if report else "no", None), "extension": ("external", window)}
        return self.typed("processData", "ProcessExtension", value, f" report{int(report)}{words}")

    def unit_diagnostic(self):
        number = self.rng.randrange(8)
        name = ("unable", "locked", "sequence", "inconsistent", "invalid", "late", "data", "store")[number]
        return self.typed("sequenceDiagnostic", "UnitDiagnostic", (name, None), f" unit-refused{number}")

    def directive_diagnostic(self):
        number = self.rng.randrange(7)
        name = ("directive", "qualifier", "procedure", "resource", "resourceParameter", "procedureParameter", "range")[number]
        value, words = self.several(self.name, 1) if number >= 4 else (None, "")
        return self.typed("directiveDiagnostic", "DirectiveDiagnostic", (name, value), f" directive-refused{number}{words}")

    def directive_failed(self):
        value, words = self.several(self.name, 0)
        inner = ("names", value) if value else ("none", None)
        return self.typed("directiveFailed", "DirectiveFailed", ("action", inner), f" directive-failed{words}")

    def qualifier(self):
        kind = self.rng.randrange(3)
        if kind == 0:
            def element():
                (oid, words), (pdv, more) = self.oid(), self.foreign()
                return {"id": oid, "value": pdv}, words + more
            value, words = self.several(element)
        else:
            value, words = self.foreign() if kind == 1 else (None, "")
        return (("named", "value", "none")[kind], value), f" qualifier{kind}{words}"

    def process_extension(self):
        report = self.rng.random() < 0.5
        value = {"report": ("yes" if report else "no", None), "extension": NONE}
        return self.typed("processData", "ProcessExtension", value, f" report{int(report)}")

    def processing(self):
        value, words = {"last": ("none", None), "ok": ("none", None), "extension": NONE}, " last"
        if self.rng.random() < 0.6:
            number, status, (time, more) = self.number(), self.rng.randrange(5), self.time()
            if status < 3:
                of = ("processed", "interrupted", "started")[status], time
            else:
                of, more = ("extension", self.typed("sequenceStatus", "UnitStatus", (("expired", "notStarted")[status - 3], None), "")[0]), ""
            value["last"] = ("unit", {"id": number, "status": of})
            words += f" {number} status{status}{more}"
        words += " ok"
        if self.rng.random() < 0.6:
            number, (time, more) = self.number(), self.time()
            value["ok"] = ("unit", {"id": number, "stopped": time})
            words += f" {number}{more}"
        production = self.rng.randrange(5)
        value["production"] = ("change", None) if production == 4 else \
            ("other", ("configured", "operational", "interrupted", "halted")[production])
        return self.typed("processing", "Processing", value, words + (" change" if production == 4 else f" production{production}"))

    def credentials(self):
        data = self.octets(0, 8, 40, 52, 127, 128, 256)
        return ("used", data) if data else ("unused", None), f" credentials={data.hex()}"

    def head(self):
        (credentials, words), number, (procedure, more) = self.credentials(), self.number(), self.procedure()
        return {"credentials": credentials, "invokeId": number, "procedure": procedure}, f"{words} id{number}{more}"

    def result(self, positive, diagnostic):
        """A return: the drawn extension of a positive result, and that of a diagnostic."""
        (credentials, words), number = self.credentials(), self.number()
        words += f" id{number}"
        if self.rng.random() < 0.5:
            extension, more = self.extension(*positive)
            return {"credentials": credentials, "invokeId": number, "result": ("positive", extension)}, words + " positive", more
        kind = self.rng.choice([0, 1, 2, 3, 100, 100])
        name = {0: "invalid", 1: "conflicting", 2: "other", 3: "unsupported", 100: "extension"}[kind]
        if kind == 100:
            value, more = self.rng.choice([self.foreign, *diagnostic, *diagnostic])()
        else:
            value, more = self.text()
            if kind == 0:
                appellation, last = self.text(1)
                value, more = {"text": value, "appellation": appellation}, more + last
            elif kind == 1:
                appellations, last = self.several(lambda: self.text(1, 100))
                value, more = {"text": value, "appellations": appellations}, more + last
        extension, last = self.extension()
        negative = {"diagnostic": (name, value), "negExtension": extension}
        return {"credentials": credentials, "invokeId": number, "result": ("negative", negative)}, f"{words} negative{kind}{more}", last

    def data(self, *draws):
        if self.rng.random() < 0.4:
            data = self.octets(0, 1, 127, 128, 1115)
            return ("opaque", data), f" ={data.hex()}"
        pdv, words = self.rng.choice([self.foreign, *draws, *draws])()
        return ("extended", pdv), words

    # ---- PDUs: (value, words) ----

    def bind(self):
        head, words = self.head()
        initiator, port = self.text(3, 16)[0], self.text(1, 128)[0]
        service, version, (extension, last) = self.oid()[0], self.number(1), self.extension()
        ids, number = [self.oid()[0] for _ in range(3)], self.number()
        value = {"head": head, "initiator": initiator, "port": port, "service": service, "version": version, "extension": extension,
                 "instance": dict(zip(("spacecraft", "facility", "type"), ids), number=number)}
        return value, f" BIND{words} {initiator} {port} {service} {version} {' '.join(ids)} {number}{last}"

    def bind_return(self):
        head, words, last = self.result([], [self.bind_diagnostic])
        responder = self.text(3, 16)[0]
        return {"head": head, "responder": responder}, f" BIND return{words} {responder}{last}"

    def plain(self, name, *draws):
        (head, words), (extension, last) = self.head(), self.extension(*draws)
        return {"head": head, "extension": extension}, f" {name}{words}{last}"

    def plain_return(self, name, positive=(), diagnostic=(), end=" return"):
        value, words, last = self.result(positive, diagnostic)
        return value, f" {name}{end}{words}{last}"

    def get(self):
        (head, words), (chosen, more), (extension, last) = self.head(), self.list(), self.extension()
        return {"head": head, "list": chosen, "extension": extension}, f" GET{words}{more}{last}"

    def directive(self):
        (head, words), (oid, more), (extension, last), target = self.head(), self.oid(), self.extension(), self.rng.randrange(4)
        words += more + f" target{target}"
        if target == 3:
            value, more = self.foreign()
        else:
            qualifier, end = self.qualifier()
            value, more = qualifier, ""
            if target > 0:
                name = ("procedure", "resource")[target - 1]
                of, more = getattr(self, name)()
                value = {name: of, "qualifier": qualifier}
            more += end
        value = {"head": head, "id": oid, "target": (("this", "procedure", "resource", "extension")[target], value), "extension": extension}
        return value, f" EXECUTE-DIRECTIVE{words}{more}{last}"

    def notify(self):
        (head, words), (at, when), (event, name) = self.head(), self.time(), self.name()
        kind = self.rng.choice([0, 1, 100])
        if kind == 0:
            value, more = self.several(self.value)
        else:
            value, more = (None, "") if kind == 1 else self.foreign()
        extension, last = self.extension(self.processing)
        value = {"head": head, "at": at, "event": event, "value": ({0: "values", 1: "empty", 100: "extension"}[kind], value),
                 "extension": extension}
        return value, f" NOTIFY{words}{when}{name} event{kind}{more}{last}"

    def process(self):
        (head, words), number, (data, more), (extension, last) = self.head(), self.number(), self.data(), \
            self.extension(self.process_extension, self.sequence_extension)
        return {"head": head, "id": number, "data": data, "extension": extension}, f" PROCESS-DATA{words} {number}{more}{last}"

    def transfer(self):
        (head, words), (at, when), number = self.head(), self.time(), self.number()
        (data, more), (extension, last) = self.data(lambda: self.report("cyclicData")), self.extension()
        value = {"head": head, "generated": at, "sequence": number, "data": data, "extension": extension}
        return value, f" TRANSFER-DATA{words}{when} {number}{more}{last}"

    def buffered(self):
        kind = self.rng.choice(["transfer", "notify"])
        value, words = getattr(self, kind)()
        return (kind, value), words

    def forward_buffer(self):
        value, words = self.several(self.process, 1)
        return value, f" forward buffer{words}"

    def return_buffer(self):
        value, words = self.several(self.buffered, 1)
        return value, f" return buffer{words}"

    def abort(self):
        octet = self.rng.randrange(256)
        return {"diagnostic": bytes([octet])}, f" PEER-ABORT {octet}"


PDUS = {"bind": Draw.bind, "bindReturn": Draw.bind_return, "unbind": lambda d: d.plain("UNBIND"),
        "unbindReturn": lambda d: d.plain_return("UNBIND"), "peerAbort": Draw.abort,
        "start": lambda d: d.plain("START", d.cyclic_start, d.notification_start, lambda: d.unit_id("sequenceStart"),
                                   lambda: d.window("deliveryStart")),
        "startReturn": lambda d: d.plain_return("START", [], [d.start_diagnostic]), "stop": lambda d: d.plain("STOP"),
        "stopReturn": lambda d: d.plain_return("STOP"), "get": Draw.get, "directive": Draw.directive,
        "directiveAck": lambda d: d.plain_return("EXECUTE-DIRECTIVE acknowledgement", [], [d.directive_diagnostic], ""),
        "directiveReturn": lambda d: d.plain_return("EXECUTE-DIRECTIVE", [], [d.directive_failed]),
        "getReturn": lambda d: d.plain_return("GET", [lambda: d.report("getResult")], [d.get_diagnostic]), "notify": Draw.notify,
        "processData": Draw.process, "processReturn": lambda d: d.plain_return("PROCESS-DATA", [lambda: d.unit_id("sequencePositive")], [d.unit_diagnostic]), "forwardBuffer": Draw.forward_buffer,
        "transferData": Draw.transfer, "returnBuffer": Draw.return_buffer}


def run(lines):
    answer = subprocess.run([PROGRAM], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    return answer.stdout.splitlines()


class OracleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spec = asn1tools.compile_files(str(pathlib.Path(__file__).parent / "csts.asn1"), "ber")

    def test_each_pdu(self):
        draw = Draw(SEED, self.spec)
        for name, make in PDUS.items():
            with self.subTest(pdu=name, seed=SEED):
                drawn = [make(draw) for _ in range(EACH)]
                octets = [self.spec.encode("Pdu", (name, value)).hex() for value, _ in drawn]
                answers = run(octets)
                self.assertEqual(len(answers), len(octets))
                for sent, (_, words), answer in zip(octets, drawn, answers):
                    self.assertEqual(answer, f"pdu{words} octets {sent}")

    def test_ours_for_the_compiler(self):
        """What csts/ encodes, the compiler decodes to the values that it was given. (asn1tools 0.169 decodes no object identifier
        below 2.)"""
        draw = Draw(SEED + 1, self.spec, ["1.3.112.4.4.2.1.", "0.9."])
        for name, make in PDUS.items():
            value = make(draw)[0]
            answer = run([self.spec.encode("Pdu", (name, value)).hex()])[0]
            with self.subTest(pdu=name):
                self.assertEqual(self.spec.decode("Pdu", bytes.fromhex(answer.split(" octets ")[1])), (name, value))

    def test_damaged(self):
        """Octets cut off, or one more behind the end: refused."""
        draw = Draw(SEED + 2, self.spec)
        for name, make in PDUS.items():
            octets = self.spec.encode("Pdu", (name, make(draw)[0])).hex()
            with self.subTest(pdu=name):
                self.assertEqual(run([octets[:-2], octets + "00"]), ["bad", "bad"])


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    SEED = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    unittest.main(argv=sys.argv[:1], verbosity=2)
