"""Purpose: tests the roles of tensors from modules, optimizers, engines and sites. Truth: PyTorch's sizes of
them."""
import itertools
import json
import socket
import unittest

import harness

SMALL = 16384  # bytes that scalars and alignment may add to a role


def bytes_by_role(rows, **wanted):
    out = {}
    for row in rows:
        if all(row[key] == value for key, value in wanted.items()):
            out[row["role"]] = out.get(row["role"], 0) + row["bytes"]
    return out


def peak_of(process, measure="tensor"):
    [peak] = [peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", measure)]
    return peak


def tensor_rows(process, step, *path):
    [row] = [row for row in process["phases"]
             if (row["memory"], row["path"], row["step"]) == ("host", list(path), step)]
    return row, row["tensor"]["at_peak"]


class Case(harness.Case):
    def run_program(self, name, *arguments, before=()):
        done, report = self.trace([harness.torch_python(), *before, harness.program(name), *arguments],
                                  harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")], report

    def assert_roles(self, rows, **truth):
        held = bytes_by_role(rows)
        for role, size in truth.items():
            self.assertAlmostEqual(held.get(role, 0), size, delta=SMALL, msg=f"{role}: {held}, {truth}")


class OfTheModel(Case):
    def check(self, variant):
        said, report = self.run_program("roles.py", variant)
        process = self.only_process(report)
        peak = peak_of(process)
        self.assertEqual(peak["phase"], "step", "where all of them are alive, and temporaries")
        self.assert_roles(peak["at_peak"], **said[-1])
        self.assert_nothing_lost(process)
        return process

    def test_a_model_and_its_optimizer(self):
        process = self.check("plain")
        self.assertEqual(process["parameters"]["count"], 256 * 1024 + 1024 + 2 * 1024 + 1024 * 512 + 512)

    def test_master_copies(self):
        process = self.check("masters")
        self.assertEqual(process["parameters"]["by_dtype"], {"bfloat16": process["parameters"]["count"]},
                         "a master copy is not another parameter")


def functions_of(row):
    """Returns the functions in which the block was allocated. In backward, without those of the forward call."""
    functions = [frame["function"] for frame in row["site"]["frames"]] if row["site"] else []
    return list(itertools.takewhile(lambda function: function != "(backward of this forward call)", functions))


class BesideTheModel(Case):
    def run_copies(self, variant):
        [truth], report = self.run_program("copies.py", variant)
        return truth, self.only_process(report)

    def test_activations_on_the_host(self):
        truth, process = self.run_copies("offload")
        _, rows = tensor_rows(process, 1, "forward")
        packed = [row for row in rows if any(function.endswith("pack_to_cpu") for function in functions_of(row))]
        self.assertEqual(bytes_by_role(packed), {"activation": truth["activation"]})

    def check_recompute(self, variant):
        truth, process = self.run_copies(variant)
        for step in (1, 2):
            row, rows = tensor_rows(process, step, "backward", "recompute")
            self.assertEqual(row["count"], truth["calls"])
            made = bytes_by_role(rows, born_phase="recompute")
            self.assertEqual(set(made), {"activation", "temporary"}, made)
            self.assert_roles([row for row in rows if row["born_phase"] == "recompute"],
                              activation=truth["activation"], temporary=truth["temporary"])
            _, rows = tensor_rows(process, step, "backward")
            for row in rows:  # memory that the model's lines recompute is not backward's own
                self.assertFalse(row["born_phase"] == "backward" and "Model.part" in functions_of(row), row)

    def test_recompute(self):
        self.check_recompute("recompute")

    @harness.only_in_long
    def test_reentrant_recompute(self):
        self.check_recompute("recompute-reentrant")

    def test_a_checkpoint_in_memory(self):
        truth, process = self.run_copies("save")
        row, rows = tensor_rows(process, 0, "save")
        self.assert_roles(rows, parameter=truth["parameter"], optimizer_state=truth["optimizer_state"], checkpoint=0)
        # The buffer of a BytesIO, which grows by an eighth. It is not a tensor.
        buffer = bytes_by_role(row["at_peak"])["checkpoint"]
        self.assertGreaterEqual(buffer, truth["file"])
        self.assertLess(buffer, 2.2 * truth["file"])

    @harness.only_in_long
    def test_copies_that_are_saved(self):
        truth, process = self.run_copies("snapshot")
        self.assert_roles(peak_of(process)["at_peak"], **truth)

    @harness.only_in_long
    def test_a_checkpoint_written_meanwhile(self):
        truth, process = self.run_copies("async")
        _, rows = tensor_rows(process, 0, "save")
        self.assert_roles(rows, **truth)


    def test_what_a_model_keeps_of_the_tokens_before(self):
        truth, process = self.run_copies("generate")
        [row] = [row for row in process["phases"] if (row["memory"], row["phase"]) == ("host", "generate")]
        held = bytes_by_role(row["tensor"]["at_peak"])["kv_cache"]
        # Half of a layer exists twice while its next token is appended.
        self.assertGreaterEqual(held, truth["kv_cache"] - SMALL)
        self.assertLessEqual(held, truth["kv_cache"] * (1 + 1 / truth["layers"]))


class Ranks(Case):
    def run_ranks(self, variant):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        said, report = self.run_program(
            "distributed.py", variant,
            before=["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)])
        self.assertEqual(len(said), 2)
        processes = {process["rank"]: process for process in report["processes"] if process["rank"] is not None}
        self.assertEqual(sorted(processes), [0, 1])
        return [(truth, processes[truth["rank"]]) for truth in sorted(said, key=lambda truth: truth["rank"])]

    def test_buckets(self):
        for truth, process in self.run_ranks("ddp"):
            self.assertEqual(truth["comm"], truth["parameter"], "all gradients have a place in a bucket")
            for step in (0, 3):  # before they are rebuilt, and after
                _, rows = tensor_rows(process, step, "step")
                self.assert_roles(rows, **{role: truth[role] for role in ("comm", "gradient", "parameter")})

    @harness.only_in_long
    def test_gradients_in_buckets(self):
        """The buckets are the gradients: they would exist without a second rank."""
        for truth, process in self.run_ranks("ddp-view"):
            for step in (0, 3):
                _, rows = tensor_rows(process, step, "step")
                self.assert_roles(rows, gradient=truth["comm"], parameter=truth["parameter"], comm=0)

    @harness.only_in_long
    def test_a_gather_before_saving(self):
        for truth, process in self.run_ranks("gather"):
            self.assert_roles(peak_of(process)["at_peak"], gathered=truth["gathered"])

    def test_sharded(self):
        for truth, process in self.run_ranks("sharded"):
            self.assertEqual(process["parameters"]["bytes"], truth["parameter"])
            _, rows = tensor_rows(process, 1, "step")
            self.assert_roles(rows, parameter=truth["parameter"], gradient=truth["parameter"],
                              optimizer_state=2 * truth["parameter"], gathered=0)
            # gloo's own thread frees the last layer's buffer: on a busy machine 6 ms into the step.
            self.assertIn(bytes_by_role(rows).get("comm", 0), (0, truth["layer"]))
            # One or two layers at a time exist, as they arrive and are used.
            _, rows = tensor_rows(process, 1, "forward")
            gathered = bytes_by_role(rows)["gathered"]
            self.assertIn(round(gathered / truth["layer"]), (1, 2, 3, 4))
            _, rows = tensor_rows(process, 1, "backward")
            self.assertGreaterEqual(bytes_by_role(rows)["comm"], truth["layer"])
            for row in rows:
                files = [frame["file"] for frame in row["site"]["frames"]] if row["site"] else []
                if any("_fully_shard" in file for file in files) and row["bytes"] > SMALL:
                    self.assertIn(row["role"], ("parameter", "gradient", "gathered", "comm"))
            if truth["file"]:  # the first rank received the whole state and saved it
                _, rows = tensor_rows(process, 2, "save")
                self.assert_roles(rows, gathered=truth["gathered"], checkpoint=0)


if __name__ == "__main__":
    unittest.main()
