"""Purpose: makes the page of a trace, opens it in Chromium, and compares its tables with the JSON of the commands."""

import collections
import decimal
import json
import os
import pathlib
import re
import subprocess
import time

import harness
from browser import browser
from page_data import PageData

MOST = 5 << 20  # bytes of a page, by default
ROWS = 200      # of a list of what was alive, in a page
FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))"
BAND_OF_ROLE = {
    "parameter": "parameter", "master": "parameter", "buffer": "parameter", "gathered": "communication",
    "gradient": "gradient", "optimizer_state": "optimizer state", "activation": "activation", "kv_cache": "activation",
    "temporary": "temporary", "workspace": "temporary", "rounding": "cache", "comm": "communication", "input": "input",
    "staging": "input", "checkpoint": "input", "context": "context",
}
TAB, ENTER, ESCAPE, RIGHT = "\ue004", "\ue007", "\ue00c", "\ue014"


class Case(harness.Case):
    """Each test has a browser of its own: what one page logs is not taken for what another one logs."""

    def setUp(self):
        super().setUp()
        done = self.memtrace("report", "/nowhere", "--format", "html", "-o", "/dev/null", check=False)
        if b"esbuild" in done.stderr:
            self.skipTest("this build has no page: esbuild was not found")
        self.page = self.enterContext(browser())

    def memtrace(self, *arguments, check=True):
        done = subprocess.run([harness.COMMAND, *arguments], capture_output=True, check=False, timeout=500,
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done

    def json_of(self, *command):
        return json.loads(self.memtrace(*command, "--format", "json").stdout)

    def make(self, *command):
        """Writes the page of a command into a folder with a space and a letter beyond ASCII, and opens it."""
        folder = pathlib.Path(self.scratch, "page \u00e9")
        folder.mkdir(exist_ok=True)
        self.path = folder / "report.html"
        wall, cpu = time.monotonic(), os.times()
        self.memtrace(*command, "--format", "html", "-o", self.path)
        after = os.times()
        self.seconds = (time.monotonic() - wall,
                        after.children_user + after.children_system - cpu.children_user - cpu.children_system)
        self.data = PageData(self.path)
        self.assertLessEqual(os.path.getsize(self.path), MOST)
        self.assertEqual(self.page.open(self.path), "shown")
        self.print_figures()

    def print_figures(self):
        ready = self.page.run("performance.getEntriesByName('memtrace-ready')[0].startTime")
        heap = self.page.run("performance.memory.usedJSHeapSize")
        events = sum(one["events"] for one in self.data.page["processes"])
        rows = sum(one["rows"] for one in self.data.page["processes"])
        print(f"figures: {self._testMethodName}: {events:,} events, {rows:,} rows, page {os.path.getsize(self.path):,} "
              f"bytes, made in {self.seconds[0]:.2f} s ({self.seconds[1]:.2f} s CPU), ready after {ready:.0f} ms, "
              f"JavaScript heap {heap / 2**20:.0f} MiB", flush=True)

    def check(self, *command):
        """Makes the page of a report and compares all of it. Returns the document of the report."""
        self.make(*command)
        report = self.json_of(*command, "--compact", "--top", str(ROWS))
        # assertEqual would print a difference of megabytes, for minutes.
        self.assertTrue(self.data.documents["report"] == report, "not the report that memtrace prints")
        for number, about in enumerate(self.data.page["processes"]):
            with self.subTest(process=about["name"]):
                self.check_process(number, about, report)
        self.check_other_documents(command[1:])
        self.check_surroundings()
        return report

    def check_process(self, number, about, report):
        process = report["processes"][about["report"]]
        self.go(process=number)
        self.check_findings(process, report["findings"])
        self.check_ledger(process, report.get("ledger", []))
        for peak in process["peaks"]:
            if peak["measure"] in ("live", "tensor") and peak["bytes"] > 0:
                self.check_peak(peak)
                self.check_phases(process, peak["memory"], peak["measure"])
                self.check_composition(peak, about)

    def go(self, **change):
        self.page.run("(memtrace.go(arguments[0]), 0)", change)
        self.page.driver.execute_async_script(FRAMES)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        for key in keys:
            ActionChains(self.page.driver).send_keys(key).perform()
            self.page.driver.execute_async_script(FRAMES)

    def table(self, selector):
        """All rows of a table, those that it shows on demand, too."""
        more = f"{selector} > tbody > tr.across:not(.details) button"
        while self.page.count(more):
            self.page.click(more)
        return self.page.table(selector)

    def check_findings(self, process, shared):
        self.go(tab="findings")
        every = process["findings"] + shared
        self.assertEqual(self.page.run("[...document.querySelectorAll('.finding')].map((one) => one.dataset.finding)"),
                         [finding["id"] for finding in every])
        for number, finding in enumerate(every):
            shown = self.page.run("document.querySelector(arguments[0]).textContent", f"#finding-{number}")
            self.assertIn(finding["confidence"], shown)
            if not re.search(r"\d{5,} bytes", finding["title"]):  # such sizes are shown in MiB
                self.assertIn(finding["title"], shown)
            self.assertEqual(self.page.count(f"#finding-{number} .evidence li"), len(finding["evidence"]))
            exact = self.page.bytes(f"#finding-{number} .figures [data-bytes]")
            self.assertEqual(exact[0] if exact else 0, finding["bytes"])

    def check_ledger(self, process, shared):
        self.go(tab="ledger")
        for number, ledger in enumerate(process["ledger"] + shared):
            rows, foot = self.table(f"#ledger-{number}"), self.page.footer(f"#ledger-{number}")
            unit = "GiB" if ledger["total"] >= 4 << 30 else "MiB"
            self.assertEqual([(row["part"], row[unit]) for row in rows],
                             [(row["name"], row["bytes"]) for row in ledger["rows"]])
            added, residual = foot.pop("sum of the parts"), foot.pop("residual: not explained")
            self.assertEqual([added, residual, *foot.values()],
                             [[sum(row["bytes"] for row in ledger["rows"])], [ledger["residual"]], [ledger["total"]]])
            self.assertEqual(added[0] + residual[0], ledger["total"])

    def check_peak(self, peak):
        """The rows by phase of birth are compared one by one, those by line and stack by their sum."""
        lane = f"{peak['memory']}/{peak['measure']}"
        unit = "GiB" if peak["bytes"] >= 4 << 30 else "MiB"
        for by in ("phase", "role", "line", "site"):
            self.go(tab="peaks", choice=f"peaks:{lane},{by}")
            rows = self.table("#peak")
            self.assertEqual(self.page.footer("#peak")["total"], [peak["bytes"]], lane)
            self.assertEqual(sum(row[unit] for row in rows), peak["bytes"], f"{lane} by {by}")
            if by == "phase":
                self.assertEqual(sorted(row[unit] for row in rows), sorted(summed(peak["at_peak"], "born_phase")))

    def check_phases(self, process, memory, measure):
        levels = [levels for row in process["phases"] if row["memory"] == memory and row["count"]
                  and (levels := row.get("tensor") if measure == "tensor" else row) and levels.get("peak_live")]
        self.go(tab="steps", choice=f"steps:{memory}/{measure},,")
        if not levels:
            return self.assertEqual(self.page.count("#phases"), 0)
        self.assertEqual(
            [[row[of] for of in ("entry", "peak", "exit", "kept", "temporary")] for row in self.table("#phases")],
            [[one[of] for of in ("entry_live", "peak_live", "exit_live", "net", "transient")] for one in levels])

    def check_composition(self, peak, about):
        """What is alive at the peak, by band: from the rows of the page, and from the JSON's list."""
        lane = next(number for number, one in enumerate(about["lanes"])
                    if (one["memory"], one["measure"]) == (peak["memory"], peak["measure"]))
        top = about["lanes"][lane]["peak"]
        self.assertEqual(top["bytes"], peak["bytes"])
        self.assertAlmostEqual(top["t"] / 1e9, peak["t"], delta=1e-6)
        held = self.page.run("memtrace.bands(arguments[0], arguments[1])", lane, top["t"])
        self.assertEqual((held["level"], sum(held["bands"].values())), (peak["bytes"], peak["bytes"]))
        if held["exact"]:
            self.assert_bands(peak, held["bands"])
        self.go(tab="composition", lane=lane, at=top["t"], table=True)
        rows = self.page.run("[...document.querySelectorAll('.twins table')[0].tBodies[0].rows]"
                             ".map((row) => [...row.cells].map((cell) => cell.textContent))")
        shown = {name: size for name, size, _ in rows}
        # What was never touched is hidden at first. What is touched after the peak counts as touched.
        reserved = held["bands"].pop("reserved", 0)
        self.assertLessEqual(reserved, peak.get("reserved_untouched", 0))
        self.assertGreaterEqual(reserved, peak.get("reserved_untouched", 0) * 15 / 16)
        self.assertEqual(top.get("reserved", 0), peak.get("reserved_untouched", 0))
        self.assertEqual(shown.pop("sum"), words(peak["bytes"] - reserved))
        self.assertEqual(shown, {name: words(size) for name, size in held["bands"].items() if abs(size) >= 1})
        self.go(table=False)

    def assert_bands(self, peak, bands):
        """A row of the JSON that completes its list may be of any band: bands may lack so much, and no more."""
        if peak["memory"] != "host" and peak["measure"] == "live":
            return  # the driver gives segments; the bands are those of the blocks in them
        wanted, rest = collections.Counter(), 0
        for row in peak["at_peak"]:
            if row["how"] == "sampled" or (row["site"] is None and row["born_phase"] is None):
                rest += row["bytes"]
            else:
                other = "unattributed" if peak["measure"] == "tensor" else "runtime"
                wanted[BAND_OF_ROLE.get(row["role"], other)] += row["bytes"]
        bands = collections.Counter(bands)
        bands["runtime"] += bands.pop("reserved", 0)  # the reservations, less what of them was touched
        lacking = {band: held - wanted[band] for band, held in bands.items() if held != wanted[band]}
        if not rest:
            return self.assertEqual(lacking, {}, peak["measure"])
        self.assertEqual(sum(lacking.values()), rest)

    def check_other_documents(self, traces):
        documents = self.data.documents
        self.assertEqual(self.page.count("#tab-explain"), documents["explain"] is not None)
        self.go(process=0)
        if documents["explain"] is not None:
            explain = self.document("explain", "explain", *traces)
            self.go(tab="explain")
            self.assertEqual([row["resident"] for row in self.table("#explain-kept")],
                             [row["resident"] for row in explain["rows"] if row["kept"]])
        if documents["first_vs_steady"] is not None:
            self.check_differences("first-vs-steady",
                                   self.document("first_vs_steady", "diff", "--first-vs-steady", *traces))
        if documents["postmortem"] is not None:
            self.check_death(self.document("postmortem", "postmortem", *traces)["processes"][0])

    def document(self, name, *command):
        """Returns what a command prints, which the page must have. In short runs test_page_data compares both."""
        document = self.data.documents[name]
        if harness.ALL:
            self.assertTrue(document == self.json_of(*command), f"not what memtrace {command[0]} prints")
        return document

    def check_differences(self, table, diff):
        self.go(tab="diff")
        sides = [side["bytes"] for side in diff["sides"]]
        names = [side["name"] for side in diff["sides"]]
        rows = self.table(f"#{table}")
        self.assertEqual(sorted((row[names[0]], row[names[1]], row["change"]) for row in rows),
                         sorted((row["bytes_a"], row["bytes_b"], row["change"]) for row in diff["rows"]))
        self.assertEqual(self.page.footer(f"#{table}")["total"], sides + [diff["total"]])
        self.assertEqual(sum(row["change"] for row in rows), diff["total"])

    def check_death(self, process):
        self.go(tab="postmortem")
        death = process["death"]
        figures = self.page.bytes("#panel-postmortem .figures [data-bytes]")
        self.assertEqual(figures[:2], [death["live"], death["tensor"]])
        for table, rows in (("held", death["held"]), ("held-tensor", death["held_tensor"])):
            if rows:
                unit = "GiB" if sum(row["bytes"] for row in rows) >= 4 << 30 else "MiB"
                self.assertEqual(sum(row[unit] for row in self.table(f"#{table}")), sum(row["bytes"] for row in rows))
        unit = "GiB" if max((one["bytes"] for one in death["last"]), default=0) >= 4 << 30 else "MiB"
        self.assertEqual([row[unit] for row in self.table("#last")], [one["bytes"] for one in death["last"]])

    def check_surroundings(self):
        """Opens every tab by the keyboard in both themes: no message in the console, no request but the file."""
        for theme in ("light", "dark"):
            self.page.media(prefers_color_scheme=theme)
            self.assertEqual(self.page.open(self.path), "shown")
            self.open_tabs_by_keyboard()
        self.assertEqual(self.page.console(), [])
        self.assertEqual(self.page.requests(), [])

    def open_tabs_by_keyboard(self):
        tabs = self.page.run("[...document.querySelectorAll('.tabs button')].map((one) => one.id.slice(4))")
        self.page.run("(document.querySelector('.tabs [aria-selected=true]').focus(), 0)")
        start = self.page.run("memtrace.state().tab")
        at = tabs.index(start)
        for tab in tabs[at + 1:] + tabs[:at + 1]:
            self.press(RIGHT)
            self.assertEqual(self.page.run("memtrace.state().tab"), tab)
            self.assertEqual(self.page.run("document.activeElement.id"), f"tab-{tab}")
            visible = self.page.run("[...document.querySelectorAll('.panel')].filter((one) => !one.hidden)"
                                    ".map((one) => [one.id, one.offsetHeight > 0 && one.innerText.length > 0])")
            self.assertEqual(visible, [[f"panel-{tab}", True]])


def summed(rows, key):
    sums = collections.Counter()
    for row in rows:
        sums[row[key]] += row["bytes"]
    return sums.values()


def words(size):
    """Returns "1255.6 MiB", or GiB from 4 GiB on: bytes as the plots have them (web/src/scale/bytes.ts)."""
    amount, unit = abs(size), 0
    while amount >= (4096 if unit == 2 else 1023.995) and unit < 5:
        amount, unit = amount / 1024, unit + 1
    digits = "1" if unit == 0 else "0.1" if amount >= 100 else "0.01"
    shown = decimal.Decimal(amount).quantize(decimal.Decimal(digits), decimal.ROUND_HALF_EVEN)
    return f"{chr(0x2212) if size < 0 else ''}{shown} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"
