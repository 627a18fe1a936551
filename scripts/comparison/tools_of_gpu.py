"""Purpose: PyTorch's memory snapshot, and Mosaic, which reads it: how each is used, and what it shows first.

Both are for device memory alone. Without a GPU, they run on the CUDA node (docs/cuda-node.md).
"""
import os
import pickle
import re

import screens
from tools_of_host import SETUP, WRAPPERS, Tool, output_of

SNAPSHOT = "snapshot.pickle"
VISIBLE_BLOCK = 1 / 100  # of the height of the timeline: it draws each block by itself


class Snapshot(Tool):
    name, title = "snapshot", "PyTorch's snapshot"

    def fits(self, question):
        return question.cuda

    def command(self, command, question, folder):
        return [command[0], os.path.join(WRAPPERS, "with_snapshot.py"), os.path.join(folder, SNAPSHOT), *command[1:]]

    def files(self, folder):
        path = os.path.join(folder, SNAPSHOT)
        return [path] if os.path.exists(path) else []

    def screen(self, question, folder, output):
        """Returns the blocks at the highest point of the viewer's timeline. The viewer shows the height of all, and the
        stack and the size of the block under the mouse."""
        if not self.files(folder):
            return None
        with open(self.files(folder)[0], "rb") as file:
            events = max(pickle.load(file)["device_traces"], key=len)
        blocks = highest(events)
        total = sum(size for size, _ in blocks)
        places, first = set(), ""
        for size, frames in sorted(blocks, key=lambda block: -block[0]):
            python = [frame for frame in frames if frame["filename"].endswith(".py")]
            if size < VISIBLE_BLOCK * total or not python:
                continue
            places |= {(screens.name_of(frame["filename"]), frame["line"]) for frame in python}
            first = first or f"{screens.name_of(python[0]['filename'])}:{python[0]['line']} {python[0]['name']}, " \
                             f"a block of {size / (1 << 20):.1f} MiB"
        return screens.Screen(places, [total, *[size for size, _ in blocks]], first)


def highest(events):
    """Returns (bytes, frames) of the blocks that were allocated when their sum was highest. The innermost frame is
    first."""
    live, now, most, blocks = {}, 0, 0, []
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = (event["size"], event.get("frames", []))
            now += event["size"]
            if now > most:
                most, blocks = now, list(live.values())
        elif event["action"] == "free_requested" and event["addr"] in live:
            now -= live.pop(event["addr"])[0]
    return blocks


class Mosaic(Snapshot):
    name, title = "Mosaic", "Mosaic, on the snapshot"

    def __init__(self, python, source):
        self.python, self.source = python, source

    def missing(self):
        there = os.path.exists(self.python) and os.path.isdir(os.path.join(self.source, "mosaic"))
        return None if there else f"Mosaic is missing: {SETUP}"

    def ask(self, command, *words):
        return output_of(["env", f"PYTHONPATH={self.source}", self.python, "-m", f"mosaic.cmd.{command}", *words])

    def screen(self, question, folder, output):
        if not self.files(folder):
            return None
        [path] = self.files(folder)
        stacks = []
        for entry in self.ask("get_memory_usage_peak", "--snapshot", path).split("\nNum of Calls: ")[1:]:
            size = float(re.search(r"Memory Usage: ([\d.e-]+) GiB", entry)[1]) * (1 << 30)
            frames = re.findall(r"^\s*(.+), (.*?):(\d+)$", entry, re.M)
            stacks.append(([(file, int(line), name) for name, file, line in frames if file.endswith(".py")], size))
        screen = screens.of_stacks(stacks)
        profile = self.ask("get_memory_profile", "--snapshot", path, "--out-path", os.path.join(folder, "profile.html"))
        categories = re.findall(r"AllocationType\.(\w+): ([\d.]+ ?[KMG]?B)", profile)
        if screen and categories:
            screen.first += "; " + ", ".join(f"{name.lower()} {size}" for name, size in categories)
            screen.figures += screens.sizes_in(" ".join(size for _, size in categories), binary=True)
        return screen
