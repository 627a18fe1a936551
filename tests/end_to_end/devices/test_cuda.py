"""Purpose: tests each hooked CUDA function: the trace has its allocations and frees, and lacks them if the hook
is removed.

The truth is in the programs: each allocates or frees a known number of bytes (tests/fakes/use_cuda.cpp).
"""
import os
import re
import subprocess
import unittest
from collections import defaultdict

import harness
import rawtrace

MIB = harness.MIB
KEPT, FREED = 6 * MIB, 4 * MIB
LIST = os.path.join(harness.ROOT, "preload", "hooks", "cuda", "functions.def")
TOOLKIT = os.path.join(os.environ.get("CUDA_HOME") or "/usr/local/cuda", "include")
KINDS = {"pinned", "registered", "managed", "device", "device_async", "device_vmm"}


def hooked():
    with open(LIST, encoding="utf-8") as file:
        found = re.findall(r"^(RUNTIME|DRIVER)\((\w+)", file.read(), re.M)
    return [(family == "RUNTIME", name) for family, name in found]


def figures(path):
    """Returns {(what, memory, kind): bytes} from the records themselves. born and died count in levels, open
    and closed do not; `reserved` is its last value."""
    sums = defaultdict(int)
    for record in rawtrace.read(path)[0]:
        memory = record.flags >> 8
        kind = rawtrace.KINDS[record.kind] if record.type in ("birth", "death") else None
        if kind in KINDS:
            open_ = bool(record.flags & rawtrace.NO_ACCESS)
            what = {"birth": ("born", "open"), "death": ("died", "closed")}[record.type][open_]
            sums[what, memory, kind] += record.words[1]
            if not record.words[1]:
                sums[what + " of unknown size", memory, kind] += 1
        elif kind == "context" and memory > 1:  # each program has one on the first GPU
            sums["contexts", memory, None] += 1 if record.type == "birth" else -1
        elif record.type == "reserved":
            sums["reserved", memory, None] = record.words[1]
    return dict(sums)


def gives(kind, amount=KEPT, memory=1, **more):
    return {("born", memory, kind): amount, **{(what, memory, None): size for what, size in more.items()}}


def takes(kind, memory=1, **more):
    return {**gives(kind, KEPT + FREED, memory, **more), ("died", memory, kind): FREED}


ASYNC = gives("device_async", reserved=KEPT)
FREED_ASYNC = takes("device_async", reserved=KEPT)
OPENED = {("open", 1, "device"): 2 * MIB}
CLOSED = {**OPENED, ("closed", 1, "device"): 2 * MIB}
IMPORTED = {("open", 1, "device"): KEPT}
NODE = {("open", 1, "device_async"): KEPT}
LAUNCHED = {**NODE, **gives("device_async")}
POOL = {("born", 1, "device_async"): KEPT, ("died", 1, "device_async"): KEPT}
RESERVED = {("open", 1, "device_vmm"): 64 * MIB}
MAPPED = {("open", 1, "device_vmm"): KEPT}

EXPECTED = {
    "cudaMalloc": gives("device"), "cudaMallocManaged": gives("managed"), "cudaMallocPitch": gives("device"),
    "cudaMalloc3D": gives("device"), "cudaMallocArray": gives("device"), "cudaMalloc3DArray": gives("device"),
    "cudaMallocMipmappedArray": gives("device", 5 * MIB),
    "cudaMallocAsync": ASYNC, "cudaMallocAsync_ptsz": ASYNC,
    "cudaMallocFromPoolAsync": ASYNC, "cudaMallocFromPoolAsync_ptsz": ASYNC,
    "cudaMallocHost": gives("pinned", memory=0), "cudaHostAlloc": gives("pinned", memory=0),
    "cudaHostRegister": gives("registered", memory=0),
    "cudaFree": takes("device"), "cudaFreeAsync": FREED_ASYNC, "cudaFreeAsync_ptsz": FREED_ASYNC,
    "cudaFreeArray": takes("device"), "cudaFreeMipmappedArray": takes("device"),
    "cudaFreeHost": takes("pinned", 0), "cudaHostUnregister": takes("registered", 0),
    "cudaMemPoolTrimTo": {**POOL, ("reserved", 1, None): MIB},
    "cudaMemPoolDestroy": {**POOL, ("reserved", 1, None): 0},
    "cudaMemPoolImportPointer": OPENED, "cudaIpcOpenMemHandle": OPENED, "cudaIpcCloseMemHandle": CLOSED,
    "cudaImportExternalMemory": IMPORTED,
    "cudaDestroyExternalMemory": {**IMPORTED, ("closed", 1, "device"): KEPT},
    "cudaGraphAddMemAllocNode": NODE, "cudaGraphAddMemFreeNode": {**NODE, ("closed", 1, "device_async"): KEPT},
    "cudaGraphLaunch": LAUNCHED, "cudaGraphLaunch_ptsz": LAUNCHED,
    "cudaDeviceGraphMemTrim": {**LAUNCHED, ("died", 1, "device_async"): KEPT},

    "cuMemAlloc_v2": gives("device"), "cuMemAllocManaged": gives("managed"), "cuMemAllocPitch_v2": gives("device"),
    "cuMemAllocAsync": ASYNC, "cuMemAllocAsync_ptsz": ASYNC,
    "cuMemAllocFromPoolAsync": ASYNC, "cuMemAllocFromPoolAsync_ptsz": ASYNC,
    "cuMemAllocHost_v2": gives("pinned", memory=0), "cuMemHostAlloc": gives("pinned", memory=0),
    "cuMemHostRegister_v2": gives("registered", memory=0),
    "cuMemFree_v2": takes("device"), "cuMemFreeAsync": FREED_ASYNC, "cuMemFreeAsync_ptsz": FREED_ASYNC,
    "cuMemFreeHost": takes("pinned", 0), "cuMemHostUnregister": takes("registered", 0),
    "cuArrayCreate_v2": gives("device"), "cuArray3DCreate_v2": gives("device"), "cuArrayDestroy": takes("device"),
    "cuMipmappedArrayCreate": gives("device", 5 * MIB), "cuMipmappedArrayDestroy": takes("device"),
    "cuMemCreate": {**gives("device_vmm"), **MAPPED}, "cuMemRelease": takes("device_vmm"),
    "cuMemMap": {**gives("device_vmm"), **MAPPED},
    "cuMemUnmap": {**takes("device_vmm"), ("open", 1, "device_vmm"): FREED},
    "cuMemRetainAllocationHandle": {**gives("device_vmm"), **MAPPED},
    "cuMemImportFromShareableHandle": {("open", 1, "device_vmm"): 0, ("open of unknown size", 1, "device_vmm"): 1},
    "cuMemAddressReserve": RESERVED, "cuMemAddressFree": {**RESERVED, ("closed", 1, "device_vmm"): 64 * MIB},
    "cuMemPoolTrimTo": {**POOL, ("reserved", 1, None): MIB},
    "cuMemPoolDestroy": {**POOL, ("reserved", 1, None): 0},
    "cuMemPoolImportPointer": OPENED, "cuIpcOpenMemHandle_v2": OPENED, "cuIpcCloseMemHandle": CLOSED,
    "cuImportExternalMemory": IMPORTED, "cuDestroyExternalMemory": {**IMPORTED, ("closed", 1, "device"): KEPT},
    "cuGraphAddMemAllocNode": NODE, "cuGraphAddMemFreeNode": {**NODE, ("closed", 1, "device_async"): KEPT},
    "cuGraphLaunch": LAUNCHED, "cuGraphLaunch_ptsz": LAUNCHED,
    "cuDeviceGraphMemTrim": {**LAUNCHED, ("died", 1, "device_async"): KEPT},
}

EXPECTED["cuDevicePrimaryCtxRetain"] = {("contexts", 2, None): 1}

# A block of a context ends once, with its context: a later free of it does not count.
EXPECTED.update({name: takes("device") for name in ("cuCtxDestroy_v2", "cuDevicePrimaryCtxRelease_v2",
                                                   "cuDevicePrimaryCtxReset_v2", "cudaDeviceReset")})

# The ways to call a function that is visible only by its result: (way, function).
WAYS = {
    "cuGetProcAddress": ("asked_old", "cuMemAlloc_v2"), "cuGetProcAddress_v2": ("asked", "cuMemAlloc_v2"),
    "cudaGetDriverEntryPoint": ("entry", "cuMemAlloc_v2"),
    "cudaGetDriverEntryPoint_ptsz": ("entry_ptsz", "cuMemAllocAsync"),
    "cudaGetDriverEntryPointByVersion": ("entry_by_version", "cuMemAlloc_v2"),
    "cudaGetDriverEntryPointByVersion_ptsz": ("entry_by_version_ptsz", "cuMemAllocAsync"),
}

# The runtime calls its driver through a private table, so the driver's hooks see no calls.
TABLE = {"FAKE_CUDART_TABLE": "1"}


class Cuda(harness.Case):
    # If the machine has no driver, CUDA's names look missing unless the user sets this.
    MORE = {**harness.RECORD_ALL, "MEMTRACE_CUPTI": "on", "MEMTRACE_STACKS": "none"}

    def run_one(self, way, function, more=None, program="opened_cuda", library=harness.LIBRARY):
        """Returns its output and its figures; no figures if there are no records."""
        self.new_scratch()
        command = [os.path.join(harness.FAKES, program), way, function]
        environment = self.environment(**self.MORE, **(more or {}))
        environment["LD_PRELOAD"] = library
        done = self.run_in("traced", command, environment)
        files = self.trace_files()
        return done, figures(files[0]) if files else {}

    def assert_figures(self, way, function, more=None, program="opened_cuda"):
        bare = self.bare([os.path.join(harness.FAKES, program), way, function], more)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        done, found = self.run_one(way, function, more, program)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
        self.assertEqual(found, EXPECTED[function], f"{function} found by {way}")

    def removed(self, name):
        """Returns a library without its hook of that name: not exported, not in the table."""
        with open(harness.LIBRARY, "rb") as file:
            whole = file.read()
        old = b"\0" + name.encode() + b"\0"
        self.assertIn(old, whole)
        path = os.path.join(self.scratch, f"without-{name}.so")
        with open(path, "wb") as file:
            file.write(whole.replace(old, b"\0x" + name.encode()[1:] + b"\0"))
        return path

    def test_each_function_has_a_figure(self):
        self.assertEqual({name for _, name in hooked()}, set(EXPECTED) | set(WAYS))

    def test_names_are_those_of_the_toolkit(self):
        """CUPTI's headers list every function of the driver and of the runtime."""
        known = set()
        for name, prefix in (("driver", "DRIVER"), ("runtime", "RUNTIME")):
            header = os.path.join(TOOLKIT, f"cupti_{name}_cbid.h")
            if not os.path.exists(header):
                self.skipTest(f"no {header}: the toolkit's headers are not installed (CUDA_HOME)")
            with open(header, encoding="utf-8") as file:
                for found in re.findall(rf"CUPTI_{prefix}_TRACE_CBID_(\w+)", file.read()):
                    # The runtime's names have the version that added them, before the stream's suffix.
                    known.add(re.sub(r"_(?:ptsz_)?v\d{4,5}$", lambda end: "_ptsz" if "ptsz" in end[0] else "", found))
        self.assertEqual([name for _, name in hooked() if name not in known and name not in WAYS], [])

    def test_each_function(self):
        for runtime, name in hooked():
            way, function = WAYS.get(name, ("module", name))
            with self.subTest(name):
                self.assert_figures(way, function, TABLE if runtime else None)

    def test_each_function_removed(self):
        """Each of those figures comes from that hook."""
        for runtime, name in hooked():
            way, function = WAYS.get(name, ("module", name))
            with self.subTest(name):
                self.new_scratch()
                library = self.removed(name)
                # cuGetProcAddress also returns its own newer form, so the library must not have that.
                done, found = self.run_one(way, function, TABLE if runtime else None, library=library)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertNotEqual(found, EXPECTED[function])

    def test_looked_up(self):
        for way in ("dlsym", "dlvsym", "asked", "entry_by_version"):
            for function in ("cuMemAlloc_v2", "cuMemUnmap", "cuMemFreeAsync", "cudaMalloc", "cudaFreeHost"):
                with self.subTest(way=way, function=function):
                    self.assert_figures(way, function)

    def test_linked(self):
        for way in ("module", "default"):
            for function in ("cudaMalloc", "cuMemAlloc_v2", "cudaFree"):
                with self.subTest(way=way, function=function):
                    self.assert_figures(way, function, program="linked_cuda")

    def test_runtime_call_with_driver_call_inside_counts_once(self):
        for runtime, name in hooked():
            if runtime and name in EXPECTED:
                with self.subTest(name):
                    self.assert_figures("module", name)

    def test_other_versions_of_the_runtime(self):
        for version in ("12", "11"):
            for function in ("cudaMalloc", "cudaMallocAsync", "cudaFreeHost"):
                with self.subTest(version=version, function=function):
                    self.assert_figures("module", function, {**TABLE, "FAKE_CUDA_MODULE": version})

    def test_what_is_not_there_looks_missing(self):
        """This holds for dlsym, dlvsym and weak references, whether the machine has CUDA or not. RTLD_NEXT is
        the caller's."""
        for cupti in ("auto", "on"):
            for name in ("lookups", "weak", "dlopen"):
                with self.subTest(name, cupti=cupti):
                    self.new_scratch()
                    bare = self.bare([harness.victim(name)])
                    self.assertEqual(bare.returncode, 0, bare.stdout)
                    done, _ = self.trace([harness.victim(name)], {**self.MORE, "MEMTRACE_CUPTI": cupti})
                    self.assertEqual((done.stdout.decode(), done.stderr, done.returncode),
                                     (bare.stdout.decode(), bare.stderr, bare.returncode))
                    if name == "lookups":
                        self.assertIn(b"library: libm comes next\n", done.stdout)

    def test_locked_memory_is_marked_and_counted_once(self):
        for function in ("mlock", "cudaHostRegister"):
            with self.subTest(function):
                self.new_scratch()
                done, report = self.trace([os.path.join(harness.FAKES, "opened_cuda"), "module", function], self.MORE)
                self.assertEqual(done.returncode, 0, done.stdout)
                rows = [row for entry in self.only_process(report)["peaks"]
                        if (entry["memory"], entry["measure"]) == ("host", "live") for row in entry["at_peak"]]
                self.assertEqual([row["asked"] for row in rows if row["kind"] == "registered"], [KEPT])
                self.assertEqual([row["asked"] for row in rows if row["kind"] == "heap" and row["asked"] == KEPT], [])

    def test_role_by_the_library_that_asked(self):
        done, report = self.trace([os.path.join(harness.FAKES, "opened_cuda"), "module", "libraries"],
                                  {**self.MORE, "MEMTRACE_STACKS": "native"})
        self.assertEqual(done.returncode, 0, done.stdout)
        rows = [row for entry in self.only_process(report)["peaks"]
                if (entry["memory"], entry["measure"]) == ("cuda:0", "live") for row in entry["at_peak"]]
        self.assertEqual({row["role"]: row["bytes"] for row in rows},
                         {"comm": MIB, "workspace": 2 * MIB, "unknown": 3 * MIB})

    def test_threads(self):
        """Runs eight threads at once; other threads free half of their blocks."""
        done, found = self.run_one("module", "threads")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(found, {("born", 1, "device"): 8 * 200 * MIB, ("died", 1, "device"): 8 * 100 * MIB})

    def test_report(self):
        done, report = self.trace([os.path.join(harness.FAKES, "opened_cuda"), "module", "two_devices"], self.MORE)
        self.assertEqual(done.returncode, 0, done.stdout)
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        self.assertEqual(process["trace"]["device_source"], "hooks")
        self.assertEqual(harness.peak(process, "cuda:0"), KEPT)
        self.assertEqual(harness.peak(process, "cuda:1"), FREED)
        flows = {memory: tuple(sum(row[flow] for row in process["phases"] if row["memory"] == memory)
                               for flow in ("allocated", "freed")) for memory in ("cuda:0", "cuda:1")}
        # One block is freed while the other device is current, one is made on a device that is not current.
        self.assertEqual(flows, {"cuda:0": (KEPT + 2 * MIB, KEPT), "cuda:1": (FREED, 0)})

    def test_what_goes_with_a_context(self):
        """All blocks but those of pools and physical memory end with the context; blocks of other contexts
        stay."""
        _, found = self.run_one("module", "context_of_all")
        self.assertEqual(found, {("born", 1, "device"): (1 + 2 + 4) * MIB, ("died", 1, "device"): (2 + 4) * MIB,
                                 ("born", 1, "managed"): 3 * MIB, ("died", 1, "managed"): 3 * MIB,
                                 ("born", 0, "pinned"): 5 * MIB, ("died", 0, "pinned"): 5 * MIB,
                                 ("born", 0, "registered"): 6 * MIB, ("died", 0, "registered"): 6 * MIB,
                                 ("born", 1, "device_async"): 7 * MIB, ("reserved", 1, None): 7 * MIB,
                                 ("born", 1, "device_vmm"): 8 * MIB})

    def test_a_death_with_the_context_is_the_only_one(self):
        """This also holds if the driver accepts a free of it afterwards."""
        for function in ("cuCtxDestroy_v2", "cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxRelease_v2"):
            with self.subTest(function):
                done, found = self.run_one("module", function, {"FAKE_CUDA_LENIENT": "1"})
                self.assertIn(b"freed: 1\n", done.stdout)
                self.assertEqual(found, takes("device"))

    def test_capturing_stream_allocates_nothing(self):
        _, found = self.run_one("module", "captured")
        self.assertEqual(found, {("born", 1, "device_async"): FREED, ("open", 1, "device_async"): KEPT,
                                 ("reserved", 1, None): FREED})

    def test_failures(self):
        command = [os.path.join(harness.FAKES, "opened_cuda"), "module", "out_of_memory"]
        bare = self.bare(command)
        done = self.run_in("traced", command, self.environment(**{**self.MORE, "MEMTRACE_STACKS": "native"}))
        self.assertEqual((done.stdout, done.stderr), (bare.stdout, bare.stderr))
        self.assertTrue(done.stdout.startswith(b"2 2 1 2 2 untouched 1\n"), done.stdout)
        found = [record for record in rawtrace.read(self.trace_files()[0])[0] if record.type == "failure"]
        self.assertEqual([(record.words[0], record.flags >> 8, rawtrace.KINDS[record.kind],
                           record.words[1] & 0xFFFFFFFF) for record in found],
                         [(2 << 40, 1, "device", 2), (2 << 40, 1, "device", 2), (2 << 40, 0, "pinned", 2),
                          (2 << 40, 1, "device_vmm", 2)])
        for record in found:
            on_device = record.flags >> 8 == 1
            self.assertEqual(record.words[2] != 0, True, "a stack")
            if on_device:
                self.assertEqual((record.words[3], record.words[4], record.words[5]),
                                 (KEPT, (80 << 30) - (500 << 20) - KEPT, 80 << 30), "live, free and total then")


if __name__ == "__main__":
    unittest.main()
