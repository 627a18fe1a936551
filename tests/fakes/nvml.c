// Purpose: the fake driver's cards by their uuids, who uses them, and whether somebody left it open.
// Stands for libnvidia-ml.so.1 where there is no card.
//
// FAKE_NVML_MS: how long it takes to say who uses a card.
// FAKE_NVML: `container`: it knows this process by another pid; `error=N`: it cannot be initialised; `others`:
// a second process holds 3 GiB. What the process itself uses is asked of the fake driver.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned instance[2];
};
static int open_count, attached, device, looks;
static int other_open_count; // by calls that memtrace does not make

static const char* behaviour(void) {
  const char* text = getenv("FAKE_NVML");
  return text != NULL ? text : "";
}
static unsigned long long setting(const char* name, unsigned long long otherwise) {
  const char* text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}
static unsigned long long used(void) {
  void* cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  size_t (*ask)(int) = cuda != NULL ? (size_t(*)(int))dlsym(cuda, "fake_cuda_used") : NULL;
  return ask != NULL ? ask(device) : 0;
}
static unsigned long long of_others(void) {
  return strcmp(behaviour(), "others") == 0 ? 3ull << 30 : 0;
}

int nvmlInitWithFlags(unsigned flags) {
  attached = (flags & 2) == 0; // NVML_INIT_FLAG_NO_ATTACH: an H200's driver counts 0 cards then
  if (strncmp(behaviour(), "error=", 6) == 0) return atoi(behaviour() + 6);
  return ++open_count, 0;
}
int nvmlInit_v2(void) {
  return attached = 1, ++other_open_count, 0;
}
int nvmlInit(void) {
  return nvmlInit_v2();
}
int nvmlShutdown(void) {
  return open_count > 0 ? --open_count : --other_open_count, 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return *count = attached ? (unsigned)setting("FAKE_CUDA_CARDS", 2) : 0, 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** card) {
  device = (int)strtol(id + strlen("00000000:"), NULL, 16) - 1; // as the runtime of tests/cuda_node has them
  return *card = &device, 0;
}
// Neither links between cards nor a fabric of several machines.
int nvmlDeviceGetNvLinkRemoteDeviceType(void* card, unsigned link, int* type) {
  (void)card, (void)link, (void)type;
  return 3; // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* card, unsigned link, void* info) {
  (void)card, (void)link, (void)info;
  return 3;
}
int nvmlDeviceGetGpuFabricInfoV(void* card, void* info) {
  (void)card, (void)info; // all that the caller cleared: not supported
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return *version = 13000, 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** card) {
  if (strncmp(uuid, "GPU-1", 5) != 0)
    return 6; // NVML_ERROR_NOT_FOUND; the fake driver's are 10101010..., 11111111...
  device = uuid[5] - '0';
  return *card = &device, 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** card) {
  device = (int)index;
  return *card = &device, 0;
}
int nvmlDeviceGetName(void* card, char* name, unsigned bytes) {
  (void)card;
  return snprintf(name, bytes, "Fake A100-SXM4-80GB"), 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
  return snprintf(version, bytes, "580.65.06"), 0;
}
int nvmlDeviceGetMemoryInfo(void* card, struct Memory* out) {
  (void)card;
  if (open_count != 1) return 1; // NVML_ERROR_UNINITIALIZED, or opened twice
  out->total = setting("FAKE_CUDA_CARD_MIB", 80 << 10) << 20;
  out->used = used() + of_others();
  out->free = out->total - out->used;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* card, unsigned* count, struct Process* list) {
  (void)card;
  const int container = strcmp(behaviour(), "container") == 0;
  usleep((useconds_t)setting("FAKE_NVML_MS", 0) * 1000);
  list[0] = (struct Process){(unsigned)getpid() + (container ? 100000u : 0u), used(), {0, 0}};
  list[1] = (struct Process){1, of_others(), {0, 0}};
  *count = of_others() != 0 ? 2 : 1;
  ++looks;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void* card, unsigned* count, void* list) {
  (void)card, (void)list; // of an older form, without instances
  return *count = 0, 0;
}
// How often somebody was told who uses a card.
int fake_nvml_looks(void) {
  return looks;
}
int fake_nvml_open(void) {
  return open_count;
}
