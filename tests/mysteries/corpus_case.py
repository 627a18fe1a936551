"""Purpose: runs a program of the corpus under memtrace, and judges the first screen, or returns what its twin got."""
import glob
import os

import cuda_node
import deaths
import harness
import judge
import mystery


def remove_shared_files(name):
    for path in glob.glob(f"/dev/shm/{name}-*"):
        os.remove(path)


class CorpusCase(deaths.Case):
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

    def judged(self, case):
        """Returns the verdict, the truth in bytes, and the text of the report."""
        done = self.run_program(case)
        died = case.limit and done.returncode != 0
        if not died:
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        text = self.postmortem_text() if died else self.report_text()
        report = self.postmortem() if died else self.report()
        truth = mystery.truth_of(done.stdout.decode(errors="replace"))
        verdict = judge.Verdict(case, judge.first_screen(text), judge.leading_finding(report), truth)
        return verdict, truth, text

    def found_in_twin(self, case):
        """Returns the ids of the findings that the mended program got."""
        done = self.run_program(case, "--mended")
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        report = self.report()
        self.assertIsNotNone(report, "nothing was recorded")
        found = [finding["id"] for process in report["processes"] for finding in process["findings"]]
        return found + [finding["id"] for finding in report["findings"]]
