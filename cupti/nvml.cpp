// Purpose: queries a GPU's memory and its processes by NVML, which is opened at run time.
// Runs: at safe points, and in the doctor.
#include "cupti/nvml.h"

#include <unistd.h>

#include <cstring>

#include "cupti/loader_calls.h"

namespace memtrace::cupti {
namespace {

// nvml.h is not part of the toolkit: these types are NVML's ABI.
using NvmlDevice = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 { // has the driver's reserved bytes apart from the used ones
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used; // all ones: not known
  unsigned instance[2];
};
constexpr int kSuccess = 0;
constexpr int kNoLibrary = -1;
constexpr int kTooSmall = 7;      // NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned kNoAttach = 2; // NVML_INIT_FLAG_NO_ATTACH: other GPUs stay asleep
constexpr unsigned kMostProcesses = 256;

struct NvmlFunctions {
  int (*init)(unsigned);
  int (*init_all)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*by_uuid)(const char*, NvmlDevice*);
  int (*by_index)(unsigned, NvmlDevice*);
  int (*name)(NvmlDevice, char*, unsigned);
  int (*driver)(char*, unsigned);
  int (*memory)(NvmlDevice, Memory*);
  int (*memory_v2)(NvmlDevice, MemoryV2*);
  int (*processes)(NvmlDevice, unsigned*, NvmlProcess*);
};
constinit NvmlFunctions nvml{};
constinit void* library = nullptr;

template <class F>
void find(const char* symbol, F* out) {
  void* const address = dlsym(library, symbol);
  if (address != nullptr) std::memcpy(out, &address, sizeof address);
}

// Opens NVML once, and never closes it: loading it for each query costs more than keeping it.
bool open_library() {
  if (library != nullptr) return nvml.shutdown != nullptr;
  library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    dlerror();
    return false;
  }
  find("nvmlInitWithFlags", &nvml.init);
  find("nvmlInit_v2", &nvml.init_all);
  find("nvmlDeviceGetCount_v2", &nvml.count);
  find("nvmlDeviceGetHandleByUUID", &nvml.by_uuid);
  find("nvmlDeviceGetHandleByIndex_v2", &nvml.by_index);
  find("nvmlDeviceGetName", &nvml.name);
  find("nvmlSystemGetDriverVersion", &nvml.driver);
  find("nvmlDeviceGetMemoryInfo", &nvml.memory);
  find("nvmlDeviceGetMemoryInfo_v2", &nvml.memory_v2);
  find("nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes);
  find("nvmlShutdown", &nvml.shutdown);
  dlerror();
  return nvml.shutdown != nullptr;
}

int begin(bool all) {
  if (!open_library()) return kNoLibrary;
  if (nvml.init != nullptr) return nvml.init(all ? 0 : kNoAttach);
  return nvml.init_all != nullptr ? nvml.init_all() : kNoLibrary;
}

// "GPU-8c5d4f3e-...", as nvidia-smi prints it.
void uuid_text(const std::uint8_t (&uuid)[16], char (&out)[48]) {
  char* at = out;
  for (const char* prefix = "GPU-"; *prefix != '\0'; ++prefix) *at++ = *prefix;
  for (unsigned i = 0; i < sizeof uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    *at++ = "0123456789abcdef"[uuid[i] >> 4];
    *at++ = "0123456789abcdef"[uuid[i] & 15];
  }
  *at = '\0';
}

void memory_of(NvmlDevice card, CardUse* out) {
  if (MemoryV2 memory{}; nvml.memory_v2 != nullptr) {
    memory.version = static_cast<unsigned>(sizeof memory) | 2u << 24;
    if (nvml.memory_v2(card, &memory) == kSuccess) {
      out->card = memory.used;
      out->total = memory.total;
      return;
    }
  }
  if (Memory memory{}; nvml.memory != nullptr && nvml.memory(card, &memory) == kSuccess) {
    out->card = memory.used;
    out->total = memory.total;
  }
}

void processes_of(NvmlDevice card, CardUse* out) {
  if (nvml.processes == nullptr) return;
  static NvmlProcess list[kMostProcesses]; // only one thread at a time is in here
  unsigned count = kMostProcesses;
  const int result = nvml.processes(card, &count, list);
  if (result != kSuccess && result != kTooSmall) return;
  const auto own = static_cast<unsigned>(getpid());
  std::uint64_t others_used = 0;
  for (unsigned i = 0; i < count && i < kMostProcesses; ++i) {
    if (list[i].pid == own) {
      out->process = list[i].used;
      continue;
    }
    ++out->others;
    if (list[i].used != kNotSaid) others_used += list[i].used;
  }
  out->others_used = others_used;
}

} // namespace

Nvml::Nvml(bool all) : result_(begin(all)) {}

Nvml::~Nvml() {
  if (result_ == kSuccess) nvml.shutdown();
}

const char* Nvml::why_not() const {
  switch (result_) {
    case kSuccess:
      return nullptr;
    case kNoLibrary:
      return "libnvidia-ml.so.1 is not found";
    case 4:
      return "no permission to use the driver";
    case 9:
      return "the driver is not loaded";
    case 18:
      return "library and driver are of different versions";
    default:
      return "it cannot be initialised";
  }
}

bool Nvml::use_of(const std::uint8_t (&uuid)[16], CardUse* out) const {
  if (result_ != kSuccess || nvml.by_uuid == nullptr) return false;
  char text[48];
  uuid_text(uuid, text);
  NvmlDevice card = nullptr;
  if (nvml.by_uuid(text, &card) != kSuccess) return false;
  memory_of(card, out);
  processes_of(card, out);
  return out->card != kNotSaid || out->process != kNotSaid;
}

unsigned Nvml::cards() const {
  unsigned count = 0;
  return result_ == kSuccess && nvml.count != nullptr && nvml.count(&count) == kSuccess ? count : 0;
}

bool Nvml::card_name(unsigned index, char* out, unsigned bytes) const {
  NvmlDevice card = nullptr;
  return result_ == kSuccess && nvml.by_index != nullptr && nvml.name != nullptr &&
         nvml.by_index(index, &card) == kSuccess && nvml.name(card, out, bytes) == kSuccess;
}

bool Nvml::driver_version(char* out, unsigned bytes) const {
  return result_ == kSuccess && nvml.driver != nullptr && nvml.driver(out, bytes) == kSuccess;
}

} // namespace memtrace::cupti
