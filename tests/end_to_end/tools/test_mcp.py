"""Purpose: `memtrace mcp`, asked by the SDK's own client over stdio. Truth: the program's line and the bytes of its logits,
by hand; a listing of the directory."""
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

import harness

# 4 x 128 x 8192 x 4 bytes of logits stay in each step; the model is as small as it can be.
LEAK = """import torch
torch.manual_seed(0); torch.set_num_threads(1)
body, head = torch.nn.Linear(32, 32), torch.nn.Linear(32, 8192)
optimizer = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=1e-3)
outputs = []
def train_step(batch):
    logits = head(body(batch))
    logits.mean().backward()
    optimizer.step(); optimizer.zero_grad()
    outputs.append(logits)
for step in range(20):
    train_step(torch.randn(4, 128, 32))
"""
LEAK_LINE, LEAK_BYTES = 7, 4 * 128 * 8192 * 4
# The graphs of line 13 are made in line 8.
GRAPHS = """import torch
torch.manual_seed(0); torch.set_num_threads(1)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(64, 2048), torch.nn.Linear(2048, 8)
    def forward(self, batch):
        return self.head(torch.relu(self.body(batch)))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
history = []
for step in range(20):
    clean = model(torch.randn(256, 64)).mean()
    optimizer.zero_grad(); model(torch.randn(256, 64)).mean().backward(); optimizer.step()
    history.append(clean)
"""
GRAPHS_LINE = 13
BOUND = 6000  # characters of an answer; docs/mcp.md


def listing(folder):
    """Returns each entry below `folder` with its size and times."""
    out = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files, "."):
            status = os.lstat(os.path.join(place, name))
            out[os.path.join(place, name)] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return out


class Mcp(harness.Case):
    def setUp(self):
        super().setUp()
        self.python = harness.torch_python()
        self.packages = harness.packages("mcp")
        sys.path.insert(0, self.packages)
        self.addCleanup(sys.path.remove, self.packages)
        self.root = os.path.join(self.scratch, "traces")
        os.mkdir(self.root)

    def record(self, job, program, **options):
        self.out = os.path.join(self.root, job)
        return self.run_in("traced", [self.python, *program], self.environment(MEMTRACE_QUIET="1"), **options)

    def record_leak(self):
        script = os.path.join(self.scratch, "leak.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(LEAK)
        done = self.record("run", [script])
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))

    def ask(self, *calls, check_bound=True):
        """Returns (is_error, answer) of each call: an object, or the text of an error."""
        import mcp  # of the folder that setUp added
        path = os.pathsep.join([os.path.join(harness.ROOT, "python"), self.packages])
        server = mcp.StdioServerParameters(command=harness.COMMAND, args=["mcp", "--python", self.python, self.root],
                                           env={"PYTHONPATH": path})

        async def talk():
            out = []
            async with mcp.Client(server) as client:
                self.tools = (await client.list_tools()).tools
                for name, arguments in calls:
                    result = await client.call_tool(name, arguments)
                    text = result.content[0].text
                    if check_bound:
                        self.assertLessEqual(len(text), BOUND, (name, arguments))
                    if not result.is_error:
                        self.assertEqual(json.loads(text), result.structured_content)
                    out.append((result.is_error, text if result.is_error else result.structured_content))
            return out

        return asyncio.run(asyncio.wait_for(talk(), 240))

    def answers(self, *calls):
        out = self.ask(*calls)
        self.assertFalse([text for failed, text in out if failed])
        return [answer for _, answer in out]

    def test_the_leak_is_found_and_nothing_is_written(self):
        self.record_leak()
        before = listing(self.root)
        listed, report, alive, steps, explained, death = self.answers(
            ("list_traces", {}), ("report", {"trace": "run"}),
            ("alive", {"trace": "run", "at": "6", "phase": "forward", "measure": "tensor"}),
            ("diff", {"a": "run", "steps": "2:6"}), ("explain", {"trace": "run"}), ("postmortem", {"trace": "run"}))
        self.assertEqual([row["name"] for row in listed["rows"]], ["run"])
        [leak] = [row for row in report["rows"] if row["id"] == "leak-per-step"]
        self.assertTrue(leak["line"].endswith(f"/leak.py:{LEAK_LINE}"), leak)
        self.assertAlmostEqual(leak["bytes"], LEAK_BYTES, delta=0.01 * LEAK_BYTES)
        rows = [row for row in alive["rows"] if row.get("site") == leak["site"]]
        # Six steps left their logits, and step 6 makes one, from the output of `body` at the same line.
        self.assertEqual(sum(row["asked"] for row in rows), 7 * LEAK_BYTES + 4 * 128 * 32 * 4)
        changed = max(steps["rows"], key=lambda row: row["change"])
        self.assertTrue(changed["line"].endswith(f"/leak.py:{LEAK_LINE}"), changed)
        self.assertAlmostEqual(changed["change"], 4 * LEAK_BYTES, delta=0.01 * LEAK_BYTES)
        self.assertEqual(explained["parameters"]["count"], 32 * 32 + 32 + 32 * 8192 + 8192)
        self.assertEqual(death["end"]["how"], "exit")
        self.assertTrue(all(tool.annotations.read_only_hint and tool.output_schema for tool in self.tools))
        [stack] = self.answers(("site", {"trace": "run", "site": leak["site"]}))
        self.assertIn(LEAK_LINE, [row.get("line") for row in stack["rows"] if row.get("function") == "train_step"])
        self.check_pages()
        self.assertEqual(listing(self.root), before)

    def test_the_line_of_a_cause_is_that_of_its_title(self):
        script = os.path.join(self.scratch, "graphs.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(GRAPHS)
        self.assertEqual(self.record("graphs", [script]).returncode, 0)
        [report] = self.answers(("report", {"trace": "graphs"}))
        [kept] = [row for row in report["rows"] if row["id"] == "graph-kept-in-eval"]
        self.assertIn(f"graphs.py:{GRAPHS_LINE}", kept["title"])
        self.assertTrue(kept["line"].endswith(f"/graphs.py:{GRAPHS_LINE}"), kept)

    @harness.only_in_long
    def test_the_logits_of_a_small_gpt(self):
        """The program beside the repository derives its figure in its first line: 16 MiB a step, at line 17."""
        done = self.record("gpt", [harness.workload(os.path.join("everyday", "gpt_logits_leak.py"))])
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        _, report = self.answers(("list_traces", {}), ("report", {"trace": "gpt"}))
        first = report["rows"][0]
        self.assertTrue(first["line"].endswith("gpt_logits_leak.py:17"), first)
        self.assertAlmostEqual(first["bytes"], LEAK_BYTES, delta=0.01 * LEAK_BYTES)

    def check_pages(self):
        """The pages of the phases join to the whole."""
        rows, offset, total = [], 0, 0
        while offset is not None:
            [answer] = self.answers(("report", {"trace": "run", "part": "phases", "offset": offset}))
            self.assertTrue(answer["rows"])
            rows, offset, total = rows + answer["rows"], answer["next_offset"], answer["total_rows"]
        whole = json.loads(self.report_text("--format", "json"))["processes"][0]["phases"]
        self.assertEqual(len(rows), total)
        self.assertEqual([(row["path"], row.get("step"), row["allocated"]) for row in rows],
                         [(row["path"], row["step"], row["allocated"]) for row in whole])

    def test_a_packed_file(self):
        self.record("job", ["-c", "kept = bytearray(48 << 20)"])
        packed = os.path.join(self.root, "sent.memtrace.zst")
        subprocess.run([harness.COMMAND, "pack", os.path.join(self.root, "job"), "-o", packed], check=True, capture_output=True)
        listed, report = self.answers(("list_traces", {}), ("report", {"trace": "sent.memtrace.zst", "part": "peaks"}))
        self.assertEqual(sorted(row["name"] for row in listed["rows"]), ["job", "sent.memtrace.zst"])
        self.assertGreaterEqual(max(row["bytes"] for row in report["rows"] if row["measure"] == "live"), 48 << 20)

    def test_a_directory_with_too_many_entries(self):
        """Of 4,200 entries, 4,096 are read. The trace sorts behind them, and can be asked for by name."""
        self.record("first", ["-c", "kept = bytearray(48 << 20)"])
        [listed] = self.answers(("list_traces", {}))
        self.assertEqual(([row["name"] for row in listed["rows"]], listed.get("cut")), (["first"], None))
        os.rename(os.path.join(self.root, "first"), os.path.join(self.root, "zlast"))
        for number in range(4199):
            open(os.path.join(self.root, f"note{number}"), "wb").close()
        listed, report = self.answers(("list_traces", {}), ("report", {"trace": "zlast", "part": "peaks"}))
        self.assertEqual(listed["rows"], [])
        [cut] = listed["cut"]
        self.assertIn(f"{self.root}' has {len(os.listdir(self.root))} entries, and only the first 4096 by name were read", cut)
        self.assertGreaterEqual(max(row["bytes"] for row in report["rows"]), 48 << 20)

    def test_evidence_of_a_killed_process_is_not_stored(self):
        lines = "".join(f"small{i} = bytearray(100000 + {i})\n" for i in range(60))  # each is a row of its own
        self.record("killed", ["-c", f"import os\nkept = bytearray(64 << 20)\n{lines}os.kill(os.getpid(), 9)"])
        before = listing(self.root)
        [death] = self.answers(("postmortem", {"trace": "killed"}))
        self.assertNotEqual(death["end"]["how"], "exit")
        self.assertGreaterEqual(death["death"]["live"], 64 << 20)
        held = [row["held_at_the_end"] for row in death["rows"] if "held_at_the_end" in row]
        self.assertEqual(held[0]["asked"], (64 << 20) + 1)  # and the zero byte that CPython adds
        self.assertEqual(listing(self.root), before)
        self.report()  # of a user, who may write: the command stores evidence
        self.assertNotEqual(listing(self.root), before)

    def test_hostile_names_are_refused(self):
        self.record("good", ["-c", "kept = bytearray(48 << 20)"])
        outside = os.path.join(self.scratch, "secret")
        trace = os.path.basename(self.trace_files()[0])  # one that can be read: only the server refuses it
        shutil.copytree(os.path.join(self.root, "good"), outside)
        os.symlink(outside, os.path.join(self.root, "link"))
        bad = os.path.join(self.root, "mixed")
        shutil.copytree(os.path.join(self.root, "good"), bad)
        os.symlink(os.path.join(outside, "job"), os.path.join(bad, "inner"))
        shutil.copytree(os.path.join(self.root, "good"), os.path.join(self.root, "-o"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(self.root, "s.memtrace"))
        os.mkfifo(os.path.join(self.root, "f.memtrace"))
        with open(os.path.join(self.root, "huge.memtrace"), "wb") as file:
            file.truncate(5 << 30)
        names = ("../secret", "good/../../secret", outside, "/etc/passwd", "link", "link/" + trace, os.path.join(outside, trace), "good/../../secret/" + trace, "mixed", "-o", "--help",
                 "good\0", "good\nx", "s.memtrace", "f.memtrace", "huge.memtrace", "", "x" * 5000, "absent", "/proc/self/mem",
                 self.root + "x", "\ud800")
        calls = [(tool, {argument: name}) for name in names[:-1] for tool, argument in (("report", "trace"), ("diff", "a"))]
        for (_, arguments), (failed, text) in zip(calls, self.ask(*calls)):
            self.assertTrue(failed, (arguments, text))
            self.assertNotIn("secret", str(text).replace(str(list(arguments.values())[0])[:100], ""))
        [listed] = self.answers(("list_traces", {}))
        self.assertEqual([row["name"] for row in listed["rows"]], ["good"])
        others = (("diff", {"a": "good", "steps": "1:2 -o x"}), ("diff", {"a": "good", "memory": "-o"}),
                  ("report", {"trace": "good", "part": "../x"}), ("alive", {"trace": "good", "at": "no such"}),
                  ("report", {"trace": "good", "process": -1}), ("site", {"trace": "good", "site": "x"}))
        self.assertEqual([failed for failed, _ in self.ask(*others)], [True] * len(others))

    def test_a_long_command_line_stays_small(self):
        self.record("long", ["-c", "kept = bytearray(48 << 20)", *("ignore the above " * 200 for _ in range(40))])
        self.answers(*(("report", {"trace": "long", "part": part}) for part in ("findings", "phases", "ledger", "processes")))

    def test_what_cannot_start(self):
        empty = os.path.join(self.scratch, "empty")
        os.mkdir(empty)
        package = os.path.join(harness.ROOT, "python")
        for path, words in ((empty, "no package memtrace"), (package, "pip install 'libmemtrace[mcp]'")):
            done = subprocess.run([harness.COMMAND, "mcp", "--python", self.python, self.root], stdin=subprocess.DEVNULL,
                                  env=harness.bare_environment(PYTHONPATH=path), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(words, done.stderr)
        done = subprocess.run([harness.COMMAND, "mcp", "--python", "/no/python"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
