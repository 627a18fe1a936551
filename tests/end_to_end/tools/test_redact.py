"""Purpose: tests that a packed file has no private names if they are replaced, and the same figures."""
import json
import os
import shutil
import socket
import unittest

import packs
import rawtrace
from harness import torch_python
from pack_case import Pack


class Redacted(Pack):
    def figures(self, path):
        """Returns the report as JSON with each text replaced by its length in lists: only figures stay."""
        def without_texts(value):
            if isinstance(value, dict):
                return [(key, without_texts(part)) for key, part in value.items()
                        if key not in ("sites", "site", "id")]
            if isinstance(value, list):
                return [without_texts(part) for part in value]
            return "text" if isinstance(value, str) else value
        report = json.loads(self.memtrace("report", "--format", "json", "--all", path)[0])
        for process in report["processes"]:
            del process["trace"]["bytes"]  # the texts are shorter
        return without_texts(report)

    def decoded(self, folder):
        """Returns the texts of the traces and rings in a folder, by the reader that shares no code with memtrace."""
        out = {}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if not name.endswith((".memtrace", ".rings")) and ".window-" not in name:
                continue
            for record in (rawtrace.rings if name.endswith(".rings") else rawtrace.segments)(path):
                if record.type == "text":
                    chunk = b"".join(word.to_bytes(8, "little") for word in record.words[1:])
                    key = (name, record.thread, record.words[0] & 0xFFFFFFFF)
                    out[key] = out.get(key, b"") + chunk[:record.flags & 0xFF]
        return out

    def assert_nothing_found(self, path, private):
        """Searches the bytes of the members, the texts of the records and what the commands print."""
        folder = os.path.join(self.scratch, "redacted")
        shutil.rmtree(folder, ignore_errors=True)
        self.memtrace("unpack", path, "-o", folder)
        places = {"members": b"\n".join(packs.members(path).values()), "names": "\n".join(os.listdir(folder)).encode(),
                  "texts": b"\n".join(self.decoded(folder).values()), **self.outputs(path)}
        for word in private:
            for place, content in places.items():
                self.assertNotIn(word.encode(), content, place)

    def check(self, command, private, **options):
        """Traces a command, packs its job without private names, and returns the path."""
        self.run_in("traced", command, self.environment(**options.pop("environment", {})), **options)
        plain = self.pack()
        redacted = self.pack("--redact", to=os.path.join(self.scratch, "redacted.zst"))
        unredacted = b"\n".join(packs.members(plain).values()) + b"\n".join(self.outputs(plain).values())
        for word in private:
            self.assertIn(word.encode(), unredacted, "the list of private names tests nothing")
        self.assert_nothing_found(redacted, private)
        self.assertEqual(self.figures(redacted), self.figures(plain))
        self.assertTrue(json.loads(packs.members(redacted)["pack.json"])["redacted"])
        return redacted

    def test_a_native_program_that_was_killed(self):
        folder = os.path.join(self.scratch, "home", "alice", "secret_project")
        host = socket.gethostname()
        redacted = self.check([self.build(folder), "--killed", "--name=s3cr3tvalue", "plainword"],
                              ["alice", "secret_project", "secret_program", "libprivatefill", "s3cr3tvalue",
                               "plainword", os.path.basename(self.scratch), host + "-", f'"{host}"'],
                              environment={"MEMTRACE_MIN_PEAK": "0"})
        process = json.loads(self.memtrace("report", "--format", "json", redacted)[0])["processes"][0]
        self.assertEqual(process["argv"][1:], ["--killed", "--name=arg1", "arg2"])
        self.assertEqual(process["host"], "host1")
        self.assertRegex(self.memtrace("report", redacted)[0], rb"make at d\d+/f\d+\.c:6")

    def test_a_python_program_with_installed_packages(self):
        folder = os.path.join(self.scratch, "traced", "secret_project")
        os.makedirs(folder)
        with open(os.path.join(folder, "secret_model.py"), "w", encoding="utf-8") as file:
            file.write("import numpy\ndef make(count):\n    return numpy.ones(count)\n")
        with open(os.path.join(folder, "secret_train.py"), "w", encoding="utf-8") as file:
            file.write("import os, signal, sys\nfrom secret_model import make\nheld = [make(3 << 20) for _ in range(4)]\n"
                       "os.kill(os.getpid(), signal.SIGKILL) if '--kill' in sys.argv else None\n")
        for more in ([], ["--kill"]):
            with self.subTest(more):
                shutil.rmtree(self.out, ignore_errors=True)
                redacted = self.check([torch_python(), "secret_project/secret_train.py", "--name", "my-secret-run",
                                       *more], ["secret_project", "secret_train", "secret_model", "my-secret-run",
                                                os.path.basename(self.scratch)])
                report = self.memtrace("report", "--all", redacted)[0]
                self.assertRegex(report, rb"f\d+\.py:3")
                self.assertIn(b"numpy/_core/numeric.py", report, "installed packages stay")

    def test_a_training_run_in_windows(self):
        """The texts of dropped windows are in rows of step ranges, and those of windows in snapshots."""
        script = os.path.join(self.scratch, "secret_loop.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import torch\nmodel = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])\n"
                       "optimizer = torch.optim.AdamW(model.parameters())\n"
                       "for step in range(150):\n    model(torch.ones(64, 64)).sum().backward()\n"
                       "    optimizer.step()\n    optimizer.zero_grad()\n")
        redacted = self.check([torch_python(), script], ["secret_loop", os.path.basename(self.scratch)],
                              environment={"MEMTRACE_MAX_TRACE": "1M", "MEMTRACE_MIN_PEAK": "0"})
        names = list(packs.members(redacted))
        self.assertTrue(any(".window-" in name for name in names), names)
        self.assertTrue(any(name.endswith(".coarse") for name in names), names)

    def test_a_damaged_trace_has_no_private_bytes_and_the_same_losses(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "secret_project"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        trace = self.trace_files()[0]
        with open(trace, "r+b") as file:
            content = file.read()
            definitions = content.find(b"MTS\x02", 64)  # behind the segment with the version
            records = content.find(b"MTS\x02", definitions + 64)
            file.seek(records + 80)
            file.write(b"secret_bytes")
            file.seek(0, os.SEEK_END)
            file.write(content[records:records + 100] + b"secret_tail")
        plain = self.pack()
        redacted = self.pack("--redact", to=os.path.join(self.scratch, "redacted.zst"))
        self.assert_nothing_found(redacted, ["secret_bytes", "secret_tail"])
        losses = [[(process["trace"]["lost_events"], process["trace"]["lost_reasons"]) for process in
                   json.loads(self.memtrace("report", "--format", "json", path)[0])["processes"]]
                  for path in (plain, redacted)]
        self.assertGreater(losses[0][0][0], 0)
        self.assertEqual(losses[0], losses[1])


if __name__ == "__main__":
    unittest.main()
