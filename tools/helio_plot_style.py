# SPDX-License-Identifier: Apache-2.0
"""The look of the project's plots, in one place: a palette that colour-blind readers can tell apart
(Okabe and Ito), lines that also differ in dashes, quiet axes, legible sizes.

    import helio_plot_style as style
    plt = style.pyplot()                  # exits with NO_MATPLOTLIB when it is missing
    figure, axes = plt.subplots(…)
    axes.plot(x, y, **style.line(0))
    style.save(figure, "out.png")
"""
import sys

NO_MATPLOTLIB = 77
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#777777"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, BLACK)
GOOD, BAD = GREEN, ORANGE
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), "-", (0, (5, 2)), (0, (1.5, 1.5)))


def pyplot():
    """matplotlib.pyplot, without a display, in the project's style."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(NO_MATPLOTLIB)
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "font.size": 10, "axes.titlesize": 11, "axes.labelsize": 10, "legend.fontsize": 9,
        "axes.titlelocation": "left", "axes.titleweight": "bold", "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.axisbelow": True,
        "axes.edgecolor": "#555555", "xtick.color": "#333333", "ytick.color": "#333333",
        "lines.linewidth": 1.6, "legend.frameon": False, "figure.constrained_layout.use": True,
        "svg.hashsalt": "heliograph", "svg.fonttype": "none", "savefig.dpi": 150})
    import matplotlib.pyplot
    return matplotlib.pyplot


def colour(i):
    return PALETTE[i % len(PALETTE)]


def line(i):
    """Arguments of plot() for the i-th of several lines."""
    return {"color": colour(i), "linestyle": DASHES[i % len(DASHES)]}


def save(figure, path):
    """The same figure gives the same bytes: no dates in the file."""
    kind = str(path).rsplit(".", 1)[-1].lower()
    figure.savefig(path, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))
