# SPDX-License-Identifier: Apache-2.0
"""Published numbers beside what was measured here: what a report shows of a paper."""
from ..figures import plot


class Published:
    """Rows, shapes that hold or not, and figures, which are kept in the folder. notes: name -> why a number differs."""

    def __init__(self, folder, notes):
        self.folder, self.notes = folder, notes
        self.rows, self.checks, self.figures = [], [], []

    def row(self, figure, quantity, published, row, metric, unit, note=""):
        """A published number beside ours; nothing when it was not run."""
        if row is None or row.mean(metric) is None:
            return
        ours = row.mean(metric)
        self.rows.append({"figure": figure, "quantity": quantity, "published": published, "ours": ours, "ci95": row.half(metric), "unit": unit,
                          "difference_percent": 100 * (ours / published - 1) if published else None, "note": self.notes.get(note, ""),
                          "faithful": row.faithful})

    def check(self, text, holds, detail):
        self.checks.append({"text": text, "holds": bool(holds), "detail": detail})

    def draw(self, name, figure, caption):
        self.figures.append({"name": name, "svg": plot.save(figure, self.folder, name), "caption": caption})
