"""Purpose: scripts/gpu where there is no GPU: its checks on reports made by hand, and its runner on programs that need none.

usage: python3 scripts/gpu/run_test.py
"""
import json
import os
import tempfile
import unittest

import checks
import modes
import run

MIB = 1 << 20
TRUTH = {"pid": 7, "max_memory_allocated": 1000, "max_memory_reserved": 2048, "parameters": 10, "parameter_bytes": 400,
         "phases": [{"phase": "load", "step": None, "peak": 500, "exit": 500},
                    {"phase": "step", "step": 0, "peak": 1000, "exit": 700}]}


def peak(measure, size, memory="cuda:0", **more):
    return {"memory": memory, "measure": measure, "bytes": size, "at_peak": [], **more}


def row(phase, step, top, end):
    return {"memory": "cuda:0", "path": [phase], "step": step, "tensor": {"peak_live": top, "exit_live": end}}


def report(**changes):
    process = {"pid": 7, "parameters": {"count": 10}, "findings": [], "ledger": [], "devices": [],
               "peaks": [peak("live", 5, "host"), peak("tensor", 1000), peak("live", 2048), peak("reserved", 2048)],
               "phases": [row("load", None, 500, 500), row("step", 0, 1000, 700)],
               "trace": {"lost_events": 0, "device_source": "cupti", "cupti": "active; libcupti.so.13"}}
    return {"schema": "memtrace.report/1", "processes": [{**process, **changes}]}


def wrong(check, truth=None, bare=None, **changes):
    rows = list(check(checks.Run({**TRUTH, **(truth or {})}, report(**changes), bare)))
    return [one.check for one in rows if one.ok is False]


class Checks(unittest.TestCase):
    def test_exact(self):
        self.assertEqual(wrong(checks.exact), [])
        self.assertEqual(wrong(checks.exact, {"max_memory_allocated": 1001}), ["peak tensor = max_memory_allocated"])
        phases = [row("load", None, 499, 500), row("step", 0, 1000, 701)]
        self.assertEqual(wrong(checks.exact, phases=phases), ["step 0: tensor at exit", "load: peak tensor"])

    def test_backward_lines(self):
        def made(*functions):
            frames = [{"function": function} for function in functions]
            return {"bytes": 400, "born_phase": "backward", "site": {"frames": frames}}
        known, unknown = made("mm", "(backward of this forward call)", "forward"), made("mm", "thread_main")
        told = "backward: blocks at the peak whose forward call is known"
        for rows, expected in (([known], []), ([known, unknown], [told]), ([], [told])):
            peaks = [peak("live", 5, "host"), peak("tensor", 1000, at_peak=rows), peak("live", 2048),
                     peak("reserved", 2048)]
            self.assertEqual(wrong(checks.backward_lines, peaks=peaks), expected)

    def test_profiler(self):
        """The profiler sees what it sees without memtrace, and memtrace what it sees without the profiler."""
        rows = [{"bytes": 400, "born_phase": "backward",
                 "site": {"frames": [{"function": "(backward of this forward call)"}]}}]
        peaks = [peak("live", 5, "host"), peak("tensor", 1000, at_peak=rows), peak("live", 2048), peak("reserved", 2048)]
        seen = {**TRUTH, "kernels": 9, "complaints": ""}
        self.assertEqual(wrong(checks.profiler, seen, seen, peaks=peaks), [])
        told = ["kernels that torch.profiler saw: bare, and traced", "warnings and errors that it printed: bare, and traced"]
        self.assertEqual(wrong(checks.profiler, {"kernels": 0, "complaints": "taken"}, seen, peaks=peaks), told)
        rows[0]["site"]["frames"][0]["function"] = "thread_main"
        self.assertEqual(len(wrong(checks.profiler, seen, seen, peaks=peaks)), 1)

    def test_temporaries(self):
        found = [{"id": "foreach-temporaries", "memory": "cuda:0", "bytes": 400}]
        self.assertEqual(wrong(checks.temporaries(True), findings=found), [])
        self.assertEqual(wrong(checks.temporaries(False), findings=found), ["foreach-temporaries: none"])
        self.assertEqual(wrong(checks.temporaries(True)), ["foreach-temporaries: one copy of the parameters"])

    def test_memory_of_a_library(self):
        """cuBLAS asks the driver by itself: that is not memory of the caching allocator."""
        def made(library, size):
            return {"bytes": size, "site": {"frames": [{"module": "libcudart.so.13"}, {"module": library}]}}
        rows = [made("/x/libc10_cuda.so", 2048), made("/x/libcublas.so.13", 512)]
        peaks = [peak("live", 5, "host"), peak("tensor", 1000), peak("live", 2560, at_peak=rows),
                 peak("reserved", 2048)]
        self.assertEqual(wrong(checks.exact, peaks=peaks), [])
        rows[1]["site"]["frames"].append({"module": "/x/libc10_cuda.so"})  # that called it
        self.assertEqual(wrong(checks.exact, peaks=peaks), [])
        rows[1]["site"]["frames"][1]["module"] = "/x/libc10_cuda.so"
        self.assertEqual(wrong(checks.exact, peaks=peaks), ["peak live of the allocator = max_memory_reserved"])

    def test_nothing_counted(self):
        truth = {"max_memory_allocated": 0}
        peaks = [peak("tensor", 0), peak("reserved", 2048)]
        self.assertEqual(wrong(checks.totals, truth, peaks=peaks), ["peak tensor = max_memory_allocated"])

    def test_source(self):
        self.assertEqual(wrong(checks.callbacks), [])
        self.assertEqual(wrong(checks.hooks), ["the hooks are the source"])

    def test_another_framework(self):
        row = {"bytes": 4096, "site": {"frames": [{"module": "/x/cupy/libcupy_core.so"}]}}
        truth = {"library": "cupy", "counter": "its pool", "bytes": 4096}
        self.assertEqual(wrong(checks.whole, truth, peaks=[peak("live", 4096, at_peak=[row])]), [])
        self.assertEqual(len(wrong(checks.whole, truth, peaks=[peak("live", 4096)])), 1)
        self.assertEqual(wrong(checks.whole, {"missing": "no cupy"}), [])

    def test_held(self):
        held = {"lost_events": 0, "device_source": "hooks", "cupti": "held by CUPTI for nsys"}
        self.assertEqual(wrong(checks.held, {"holder": "held"}, trace=held), [])
        self.assertEqual(len(wrong(checks.held, {"holder": "held"})), 2)

    def test_pinned(self):
        truth = {"asked": 3 * MIB, "rounded": 4 * MIB, "stats": 4 * MIB}
        block = {"kind": "pinned", "bytes": 4 * MIB}
        peaks = [peak("live", 9, "host", at_peak=[block, {"kind": "heap", "bytes": 5}])]
        self.assertEqual(wrong(checks.pinned, truth, peaks=peaks), [])
        block["bytes"] = 3 * MIB
        self.assertEqual(len(wrong(checks.pinned, truth, peaks=peaks)), 2)

    def test_cards(self):
        truth = {"max_memory_allocated": 1000, "max_memory_reserved": 2048}
        second = {"max_memory_allocated": 30, "max_memory_reserved": 70}
        truth["cards"] = {"cuda:0": dict(truth), "cuda:1": second}
        peaks = [*report()["processes"][0]["peaks"], peak("tensor", 30, "cuda:1"), peak("reserved", 70, "cuda:1")]
        self.assertEqual(wrong(checks.cards, truth, peaks=peaks), [])
        self.assertEqual(wrong(checks.cards, truth, peaks=peaks[:-1]), ["cuda:1: peak reserved"])
        self.assertEqual(wrong(checks.cards, {"missing": "a second card"}), [])

    def test_another_tool(self):
        self.assertEqual(wrong(checks.another_tool, {"later": "held"}, {**TRUTH, "later": "held"}), [])
        told = ["another tool's subscription: bare, and traced"]
        refused = {"later": "cuptiSubscribe gave 39"}
        self.assertEqual(wrong(checks.another_tool, refused, {**TRUTH, "later": "held"}), told)

    def test_context(self):
        truth = {"process": 900 * MIB, "card": 2000 * MIB, "total": 80 << 30, "name": "A", "uuid": "GPU-1"}
        probe = {"memory": "cuda:0", "path": ["probe"], "used": {"exit": 900 * MIB}}
        known = {"phases": [probe], "peaks": [peak("used", 900 * MIB, of="process")],
                 "ledger": [{"memory": "cuda:0", "residual": 500 * MIB}],
                 "devices": [{"memory": "cuda:0", "name": "A", "uuid": "GPU-1", "total": 80 << 30}]}
        self.assertEqual(wrong(checks.context, truth, **known), [])
        probe["used"]["exit"] = 800 * MIB
        known["ledger"][0]["residual"] = 0
        self.assertEqual(len(wrong(checks.context, truth, **known)), 2)

    def test_segments(self):
        truth = {"reserved": 2560, "count": 10, "bytes": 2560, "unused": 954}
        known = {"peaks": [peak("reserved", 2560, segments={"count": 10, "bytes": 2560, "unused": 954})],
                 "findings": [{"id": "device-fragmentation"}]}
        self.assertEqual(wrong(checks.segments, truth, **known), [])
        self.assertEqual(wrong(checks.segments, {**truth, "unused": 953}, **known), ["segments: unused"])
        self.assertEqual(wrong(checks.segments, truth, peaks=known["peaks"]), ["it is found"])

    def test_reset(self):
        rows = [{"memory": "cuda:0", "allocated": 160, "freed": 128}, {"memory": "host", "allocated": 5, "freed": 5}]
        self.assertEqual(wrong(checks.reset, {"allocated": 160, "freed": 128}, phases=rows), [])
        rows[0]["freed"] = 0
        self.assertEqual(wrong(checks.reset, {"allocated": 160, "freed": 128}, phases=rows), ["freed by cudaDeviceReset"])

    def test_history_and_oom(self):
        truth = {"history": {"blocks": 2, "bytes": 1000}}
        peaks = [peak("live", 2048), peak("reserved", 2048),
                 peak("tensor", 1000, at_peak=[{"blocks": 2, "bytes": 1000}])]
        self.assertEqual(wrong(checks.history, truth, peaks=peaks), [])
        peaks[2]["at_peak"][0]["blocks"] = 3
        self.assertEqual(len(wrong(checks.history, truth, peaks=peaks)), 1)
        for finding, ok in (("cuda-oom", True), ("oom-kill", False)):
            dead = checks.Run(TRUTH, postmortem={"processes": [{"findings": [{"id": finding}]}]})
            self.assertEqual([one.ok for one in checks.oom(dead)], [ok])


class Runs(unittest.TestCase):
    def runner(self, seconds=run.BUDGET):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return run.Runner(os.path.join(folder.name, "prefix"), folder.name, seconds)

    def work(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write(text)
        return [file.name]

    def test_every_job_has_its_work(self):
        for job in run.JOBS:
            self.assertTrue(os.path.exists(os.path.join(run.HERE, job.work[0])), job.name)
        self.assertEqual(len({job.name for job in run.JOBS}), len(run.JOBS))

    def test_rounds(self):
        work = self.work("import json, os\nprint(json.dumps({'pid': 1, 'took': 2.0 if os.environ.get('LD_PRELOAD') else 1.0}))")
        job = run.Job("cost", work, checks.overhead("it", "took", (1, "s")), rounds=2)
        rows = run.attempt(self.runner(), 0, job)["rows"]
        self.assertEqual([one.verdict for one in rows], ["1.000", "2.000", "2.000", "1.000"])

    def test_what_goes_wrong_is_a_row(self):
        failing = run.Job("fails", self.work("raise SystemExit('planted')"), checks.exact)
        for runner, said in ((self.runner(), "planted"), (self.runner(1), "no time left")):
            result = run.attempt(runner, 0, failing)
            self.assertIs(result["rows"][0].ok, False)
            self.assertIn(said, result["rows"][0].verdict)
        silent = run.Job("silent", self.work("print('{\"pid\": 1}')"), checks.exact)
        self.assertIn("nothing was recorded", run.attempt(self.runner(), 0, silent)["rows"][0].verdict)

    def test_a_package_that_is_missing(self):
        """Such a program allocates too little for a trace."""
        job = run.Job("x", self.work("print('{\"pid\": 1, \"missing\": \"no cupy\"}')"), checks.whole)
        self.assertEqual([(one.check, one.ok) for one in run.attempt(self.runner(), 0, job)["rows"]],
                         [("not run: there is no package", None)])

    def test_patience_grows_with_the_seconds(self):
        """On a slow machine one asks for more seconds in all, and each program gets its part of them."""
        self.assertEqual([self.runner(seconds).patience for seconds in (60, run.BUDGET, 3000)], [120, 120, 750])
        endless = run.Job("endless", self.work("import time\ntime.sleep(600)"), checks.exact)
        before, run.PATIENCE = run.PATIENCE, 1
        self.addCleanup(setattr, run, "PATIENCE", before)
        self.assertIn("no end after 2 s", run.attempt(self.runner(8), 0, endless)["rows"][0].verdict)

    def test_packs_again(self):
        """A job that is run again replaces its packed trace, though memtrace overwrites no file."""
        runner = self.runner()
        command = os.path.join(runner.prefix, "bin", "memtrace")
        os.makedirs(os.path.dirname(command))
        with open(command, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ ! -e "$4" ] && echo packed > "$4"\n')
        os.chmod(command, 0o755)
        traced = os.path.join(runner.out, "traced")
        for _ in range(2):
            os.makedirs(os.path.join(traced, "trace"))
            runner.pack(traced)
        self.assertTrue(os.path.exists(traced + run.PACKED))

    def test_goes_on(self):
        """Of a run before, only the jobs whose checks all hold are known."""
        runner = self.runner()
        path = os.path.join(runner.out, "gpu_check.json")
        rows = {"good": [vars(checks.equal("a", 1, 1))], "bad": [vars(checks.equal("a", 1, 2))]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"jobs": [{"job": name, "seconds": 1.0, "rows": rows[name]} for name in rows]}, file)
        self.assertEqual(list(run.known(path)), ["good"])
        self.assertEqual(run.known(path + ".none"), {})

    def test_a_table_and_json(self):
        result = {"job": "x", "seconds": 1.0, "rows": [checks.equal("a", 1, 1), checks.figure("b", None, "c")]}
        run.print_job(result)
        json.dumps([vars(one) for one in result["rows"]], default=str)


class Modes(unittest.TestCase):
    """scripts/gpu/modes.py: the same work with each setting of MEMTRACE_CUPTI."""

    def judged(self, tensor=1000, code=0, check=checks.totals):
        rows = [{"kind": "tensor", "bytes": 600, "blocks": 2}, {"kind": "workspace", "bytes": 400, "blocks": 1}]
        told = report(peaks=[peak("live", 5, "host"), peak("tensor", tensor, at_peak=rows), peak("reserved", 2048)],
                      ledger=[{"memory": "cuda:0", "residual_parts": {"code": code, "rest": 3, "how": "estimate"}}],
                      phases=[{"memory": "cuda:0", "allocated": 9, "freed": 4}], findings=[{"id": "cuda-oom"}])
        return modes.judged(run.Job("x", [], check), checks.Run(TRUTH, told))

    def test_what_a_report_says(self):
        self.assertEqual(self.judged(1000, 7)["seen"],
                         {"cuda:0 tensor": 1000, "cuda:0 tensor: tensor": 600, "cuda:0 tensor: workspace": 400,
                          "cuda:0 tensor: blocks": 3, "cuda:0 reserved": 2048, "cuda:0 allocated": 9, "cuda:0 freed": 4,
                          "cuda:0 code": 7, "finding cuda-oom": 1})

    def test_a_line(self):
        result = {"job": "x", "off": self.judged(), "auto": self.judged(), "on": self.judged(996, 7)}
        said = "peak tensor = max_memory_allocated: -4"
        seen = "cuda:0 tensor 1,000/1,000/996; cuda:0 code 0/0/7"
        self.assertEqual(modes.line(result), f"| x | 4 | 0 | 0 | {said} | {seen} |")

    def test_rows_that_a_setting_decides(self):
        """The source differs by design; what else does not hold is said."""
        def check(_):
            yield checks.equal("the hooks are the source", "hooks", "cupti")
            yield checks.holds("it is found", 1, None, False)
            yield checks.figure("for the eye", 1, 2)
        result = self.judged(check=check)
        self.assertEqual((result["figures"], result["differ"], result["others"]), (0, [], [["it is found", 1, None]]))


if __name__ == "__main__":
    unittest.main()
