"""Purpose: tests device memory by CUPTI's callbacks: figures as by the hooks, calls that hooks cannot see, and
each failure.

The driver, CUPTI and NVML are the fakes of tests/fakes; the programs and their figures are those of
test_cuda.
"""
import os
import subprocess
import unittest

import harness
import test_cuda

MIB = harness.MIB
KEPT, FREED = test_cuda.KEPT, test_cuda.FREED
FAKES = {name: os.path.join(harness.FAKES, name) for name in ("cupti-13", "cupti-12", "nvml")}
INJECTED = os.path.join(os.path.dirname(harness.LIBRARY), "libmemtrace_cupti.so")
# Calls that CUPTI has a callback for: it reports each, also if the call bypasses its hook.
BY_CALLBACK = ("cudaMalloc", "cudaFree", "cudaMallocManaged", "cudaMallocHost", "cudaFreeHost", "cudaHostRegister",
               "cudaHostUnregister", "cuMemAlloc_v2", "cuMemAllocPitch_v2", "cuMemFree_v2", "cuMemAllocManaged",
               "cuMemAllocHost_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister_v2", "cuMemHostUnregister",
               "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuArrayCreate_v2", "cuArray3DCreate_v2",
               "cuArrayDestroy", "cudaDeviceReset", "cuCtxDestroy_v2", "cuDevicePrimaryCtxRelease_v2",
               "cuDevicePrimaryCtxReset_v2")


class WithFakes(harness.Case):
    def setUp(self):
        super().setUp()
        for path in (INJECTED, *FAKES.values()):
            if not os.path.exists(path):
                self.skipTest(f"{path} is not built: there were no headers of CUPTI (scripts/setup gets them)")

    def around(self, cupti="cupti-13", nvml="nvml", mode="on", **more):
        path = os.pathsep.join(FAKES[name] for name in (cupti, nvml) if name)
        return {**harness.RECORD_ALL, "MEMTRACE_CUPTI": mode, "LD_LIBRARY_PATH": path, **more}

    def run_function(self, function, way="module", runtime=False, without=None, program="opened_cuda", **more):
        self.new_scratch()
        library = harness.LIBRARY
        if without is not None:
            library = test_cuda.Cuda.removed(self, without)
            os.symlink(INJECTED, os.path.join(self.scratch, os.path.basename(INJECTED)))
        more = self.around(**more, **(test_cuda.TABLE if runtime else {}))
        command = [os.path.join(harness.FAKES, program), way, function]
        bare = self.bare(command, {key: value for key, value in more.items() if not key.startswith("MEMTRACE")})
        done = self.run_in("traced", command, {**self.environment(**more), "LD_PRELOAD": library})
        report = self.report()
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.assertEqual(done.returncode, 0, done.stdout)
        return self.only_process(report), test_cuda.figures(self.trace_files()[0])

    def state(self, process):
        return process["trace"]["cupti"]


class Figures(WithFakes):
    def test_each_function(self):
        """The hooks record calls without a callback; a call with a callback counts once."""
        for runtime, name in test_cuda.hooked():
            way, function = test_cuda.WAYS.get(name, ("module", name))
            with self.subTest(name):
                process, found = self.run_function(function, way, runtime)
                self.assertEqual(found, test_cuda.EXPECTED[function])
                self.assertTrue(self.state(process).startswith("active; libcupti.so.13"), self.state(process))

    def test_by_callbacks_alone(self):
        """Uses a library without the hook, as for a static runtime, and a driver that is called through a
        private table."""
        for name in BY_CALLBACK:
            with self.subTest(name):
                process, found = self.run_function(name, runtime=name.startswith("cuda"), without=name)
                self.assertEqual(found, test_cuda.EXPECTED[name])
                _, without = self.run_function(name, runtime=name.startswith("cuda"), without=name,
                                               FAKE_CUPTI="error=35")
                self.assertNotEqual(without, test_cuda.EXPECTED[name])

    def test_off(self):
        # If MEMTRACE_CUPTI is off, CUDA is present only if the program is linked against it.
        process, found = self.run_function("cudaMalloc", mode="off", program="linked_cuda")
        self.assertIsNone(self.state(process))
        self.assertEqual((process["trace"]["device_source"], found), ("hooks", test_cuda.EXPECTED["cudaMalloc"]))


class Refusals(WithFakes):
    def hooks_go_on(self, said, **more):
        process, found = self.run_function("cudaFree", **more)
        self.assertEqual(found, test_cuda.EXPECTED["cudaFree"])
        self.assertEqual(process["trace"]["device_source"], "hooks")
        self.assertIn(said, self.state(process))

    def test_held(self):
        self.hooks_go_on("held by CUPTI for nsys; libcupti.so.13 version 130001", FAKE_CUPTI="held=CUPTI for nsys")

    def test_no_privilege(self):
        self.hooks_go_on("refused, error 35: no privilege", FAKE_CUPTI="error=35")

    def test_confidential_computing(self):
        self.hooks_go_on("refused, error 41: confidential computing", FAKE_CUPTI="error=41")

    def test_on_says_so_on_stderr(self):
        environment = self.around(FAKE_CUPTI="held=CUPTI for nsys", MEMTRACE_QUIET="0")
        command = [os.path.join(harness.FAKES, "opened_cuda"), "module", "cudaMalloc"]
        lines = self.run_in("traced", command, self.environment(**environment)).stderr.decode().splitlines()
        self.assertEqual(len([line for line in lines if "held by CUPTI for nsys" in line]), 1, lines)
        auto = self.run_in("auto", command, self.environment(**{**environment, "MEMTRACE_CUPTI": "auto"}))
        self.assertNotIn(b"CUPTI", auto.stderr)

    def test_a_profiler_has_cupti(self):
        """torch.profiler subscribes after cuInit, and records no kernel if the place is taken."""
        profiler = """if True:
            import ctypes
            print("cuInit", ctypes.CDLL("libcuda.so.1").cuInit(0))
            handle, call = ctypes.c_void_p(), ctypes.CFUNCTYPE(None)(lambda: None)
            print("cuptiSubscribe", ctypes.CDLL("libcupti.so.13").cuptiSubscribe(ctypes.byref(handle), call, None))"""
        path = os.pathsep.join((harness.FAKES, *FAKES.values()))
        for mode, result in (("auto", 0), ("off", 0), ("on", 39)):
            with self.subTest(mode):
                around = self.around(mode=mode, CUDA_INJECTION64_PATH=INJECTED, LD_LIBRARY_PATH=path)
                done = self.run_in(mode, ["/usr/bin/python3", "-c", profiler], self.environment(**around))
                self.assertEqual(done.stdout.decode().split(), ["cuInit", "0", "cuptiSubscribe", str(result)])

    def test_struct_of_the_running_version(self):
        for version in ("130001", "130101", "130200", "130500"):
            process, _ = self.run_function("cudaMalloc", FAKE_CUPTI_VERSION=version)
            self.assertIn(f"version {version}", self.state(process))
            self.assertTrue(self.state(process).startswith("active"), self.state(process))

    def test_older_than_the_header(self):
        process, found = self.run_function("cuMemAlloc_v2", cupti="cupti-12", FAKE_CUPTI_VERSION="28")
        if "libcupti.so.12" not in self.state(process):
            self.skipTest(f"a newer libcupti is found here first: {self.state(process)}")
        self.assertEqual(found, test_cuda.EXPECTED["cuMemAlloc_v2"])
        self.assertIn("version 28, older than that memtrace was built with", self.state(process))

    def test_finalized_by_another(self):
        """Callbacks report two calls, then they stop: nothing is lost if there is a hook."""
        process, found = self.run_function("cudaFree", FAKE_CUPTI="dies=2")
        self.assertEqual(found, test_cuda.EXPECTED["cudaFree"])
        self.assertTrue(self.state(process).startswith("lost: "), self.state(process))


class Cards(WithFakes):
    def used(self, **more):
        process, _ = self.run_function("cudaMalloc", **more)
        peaks = {entry["memory"]: entry for entry in process["peaks"] if entry["measure"] == "used"}
        ledgers = {entry["memory"]: entry for entry in process["ledger"]}
        return process, peaks.get("cuda:0"), ledgers.get("cuda:0")

    def test_of_this_process(self):
        process, peak, ledger = self.used()
        self.assertEqual((peak["bytes"], peak["of"]), ((500 << 20) + KEPT, "process"))
        self.assertEqual((ledger["total"], ledger["residual"]), ((500 << 20) + KEPT, 500 << 20))
        self.assertEqual(sum(row["bytes"] for row in ledger["rows"]) + ledger["residual"], ledger["total"])
        self.assertEqual(process["devices"], [{"memory": "cuda:0", "uuid": "GPU-10101010-1010-1010-1010-101010101010",
                                               "name": "Fake A100-SXM4-80GB", "total": 80 << 30,
                                               "used_is_unknown": None}])

    def test_without_cupti(self):
        """The library that asks the GPU is opened after the program's first device call."""
        for mode in ("auto", "off"):
            with self.subTest(mode):
                process, peak, ledger = self.used(mode=mode, program="linked_cuda")
                self.assertIsNone(self.state(process))
                self.assertEqual((peak["bytes"], peak["of"]), ((500 << 20) + KEPT, "process"))
                self.assertEqual(ledger["residual"], 500 << 20)

    def test_in_a_container(self):
        _, peak, ledger = self.used(FAKE_NVML="container")
        self.assertEqual((peak["of"], peak["bytes"], ledger["others"]), ("card", (500 << 20) + KEPT, 1))

    def test_others_on_the_card(self):
        _, peak, ledger = self.used(FAKE_NVML="others")
        self.assertEqual((peak["of"], peak["bytes"]), ("process", (500 << 20) + KEPT))
        self.assertEqual((ledger["others"], ledger["card"]), (1, (3500 << 20) + (72 << 20) + KEPT))

    def test_without_nvml(self):
        _, peak, _ = self.used(FAKE_NVML="error=9")
        self.assertEqual((peak["of"], peak["bytes"]), ("card", (500 << 20) + KEPT))

    def test_text(self):
        self.used()
        text = " ".join(self.report_text("--memory", "cuda:0").split())
        self.assertIn("cuda:0: the GPU shows 506.00 MiB for this process at most", text)
        self.assertIn("500.00 MiB of it does not belong to an allocation (context 500.00 MiB, code and the rest 0.00 MiB: an "
                      "estimate)", text)

    def peaks_of(self, **more):
        """Returns what each GPU used at most, and why that is not known."""
        self.new_scratch()
        done, report = self.trace([os.path.join(harness.FAKES, "use_contexts"), "peaks"], self.around(**more))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        process = self.only_process(report)
        return ({entry["memory"]: entry["bytes"] for entry in process["peaks"] if entry["measure"] == "used"},
                {device["memory"]: device["used_is_unknown"] for device in process["devices"]})

    def test_each_new_peak_is_asked_for(self):
        """Nine allocations take less than a millisecond. The second GPU is used at the end alone."""
        used, unknown = self.peaks_of()
        self.assertEqual(used, {"cuda:0": (512 + 500) * MIB, "cuda:1": (256 + 500) * MIB})
        self.assertEqual(unknown, {"cuda:0": None, "cuda:1": None})

    def test_a_slow_gpu(self):
        """One question takes all the time that memtrace may spend on it. The figure is older than the peak."""
        used, unknown = self.peaks_of(FAKE_NVML_MS="200")
        self.assertEqual(used, {})
        self.assertRegex(unknown["cuda:0"], r"^it was not asked while 512\.00 MiB were allocated, \d+ [mu]s later$")
        self.assertEqual(unknown["cuda:1"], "the GPU did not report it")
        self.assertIn("cuda:0: the GPU showed 564.00 MiB for this process,", " ".join(self.report_text("--all").split()))

    def beside_the_context(self, what, **more):
        """Returns the ledger of the first GPU, and the findings."""
        self.new_scratch()
        done, report = self.trace([os.path.join(harness.FAKES, "use_contexts"), what], self.around(**more))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        ledger = next(entry for entry in process["ledger"] if entry["memory"] == "cuda:0")
        self.assertEqual(sum(row["bytes"] for row in ledger["rows"]) + ledger["residual"], ledger["total"])
        return ledger, process["findings"]

    def parts(self, what, **more):
        ledger, found = self.beside_the_context(what, **more)
        parts = ledger["residual_parts"]
        self.assertEqual(parts.pop("how"), "estimate")
        self.assertEqual(sum(parts.values()), ledger["residual"])
        return {name: size // MIB for name, size in parts.items()}, found

    def test_context_code_and_the_rest(self):
        parts, found = self.parts("code")
        self.assertEqual(parts, {"context": 500, "code": 700, "rest": 0})
        self.assertEqual([(finding["id"], finding["memory"], finding["bytes"], finding["confidence"])
                          for finding in found], [("device-context", "cuda:0", 700 * MIB, "likely")])
        self.assertIn("CUDA_MODULE_LOADING=LAZY", found[0]["remedy"])
        self.assertEqual(self.parts("module"), ({"context": 500, "code": 30, "rest": 0}, []))
        self.assertEqual(self.parts("stacks"), ({"context": 500, "code": 0, "rest": 2048 * 108 // 1024}, []))

    def test_code_is_the_rest_where_nobody_tells_of_modules(self):
        self.assertEqual(self.parts("code", FAKE_CUPTI="error=35"), ({"context": 500, "code": 0, "rest": 700}, []))

    def test_context_without_work(self):
        _, found = self.beside_the_context("other")
        self.assertEqual([(finding["id"], finding["memory"], finding["confidence"]) for finding in found],
                         [("device-context", "cuda:1", "certain")])
        # with and without the memory of the program's synchronization
        self.assertIn(found[0]["bytes"] // MIB, (500, 501))
        self.assertIn("torch.cuda.set_device(0)", found[0]["remedy"])
        self.assertEqual(self.beside_the_context("both")[1], [])

    def test_the_line_that_made_a_context(self):
        """CUPTI's callback tells it, or the hook of the driver's call. `cudaSetDevice` in work_on() makes the context."""
        for behaviour in ("", "held=another tool"):
            with self.subTest(behaviour):
                _, [found] = self.beside_the_context("other", FAKE_CUPTI=behaviour, MEMTRACE_STACKS="native")
                functions = [frame["function"] for frame in found["site"]["frames"]]
                self.assertTrue(any("work_on" in name or name == "main" for name in functions), functions)
                self.assertIn("cudaSetDevice", functions)
                self.assertTrue(found["evidence"][-2].startswith("the first context was made at "), found["evidence"])


class Doctor(WithFakes):
    def line(self, what, **more):
        environment = harness.bare_environment(**{**self.around(**more), "LD_LIBRARY_PATH": os.pathsep.join(
            (FAKES[more.get("cupti", "cupti-13")], FAKES["nvml"], harness.FAKES))})
        out = subprocess.run([harness.COMMAND, "doctor"], env=environment, capture_output=True, text=True, check=True,
                             timeout=120).stdout
        lines = out.replace("\n    ", " ").splitlines()
        return next(line for line in lines if f" {what}:" in line)

    def test_lines(self):
        self.assertIn("yes driver: libcuda.so.1, CUDA 13.0, devices: 2", self.line("driver"))
        self.assertIn("yes CUPTI: can subscribe, libcupti.so.13 version 130001", self.line("CUPTI"))
        self.assertIn("yes NVML: driver 580.65.06, cards: 2 (Fake A100", self.line("NVML"))
        self.assertIn("no  CUPTI: held by CUPTI for nsys", self.line("CUPTI", FAKE_CUPTI="held=CUPTI for nsys"))
        self.assertIn("no  CUPTI: refused, error 41", self.line("CUPTI", FAKE_CUPTI="error=41"))
        self.assertIn("yes CUPTI: can subscribe", self.line("CUPTI", FAKE_CUPTI="late=999"))
        self.assertIn("no  NVML: the driver is not loaded", self.line("NVML", FAKE_NVML="error=9"))


if __name__ == "__main__":
    unittest.main()
