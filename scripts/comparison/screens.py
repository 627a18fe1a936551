"""Purpose: what a tool shows first, in a form in which tools can be compared: the lines it names, and its figures.

A tool that prints text shows its first 24 lines. A tool that draws a flame graph shows each box that is at least a
twentieth of its width, with the size that the page shows for it.
"""
import dataclasses
import re

SCREEN = 24  # lines: the height of a terminal
VISIBLE = 1 / 20  # of the width of a graph
NEAR = 0.03  # how far a figure may be off
UNITS = {"B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "K": 1e3, "KB": 1e3, "M": 1e6, "MB": 1e6, "G": 1e9,
         "GB": 1e9}


@dataclasses.dataclass
class Screen:
    """`places`: (file name without its folder, line) that are shown. `figures`: in bytes. `first`: the first answer."""
    places: set
    figures: list
    first: str
    cause: str = ""  # the id of the finding, or another cause in words; empty if the tool states none


def of_stacks(stacks):
    """Returns the screen of a flame graph, or None if it is empty. `stacks`: (frames, bytes), with the outermost frame
    first. A frame is (file, line, function)."""
    boxes, sizes, frame_of = {}, [], []  # a box is a number; `boxes` has that of (the box around it, its frame)
    for frames, size in stacks:
        box = None
        for frame in frames:
            box = boxes.setdefault((box, frame), len(sizes))
            if box == len(sizes):
                sizes.append(0)
                frame_of.append(frame)
            sizes[box] += size
    total = sum(size for _, size in stacks)
    shown = [box for box, size in enumerate(sizes) if size >= VISIBLE * total]
    if not shown:
        return None
    places = {(name_of(frame_of[box][0]), frame_of[box][1]) for box in shown}
    own = {}
    for frames, size in stacks:
        if frames:
            own[frames[-1]] = own.get(frames[-1], 0) + size
    file, line, function = most = max(own, key=own.get)
    first = f"{name_of(file)}:{line} {function}, {own[most] / (1 << 20):.1f} MiB"
    return Screen(places, [sizes[box] for box in shown], first)


def of_text(text, first, binary=False):
    """Returns the screen of the first lines of a text. `binary`: its MB are MiB, as those of PyTorch."""
    shown = "\n".join(text.splitlines()[:SCREEN])
    places = {(name_of(file), int(line)) for file, line in re.findall(r"([\w./-]+\.(?:py|cpp|h)):(\d+)", shown)}
    return Screen(places, sizes_in(shown, binary), first)


def sizes_in(text, binary=False):
    out = []
    for number, unit in re.findall(r"(\d+(?:\.\d+)?)\s?([KMG]i?B|[KMG]|B)\b", text, re.I):
        unit = unit.upper()
        if binary and len(unit) == 2:
            unit = f"{unit[0]}IB"
        out.append(float(number) * UNITS[unit])
    return out


def name_of(path):
    return path.rsplit("/", 1)[-1]


def names_line(screen, question):
    own = {(name_of(question.file), line) for line in question.cause_lines()}
    return bool(own & screen.places)


def names_figure(screen, question, truth):
    right = [share * truth for share in question.shares]
    return any(abs(size - one) <= NEAR * one for size in screen.figures for one in right)
