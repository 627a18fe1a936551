"""Purpose: tests memtrace.open against the JSON of the command and against a program whose memory is known."""
import dataclasses
import html.parser
import json
import os
import stat
import subprocess
import sys
import unittest

import harness
import python_package

sys.path.insert(0, python_package.PACKAGE)
import memtrace  # noqa: E402
from memtrace import command, display, model, tables  # noqa: E402

PROGRAM = """
import memtrace, sys
with memtrace.phase("<script>alert(1)</script>"):
    weights = bytearray(80 << 20)
memtrace.snapshot("</table>")
kept = []
for n in range(4):
    memtrace.step(n)
    with memtrace.phase("forward"):
        kept.append(bytearray(20 << 20))
sys.exit(3)
"""


class Cells(html.parser.HTMLParser):
    """The texts of the cells, row by row, and the tags and attributes of a fragment."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.inside = [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


class Traces(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.path = os.environ["PATH"]
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(harness.COMMAND), cls.path])

    @classmethod
    def tearDownClass(cls):
        os.environ["PATH"] = cls.path

    def setUp(self):
        super().setUp()
        done = self.run_in("traced", [sys.executable, "-c", PROGRAM], python_package.environment(
            LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.out, MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.trace = memtrace.open(self.out)


class Objects(Traces):
    def same(self, value, data, where):
        """Compares an object with the JSON: each field of its type, and all parts."""
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                if field.name in data:
                    self.same(getattr(value, field.name), data[field.name], f"{where}.{field.name}")
                else:
                    self.assertEqual(getattr(value, field.name), field.default, where)
        elif isinstance(value, (tuple, list)):
            self.assertEqual(len(value), len(data), where)
            for number, (one, other) in enumerate(zip(value, data)):
                self.same(one, other, f"{where}[{number}]")
        elif isinstance(value, dict):
            self.assertEqual(value.keys(), data.keys(), where)
            for key in value:
                self.same(value[key], data[key], f"{where}[{key}]")
        else:
            self.assertEqual(value, data, where)

    def test_all_fields_are_those_of_the_command(self):
        document = json.loads(self.report_text("--format", "json"))  # with whole stacks, which the package does not ask for
        self.same(self.trace.processes, document["processes"], "processes")
        self.same(self.trace.job, document["job"], "job")
        self.same(self.trace.findings, document["processes"][0]["findings"], "findings")
        self.assertEqual(self.trace.text(), self.report_text())

    def test_place_of_a_rank(self):
        self.assertIsNone(self.trace.process.coordinates)
        out = os.path.join(self.scratch, "rank")
        done = self.run_in("rank", [sys.executable, "-c", "bytearray(80 << 20)"], python_package.environment(
            LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=out, MEMTRACE_QUIET="1", RANK="6", WORLD_SIZE="8",
            LOCAL_RANK="6", MEMTRACE_RANKS="pp=2,dp=4"))
        self.assertEqual(done.returncode, 0, done.stderr)
        process = memtrace.open(out).process
        self.assertEqual((process.rank, process.coordinates), (6, {"pp": 1, "dp": 2}))

    def test_known_figures(self):
        process = self.trace.process
        self.assertEqual((process.end.how, process.end.code, process.kind), ("exit", 3, "main"))
        first = self.trace.peak().at_peak[0]
        self.assertEqual((first.asked, first.line, first.site.own.line), (80 * harness.MIB + 1, "<string>:4", 4))
        phase, = (phase for phase in self.trace.phases if (phase.phase, phase.step) == ("forward", 0))
        self.assertEqual((phase.net >> 20, phase.transient >> 20), (20, 0))
        snapshot, = self.trace.snapshots
        self.assertEqual((snapshot.name, [row.asked >> 20 for row in snapshot.at if row.asked > 9 * harness.MIB]), ("</table>", [80]))
        with self.assertRaisesRegex(KeyError, f"process {process.pid} has no peak of cuda:0 live; it has host live"):
            self.trace.peak("cuda:0")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            process.pid = 1

    def test_options(self):
        steps = {phase.step for phase in memtrace.open(self.out, steps=(1, 2)).phases}
        self.assertEqual(steps & {0, 1, 2, 3}, {1, 2})
        self.assertLess(len(memtrace.open(self.out, top=1).peak().at_peak), len(self.trace.peak().at_peak))
        self.assertEqual({phase.step for phase in memtrace.open(self.out, all_steps=True).phases} & {0, 1, 2, 3}, {0, 1, 2, 3})

    def test_nothing_runs_before_a_field_is_read(self):
        os.environ["PATH"], path = "", os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        trace = memtrace.open(self.out)
        self.assertIn(self.out, repr(trace))
        with self.assertRaisesRegex(memtrace.CommandError, r"no command memtrace in .*memtrace/bin or on PATH; pip install"):
            trace.process

    def test_errors_of_the_command(self):
        with self.assertRaisesRegex(FileNotFoundError, r"memtrace\.open: /not/there: no such file or directory; give"):
            memtrace.open("/not/there")
        with self.assertRaisesRegex(memtrace.CommandError, r"at byte 0: expected a memtrace trace") as caught:
            memtrace.open(__file__).process
        self.assertEqual((caught.exception.status, caught.exception.arguments[:2]), (2, ("report", __file__)))

    def other_command(self, text):
        folder = os.path.join(self.scratch, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "memtrace")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, stat.S_IRWXU)
        os.environ["PATH"], before = folder + os.pathsep + os.environ["PATH"], os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)

    def test_other_commands(self):
        for text, expected in (("echo hello", "wrote no report; the command on PATH is another project's"),
                               ("echo '{\"schema\": \"memtrace.report/2\"}'", "wrote memtrace.report/2, and this package reads"),
                               ("exit 7", "exit status 7, no message"), ("kill -9 $$", "exit status -9, no message")):
            with self.subTest(text):
                self.other_command(text)
                with self.assertRaisesRegex(memtrace.CommandError, expected):
                    memtrace.open(self.out).process

    def test_the_command_is_not_traced(self):
        self.other_command('echo "$LD_PRELOAD"')
        os.environ["LD_PRELOAD"] = "/not/there.so"
        self.addCleanup(os.environ.pop, "LD_PRELOAD")
        self.assertEqual(command.run_command("x"), "\n")


class Tables(Traces):
    def test_rows(self):
        for table, columns in tables.COLUMNS.items():
            rows = self.trace.rows(table)
            for row in rows:
                self.assertEqual(list(row), list(columns))
                for name, value in row.items():
                    self.assertIsInstance(value, (columns[name], type(None)), (table, name))
            self.assertEqual(bool(rows), table != "findings", table)
        alive = [row for row in self.trace.rows("peak") if row["measure"] == "live"]
        self.assertEqual(sum(row["bytes"] for row in alive), self.trace.peak().bytes)
        with self.assertRaisesRegex(ValueError, "no table 'x'; the tables are phases, peak, ledger, findings, snapshots"):
            self.trace.rows("x")

    def frames(self, folder, method, code):
        program = f"import memtrace\nfor table in {list(tables.COLUMNS)}:\n" \
                  f"    frame = memtrace.open({self.out!r}).{method}(table)\n    {code}\n"
        environment = python_package.environment(*([folder] if folder else []))
        return subprocess.run([harness.torch_python(), "-c", program], env=environment, capture_output=True, text=True, check=False)

    def check_frames(self, done):
        self.assertEqual(done.stderr, "")
        for table, line in zip(tables.COLUMNS, done.stdout.splitlines()):
            columns, found = json.loads(line)
            expected = self.trace.rows(table)
            self.assertEqual(columns, list(tables.COLUMNS[table]))
            self.assertEqual(found, [list(row.values()) for row in expected], table)

    def test_pandas(self):
        self.check_frames(self.frames(harness.packages("datasets"), "to_pandas",
                                      "import json; print(json.dumps([list(frame), [[None if v is pd.NA else v for v in row] "
                                      "for row in frame.astype(object).values.tolist()]]))".replace("pd.", "__import__('pandas').")))

    def test_polars(self):
        self.check_frames(self.frames(harness.packages("polars"), "to_polars",
                                      "import json; print(json.dumps([frame.columns, [list(row) for row in frame.rows()]]))"))

    def test_without_them(self):
        for method, name in (("to_pandas", "pandas"), ("to_polars", "polars")):
            done = self.frames("", method, "pass")
            self.assertIn(f"ImportError: Trace.{method} needs {name}, which is not installed: pip install {name}", done.stderr)


class Notebook(Traces):
    def test_the_table(self):
        text = self.trace._repr_html_()
        cells = Cells(text)
        self.assertFalse({tag for tag, _ in cells.tags} - {"div", "p", "b", "code", "br", "table", "caption", "thead", "tbody",
                                                           "tr", "th", "td"})
        self.assertNotIn("<script", text)
        names = [row[0] for row in cells.rows]
        self.assertIn("<script>alert(1)</script>", names)
        forward = next(row for row in cells.rows if row[:2] == ["forward", "0"])
        self.assertEqual(forward[5:], ["20.00", "0.00"])
        heads = [number for number, row in enumerate(cells.rows) if row[0] in ("phase", "role", "total")]
        alive = cells.rows[heads[1] + 1:heads[2]]
        self.assertEqual(alive[0], ["heap", "80.00", "<script>alert(1)</script>", "<string>:4"])
        self.assertAlmostEqual(sum(float(row[1]) for row in alive), float(cells.rows[heads[2]][1]), delta=0.06)

    def test_hostile_texts(self):
        """Each text of a report may be chosen by the traced program."""
        bad = "\"><img src=x onerror=alert(1)>'&"
        site = model.Site("1", (model.Frame(bad, f"/{bad.replace('/', '')}", 1, bad, "python", True),))
        row = model.Row(5, 5, 1, bad, bad, bad, site, bad, 1, 0.5, bad, bad)
        levels = {name: 5 for name in ("entry_live", "exit_live", "peak_live", "transient", "net")}
        phase = model.Phase("host", bad, (bad, bad), bad, 1, 1, 1, 1, **levels)
        peak = model.Peak("host", "live", 7, 0.5, bad, bad, (row,))
        finding = model.Finding(bad, bad, "host", bad, bad, 5, bad, (bad,), bad, site)
        process = model.Process(1, 1, bad, bad, (bad,), bad, None, None, 1.0, 1.0, model.End(bad, 1, (bad,)), None, (phase,),
                                (peak,), (), (finding,), {"1": site})
        trace = memtrace.open(self.out)
        trace.processes, trace.findings = (process,), (finding,)
        tags = [tag for tag, _ in Cells(trace._repr_html_()).tags]
        self.assertNotIn("img", tags)
        self.assertIn("td", tags)

    def test_the_page_inline(self):
        cells = Cells(self.trace.page(height=900)._repr_html_())
        (tag, attributes), = cells.tags
        self.assertEqual((tag, attributes["sandbox"], attributes["height"]), ("iframe", "allow-scripts", "900"))
        self.assertEqual(attributes["srcdoc"], self.report_text("--format", "html"))
        self.assertEqual(Cells(display.Page("\"'<b>&amp;", 1)._repr_html_()).tags[0][1]["srcdoc"], "\"'<b>&amp;")


if __name__ == "__main__":
    unittest.main()
