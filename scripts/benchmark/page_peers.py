#!/usr/bin/env python3
"""Purpose: compare the page of memtrace with the pages of memray for the same programs: bytes, time to make, to open.

usage: page_peers.py --library LIBMEMTRACE.SO --command MEMTRACE --memray VENV --python PYTHON [--rounds 3]
                     [SCRIPT.py ...]

It records a program that makes a million allocations and each SCRIPT (scripts/demo_train.py without one), once with
each tool: memtrace with its defaults, memray without native stacks. A page is open when its plot is in the document,
and one frame later. Chromium resolves no name, so memray's pages are made with --no-web: the page that it writes by
default loads scripts from the network. The table is markdown.
"""
import argparse
import dataclasses
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARGUMENTS = ["--headless=new", "--force-device-scale-factor=1", "--disable-background-networking", "--no-sandbox",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1600,1000", "--enable-precise-memory-info"]
OPEN_LIMIT = 120  # s

# 1,000,000 blocks of 4 to 20 KiB by 40 lines; at most 4,000 of them live at once.
MILLION = """import collections
held = collections.deque(maxlen=4000)
""" + "".join(f"def take_{i}(number): held.append(bytearray({4096 + 400 * i} + number % 64))\n" for i in range(40)) + """
takers = [globals()[f"take_{i}"] for i in range(40)]
for number in range(1_000_000):
    takers[number % 40](number)
"""

# Notes when the plot is in the document, before any script of the page runs.
PROBE = """
(() => {
  const there = () => document.querySelector(PLOT) !== null;
  const look = () => {
    if (there()) requestAnimationFrame(() => { window.plotShown = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


@dataclasses.dataclass
class Cost:
    wall: float
    cpu: float


@dataclasses.dataclass
class Opened:
    shown: float  # ms after the start of the navigation
    heap: float   # bytes, after a collection
    requests: int


def run(command, **environment):
    """Runs a command. Returns the wall and CPU time that it took."""
    before, wall = os.times(), time.monotonic()
    done = subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"page_peers: {' '.join(map(str, command))}: {done.stderr.decode(errors='replace')[-500:]}")
    return Cost(time.monotonic() - wall,
                after.children_user + after.children_system - before.children_user - before.children_system)


def open_page(path, plot, fragment=""):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for one in ARGUMENTS:
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    try:
        probe = PROBE.replace("PLOT", json.dumps(plot))
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": probe})
        driver.set_page_load_timeout(OPEN_LIMIT)
        driver.get(pathlib.Path(path).as_uri() + fragment)
        limit = time.monotonic() + OPEN_LIMIT
        while not driver.execute_script("return window.plotShown"):
            if time.monotonic() > limit:
                sys.exit(f"page_peers: {path} shows no plot after {OPEN_LIMIT} s")
            time.sleep(0.05)
        shown = driver.execute_script("return window.plotShown")
        driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        heap = driver.execute_script("return performance.memory.usedJSHeapSize")
        messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        urls = [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]
        return Opened(shown, heap, sum(url.startswith(("http:", "https:")) for url in urls)), \
            driver.capabilities["browserVersion"]
    finally:
        driver.quit()


class Memtrace:
    name = "memtrace"

    def __init__(self, given):
        self.given = given

    def record(self, script, folder):
        self.out = os.path.join(folder, "memtrace")
        cost = run([self.given.python, script], LD_PRELOAD=self.given.library, MEMTRACE_OUT=self.out,
                   MEMTRACE_QUIET="1")
        return cost, sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.out, "*")))

    def pages(self):
        yield "memtrace", ["report", self.out, "--format", "html", "-o"], ".plot canvas", "#v=1&tab=timeline"

    def make(self, words, page):
        return run([self.given.command, *words, page])


class Memray:
    name = "memray"

    def __init__(self, given):
        self.given = given
        found = glob.glob(os.path.join(given.memray, "lib", "python3*", "site-packages"))
        if not found:
            sys.exit("page_peers: memray is missing: scripts/bench --setup")
        self.path = found[0]

    def memray(self, *words):
        return run([self.given.python, "-m", "memray", *words], PYTHONPATH=self.path)

    def record(self, script, folder):
        self.file = os.path.join(folder, "memray.bin")
        cost = self.memray("run", "-q", "-o", self.file, script)
        return cost, os.path.getsize(self.file)

    def pages(self):
        plot = "svg.d3-flame-graph g"
        yield "memray flamegraph", ["flamegraph", "--no-web", self.file, "-f", "-o"], plot, ""
        yield "memray flamegraph --temporal", ["flamegraph", "--no-web", "--temporal", self.file, "-f", "-o"], plot, ""

    def make(self, words, page):
        return self.memray(*words, page)


def size(amount):
    return f"{amount / 2**20:.2f}"


def measure(script, given):
    with tempfile.TemporaryDirectory(prefix="page-peers-") as folder:
        for tool in (Memtrace(given), Memray(given)):
            recording, stored = tool.record(script, folder)
            for name, words, plot, fragment in tool.pages():
                page = os.path.join(folder, "page.html")
                made = [tool.make(words, page) for _ in range(given.rounds)]
                opened = [open_page(page, plot, fragment) for _ in range(given.rounds)]
                shown = statistics.median(one.shown for one, _ in opened)
                first, version = opened[0]
                yield version, [
                    os.path.basename(script), name, f"{recording.wall:.1f}", size(stored), size(os.path.getsize(page)),
                    f"{statistics.median(one.wall for one in made):.2f}",
                    f"{statistics.median(one.cpu for one in made):.2f}", f"{shown / 1000:.2f}",
                    size(first.heap), str(first.requests)]
                if tool.name == "memray":
                    at = words.index("--no-web")
                    tool.make(words[:at] + words[at + 1:], page)
                    opened, version = open_page(page, "body", "")
                    yield version, [os.path.basename(script), f"{name}, by default", "", "",
                                    size(os.path.getsize(page)), "", "", "", "", str(opened.requests)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("script", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    for name in ("library", "command", "memray", "python"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    print("| program | page | recording, s | trace, MiB | page, MiB | to make, s | CPU, s | to open, s | heap, MiB | "
          "requests |\n| --- | --- |" + " ---: |" * 8, flush=True)
    with tempfile.TemporaryDirectory(prefix="page-peers-") as folder:
        million = os.path.join(folder, "million.py")
        pathlib.Path(million).write_text(MILLION, encoding="utf-8")
        scripts = given.script or [os.path.join(ROOT, "scripts", "demo_train.py")]
        version = ""
        for script in [million, *scripts]:
            for version, row in measure(script, given):
                print("| " + " | ".join(row) + " |", flush=True)
    print(f"\nChromium {version}, {os.cpu_count()} cores, median of {given.rounds}, each program recorded once.")


if __name__ == "__main__":
    main()
