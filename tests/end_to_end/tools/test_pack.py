"""Purpose: tests that a packed file gives the report of its traces on any machine, and without private names if they
are replaced."""
import filecmp
import json
import lzma
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import unittest

import packs
import rawtrace
from harness import COMMAND, Case, bare_environment, program, torch_python

COMMANDS = (["report"], ["report", "--all"], ["report", "--format", "json"], ["postmortem"],
            ["postmortem", "--format", "json"])
OF_TRAINING = (["explain"], ["explain", "--format", "json"], ["diff", "--first-vs-steady"])


class Pack(Case):
    def setUp(self):
        super().setUp()
        self.packed = os.path.join(self.scratch, "run.memtrace.zst")
        self.temporary = os.path.join(self.scratch, "tmp")
        os.makedirs(self.temporary)

    def memtrace(self, *arguments, status=0):
        done = subprocess.run([COMMAND, *arguments], env=bare_environment(TMPDIR=self.temporary), capture_output=True,
                              cwd=self.scratch, stdin=subprocess.DEVNULL, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        self.assertEqual(os.listdir(self.temporary), [], "an unpacked file stayed")
        return done.stdout, done.stderr.decode(errors="replace")

    def pack(self, *options, of=None, to=None):
        """Packs the job into a file, in place of one that an earlier call made."""
        output = to or self.packed
        if os.path.exists(output):
            os.remove(output)
        self.memtrace("pack", of or self.out, "-o", output, *options)
        return output

    def outputs(self, path, *more):
        """Returns what each command prints on stdout."""
        return {" ".join(command): self.memtrace(*command, path)[0] for command in (*COMMANDS, *more)}

    def refused(self, path, expected):
        """Checks that the file is refused with one line that names it."""
        out, said = self.memtrace("report", path, status=2)
        self.assertEqual(out, b"")
        self.assertRegex(said, rf"\Amemtrace: {path}[^\n]*{expected}[^\n]*\n\Z")

    def build(self, folder):
        """Returns a program in a folder, with a library of its own there."""
        os.makedirs(folder)
        library, made = os.path.join(folder, "libprivatefill.so"), os.path.join(folder, "secret_program")
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                        library, program("library.c")], check=True)
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", made, program("library_user.c"), library,
                        "-Wl,-rpath," + folder], check=True)
        return made


class SameReport(Pack):
    def test_names_outlive_the_programs_libraries(self):
        folder = os.path.join(self.scratch, "image")
        self.run_in("traced", [self.build(folder)], self.environment(MEMTRACE_MIN_PEAK="0"))
        before = self.outputs(self.out)
        self.pack()
        shutil.rmtree(folder)
        self.assertIn(b"make at programs/library.c:6", before["report"])
        self.assertNotEqual(self.outputs(self.out)["report"], before["report"], "the names came from the image")
        self.assertEqual(self.outputs(self.packed), before)
        unpacked = os.path.join(self.scratch, "unpacked")
        packs.unpack(self.packed, unpacked)  # without memtrace
        self.assertEqual(self.outputs(unpacked)["report --all"], before["report --all"])

    def test_a_library_is_opened_once_for_all_processes(self):
        folder = os.path.join(self.scratch, "image")
        made = self.build(folder)
        self.run_in("traced", ["sh", "-c", f"{made}; {made}; {made}"], self.environment(MEMTRACE_MIN_PEAK="0"))
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                        os.path.join(folder, "libprivatefill.so"), program("library.c")], check=True)
        said = self.memtrace("pack", self.out, "-o", self.packed)[1]
        self.assertGreaterEqual(len([name for name in packs.members(self.packed) if name.endswith(".symbols")]), 3)
        self.assertEqual(said.count("libprivatefill.so: not the build that was traced"), 1, said)

    def test_diff_reads_one_or_two_packed_files(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        other = self.pack(to=os.path.join(self.scratch, "other.zst"))
        said = self.memtrace("diff", self.out, self.out)
        for a, b in ((self.packed, self.out), (self.out, self.packed), (self.packed, other)):
            self.assertEqual(self.memtrace("diff", a, b), said)

    def test_pack_is_the_same_each_time(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        again = self.pack(to=os.path.join(self.scratch, "again.zst"))
        repacked = self.pack(of=self.packed, to=os.path.join(self.scratch, "repacked.zst"))
        for other in (again, repacked):
            self.assertTrue(filecmp.cmp(self.packed, other, shallow=False), other)

    def test_says_what_it_packed(self):
        made = self.build(os.path.join(self.scratch, "image"))
        self.run_in("traced", ["sh", "-c", f"{made}; {made}; true"], self.environment(MEMTRACE_MIN_PEAK="0"))
        out, said = self.memtrace("pack", self.out, "-o", self.packed)
        self.assertEqual(out, b"")
        size = os.path.getsize(self.packed) / (1 << 20)
        self.assertEqual(said, f"memtrace: packed {len(self.trace_files())} traces into {self.packed}, {size:.2f} MiB\n")

    def test_replaces_an_older_file_but_nothing_recorded(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        with open(self.packed, "rb") as file:
            packed = file.read()
        other = os.path.join(self.scratch, "older.zst")
        with open(other, "wb") as file:
            file.write(b"older")
        self.memtrace("pack", self.out, "-o", other)
        self.assertTrue(filecmp.cmp(self.packed, other, shallow=False))
        trace = self.trace_files()[0]
        with open(trace, "rb") as file:
            recorded = file.read()
        for command in ("report", "postmortem", "pack"):
            out, said = self.memtrace(command, self.out, "-o", trace, status=2)
            self.assertEqual((out, said), (b"", f"memtrace: {trace}: is a trace, which memtrace does not replace; "
                                                "name another file\n"))
        for command in ("report", "postmortem", "pack"):
            said = self.memtrace(command, self.packed, "-o", self.packed, status=2)[1]
            self.assertIn("is a packed file, which memtrace does not replace", said)
        self.assertIn("is not a regular file", self.memtrace("pack", self.out, "-o", "/dev/null", status=2)[1])
        for path, content in ((trace, recorded), (self.packed, packed)):
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content, path)

    def test_a_report_replaces_an_older_one(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        path = os.path.join(self.scratch, "report.txt")
        written = []
        for _ in range(2):
            self.memtrace("report", self.out, "-o", path)
            with open(path, "rb") as file:
                written.append(file.read())
        self.assertEqual(written[0], written[1])
        self.assertEqual(self.memtrace("report", self.out)[0], written[0])

    def test_of_two_packs_at_once_the_file_is_whole(self):
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image"))],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        both = [subprocess.Popen([COMMAND, "pack", self.out, "-o", self.packed], env=bare_environment(),
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [one.communicate(timeout=60)[1] for one in both]
        self.assertEqual([one.returncode for one in both], [0, 0], said)
        self.memtrace("report", self.packed)

    def test_a_killed_job_of_python_with_rings_and_its_evidence(self):
        code = "import os, signal; held = bytearray(b'x' * (50 << 20)); os.kill(os.getpid(), signal.SIGKILL)"
        done = self.run_in("traced", [sys.executable, "-c", code], self.environment())
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(len(self.ring_files()), 1)
        before = self.outputs(self.out)
        self.pack()
        names = list(packs.members(self.packed))
        self.assertEqual(names[0], "pack.json")
        for suffix in (".rings", ".memtrace", ".evidence", ".symbols"):
            self.assertTrue(any(name.endswith(suffix) for name in names), (suffix, names))
        shutil.rmtree(self.out)
        self.assertEqual(self.outputs(self.packed), before)

    def test_rings_in_a_spool_directory_are_packed(self):
        spool = os.path.join(self.scratch, "spool")
        os.makedirs(spool)
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image")), "--killed"],
                    self.environment(MEMTRACE_MIN_PEAK="0", MEMTRACE_SPOOL=spool))
        self.assertEqual(len(os.listdir(spool)), 1)
        before = self.outputs(self.out)
        self.pack()
        shutil.rmtree(spool)
        self.assertNotEqual(self.outputs(self.out), before, "the rings had records")
        self.assertEqual(self.outputs(self.packed), before)

    def test_a_process_that_ran_when_it_was_packed_still_runs(self):
        code = "import sys; held = bytearray(b'x' * (50 << 20)); print(flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code], env=self.environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, cwd=self.scratch) as running:
            running.stdout.readline()
            time.sleep(1)
            self.pack()
            running.stdin.close()
        self.assertIn(b"still running", self.memtrace("report", self.packed)[0])
        self.assertNotIn(b"still running", self.memtrace("report", self.out)[0])

    def test_run_packs_at_the_end(self):
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--min-peak", "0", "--pack", self.packed, "--",
                                      self.build(os.path.join(self.scratch, "image")), "--killed"],
                           bare_environment(MEMTRACE_SKIP=""))
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        before = self.outputs(self.out)
        self.assertEqual(self.outputs(self.packed), before)
        self.assertIn(b"memtrace run: wait status: signal 9", before["postmortem --format json"])
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", "/proc/none", "--", sys.executable,
                                      "-c", "held = bytearray(b'x' * (50 << 20))"], bare_environment())
        self.assertEqual(done.returncode, 0, "the status is the command's")
        self.assertIn(b"memtrace: run: not packed: /proc/none: cannot be written", done.stderr)

    def test_run_replaces_an_older_file_but_no_trace(self):
        hold = [sys.executable, "-c", "held = bytearray(b'x' * (50 << 20)); raise SystemExit(3)"]
        with open(self.packed, "wb") as file:
            file.write(b"older")
        done = self.run_in("traced", [COMMAND, "run", "-o", self.out, "--pack", self.packed, "--", *hold],
                           bare_environment())
        self.assertEqual(done.returncode, 3, "the status is the command's")
        self.memtrace("report", self.packed)
        trace = self.trace_files()[0]
        second = os.path.join(self.scratch, "second")
        done = self.run_in("traced", [COMMAND, "run", "-o", second, "--pack", trace, "--", *hold], bare_environment())
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (2, f"memtrace: {trace}: is a trace, which memtrace does not replace; name another file\n"))
        self.assertFalse(os.path.exists(second), "nothing was started")


class Size(Pack):
    def ratio(self, path):
        """Returns the size of the packed file over that of `xz -9` of the same files."""
        with open(path, "rb") as file:
            packed = file.read()
        return len(packed) / len(lzma.compress(packs.decompress(packed), preset=9))

    def test_a_training_run_with_and_without_rings(self):
        script = os.path.join(os.path.dirname(program("")), "..", "..", "..", "..", "scripts", "demo_train.py")
        code = ("import os, runpy, signal, sys; runpy.run_path(sys.argv[1], run_name='__main__');"
                "len(sys.argv) > 2 and os.kill(os.getpid(), signal.SIGKILL)")
        for more in ([], ["--killed"]):
            self.new_scratch()
            self.setUp()
            self.run_in("traced", [torch_python(), "-c", code, script, *more], self.environment())
            self.assertEqual(len(self.ring_files()), len(more))
            before = self.outputs(self.out, *OF_TRAINING)
            ratios = [round(self.ratio(self.pack()), 3), round(self.ratio(self.pack("--redact")), 3)]
            print(f"{more}: {os.path.getsize(self.packed)} bytes, of xz -9: {ratios}", flush=True)
            self.assertLessEqual(max(ratios), 1.15)
            self.pack()
            self.assertEqual(self.outputs(self.packed, *OF_TRAINING), before)


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
        packs.unpack(path, folder)
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


class Hostile(Pack):
    def setUp(self):
        super().setUp()
        self.run_in("traced", [self.build(os.path.join(self.scratch, "image")), "--killed"],
                    self.environment(MEMTRACE_MIN_PEAK="0"))
        self.pack()
        with open(self.packed, "rb") as file:
            self.content = file.read()
        self.entries = list(packs.members(self.packed).items())

    def written(self, content):
        path = os.path.join(self.scratch, "hostile.zst")
        with open(path, "wb") as file:
            file.write(content)
        return path

    def crafted(self, entries):
        return self.written(packs.stored(packs.tar_of(entries)))

    def test_a_crafted_file_is_read_if_nothing_is_wrong(self):
        self.assertEqual(self.memtrace("report", self.crafted(self.entries))[0],
                         self.memtrace("report", self.packed)[0])

    def test_truncated(self):
        """What came is read, and a line says so. Without a whole trace, one line says why not."""
        read = 0
        for size in [*range(0, 64), *range(64, len(self.content), len(self.content) // 40)]:
            path = self.written(self.content[:size])
            done = subprocess.run([COMMAND, "report", path], env=bare_environment(), capture_output=True, check=False,
                                  timeout=60)
            said = done.stderr.decode()
            self.assertIn(done.returncode, (0, 2), said)
            self.assertIn(path, said)
            self.assertEqual(done.returncode == 2, done.stdout == b"")
            if size > 4 and done.returncode == 0:
                self.assertRegex(said, r"the packed file ends early; \d+ of its \d+ files are whole")
                read += 1
        stored = packs.stored(packs.tar_of(self.entries))
        self.assertIn("ends early", self.memtrace("report", self.written(stored[:len(stored) * 3 // 4]))[1])
        self.assertIn("ends early", self.memtrace("report", self.crafted(self.entries[:-1]))[1])

    def test_damaged(self):
        for at in range(4, len(self.content), len(self.content) // 60):
            changed = bytearray(self.content)
            changed[at] ^= 0x55
            self.refused(self.written(bytes(changed)), "expected")

    def test_wrong_magic_and_wrong_content(self):
        self.refused(self.written(b"\x28\xb5\x2f\xfe" + self.content[4:]), "expected a memtrace trace")
        self.refused(self.written(packs.stored(b"x" * 1000)), "expected the header of a file in a tar archive")
        self.refused(self.crafted(self.entries[1:]), "expected pack.json, the first file of a packed trace")
        self.refused(self.crafted([("pack.json", b'{"schema": "memtrace.pack/9"}'), *self.entries[1:]]),
                     "expected the schema memtrace.pack/1")
        self.refused(self.crafted(self.entries[:1]), "expected a trace in the packed file")
        nothing = [("pack.json", b'{"schema": "memtrace.pack/1", "members": []}')]
        self.refused(self.crafted(nothing), "no trace in this packed file")

    def test_names_and_types(self):
        for name in ("../x.memtrace", "/tmp/x.memtrace", "a/x.memtrace", "..", ".hidden", "x\n.memtrace"):
            self.refused(self.crafted([*self.entries, (name, b"")]), "expected a plain name of a file")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            link = tarfile.TarInfo("x.memtrace")
            link.type, link.linkname = kind, "/etc/passwd"
            self.refused(self.crafted([*self.entries, (link, b"")]), "expected a regular file")
        self.refused(self.crafted([*self.entries, self.entries[1]]), "expected each name once")

    def test_bombs(self):
        """A frame of 3 MiB that holds 100 GiB of zeros in a member, and one that says so without having it."""
        info = tarfile.TarInfo("x.memtrace")
        info.size = (8 << 30) - 1
        head = packs.tar_of(self.entries[:1])[:1024] + info.tobuf(tarfile.USTAR_FORMAT)
        first = packs.stored(head)
        bomb = bytearray(first)
        bomb[6] &= 0xFE  # the first block is not the last
        self.refused(self.written(bytes(bomb) + packs.zeros(1) * 800_000), "expected at most")
        self.refused(self.written(first), "expected at most")

    def test_a_window_that_would_take_too_much_memory(self):
        self.refused(self.written(packs.ZSTD_MAGIC + bytes([0x00, 0x98]) + self.content[6:]), "too much memory")


if __name__ == "__main__":
    unittest.main()
