# SPDX-License-Identifier: Apache-2.0
"""Published numbers beside what was measured here: what a report shows of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..figures import plot

if TYPE_CHECKING:
    from .data import Row


class Published:
    """Rows, shapes that hold or not, and figures, which are kept in the folder. notes: name -> why a number differs."""

    def __init__(self, folder: str, notes: Any) -> None:
        self.folder, self.notes = folder, notes
        self.rows: list[Any] = []
        self.checks: list[Any] = []
        self.figures: list[Any] = []

    def row(self, figure: Any, quantity: Any, published: Any, row: Row, metric: str, unit: Any, note: str = "") -> None:
        """A published number beside ours; nothing when it was not run."""
        if row is None or row.mean(metric) is None:
            return
        ours = row.mean(metric)
        self.rows.append({"figure": figure, "quantity": quantity, "published": published, "ours": ours, "ci95": row.half(metric), "unit": unit,
                          "difference_percent": 100 * (ours / published - 1) if published else None, "note": self.notes.get(note, ""),
                          "faithful": row.faithful})

    def check(self, text: Any, holds: Any, detail: Any) -> None:
        self.checks.append({"text": text, "holds": bool(holds), "detail": detail})

    def draw(self, name: str, figure: Any, caption: Any) -> None:
        self.figures.append({"name": name, "svg": plot.save(figure, self.folder, name), "caption": caption})
