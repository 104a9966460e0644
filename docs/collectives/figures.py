"""Makes the plots and tables of docs/collectives.md from what strata-admin simulates.

usage: figures.py [STRATA_ADMIN]        build/bin/strata-admin by default; takes some minutes

Runs `strata-admin topology cost`, writes allreduce-100.svg and fastest.svg beside itself, and the
tables of docs/collectives.md between their markers.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "collectives.md"
DEFAULT_ADMIN = FOLDER.parent.parent / "build/bin/strata-admin"

WORLDS = [4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 100, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096]
TABLE_WORLDS = [4, 5, 8, 16, 64, 100, 256, 1024, 4096]
ONE_WORLD = 100  # of the plot of times and of the table of costs
SIZES = [8 * 4**k for k in range(13)]  # 8 B to 128 MiB
FINE_SIZES = [8 * 2**k for k in range(25)]
# Those with more than one algorithm that is the fastest somewhere.
MAPPED = ["allreduce", "broadcast", "reduce", "all-to-all"]
TROUBLED_WORLD = 64
TROUBLES = [("all alike", []), ("rank 5 1 ms late", ["--late=5:1ms"]),
            ("rank 5 4 x slow", ["--slow-rank=5:4"]), ("link 5-6 10 x slow", ["--slow-link=5-6:10"])]

COLORS = {"inputs": "#8c564b", "doubling": "#1f77b4", "binomial": "#2ca02c", "halving-bruck": "#9467bd",
          "circulant": "#d62728", "ring": "#7f7f7f", "bruck": "#17becf", "pairwise": "#bcbd22",
          "scatter-allgather": "#ff7f0e", "binary-tree": "#e377c2", "pipelined": "#1b4f8a", "rabenseifner": "#d62728"}


def simulate(admin, world, sizes, operation=None, options=()):
    """{operation: what strata-admin says of it}."""
    command = [str(admin), "-o", "json", "topology", "cost", "-n", str(world),
               "--bytes=" + ",".join(map(str, sizes)), *options]
    if operation:
        command.append("--operation=" + operation)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {found["operation"]: found for found in map(json.loads, done.stdout.splitlines())}


def fastest_of(costs):
    """[(from how many bytes on, algorithm)]; of two that cost the same the one that never folds."""
    same = {"halving-bruck": "circulant"} if costs["world"].bit_count() == 1 else {}
    return [(crossing["from_bytes"], same.get(crossing["algorithm"], crossing["algorithm"]))
            for crossing in costs["fastest"]]


def size_text(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GiB"


def time_text(seconds):
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


class Panel:
    """A rectangle of an SVG with logarithmic axes."""

    def __init__(self, box, x_range, y_range):
        self.left, self.top, self.width, self.height = box
        self.x_range, self.y_range = x_range, y_range
        self.parts = []

    def x(self, value):
        low, high = self.x_range
        return round(self.left + self.width * math.log(value / low) / math.log(high / low), 1)

    def y(self, value):
        low, high = self.y_range
        return round(self.top + self.height * (1 - math.log(value / low) / math.log(high / low)), 1)

    def text(self, x, y, text, anchor="middle", color="#222"):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{color}">{text}</text>')

    def axes(self, title, x_ticks, y_ticks, x_text, y_text):
        bottom = self.top + self.height
        for tick in x_ticks:
            self.parts.append(
                f'<line class="grid" x1="{self.x(tick)}" x2="{self.x(tick)}" y1="{self.top}" y2="{bottom}"/>')
            self.text(self.x(tick), bottom + 14, x_text(tick))
        for tick in y_ticks:
            self.parts.append(f'<line class="grid" y1="{self.y(tick)}" y2="{self.y(tick)}" '
                              f'x1="{self.left}" x2="{self.left + self.width}"/>')
            self.text(self.left - 6, self.y(tick) + 4, y_text(tick), "end")
        self.text(self.left + self.width / 2, self.top - 8, title)


def write_svg(name, width, height, panels):
    body = "\n".join(part for panel in panels for part in panel.parts)
    (FOLDER / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">\n'
        "<style>.grid{stroke:#ddd} .curve{fill:none;stroke-width:2} .mark{fill:#fff;stroke:#222}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{body}\n</svg>\n')


def plot_times(costs, name):
    """Time over size for each algorithm of one operation; rings where the fastest changes."""
    times = {row["algorithm"]: [(p["bytes"], p["seconds"]) for p in row["points"]]
             for row in costs["algorithms"]}
    least = min(seconds for points in times.values() for _, seconds in points)
    panel = Panel((70, 30, 520, 360), (FINE_SIZES[0], FINE_SIZES[-1]), (least / 1.5, 10))
    panel.axes(f"{costs['operation']}, {costs['world']} ranks: bytes, and time",
               [8 * 16**k for k in range(7)], [10.0**k for k in range(-3, 2)], size_text, time_text)
    for row, (algorithm, points) in enumerate(times.items()):
        shown = " ".join(f"{panel.x(size)},{panel.y(seconds)}" for size, seconds in points if seconds <= 10)
        panel.parts.append(f'<polyline class="curve" stroke="{COLORS[algorithm]}" points="{shown}"/>')
        panel.text(602, 50 + 18 * row, algorithm, "start", COLORS[algorithm])
    for size, algorithm in fastest_of(costs)[1:]:
        below = max(point for point in times[algorithm] if point[0] <= size)
        above = min(point for point in times[algorithm] if point[0] >= size)
        share = (size - below[0]) / max(1, above[0] - below[0])
        seconds = below[1] + share * (above[1] - below[1])
        panel.parts.append(f'<circle class="mark" cx="{panel.x(size)}" cy="{panel.y(seconds)}" r="4"/>')
    write_svg(name, 710, 425, [panel])


def plot_fastest(by_world, name):
    """For each number of ranks a bar that is cut where the fastest algorithm changes."""
    panels = []
    for at, operation in enumerate(MAPPED):
        box = (70 + 470 * (at % 2), 30 + 320 * (at // 2), 330, 250)
        panel = Panel(box, (3.5, 4800), (SIZES[0], SIZES[-1]))
        panel.axes(f"{operation}: ranks, and bytes", [4, 16, 64, 256, 1024, 4096],
                   [8 * 16**k for k in range(7)], str, size_text)
        seen = []
        for place, world in enumerate(WORLDS):
            left = panel.x(math.sqrt(world * WORLDS[place - 1]) if place else 3.5)
            last = place + 1 == len(WORLDS)
            right = panel.x(4800 if last else math.sqrt(world * WORLDS[place + 1]))
            fastest = fastest_of(by_world[world][operation])
            ends = [size for size, _ in fastest[1:]] + [SIZES[-1]]
            for (begin, algorithm), end in zip(fastest, ends):
                seen += [algorithm] * (algorithm not in seen)
                panel.parts.append(
                    f'<rect x="{left}" y="{panel.y(end)}" width="{right - left - 1:.1f}" '
                    f'height="{panel.y(begin) - panel.y(end):.1f}" fill="{COLORS[algorithm]}"/>')
        for row, algorithm in enumerate(seen):
            panel.text(panel.left + 338, panel.top + 12 + 18 * row, algorithm, "start", COLORS[algorithm])
        panels.append(panel)
    write_svg(name, 990, 650, panels)


def markdown(head, rows):
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, ["---"] * len(head), *rows])


def cost_table(all_costs):
    rows = []
    for operation, costs in all_costs.items():
        least = min(row["points"][-1]["seconds"] for row in costs["algorithms"])
        for row in costs["algorithms"]:
            small, large = row["points"][0], row["points"][-1]
            multiples = [f"{large[key] / (large['bytes'] or 1):.3f}".rstrip("0").rstrip(".")
                         for key in ("path_bytes", "sent_max", "sent_all", "reduced_max")]
            bold = "**" if large["seconds"] <= least * (1 + 1e-9) else ""
            rows.append([operation, row["algorithm"], str(large["rounds"]), *multiples,
                         time_text(small["seconds"]), bold + time_text(large["seconds"]) + bold])
    return markdown(["operation", "algorithm", "rounds", "m on the path", "m sent, most", "m sent, all",
                     "m reduced, most", "8 B", "1 MiB"], rows)


def fastest_table(by_world):
    rows = []
    for world in TABLE_WORLDS:
        cells = [", ".join((f"from {size_text(size)} " if at else "") + algorithm
                           for at, (size, algorithm) in enumerate(fastest_of(by_world[world][operation])))
                 for operation in MAPPED]
        rows.append([str(world), *cells])
    return markdown(["ranks", *MAPPED], rows)


def trouble_table(admin):
    found = [simulate(admin, TROUBLED_WORLD, [8, 1 << 20], "allreduce", options)["allreduce"]["algorithms"]
             for _, options in TROUBLES]
    rows = [[row["algorithm"], size_text(row["points"][size]["bytes"]),
             *(time_text(costs[at]["points"][size]["seconds"]) for costs in found)]
            for at, row in enumerate(found[0]) for size in (0, 1)]
    return markdown(["algorithm", "bytes", *(name for name, _ in TROUBLES)], rows)


def fill(page, name, text):
    pattern = rf"(<!-- {name}: figures.py -->\n).*?(<!-- end -->)"
    page, count = re.subn(pattern, lambda found: found[1] + text + found[2], page, flags=re.S)
    if count != 1:
        sys.exit(f"{PAGE}: expected one place for the table '{name}', found {count}")
    return page


def main(arguments):
    admin = Path(arguments[0]) if arguments else DEFAULT_ADMIN
    times = simulate(admin, ONE_WORLD, FINE_SIZES, "allreduce")["allreduce"]
    plot_times(times, f"allreduce-{ONE_WORLD}.svg")
    by_world = {}
    for world in WORLDS:
        by_world[world] = {}
        for operation in MAPPED:
            by_world[world] |= simulate(admin, world, SIZES, operation)
        print(f"{world} ranks", file=sys.stderr)
    plot_fastest(by_world, "fastest.svg")
    page = PAGE.read_text()
    page = fill(page, "costs", cost_table(simulate(admin, ONE_WORLD, [8, 1 << 20])))
    page = fill(page, "fastest", fastest_table(by_world))
    page = fill(page, "troubles", trouble_table(admin))
    PAGE.write_text(page)


if __name__ == "__main__":
    main(sys.argv[1:])
