"""Purpose: notebooks: the kernel of `memtrace jupyter install`, its phases, and what %%memtrace shows. Each notebook is
executed by nbclient. Truth: sizes of tensors and arrays by hand; a kernel without memtrace."""
import html
import json
import os
import re
import subprocess
import unittest

import harness
import python_package

RUNNER = harness.program("notebook_kernel.py")

# MiB, by hand: a 16, b 3 x 4, c 16 and gone, n 8.
CELLS = ["import numpy, torch\ntorch.set_num_threads(1)",
         "%%memtrace\n"
         "a = torch.ones(4 << 20)\n"
         "b = [torch.ones(1 << 20) for _ in range(3)]\n"
         "c = a + 1; del c\n"
         "n = numpy.ones(1 << 20)\n"
         "a.numel()",
         # A cycle that no variable holds.
         "%%memtrace --page\n"
         "import gc; gc.disable()\n"
         "def lose():\n"
         "    things = [torch.ones(2 << 20)]; things.append(things)\n"
         "lose()\n"
         "a = None",
         "%%memtrace\n"
         "%%time\n"
         "import memtrace\n"
         "with memtrace.phase('<i>make'):\n"
         "    model = torch.nn.Linear(1024, 1024, bias=False)\n"
         "raise ValueError('<b>')",
         "%%memtrace --pages\n1",
         "torch.ones(1 << 20)",
         # More lines than a listing has, and a smaller one than all of them, which stays.
         "small = torch.ones(1 << 15)\n" + "".join(f"t{n} = torch.ones(1 << 16)\nn{n} = numpy.ones(1 << 15)\n"
                                                   for n in range(60)),
         "%%memtrace\nlarge = torch.ones(4 << 20); del large",
         "%%memtrace\n"
         "net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) if n % 2 == 0 else torch.nn.ReLU() for n in range(4)))\n"
         "outputs = []\n"
         "for _ in range(12):\n"
         "    outputs.append(net(torch.ones(1024, 1024)))"]


# A fine-tune of a small Falcon, each part run by itself.
FALCON = ["import torch\n"
          "from transformers import FalconConfig, FalconForCausalLM\n"
          "torch.manual_seed(0); torch.set_num_threads(1)",
          "%%memtrace\n"
          "config = FalconConfig(vocab_size=16384, hidden_size=768, num_hidden_layers=8, num_attention_heads=12,\n"
          "                      multi_query=True, parallel_attn=True, bias=False, alibi=False, use_cache=False)\n"
          "model = FalconForCausalLM(config)",
          "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)",
          "%%memtrace\n"
          "ids = torch.randint(0, config.vocab_size, (2, 256))\n"
          "loss = model(input_ids=ids, labels=ids).loss",
          "%%memtrace\nloss.backward()",
          "%%memtrace\noptimizer.step()",
          "%%memtrace\noptimizer.zero_grad(set_to_none=True)",
          "round(sum(p.nbytes for p in model.parameters()) / 2**20, 2)"]


def text_of(outputs):
    return "\n".join(one["text"] if one["output_type"] == "stream" else "\n".join(one["traceback"])
                     if one["output_type"] == "error" else one["data"]["text/plain"] for one in outputs)


def shown(outputs):
    """Returns the text and the HTML of what %%memtrace displayed."""
    [data] = [one["data"] for one in outputs if one["output_type"] == "display_data"]
    return data["text/plain"], data["text/html"]


def rows_of(text, title):
    """Returns the rows of a table of the text, each as its words."""
    lines = text.partition(title)[2].split("\n\n")[0].splitlines()[2:]
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def figures_of(text):
    """Returns the figures of tensors, by the names of the columns."""
    words = rows_of(text, "memtrace: ")[0]
    return dict(zip(("before", "highest", "after", "kept", "temporary"), (float(word.replace(",", ""))
                                                                         for word in words[1:])))


class Notebook(harness.Case):
    def environment_of_jupyter(self, **more):
        more["JUPYTER_PATH"] = os.path.join(self.scratch, "prefix", "share", "jupyter")
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            more[name] = os.path.join(self.scratch, name.lower())
        return python_package.environment(harness.packages("notebook"), **more)

    def install(self, *options, status=0):
        done = subprocess.run(
            [harness.COMMAND, "jupyter", "install", "--python", harness.torch_python(), *options], text=True,
            env=self.environment_of_jupyter(), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def install_kernel(self):
        self.install("--prefix", os.path.join(self.scratch, "prefix"), "-o", self.out)

    def kernel(self, what, *arguments):
        done = self.run_in("notebook", [harness.torch_python(), "-W", "ignore", RUNNER, what, *arguments],
                           self.environment_of_jupyter())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def execute(self, cells, kernel="memtrace"):
        path = os.path.join(self.scratch, "cells.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(cells, file)
        return self.kernel("run", kernel, path)

    def test_a_cell_shows_what_it_did(self):
        self.install_kernel()
        outputs = self.execute([*CELLS, f"memtrace.open({self.out!r})"])
        self.assertEqual(outputs[0], [])  # nothing is printed
        text, page = shown(outputs[1])
        self.assertEqual(rows_of(text, "cell 2, MiB")[0],
                         ["tensors", "0.00", "44.00", "28.00", "28.00", "16.00"])
        # The lines count from the first one of the cell, as in a traceback of IPython.
        self.assertEqual(rows_of(text, "Kept by the cell")[:3],
                         [["16.00", "cell 2, line 2", "a"], ["12.00", "cell 2, line 3", "b"],
                          ["8.00", "cell 2, line 5", "n"]])
        self.assertEqual(rows_of(text, "At the highest point"), [["16.00", "cell 2, line 4"]])
        self.assertEqual(rows_of(text, "Held by variables"), [["16.00", "a"], ["12.00", "b"], ["8.00", "n"]])
        self.assertNotIn("No variable holds", text)
        for figure in ("<td>44.00</td>", "<td>cell 2, line 3</td>", "<caption>memtrace: cell 2, MiB</caption>"):
            self.assertIn(figure, page)
        self.assertNotIn("<iframe", page)
        self.assertEqual(outputs[1][0]["data"]["text/plain"], str(4 << 20))  # the last expression

        text, page = shown(outputs[2])
        self.assertEqual(rows_of(text, "Kept by the cell")[:2],
                         [["-16.00", "cell 2, line 2"], ["8.00", "cell 3, line 4"]])
        self.assertIn("Variables no longer hold 16.00 MiB", text)
        self.assertIn("No variable holds 8.00 MiB of the tensors that the cell kept", text)
        inside = html.unescape(page.partition('srcdoc="')[2].partition('"')[0])
        self.assertIn("<!doctype html>", inside[:100].lower())

        text, page = shown(outputs[3])  # the cell fails, below another magic
        self.assertIn("ValueError", text_of(outputs[3]))
        self.assertIn(["4.00", "model"], rows_of(text, "Held by variables"))
        self.assertIn("The highest point is in <i>make", text)
        self.assertIn("The highest point is in &lt;i&gt;make", page)
        self.assertIn("no option '--pages'", text_of(outputs[4]))
        rows = rows_of(shown(outputs[7])[0], "At the highest point")
        self.assertEqual([row[:2] for row in rows], [["16.00", "cell 8, line 2"]])
        # Lines of the report have the numbers of cells, too.
        self.assertRegex(shown(outputs[8])[0], r"Finding graph-kept-in-eval: 11 forward passes .* at cell 9, line 5")
        table = outputs[9][0]["data"]["text/html"]
        self.assertIn("11 forward passes", table)
        self.assertIn("at cell 9, line 5", table)
        self.assertIn("<td>cell 9, line 5</td>", table)
        self.assertNotIn("ipykernel_", table)

        process = self.only_process(self.report())
        # `load` begins with the first module, and lasts until the first forward pass.
        names = [name for row in process["phases"] if row["memory"] == "host" for name in row["path"]]
        for number in range(1, 7):
            self.assertIn(f"cell {number}", names)
        self.assertEqual(process["end"]["how"], "exit")

    def test_interrupts_restarts_and_children_are_as_without(self):
        self.install_kernel()
        bare = os.path.join(self.scratch, "prefix", "share", "jupyter", "kernels", "bare")
        os.makedirs(bare)
        with open(os.path.join(bare, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump({"argv": [harness.torch_python(), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                       "display_name": "bare", "language": "python"}, file)
        traced = self.kernel("control", "memtrace")
        self.assertEqual(traced, self.kernel("control", "bare"))
        self.assertEqual(traced, [["KeyboardInterrupt", "waits\n"], ["ok", "1\n"], ["ZeroDivisionError", ""],
                                  ["ok", "b'42\\n'\n"], ["ok", "True\n"], ["NameError", ""], ["ok", "2\n"]])
        phases = [row["path"] for path in self.trace_files() for process in self.report(path=path)["processes"]
                  for row in process["phases"]]
        self.assertIn(["cell 5"], phases)

        # A kernel without the preload says so, once at %load_ext and in each cell that asks.
        loaded, asked = self.execute(["%load_ext memtrace.notebook", "%%memtrace\nprint(1)"], "bare")
        text, page = shown(asked)
        for said in (text_of(loaded), text, html.unescape(page)):
            self.assertIn("memtrace does not record this kernel", said)
            self.assertIn("memtrace jupyter install", said)
        self.assertIn("1\n", [one.get("text") for one in asked])

    @harness.only_in_long
    def test_the_optimizers_cell_of_a_fine_tune(self):
        self.install_kernel()
        parts = self.execute(FALCON)
        # P is counted by PyTorch. AdamW keeps two states of the size of the parameters. foreach needs P more.
        p = float(text_of(parts[-1]))
        made, _, backward, update, zero = [shown(parts[number])[0] for number in (1, 3, 4, 5, 6)]
        self.assertEqual(figures_of(made)["kept"], p)
        self.assertEqual(figures_of(update), {**figures_of(update), "temporary": p})
        self.assertAlmostEqual(figures_of(update)["kept"], 2 * p, delta=0.02)
        self.assertAlmostEqual(figures_of(zero)["kept"], -p, delta=0.02)
        self.assertIn(["model"], [row[-1:] for row in rows_of(backward, "Kept by the cell")])
        self.assertEqual(rows_of(update, "Kept by the cell")[0][1:], ["cell 6, line 2", "optimizer_state", "optimizer"])
        self.assertEqual(rows_of(update, "At the highest point")[0][1:], ["cell 6, line 2", "temporary"])
        self.assertIn("The highest point is in update 0.", update)
        self.assertIn("Finding foreach-temporaries:", update)
        self.assertIn("fused=True", update)
        for part in (made, backward, zero):
            self.assertNotIn("foreach-temporaries", part)

    def test_install_refuses_in_one_line(self):
        harness.packages("notebook")
        file = os.path.join(self.scratch, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        for options, said in ((["--name", "a b"], "--name a b"), (["--prefix", file], file),
                              (["--python", os.path.join(self.scratch, "none")], "No such file")):
            line = self.install(*options, status=2)
            self.assertIn(said, line)
            self.assertEqual(line.count("\n"), 1, line)


if __name__ == "__main__":
    unittest.main()
