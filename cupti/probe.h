// Purpose: tests which parts of driver, CUPTI and NVML work here.
// Runs: in a process that `memtrace doctor` starts.
#pragma once

namespace memtrace::cupti {

// Prints a line for each part on stdout: "1driver\tlibcuda.so.1, CUDA 13.0, devices: 1". The digit is 1 if
// memtrace can use the part.
void probe();
// Subscribes for the probe, inside cuInit. Returns false if no probe runs in this process.
bool subscribe_as_probe();

} // namespace memtrace::cupti
