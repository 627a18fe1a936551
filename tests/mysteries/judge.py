"""Purpose: judges the first screen of a report: does it name the cause, the line and the figure of a mystery?"""
import re

SCREEN = 24  # lines: the height of a terminal
NEAR = 0.03  # how far a figure may be off
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
ANSI = re.compile(r"\x1b\[[\d;]*m")


def first_screen(text):
    return "\n".join(ANSI.sub("", text).splitlines()[:SCREEN])


def figures(screen):
    """Returns all sizes of the screen, in bytes. Below a heading with a unit ("Alive at the peak, MiB"), each number
    without a unit has that one. This ends at the next line without an indent."""
    out, unit = [], None
    for line in screen.splitlines():
        heading = re.match(r"\S.*, ([KMG]iB)\b", line)
        unit = heading[1] if heading else unit if line.startswith(" ") else None
        out += [float(number) * UNITS[of] for number, of in re.findall(r"(\d+(?:\.\d+)?)\s?([KMG]iB)", line)]
        if unit:
            out += [float(number) * UNITS[unit] for number in re.findall(r"\d+\.\d+", line)]
    return out


class Verdict:
    """`cause`, `line`, `figure`: true where the first screen is right."""

    def __init__(self, mystery, screen, first_finding, truth):
        """`first_finding`: the id of the finding that the screen leads with, or None."""
        expected = None if mystery.finding == "lines" else mystery.finding
        self.cause = first_finding == expected
        file = re.escape(mystery.name + ".py")
        self.line = any(re.search(rf"{file}:{line}\b", screen) for line in mystery.lines)
        self.figure = truth is not None and any(abs(size - truth) <= NEAR * truth for size in figures(screen))
        self.found = first_finding

    @property
    def right(self):
        return self.cause and self.line and self.figure

    def wrong_parts(self):
        parts = [name for name in ("cause", "line", "figure") if not getattr(self, name)]
        if "cause" in parts:
            parts[parts.index("cause")] = f"cause (led with {self.found or 'no finding'})"
        return ", ".join(parts)


def leading_finding(report):
    """Returns the id of the finding that the screen leads with, or None. `report`: the document of --format json."""
    for finding in report["findings"] + [one for process in report["processes"][:1] for one in process["findings"]]:
        return finding["id"]
    return None
