"""Purpose: tests that an HTML page has the figures of the JSON, to the byte, and stays within its size."""
import json
import os
import subprocess
import sys
import unittest

import harness
from page_data import PageData

PROGRAM = """import ctypes, mmap
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def kept(): return [bytearray(8 << 20) for _ in range(6)]
def short():
    for i in range(400):
        libc.free(libc.malloc(1 << 16))
held = kept()
maps = mmap.mmap(-1, 24 << 20)
maps.write(b"x" * (24 << 20))
short()
del held
short()
"""


class PageCase(harness.Case):
    def memtrace(self, *arguments, check=True):
        return subprocess.run([harness.COMMAND, *arguments], capture_output=True, check=check, timeout=300,
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL)

    def page(self, *options, command=("report",)):
        path = os.path.join(self.scratch, "report.html")
        self.memtrace(*command, *([] if len(command) > 1 else [self.out]), "--format", "html", "-o", path, *options)
        self.size = os.path.getsize(path)
        return PageData(path)

    def json_of(self, *command):
        return json.loads(self.memtrace(*command, "--format", "json").stdout)

    def assert_same(self, document, *command):
        """assertEqual would print a difference of megabytes, for minutes."""
        self.assertTrue(document == self.json_of(*command), f"not what memtrace {' '.join(command)} prints")

    def trace_plain(self):
        if not self.has_page():
            self.skipTest("this build has no page: esbuild was not found")
        done, _ = self.trace([sys.executable, "-c", PROGRAM], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def has_page(self):
        done = self.memtrace("report", "/nowhere", "--format", "html", "-o", "/dev/null", check=False)
        return b"esbuild" not in done.stderr

    def assert_peak_rows(self, page, process):
        """The rows of the page and of the JSON at each peak have equal sums, by role and kind."""
        timeline = page.processes[0]
        for peak in process["peaks"]:
            if peak["measure"] not in ("live", "tensor") or peak["bytes"] == 0:
                continue
            lane = timeline.lane(peak["memory"], peak["measure"])
            bytes_there, time, sums = timeline.highest(lane)
            self.assertEqual(bytes_there, peak["bytes"], timeline.lanes[lane])
            self.assertAlmostEqual(time / 1e9, peak["t"], delta=1e-6)
            wanted, rest = {}, 0
            for row in peak["at_peak"]:
                key = row["role"], row["kind"]
                wanted[key] = wanted.get(key, 0) + row["bytes"]
            # The row without a site that completes the sum is not a row of the page.
            for key in wanted.keys() | sums.keys():
                rest += wanted.get(key, 0) - sums.get(key, 0)
                if key != ("unknown", "heap"):
                    self.assertEqual(sums.get(key, 0), wanted.get(key, 0), key)
            self.assertEqual(sum(sums.values()) + rest, peak["bytes"])

    def assert_bands(self, page):
        """The bands of each bin add up to its highest level, which the report's peak is one of."""
        for timeline in page.processes:
            for number, lane in enumerate(timeline.lanes):
                highest, bands = timeline.column(f"lane{number}.max"), timeline.column(f"lane{number}.bands")
                bins = len(highest)
                self.assertEqual(len(bands), bins * len(page.page["bands"]))
                for at in range(bins):
                    self.assertEqual(sum(bands[at::bins]), highest[at])
                self.assertEqual(max(highest), lane["peak"]["bytes"])


class Figures(PageCase):
    def test_documents_are_what_the_commands_print(self):
        self.trace_plain()
        page = self.page()
        self.assert_same(page.documents["report"], "report", self.out, "--compact", "--top", "200")
        self.assertIsNone(page.documents["postmortem"])
        self.assertIsNone(page.documents["diff"])

    def test_rows_and_bands_give_the_peaks(self):
        self.trace_plain()
        page = self.page()
        self.assert_peak_rows(page, page.documents["report"]["processes"][0])
        self.assert_bands(page)

    def test_training(self):
        if not self.has_page():
            self.skipTest("this build has no page: esbuild was not found")
        done, _ = self.trace([harness.torch_python(), harness.program("little_model.py")], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        page = self.page()
        process = page.documents["report"]["processes"][0]
        self.assert_same(page.documents["report"], "report", self.out, "--compact", "--top", "200")
        self.assert_same(page.documents["explain"], "explain", self.out)
        self.assert_same(page.documents["first_vs_steady"], "diff", "--first-vs-steady", self.out)
        self.assert_peak_rows(page, process)
        self.assert_bands(page)
        marks = page.page["processes"][0]["marks"]
        self.assertEqual([mark["finding"] for mark in marks if mark["kind"] == "finding"],
                         list(range(len(process["findings"]))))

    def test_two_runs(self):
        self.trace_plain()
        page = self.page(command=("diff", self.out, self.out))
        self.assertEqual(page.page["mode"], "diff")
        self.assert_same(page.documents["diff"], "diff", self.out, self.out)
        self.assertEqual(len(page.processes), 2)
        self.assert_bands(page)


class Size(PageCase):
    def test_a_long_run_fits(self):
        generator = os.path.join(os.environ["BUILD_DIR"], "tests", "bench_trace", "memtrace_bench_trace")
        if not self.has_page():
            self.skipTest("this build has no page: esbuild was not found")
        os.makedirs(self.out)
        # 1,000 s of pause before each step: about one day
        made = json.loads(subprocess.run([generator, os.path.join(self.out, "t.memtrace"), "4M", "1000"],
                                         capture_output=True, check=True, timeout=100).stdout)
        page = self.page("--page-size", "1M")
        self.assertLess(self.size, (1 << 20) * 1.1)
        timeline = page.processes[0]
        self.assertGreater(timeline.about["rows"], 20_000)
        self.assertLess(timeline.about["rows"], timeline.about["events"])
        self.assertGreater(len(timeline.about["keyframes"]), 10)
        self.assertEqual(timeline.highest(timeline.lane("host", "tensor"))[0], made["tensor"])
        self.assert_bands(page)
        for frame in timeline.about["keyframes"]:
            alive = timeline.alive_in_set(frame["set"])
            for number, lane in enumerate(timeline.lanes):
                if lane["measure"] == "tensor":
                    held = sum(blocks * timeline.bytes_of(lane, of) for of, blocks in alive.items())
                    self.assertEqual(held, frame["levels"][number])


class File(PageCase):
    def test_the_policy_allows_only_the_page_itself(self):
        self.trace_plain()
        page = self.page()
        for kind in ("script", "style"):
            allowed, own = page.sources(kind)
            self.assertEqual(allowed, own, kind)
        self.assertNotIn("unsafe", page.html.split("</head>")[0])
        self.assertIn("default-src 'none'", page.html)
        self.assertNotRegex(page.html.split('id="data"')[0], r'(src|href)="')

    def test_names_of_the_program_are_text(self):
        name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"
        code = f"exec(compile('held = bytearray(64 << 20)', {name!r}, 'exec'))"
        if not self.has_page():
            self.skipTest("this build has no page: esbuild was not found")
        done, _ = self.trace([sys.executable, "-c", code], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.page()
        head, rest = page.html.split('<script type="application/octet-stream"')
        self.assertNotIn("<script>alert", head)
        self.assertNotIn("<img", head)
        self.assertNotIn("<script>alert", rest)
        self.assertIn("<img src=x onerror=alert(2)>\\u{202E}", page.raw("strings.bytes").decode())

    def test_equal_traces_give_equal_pages(self):
        self.trace_plain()
        self.assertTrue(self.page().html == self.page().html)

    def test_refusals(self):
        for command, text in ((("explain", "--format", "html"), b"only report and diff write html"),
                              (("diff", "--first-vs-steady", "--format", "html"), b"report --format html"),
                              (("report", "--format", "html", "--page-size", "1K"), b"256K to 20M")):
            done = self.memtrace(*command, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
