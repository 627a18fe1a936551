"""Purpose: tests that the first screen names the cause of public mysteries, and that their clean twins get no finding.
"""
import glob
import os
import sys
import unittest

import cuda_node
import deaths
import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "mysteries"))

import judge  # noqa: E402
import mystery  # noqa: E402

# These run by default; the others in scripts/test --long, or if MEMTRACE_TEST_SETTINGS=all.
BY_DEFAULT = ()


def is_listed(case):
    return harness.ALL or case.name in BY_DEFAULT


def remove_shared_files(name):
    for path in glob.glob(f"/dev/shm/{name}-*"):
        os.remove(path)


class Corpus(deaths.Case):
    def command_of(self, case, *words):
        if case.on_cuda:
            cuda_node.require()
            return [cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", case.path, *words]
        python = harness.torch_python()
        if case.ranks:
            launcher = [python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.ranks}"]
            return [*launcher, case.path, *words]
        return [python, case.path, *words]

    def environment_of(self, case):
        out = {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1", "MEMTRACE_OUT": self.out}
        folders = [harness.packages(folder) for folder in case.folders]
        if folders:
            out["PYTHONPATH"] = os.pathsep.join(folders)
        if not case.on_cuda:
            out["LD_PRELOAD"] = harness.LIBRARY
        return harness.bare_environment(**out)

    def run_program(self, case, *words):
        """Returns the completed process."""
        self.new_scratch()
        self.addCleanup(remove_shared_files, case.name)
        options = {}
        if case.limit:
            group = self.group(case.limit)
            options["preexec_fn"] = group.enter
        return self.run_in("traced", self.command_of(case, *words), self.environment_of(case), **options)

    def check_cause(self, case):
        done = self.run_program(case)
        if not case.limit:
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        text = self.postmortem_text() if case.limit else self.report_text()
        report = self.postmortem() if case.limit else self.report()
        screen = judge.first_screen(text)
        truth = mystery.truth_of(done.stdout.decode(errors="replace"))
        verdict = judge.Verdict(case, screen, judge.leading_finding(report), truth)
        self.assertTrue(verdict.right, f"wrong: {verdict.wrong_parts()}; truth {truth}\n{text}")

    def check_twin(self, case):
        done = self.run_program(case, "--mended")
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        report = self.report()
        self.assertIsNotNone(report, "nothing was recorded")
        found = [finding["id"] for process in report["processes"] for finding in process["findings"]]
        self.assertEqual(found + [finding["id"] for finding in report["findings"]], [])


for one in mystery.all_mysteries():
    if is_listed(one):
        setattr(Corpus, f"test_{one.name}", lambda self, one=one: self.check_cause(one))
        setattr(Corpus, f"test_{one.name}_mended", lambda self, one=one: self.check_twin(one))

if __name__ == "__main__":
    unittest.main()
