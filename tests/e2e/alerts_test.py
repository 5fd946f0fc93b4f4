# SPDX-License-Identifier: Apache-2.0
"""The rules of examples/monitoring, by Prometheus's own promtool: each alert fires for its trouble, and none without (alerts_fire.yaml); recorded
values are right (recording_values.yaml), and the dashboard's rates have a rule. promtool is
that of the machine, else that of Debian's package prometheus, which is unpacked and not installed: it would begin a service.

usage: alerts_test.py SOURCE CACHE
exit code 77: there is no promtool
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from prometheus import find

SOURCE, CACHE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
RULES = SOURCE / "examples/monitoring/alerts.yaml"
RECORDING = SOURCE / "examples/monitoring/recording.yaml"
DASHBOARDS = sorted(RULES.parent.glob("grafana*.json"))
FIRE = SOURCE / "tests/e2e/alerts_fire.yaml"
VALUES = SOURCE / "tests/e2e/recording_values.yaml"
PROMTOOL = ""


def promtool(*words):
    return subprocess.run([PROMTOOL, *map(str, words)], capture_output=True, text=True, timeout=300, check=False)


class Alerts(unittest.TestCase):
    def alerts(self):
        return re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8"))

    def test_rules_are_right(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(self.alerts())} rules found", done.stdout)

    def test_each_fires(self):
        done = promtool("test", "rules", FIRE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = FIRE.read_text(encoding="utf-8")
        for name in self.alerts():
            quiet = len(re.findall(rf"alertname: {name}, exp_alerts: \[\]", text))
            fires = len(re.findall(rf"alertname: {name}\n +exp_alerts:(?: \[\{{|\n)", text))
            self.assertTrue(quiet >= 1 and fires >= 1, (name, quiet, fires))

    def test_a_wrong_rule_is_found(self):
        """The tests above can fail: one expression after the other is never true."""
        text = RULES.read_text(encoding="utf-8")
        for expression in re.findall(r"expr: (.*)", text):
            with tempfile.TemporaryDirectory() as folder:
                rules, fire = pathlib.Path(folder, "rules.yaml"), pathlib.Path(folder, "fire.yaml")
                rules.write_text(text.replace(f"expr: {expression}", "expr: vector(1) > 2"), encoding="utf-8")
                fire.write_text(FIRE.read_text(encoding="utf-8").replace("../../examples/monitoring/alerts.yaml", str(rules)), encoding="utf-8")
                self.assertEqual(promtool("test", "rules", fire).returncode, 1, expression)


class Recording(unittest.TestCase):
    def rules(self):
        return re.findall(r"- record: (\S+)\n +expr: (.*)", RECORDING.read_text(encoding="utf-8"))

    def test_rules_are_right(self):
        done = promtool("check", "rules", RECORDING)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(self.rules())} rules found", done.stdout)

    def test_values(self):
        done = promtool("test", "rules", VALUES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = VALUES.read_text(encoding="utf-8")
        for name, expression in self.rules():  # each is tested, and a wrong one is found
            self.assertIn(f"- expr: {name}\n", text)
            with tempfile.TemporaryDirectory() as folder:
                rules, values = pathlib.Path(folder, "rules.yaml"), pathlib.Path(folder, "values.yaml")
                rules.write_text(RECORDING.read_text(encoding="utf-8").replace(f"expr: {expression}", f"expr: 2 * ({expression})"), encoding="utf-8")
                values.write_text(text.replace("../../examples/monitoring/recording.yaml", str(rules)), encoding="utf-8")
                self.assertEqual(promtool("test", "rules", values).returncode, 1, name)

    def test_the_dashboards_rates_have_a_rule(self):
        self.assertEqual(len(DASHBOARDS), 3)
        found = {s for file in DASHBOARDS for p in json.loads(file.read_text(encoding="utf-8"))["panels"] for t in p.get("targets", ())
                 for s in re.findall(r"rate\((\w+)\{[^}]*\}\[(\w+)\]\)", t["expr"])}
        recorded = {s for _, expression in self.rules() for s in re.findall(r"rate\((\w+)\[(\w+)\]\)", expression)}
        self.assertGreaterEqual(len(found), 6)
        self.assertEqual(found, recorded)


if __name__ == "__main__":
    PROMTOOL = find("promtool", CACHE)
    if PROMTOOL is None:
        print("SKIPPED: there is no promtool, and Debian's package prometheus was not reached")
        sys.exit(77)
    unittest.main(verbosity=2)
