"""Purpose: executes the notebook docs/fleet-plots.ipynb over generated fleets, and compares the data of its plots with what
was planted.

Truth: the generator prints what it planted and the peak of each rank. The report, which does not read the exported
files, has the limits.
"""
import json
import os
import re
import subprocess
import sys
import unittest

import fleets
import harness

sys.path.insert(0, os.path.join(harness.ROOT, "scripts", "docs_pictures"))
import notebooks  # noqa: E402

GENERATOR = os.path.join(harness.BUILD, "tests", "bench_trace", "memtrace_fleet_trace")
NOTEBOOK = os.path.join(harness.ROOT, "docs", "fleet-plots.ipynb")
GIB = 1 << 30
RED = "#c4342d"


class Plots(fleets.FleetCase):
    def plots_of(self, *generated):
        """Writes a fleet. Returns what the generator knows about it, and what the notebook draws and prints."""
        for name in notebooks.PACKAGES:
            harness.packages(name)
        made = subprocess.run([GENERATOR, self.out, *generated], check=True, capture_output=True)
        environment = harness.bare_environment(**notebooks.environment(self.scratch))
        exported = self.run_in("work", [harness.COMMAND, "export", self.out, "--to", "parquet", "-o", "fleet", "--python",
                                        harness.torch_python()], environment, text=True)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        done = self.run_in("work", [harness.torch_python(), harness.program("plotted_data.py"), NOTEBOOK], environment, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["pictures"], len(found["plots"])), (5, 5))
        for plot in found["plots"]:
            self.assertTrue(plot["title"])
            self.assertRegex(plot["x"], r"\A(rank|hours since the start|GiB-hours|.*, GiB)\Z")
        return json.loads(made.stdout), found

    def test_a_fleet_with_faults(self):
        truth, found = self.plots_of("10", "outlier=3:40", "leak=pp:1:65536", "half=1", "rounding=16777216")
        self.assertEqual(found["printed"], [])
        outliers, growth, waste, sites, limits = found["plots"]
        self.check_outliers(outliers, truth)
        self.check_growth(growth, truth)
        self.check_waste(waste, truth)
        self.check_sites(sites, truth)
        self.check_limits(limits, truth)

    def check_outliers(self, plot, truth):
        """A dot for each rank, a line for each stage, a circle for the rank with more activations."""
        (planted,) = truth["outliers"]
        *stages, circles = plot["dots"]
        self.assertEqual(len(stages), truth["pp"])
        peaks = dict(dot for stage in stages for dot in stage)
        self.assertEqual({rank: round(level * GIB) for rank, level in peaks.items()}, dict(enumerate(truth["peaks"])))
        self.assertEqual(circles, [[planted["rank"], peaks[planted["rank"]]]])
        for stage, segment in zip(stages, plot["segments"]):
            levels = sorted(level for _, level in stage)
            self.assertAlmostEqual(segment[0][1], levels[len(levels) // 2], places=6)
            self.assertEqual([end[0] for end in segment], [stage[0][0], stage[-1][0]])
        (text,) = plot["texts"]
        more, place = re.fullmatch(r"rank 3: (\d+) MiB more\n(.*)", text).groups()
        self.assertAlmostEqual(int(more) << 20, planted["more"], delta=planted["more"] * 0.05)
        self.assertEqual(place, f"pp{planted['pp']} tp{planted['tp']} dp{planted['dp']}, {os.path.basename(planted['line'])}")
        self.assertEqual(plot["title"], "1 of 10 ranks differ from their pipeline stage")
        self.assertEqual(plot["y"], "held at the peak of the rank, GiB")

    def check_growth(self, plot, truth):
        """The line of the second stage rises as planted. That of the other ranks does not."""
        (leak,) = truth["leaks"]
        (colour, rising), (_, flat) = plot["lines"]
        self.assertEqual(colour, RED)
        a_day = (rising[-1][1] - rising[0][1]) * (1 << 20) / (rising[-1][0] - rising[0][0]) * 24
        self.assertAlmostEqual(a_day, leak["bytes_per_day"], delta=leak["bytes_per_day"] * 0.1)
        self.assertTrue(all(before[1] < after[1] for before, after in zip(rising, rising[1:])), rising)
        self.assertEqual({level for _, level in flat}, {0})
        self.assertAlmostEqual(rising[-1][0], truth["hours"] * 39 / 40, places=1)  # the middle of the last part
        stated, others = plot["texts"]
        figure = re.fullmatch(r"pp 1: ([\d.]+) MiB a day", stated)[1]
        self.assertAlmostEqual(float(figure) * (1 << 20), leak["bytes_per_day"], delta=leak["bytes_per_day"] * 0.1)
        self.assertEqual((others, plot["title"]), (f"the other {truth['ranks'] - len(leak['ranks'])} ranks", "pp 1 grows"))
        self.assertEqual(plot["y"], "rise of the lowest level, MiB")

    def check_waste(self, plot, truth):
        (bars,) = plot["bars"]
        planted = truth["rounding"] * truth["ranks"] * truth["hours"] / GIB
        self.assertEqual(list(bars), ["host: rounded up"])
        self.assertAlmostEqual(bars["host: rounded up"] / planted, 1, places=5)
        self.assertEqual(plot["title"], f"{planted:.1f} GiB-hours were held and not used")
        self.assertRegex(plot["texts"][0], r"\A\d\.\d % of what was used \(at the peak\)\Z")

    def check_sites(self, plot, truth):
        """The bars have the tensors at the peaks of all ranks, which count what was asked for, apart from lines below half a
        percent."""
        (bars,) = plot["bars"]
        whole = sum(truth["peaks"]) - truth["rounding"] * truth["ranks"]
        self.assertEqual(list(bars.values()), sorted(bars.values()))
        self.assertAlmostEqual(sum(bars.values()) * GIB / whole, 1, delta=0.01)
        (planted,) = truth["outliers"]
        usual = planted["more"] * 100 / planted["percent"]
        activations = (usual - truth["rounding"]) * truth["ranks"] + planted["more"]
        name = f"{os.path.basename(planted['line'])}  activation"
        self.assertEqual(list(bars)[-1], name)
        self.assertAlmostEqual(bars[name] * GIB / activations, 1, delta=0.01)
        for width, text in zip(bars.values(), plot["texts"]):
            self.assertAlmostEqual(float(text.split()[0]), 100 * width * GIB / whole, delta=0.2)

    def check_limits(self, plot, truth):
        """A bar for the limit of each host, another for what it needed. The host with half of the memory is at the top."""
        limits, needed = plot["bars"]
        (half,) = truth["half_memory"]
        known = {}
        for process in self.report()["processes"]:
            for limit in process["headroom"]:
                if limit["of"] == "cgroup":
                    known.setdefault(process["host"], []).append((limit["limit"], limit["needed"] or limit["used"]))
        self.assertEqual({host: (round(limits[host] * GIB), round(needed[host] * GIB)) for host in limits},
                         {host: max(figures) for host, figures in known.items()})
        self.assertEqual(list(limits)[-1], half["host"])
        self.assertEqual(round(limits[half["host"]] * GIB), half["memory"] // 8 * 7)
        free = {host: f"{limits[host] - needed[host]:.3g} GiB" for host in limits}
        self.assertEqual(plot["texts"], [f"{free[host]} free" for host in limits])
        self.assertRegex(plot["title"], rf"\A{half['host']} has least free: {free[half['host']]}\. Of ")

    @harness.only_in_long
    def test_a_fleet_without_faults_and_a_rank_alone(self):
        _, found = self.plots_of("12")
        self.assertEqual(found["printed"], [])
        outliers, growth, waste, _, limits = found["plots"]
        self.assertEqual([plot["title"] for plot in (outliers, growth, waste)],
                         ["0 of 12 ranks differ from their pipeline stage", "Nothing grows", "0.0 GiB-hours were held and not used"])
        self.assertEqual((outliers["texts"], growth["texts"], len(limits["bars"][0])), ([], ["all ranks"], 2))
        self.new_scratch()
        _, found = self.plots_of("1")
        self.assertRegex("".join(found["printed"]), r"\Aoutliers: it compares the ranks of a pipeline stage, [^\n]*\n\Z")
        self.assertEqual(len(found["plots"][0]["dots"][0]), 1)

    @harness.only_in_long
    def test_1000_ranks(self):
        truth, found = self.plots_of("1000", "outlier=37:40", "outlier=801:30", "leak=tp:1:65536", "half=7")
        outliers, growth = found["plots"][:2]
        self.assertEqual([rank for rank, _ in outliers["dots"][-1]], [37, 801])
        self.assertEqual(sum(map(len, outliers["dots"][:-1])), truth["ranks"])
        self.assertEqual(growth["title"], "tp 1 grows")


class Stored(unittest.TestCase):
    """What the repository has, which a reader sees without running it."""

    def setUp(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            self.cells = json.load(file)["cells"]

    def test_each_question_has_its_plot(self):
        code = [cell for cell in self.cells if cell["cell_type"] == "code"]
        self.assertEqual([cell["execution_count"] for cell in code], [*range(1, len(code) + 1)], "scripts/pictures fleet-plots")
        pictures = [[kind for output in cell["outputs"] for kind in output["data"] if kind == "image/png"] for cell in code]
        self.assertEqual(pictures, [[]] + [["image/png"]] * 5)
        headings = [line for cell in self.cells if cell["cell_type"] == "markdown" for line in cell["source"] if line.startswith("## ")]
        self.assertEqual(len(headings), 5)
        self.assertTrue(all(line.rstrip().endswith("?") for line in headings), headings)

    def test_it_has_no_path_of_a_machine(self):
        for cell in self.cells:
            for output in cell.get("outputs", []):
                self.assertEqual(set(output.get("data", {})), {"image/png", "text/plain"})
                self.assertRegex("".join(output["data"]["text/plain"]), r"\A<Figure size \d+x\d+ with 1 Axes>\Z")
            self.assertEqual(cell["metadata"], {})
            self.assertNotRegex("".join(cell["source"]), r"/(home|root|tmp|work)/")


if __name__ == "__main__":
    unittest.main()
