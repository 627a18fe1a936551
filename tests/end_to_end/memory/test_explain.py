"""Purpose: tests bytes per parameter. Truth: the sizes of the tensors, by PyTorch or by hand; DeepSpeed's
source for its buffers."""
import glob
import json
import os
import socket
import subprocess
import unittest

import harness

CLOSE = 0.02  # bytes per parameter


class Case(harness.Case):
    def explain(self, *options, status=0):
        done = subprocess.run([harness.COMMAND, "explain", self.out, *options], env=harness.bare_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def explained(self, *options):
        out = json.loads(self.explain("--format", "json", *options).stdout)
        self.assertEqual(out["schema"], "memtrace.explain/1")
        self.assertLess(abs(out["unaccounted"]), 0.1)
        kept = [row for row in out["rows"] if row["kept"]]
        self.assertAlmostEqual(sum(row["per_parameter"] for row in kept), out["kept"], places=6)
        for line in self.explain(*options).stdout.decode().splitlines():
            self.assertLessEqual(len(line), 100, line)
        return out

    def by_role(self, out):
        sums = {}
        for row in out["rows"]:
            if row["kept"]:
                sums[row["role"]] = sums.get(row["role"], 0) + row["asked"] / out["parameters"]["count"]
        return sums

    def assert_rows(self, out, truth):
        sums = self.by_role(out)
        for role, size in truth.items():
            self.assertAlmostEqual(sums.get(role, 0), size, delta=CLOSE, msg=f"{role}: {sums}")


class Explain(Case):
    def train(self, variant):
        done, _ = self.trace([harness.torch_python(), harness.program("roles.py"), variant], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return json.loads(done.stdout.splitlines()[-1])

    def test_adamw(self):
        truth = self.train("plain")
        out = self.explained("--project", "80e9")
        count = out["parameters"]["count"]
        self.assert_rows(out, {role: size / count for role, size in truth.items()})
        self.assertAlmostEqual(out["theory"], 16)
        self.assertTrue(out["setup"]["optimizer"].startswith("AdamW"), out["setup"])
        self.assertAlmostEqual(out["project"]["bytes"], out["kept"] * 80e9, delta=80e9 * 1e-6)
        # The optimizer's square roots of all parameters at once, which are temporary.
        temporary = sum(row["per_parameter"] for row in out["rows"]
                        if not row["kept"] and row["role"] == "temporary" and row["phase"] == "step")
        self.assertGreater(temporary, 3.9)
        half = self.explained("--params", str(2 * count))
        self.assertAlmostEqual(half["kept"], out["kept"] / 2, delta=CLOSE)

    def test_masters(self):
        truth = self.train("masters")
        out = self.explained()
        count = out["parameters"]["count"]
        self.assert_rows(out, {role: size / count for role, size in truth.items()})
        self.assertAlmostEqual(out["theory"], 2 + 4 + 4 + 8)

    def test_a_model_that_is_little_of_what_is_alive(self):
        """The sizes lead, and the rest has the user's line. The table per parameter is left out: it says nothing."""
        program = harness.program("little_model.py")
        with open(program, encoding="utf-8") as file:
            line = next(number for number, text in enumerate(file, 1) if text.endswith("# TRUTH\n"))
        done, _ = self.trace([harness.torch_python(), program], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        out = self.explained()
        self.assertEqual(out["parameters"]["count"], 46_653)
        self.assertAlmostEqual(out["model_bytes"], 46_653 * 16, delta=46_653 * 16 / 50)
        text = self.explain().stdout.decode()
        size = out["model_bytes"] / 1024
        self.assertEqual(text.split(":")[0], f"The model takes {size:.1f} KiB")
        besides = (out["alive"] - out["model_bytes"]) / harness.MIB
        self.assertIn(f"Besides, {besides:.2f} MiB are allocated.", " ".join(text.split()))
        self.assertRegex(text, rf"\n  heap +300\.00 +[\d.]+ +[\d.]+ s +little_model\.py:{line}\n")
        self.assertLess(text.index(f"little_model.py:{line}"), text.index("bytes per parameter"), "the largest comes first")
        self.assertNotIn("B/param  theory", text)
        self.assertAlmostEqual(sum(row["per_parameter"] for row in out["rows"] if row["role"] == "parameter"), 4, delta=0.01)

    def test_where_there_is_nothing_to_explain(self):
        self.run_in("traced", [harness.victim("small_blocks")], self.environment(**harness.RECORD_ALL))
        self.assertRegex(self.explain(status=2).stderr,
                         rb"^memtrace: pid \d+: no module or optimizer of PyTorch was seen; .* --params N\n$")
        self.assertRegex(self.explain("--params", "7e9", status=2).stderr, rb"no optimizer's step ended")
        self.assertRegex(self.explain("--params", "many", status=2).stderr, rb"^memtrace: --params: many is not a number of parameters, as in 7e9; .*\n$")


class ZeRO(Case):
    @classmethod
    def setUpClass(cls):
        python = harness.torch_python()
        cache = os.path.dirname(os.path.dirname(os.path.dirname(python)))
        packages = os.path.join(cache, "deepspeed")
        if not os.path.isdir(packages):
            raise unittest.SkipTest("DeepSpeed is not installed; scripts/setup installs it where pip can reach it")
        cls.command = [python, harness.program("zero.py")]
        cls.more = {"PYTHONPATH": packages, "TORCH_EXTENSIONS_DIR": os.path.join(cache, "torch_extensions"),
                    "PATH": os.pathsep.join([os.path.join(packages, "bin"), os.environ["PATH"]])}
        # DeepSpeed compiles its extension in the first run, which must not be in a trace.
        if glob.glob(os.path.join(cls.more["TORCH_EXTENSIONS_DIR"], "**", "cpu_adam.so"), recursive=True):
            return
        # A run that was killed while it compiled leaves the lock, and the next one would wait for it for ever.
        for lock in glob.glob(os.path.join(cls.more["TORCH_EXTENSIONS_DIR"], "*", "lock")):
            os.remove(lock)
        bare = subprocess.run([*cls.command, "2", "1"], env={**harness.bare_environment(), **cls.more, **cls.port()},
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=600)
        if bare.returncode != 0:
            raise AssertionError(bare.stderr.decode(errors="replace")[-2000:])

    @staticmethod
    def port():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return {"MASTER_PORT": str(free.getsockname()[1])}

    def train(self, stage, accumulation):
        done = self.run_in("traced", [*self.command, str(stage), str(accumulation)],
                           {**self.environment(MEMTRACE_QUIET="1"), **self.more, **self.port()})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-2000:])
        return self.explained()

    def check(self, accumulation):
        out = self.train(2, accumulation)
        self.assertRegex(self.explain().stdout.decode(), r"^2\d\.\d\d bytes per parameter kept, theory 18\.00: ")
        self.assertEqual(out["parameters"]["count"], 8 * 2048 * 2048)
        # Flat bf16; fp32 master, gradients and two states; the copy buffer, and two of one layer (of eight) each.
        self.assert_rows(out, {"parameter": 2, "master": 4, "optimizer_state": 8, "staging": 2 + 2 * 2 / 8,
                               "gradient": 4 + (2 if accumulation > 1 else 0)})
        self.assertEqual(self.by_role(out).get("unknown", 0) < CLOSE, True, out["rows"])
        parts = {part["name"]: part for part in out["parts_of_step"]}
        for name in ("unscale_and_clip_grads", "adam_update"):  # +4 each, a thread says; not with this version
            self.assertLess(abs(parts[name]["kept"]), CLOSE)

    @harness.only_in_long
    def test_third_stage(self):
        out = self.train(3, 1)
        self.assertEqual(out["parameters"]["count"], 8 * 2048 * 2048)
        # As above, the partition of gradients in bf16, and its bucket of 2^24; the device's memory is the host's.
        self.assert_rows(out, {"parameter": 2, "master": 4, "optimizer_state": 8, "gradient": 4 + 2, "comm": 1})
        self.assertLess(self.by_role(out).get("unknown", 0), CLOSE, out["rows"])

    @harness.only_in_long
    def test_offloaded(self):
        self.check(1)

    def test_with_accumulation(self):
        self.check(2)


if __name__ == "__main__":
    unittest.main()
