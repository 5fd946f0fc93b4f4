# SPDX-License-Identifier: Apache-2.0
"""FOP-1's state table and FARM-1's windows against ccsds-cop of PyPI, which is not ours. Cells that differ are listed here, with
what another implementation (dariolucia's) does. usage: cop_test.py COP_TABLE"""

import subprocess
import sys
import unittest

from ccsds_cop.cop_1.farm import Farm1
from ccsds_cop.cop_1.fop.transitions import _transitions

# (event, state): ours, ccsds-cop's. E3 in S5: an impossible CLCW; dariolucia alerts, as we do, ccsds-cop ignores it.
# E42: the layer below rejects a type-AD frame; dariolucia's and ours end the service in any state, ccsds-cop alerts and stays.
DIFFERENT = {(3, 5): (6, 5), (42, 2): (6, 2), (42, 3): (6, 3), (42, 4): (6, 4), (42, 5): (6, 5)}
ONLY_OURS = {(104, 5)}  # the timer in S5 with timeout type 1: as with type 0; dariolucia's, too
TABLE = ""


def lines(name):
    out = subprocess.run([TABLE], capture_output=True, check=True, text=True, timeout=100).stdout
    return [[int(w) for w in line.split()[1:]] for line in out.splitlines() if line.split()[0] == name]


class CopTest(unittest.TestCase):
    def test_fop_table(self):
        ours = {(event, state): to for event, state, to in lines("fop")}
        theirs = {}
        for at, to in _transitions.items():
            state, event = at.__dict__.values() if hasattr(at, "__dict__") else at
            theirs[event.value, state.value] = to[0].value
        self.assertGreater(len(theirs), 240)
        self.assertEqual(set(theirs) - set(ours), set())
        self.assertEqual(set(ours) - set(theirs), ONLY_OURS)
        self.assertEqual({cell: (ours[cell], to) for cell, to in theirs.items() if ours[cell] != to}, DIFFERENT)

    def test_farm_windows(self):
        other = Farm1(20)
        other.v_r = 200
        for ahead, event, _verdict, state, _retransmit, v_r in lines("farm"):
            number = (200 + ahead) % 256
            expected = 1 if number == 200 else 3 if other.is_in_positive_window(number) else 4 if other.is_in_negative_window(number) else 5
            self.assertEqual(event, expected, ahead)
            self.assertEqual((state, v_r), (2 if event == 5 else 0, 201 if event == 1 else 200))


if __name__ == "__main__":
    TABLE = sys.argv.pop(1)
    unittest.main()
