#!/usr/bin/env python3
"""Purpose: measure how fast the HTML report draws: intervals between frames on a page of 1,000,000 events.

usage: page_frames.py [PAGE.html] [--rounds 3] [--size 1600,1000] [--throttle 4]

Without PAGE it builds the page and writes a synthetic report (web/tests/synthetic). A journey has five parts of 240
frames: zoom by 10^6 in and out, pan, drag the instant, search, hide bands. The gate is of the best round: 95 % of the
intervals of each part at most 17.5 ms and none above 50 ms, first paint within 1.5 s. It needs chromium, chromedriver
and python3-selenium.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
P95, MOST, PAINT = 17.5, 50.0, 1500.0  # ms
ARGUMENTS = ["--headless=new", "--force-device-scale-factor=1", "--disable-background-networking", "--no-sandbox",
             "--host-resolver-rules=MAP * ~NOTFOUND"]

JOURNEY = """
const done = arguments[arguments.length - 1], frames = 240, m = window.memtrace;
const end = m.end(), out = {}, long = [];
new PerformanceObserver((list) => list.getEntries().forEach((one) => long.push(one.duration)))
    .observe({type: 'longtask'});
const parts = {
  zoom: (i) => {
    const half = frames / 2, depth = (i < half ? i : frames - i) / half, span = end * Math.pow(1e-6, depth);
    const middle = end * 0.37;
    m.go({from: middle - span * 0.37, to: middle + span * 0.63});
  },
  pan: (i) => m.go({from: end * 0.6 * i / frames, to: end * (0.6 * i / frames + 0.3)}),
  drag: (i) => m.go({from: 0, to: end, at: Math.round(end * (0.1 + 0.8 * i / frames))}),
  search: (i) => m.go({search: ['', 'l', 'li', 'lin', 'line', 'linea', 'linear', 'role:act'][Math.floor(i / 30)]}),
  hide: (i) => m.go({search: '', hidden: (i >> 5) & 1 ? 1 << ((i >> 6) % 4) : 0, from: end * 0.2, to: end * 0.7})
};
async function run() {
  for (const name of Object.keys(parts)) {
    const intervals = [];
    await new Promise((resolve) => {
      let before = 0, i = 0;
      const frame = (now) => {
        if (i > 0) intervals.push(now - before);
        before = now;
        if (i === frames) return resolve();
        parts[name](i++);
        requestAnimationFrame(frame);
      };
      // The first frames after a pause are late: two of them pass unmeasured.
      requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(frame)));
    });
    out[name] = intervals;
  }
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  const ready = performance.getEntriesByName('memtrace-ready')[0];
  done({intervals: out, long, paint: paint ? paint.startTime : 0, ready: ready ? ready.startTime : 0,
        heap: performance.memory ? performance.memory.usedJSHeapSize : 0});
}
run();
"""


def browser(size, throttle):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for one in ARGUMENTS + [f"--window-size={size}"]:
        options.add_argument(one)
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_script_timeout(180)
    if throttle > 1:
        driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": throttle})
    return driver


def journey(page, size, throttle):
    driver = browser(size, throttle)
    try:
        driver.get(f"file://{page}#v=1&tab=timeline")
        limit = time.monotonic() + 60
        while driver.execute_script("return document.documentElement.dataset.ready") != "shown":
            if time.monotonic() > limit:
                sys.exit("page_frames: the page is not ready after 60 s")
            time.sleep(0.05)
        time.sleep(0.5)
        # A tab without plots draws nothing, and then every frame is in time.
        if driver.execute_script("return memtrace.state().tab") != "timeline":
            sys.exit("page_frames: the page does not show its timeline")
        return driver.execute_async_script(JOURNEY), driver.capabilities["browserVersion"]
    finally:
        driver.quit()


def at_share(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def worst(result):
    """Returns the 95th percentile of the worst part, and the longest interval of all, which decides between equals."""
    parts = result["intervals"].values()
    return round(max(at_share(one, 0.95) for one in parts)), max(map(max, parts))


def write(folder):
    subprocess.run([os.path.join(ROOT, "web/tests/synthetic"), folder, "million"], check=True)
    return os.path.join(folder, "million.html")


def report(result, version, rounds):
    cores = os.cpu_count()
    print(f"Chromium {version}, {cores} cores, best of {rounds}")
    print(f"first paint {result['paint']:.0f} ms, ready {result['ready']:.0f} ms, "
          f"heap {result['heap'] / 2**20:.0f} MiB, long tasks {len(result['long'])}")
    print(f"{'part':8} {'p50':>6} {'p95':>6} {'max':>6}  ms between frames")
    failed = result["paint"] > PAINT
    for name, values in result["intervals"].items():
        middle, high, most = at_share(values, 0.5), at_share(values, 0.95), max(values)
        late = high > P95 or most > MOST
        failed = failed or late
        print(f"{name:8} {middle:6.1f} {high:6.1f} {most:6.1f}{'  too slow' if late else ''}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="1600,1000")
    parser.add_argument("--throttle", type=float, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.abspath(given.page) if given.page else write(folder)
        runs = [journey(page, given.size, given.throttle) for _ in range(given.rounds)]
    best, version = min(runs, key=lambda one: worst(one[0]))
    sys.exit(1 if report(best, version, given.rounds) else 0)


if __name__ == "__main__":
    main()
