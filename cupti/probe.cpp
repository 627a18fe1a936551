// Purpose: tests which parts of driver, CUPTI and NVML work here.
// Runs: in a process that `memtrace doctor` starts.
#include "cupti/probe.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "cupti/driver.h"
#include "cupti/loader_calls.h"
#include "cupti/nvml.h"
#include "cupti/subscriber.h"
#include "cupti/text.h"

namespace memtrace::cupti {
namespace {

void ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// In a traced program, memtrace subscribes inside cuInit, where the driver calls InitializeInjection. So does
// the probe. A probe that subscribed after cuInit was refused with error 999 on a machine where traced programs
// had a subscription.
constinit bool in_probe = false;
constinit bool subscribed_in_init = false;
Subscription& subscription() {
  static Subscription one;
  return one;
}

void name_this_library_to_the_driver() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&ignore), &own) != 0 && own.dli_fname != nullptr)
    setenv("CUDA_INJECTION64_PATH", own.dli_fname, 0); // another tool keeps the place, as in a run
}

void print_line(const char* what, bool works, const char* text) {
  BoundedText line;
  line.add(works ? "1" : "0").add(what).add("\t").add(text);
  for (const BoundedText& part : {line, BoundedText().add("\n")}) { // the end of a long line is cut off
    const ssize_t written = write(STDOUT_FILENO, part.text(), part.size());
    static_cast<void>(written);
  }
}

template <class F>
void find(void* library, const char* name, F* out) {
  void* const symbol = dlsym(library, name);
  if (symbol != nullptr) std::memcpy(out, &symbol, sizeof symbol);
}

void add_version(BoundedText& text, int version) {
  text.add(static_cast<std::uint64_t>(version / 1000))
      .add(".")
      .add(static_cast<std::uint64_t>(version % 1000 / 10));
}

bool probe_driver() {
  BoundedText text;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) {
    print_line(
        "driver", false,
        text.add("libcuda.so.1 is not found: no NVIDIA driver here, so memtrace records host memory alone")
            .text());
    return false;
  }
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  find(library, "cuInit", &init);
  find(library, "cuDriverGetVersion", &version);
  find(library, "cuDeviceGetCount", &count);
  int supports = 0, devices = 0;
  if (version != nullptr) version(&supports);
  name_this_library_to_the_driver();
  const int result = init != nullptr ? init(0) : -1;
  if (result == 0 && count != nullptr) count(&devices);
  text.add("libcuda.so.1");
  if (supports != 0) add_version(text.add(", CUDA "), supports);
  if (result != 0) {
    text.add(", cuInit gives error ").add(static_cast<std::uint64_t>(result));
  } else {
    text.add(", devices: ").add(static_cast<std::uint64_t>(devices));
  }
  print_line("driver", result == 0 && devices > 0, text.text());
  return result == 0;
}

void probe_cupti() {
  Subscription& one = subscription();
  if (!subscribed_in_init) one = subscribe(&ignore);
  BoundedText text;
  const bool works = one.standing == Standing::active;
  if (works) {
    text.add("can subscribe");
    if (one.library.subscribe_v2 == nullptr) text.add(" (cuptiSubscribe: this one cannot name a holder)");
    text.add(", ").add(one.library.path).add(" version ").add(one.library.version);
    unsubscribe(one);
  } else {
    describe(one, text);
  }
  print_line("CUPTI", works, text.text());
}

void probe_nvml() {
  const Nvml nvml(true);
  BoundedText text;
  if (!nvml) {
    text.add(nvml.why_not()).add(": what a card shows is asked of cuMemGetInfo, for all processes together");
    print_line("NVML", false, text.text());
    return;
  }
  char name[96] = {};
  if (nvml.driver_version(name, sizeof name)) text.add("driver ").add(name).add(", ");
  text.add("cards: ").add(std::uint64_t{nvml.cards()});
  for (unsigned i = 0; i < nvml.cards() && i < 8; ++i)
    if (nvml.card_name(i, name, sizeof name)) text.add(i == 0 ? " (" : ", ").add(name);
  if (nvml.cards() != 0) text.add(")");
  print_line("NVML", true, text.text());
}

} // namespace

bool subscribe_as_probe() {
  if (!in_probe) return false;
  if (subscribed_in_init) return true;
  subscribed_in_init = true;
  subscription() = subscribe(&ignore);
  return true;
}

void probe() {
  in_probe = true;
  if (!probe_driver()) return; // CUPTI and NVML fail for the same reason
  probe_cupti();
  probe_nvml();
}

} // namespace memtrace::cupti
