"""Purpose: tests the share of tensors at the peak that have no role, under engines that divide a model, adapters and
quantised parameters. Truth: the number of parameters by hand (support/programs/training/language_model.py), and their sizes."""
import os
import socket
import unittest

import harness

WORDS, WIDTH, LAYERS = 2048, 256, 4
WEIGHTS = LAYERS * 12 * WIDTH * WIDTH
BIASES, NORMS, TABLE = LAYERS * 9 * WIDTH, LAYERS * 4 * WIDTH, WORDS * WIDTH
COUNT = WEIGHTS + BIASES + NORMS + 2 * TABLE
BUFFER = 64 * WIDTH * 4
ADAPTERS = LAYERS * 8 * (4 + 2 + 5 + 5) * WIDTH  # rank 8; inputs and outputs of each of four layers
SMALL = 16384  # bytes that scalars, padding and alignment may add to a role
AT_MOST = 0.02  # of the tensors at the peak


class Case(harness.Case):
    def train(self, name, variant, folders=(), before=()):
        """Returns the processes of the job that made tensors."""
        more = {"OMP_NUM_THREADS": "1"}
        if folders:
            more["PYTHONPATH"] = os.pathsep.join(harness.packages(folder) for folder in folders)
        done, report = self.trace([harness.torch_python(), *before, harness.program(name), variant],
                                  {**harness.RECORD_ALL, **more})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        return [process for process in report["processes"] if harness.peak(process, measure="tensor") > harness.MIB]

    def at_peak(self, process):
        """Checks the share without a role, and returns the bytes of each role and of each name."""
        self.assert_nothing_lost(process)
        [peak] = [peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "tensor")]
        roles, names = {}, {}
        for row in peak["at_peak"]:
            roles[row["role"]] = roles.get(row["role"], 0) + row["bytes"]
            names[row.get("name")] = names.get(row.get("name"), 0) + row["bytes"]
        self.assertEqual(sum(roles.values()), peak["bytes"])
        self.assertLess(roles.get("unknown", 0), AT_MOST * peak["bytes"], roles)
        return roles, names

    def assert_roles(self, roles, **truth):
        for role, size in truth.items():
            self.assertAlmostEqual(roles.get(role, 0), size, delta=SMALL, msg=f"{role}: {roles}, {truth}")


class Engines(Case):
    def roles_of_ranks(self, variant, *folders):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = self.train("engines.py", variant, folders,
                           ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)])
        self.assertEqual(sorted(rank["rank"] for rank in ranks), [0, 1])
        return [(rank["parameters"], self.at_peak(rank)[0]) for rank in ranks]

    @harness.only_in_long
    def test_data_parallel(self):
        for parameters, roles in self.roles_of_ranks("ddp"):
            self.assertEqual(parameters["count"], COUNT)
            self.assert_roles(roles, parameter=4 * COUNT, comm=4 * COUNT, optimizer_state=8 * COUNT)

    @harness.only_in_long
    def test_fully_sharded(self):
        for parameters, roles in self.roles_of_ranks("fsdp2"):
            self.assertEqual(parameters["count"], COUNT // 2)
            self.assert_roles(roles, parameter=4 * COUNT // 2, optimizer_state=8 * COUNT // 2)

    @harness.only_in_long
    def test_zero_2(self):
        for parameters, roles in self.roles_of_ranks("zero2", "deepspeed"):
            self.assertEqual(parameters["count"], COUNT)
            self.assert_roles(roles, parameter=2 * COUNT, master=4 * COUNT // 2, optimizer_state=8 * COUNT // 2)

    @harness.only_in_long
    def test_zero_3(self):
        for parameters, roles in self.roles_of_ranks("zero3", "deepspeed"):
            self.assertEqual(parameters["count"], COUNT // 2)
            # The partition of gradients, and those in the type of the masters.
            self.assert_roles(roles, parameter=2 * COUNT // 2, master=4 * COUNT // 2, optimizer_state=8 * COUNT // 2,
                              gradient=(2 + 4) * COUNT // 2)


class Adapters(Case):
    def test_lora(self):
        [process] = self.train("adapters.py", "lora", ("peft", "accelerate"))
        self.assertEqual((process["parameters"]["count"], process["parameters"]["trainable"]), (COUNT + ADAPTERS, ADAPTERS))
        roles, names = self.at_peak(process)
        self.assert_roles(roles, parameter=4 * (COUNT + ADAPTERS), optimizer_state=8 * ADAPTERS, buffer=BUFFER)
        self.assertEqual(names["PEFT adapter"], 4 * ADAPTERS)

    @harness.only_in_long
    def test_lora_on_four_bits(self):
        [process] = self.train("adapters.py", "qlora", ("peft", "accelerate", "quantised"))
        self.assertEqual((process["parameters"]["count"], process["parameters"]["trainable"]), (COUNT + ADAPTERS, ADAPTERS))
        self.assertEqual(process["parameters"]["by_dtype"], {"nf4": WEIGHTS, "float32": COUNT + ADAPTERS - WEIGHTS})
        roles, _ = self.at_peak(process)
        self.assert_roles(roles, parameter=self.four_bits() + 4 * (COUNT + ADAPTERS - WEIGHTS),
                          optimizer_state=8 * ADAPTERS)

    @staticmethod
    def four_bits():
        """A number has half a byte, and 64 have a scale of one byte. 256 scales have one of four bytes. Each of the
        layers' four weights has tables of 16 and 256 numbers, and an offset."""
        return WEIGHTS // 2 + WEIGHTS // 64 + WEIGHTS // 64 // 256 * 4 + LAYERS * 4 * (16 + 256 + 1) * 4


class Quantised(Case):
    @harness.only_in_long
    def test_four_bits(self):
        [process] = self.train("adapters.py", "nf4", ("peft", "accelerate", "quantised"))
        self.assertEqual(process["parameters"]["count"], COUNT)
        self.assertEqual(process["parameters"]["bytes"], Adapters.four_bits() + 4 * (COUNT - WEIGHTS))
        self.at_peak(process)

    @harness.only_in_long
    def test_eight_bits(self):
        [process] = self.train("adapters.py", "int8", ("quantised",))
        scales = (4 + 1) * (LAYERS * 9 * WIDTH + WORDS)  # and zero points: one for each output of a layer
        self.assertEqual(process["parameters"]["count"], COUNT)
        self.assertEqual(process["parameters"]["bytes"], WEIGHTS + TABLE + scales + 4 * (BIASES + NORMS + TABLE))
        self.assertEqual(process["parameters"]["by_dtype"],
                         {"int8": WEIGHTS + TABLE, "float32": COUNT - WEIGHTS - TABLE})
        self.at_peak(process)

    def test_packed_by_torch(self):
        """The packed weights are not tensors: the kernels' library has them in the heap."""
        [process] = self.train("adapters.py", "dynamic")
        self.assertEqual(process["parameters"]["count"], COUNT - BIASES, "biases are packed with the weights")
        self.assertEqual(process["parameters"]["by_dtype"], {"qint8": WEIGHTS + TABLE, "float32": NORMS + TABLE})
        self.assertEqual(process["parameters"]["bytes"], WEIGHTS + TABLE + 4 * (NORMS + TABLE))
        self.at_peak(process)
        [process] = self.report("--top", "2000")["processes"]
        row = next(row for row in process["phases"] if (row["memory"], row["path"]) == ("host", ["eval"]))
        packed = [one for one in row["at_peak"] if one.get("name") == "packed weight of torch.ao"]
        self.assertEqual({one["role"] for one in packed}, {"parameter"})
        self.assertGreaterEqual(sum(one["blocks"] for one in packed), 4 * LAYERS + 1)
        size = sum(one["bytes"] for one in packed)
        self.assertGreaterEqual(size, WEIGHTS + TABLE)
        self.assertLess(size, 3 * (WEIGHTS + TABLE), "fbgemm pads small ones")


if __name__ == "__main__":
    unittest.main()
