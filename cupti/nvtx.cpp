// Purpose: records NVTX ranges as phases.
// Runs: on the program's threads, in its NVTX calls.
#include "cupti/nvtx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "cupti/nvtx_names.h"

namespace memtrace::cupti::nvtx {
namespace {

constinit const memtrace_bridge* bridge = nullptr;

// ---- Domains. A library has a domain of its own: CUB has a range for each algorithm, which is not a phase of
// the program. So only the default domain counts, and the domains that MEMTRACE_NVTX_DOMAINS names.

constexpr unsigned kMostWanted = 16;
constinit Domain wanted[kMostWanted] = {};
constinit std::atomic<unsigned> wanted_count{0};
constinit std::atomic<bool> domains_are_read{false};
constinit Name unnamed = {}; // the domain whose name could not be stored

// `list`: names, separated by commas; blanks around a name do not count. Null: none. Each library of the
// program may initialise NVTX on its own; only the first call reads the list.
void read_wanted_domains(const char* list) {
  if (domains_are_read.exchange(true)) return;
  unsigned count = 0;
  while (list != nullptr && *list != '\0' && count < kMostWanted) {
    char one[kMaxName + 1];
    std::size_t bytes = 0;
    for (; *list != '\0' && *list != ','; ++list)
      if (bytes < kMaxName && (bytes != 0 || *list != ' ')) one[bytes++] = *list;
    while (bytes != 0 && one[bytes - 1] == ' ') --bytes;
    one[bytes] = '\0';
    if (*list == ',') ++list;
    if (const Name* const name = name_of(one); name != nullptr) wanted[count++] = const_cast<Name*>(name);
  }
  wanted_count.store(count, std::memory_order_release);
}

bool is_wanted(Domain domain) {
  const auto* const end = wanted + wanted_count.load(std::memory_order_acquire);
  return domain == nullptr || std::find(wanted, const_cast<Domain*>(end), domain) != end;
}
Domain domain_of(const Name* name) {
  return name != nullptr ? const_cast<Name*>(name) : &unnamed;
}

// ---- Pushed ranges: a stack per thread; within it, each domain is independent.

constexpr unsigned kDeepest = 64; // deeper ones are counted, not recorded
struct Pushed {
  Domain domain;
  const Name* name; // null: not recorded
};
thread_local constinit Pushed stack[kDeepest] = {};
thread_local constinit unsigned depth = 0;
thread_local constinit unsigned deeper = 0;

int push(Domain domain, const Name* name) {
  if (depth == kDeepest) return ++deeper, kNotTracked;
  stack[depth++] = {domain, name};
  if (name != nullptr) bridge->phase_begin(name->text, name->bytes);
  return kNotTracked;
}

int pop(Domain domain) {
  if (deeper != 0) return --deeper, kNotTracked;
  for (unsigned i = depth; i-- > 0;) {
    if (stack[i].domain != domain) continue;
    const Name* const name = stack[i].name;
    for (unsigned above = i + 1; above < depth; ++above) stack[above - 1] = stack[above];
    --depth;
    if (name != nullptr) bridge->phase_end(name->text, name->bytes);
    break;
  }
  return kNotTracked;
}

// ---- Started ranges may end on another thread. A phase belongs to one thread. If its range ended on another,
// the phase ends at the next NVTX call of its own thread.

constexpr unsigned kMostStarted = 256;
enum NvtxState : std::uint32_t { kFree, kTaken, kOpen, kEnded };
struct Started {
  std::atomic<std::uint32_t> state{kFree};
  std::uint32_t round = 0; // so that each id is used once
  int thread = 0;
  const Name* name = nullptr;
};
constinit Started started[kMostStarted];
thread_local constinit int own_id = 0;
thread_local constinit unsigned open_here = 0;

int this_thread() {
  if (own_id == 0) own_id = static_cast<int>(syscall(SYS_gettid)); // gettid() came with glibc 2.30
  return own_id;
}

void finish(Started& range) {
  const Name* const name = range.name;
  --open_here;
  range.state.store(kFree, std::memory_order_release);
  if (name != nullptr) bridge->phase_end(name->text, name->bytes);
}

void finish_ended_elsewhere() {
  if (open_here == 0) return;
  for (Started& range : started)
    if (range.state.load(std::memory_order_acquire) == kEnded && range.thread == this_thread()) finish(range);
}

std::uint64_t start(const Name* name) {
  finish_ended_elsewhere();
  for (unsigned i = 0; i < kMostStarted; ++i) {
    Started& range = started[i];
    std::uint32_t free_state = kFree;
    if (!range.state.compare_exchange_strong(free_state, kTaken, std::memory_order_acquire)) continue;
    range.thread = this_thread();
    range.name = name;
    const std::uint64_t id = std::uint64_t{++range.round} << 16 | (i + 1);
    ++open_here;
    if (name != nullptr) bridge->phase_begin(name->text, name->bytes);
    range.state.store(kOpen, std::memory_order_release);
    return id;
  }
  return 0; // the result without a tool
}

void end(std::uint64_t id) {
  finish_ended_elsewhere();
  const std::uint64_t index = (id & 0xFFFF) - 1;
  if (index >= kMostStarted) return;
  Started& range = started[index];
  std::uint32_t open = kOpen;
  if (range.round != static_cast<std::uint32_t>(id >> 16) ||
      !range.state.compare_exchange_strong(open, kEnded, std::memory_order_acq_rel))
    return;
  if (range.thread == this_thread()) finish(range);
}

// ---- The functions that the program calls

const Name* message_of(const Attributes* attributes) {
  if (attributes == nullptr || attributes->size < sizeof(Attributes)) return nullptr;
  switch (attributes->message_type) {
    case kAscii:
      return name_of(static_cast<const char*>(attributes->message));
    case kUnicode:
      return name_of(static_cast<const wchar_t*>(attributes->message));
    case kRegistered:
      return name_of_handle(attributes->message);
    default:
      return nullptr;
  }
}

int push_ex(const Attributes* attributes) {
  return push(nullptr, message_of(attributes));
}
int push_ascii(const char* text) {
  return push(nullptr, name_of(text));
}
int push_wide(const wchar_t* text) {
  return push(nullptr, name_of(text));
}
int pop_default() {
  return pop(nullptr);
}
std::uint64_t start_ex(const Attributes* attributes) {
  return start(message_of(attributes));
}
std::uint64_t start_ascii(const char* text) {
  return start(name_of(text));
}
std::uint64_t start_wide(const wchar_t* text) {
  return start(name_of(text));
}
int domain_push(Domain domain, const Attributes* attributes) {
  return is_wanted(domain) ? push(domain, message_of(attributes)) : kNotTracked;
}
int domain_pop(Domain domain) {
  return is_wanted(domain) ? pop(domain) : kNotTracked;
}
std::uint64_t domain_start(Domain domain, const Attributes* attributes) {
  return is_wanted(domain) ? start(message_of(attributes)) : 0;
}
void domain_end(Domain, std::uint64_t id) {
  end(id);
}
// Only the handle identifies a domain, so the address of its name is enough.
Domain domain_ascii(const char* text) {
  return domain_of(name_of(text));
}
Domain domain_wide(const wchar_t* text) {
  return domain_of(name_of(text));
}
String string_ascii(Domain, const char* text) {
  return const_cast<Name*>(name_of(text));
}
String string_wide(Domain, const wchar_t* text) {
  return const_cast<Name*>(name_of(text));
}

struct Replacement {
  unsigned index;
  CallbackPointer function;
};
template <class F>
CallbackPointer any(F* function) {
  return reinterpret_cast<CallbackPointer>(function);
}

template <std::size_t N>
bool fill(const Callbacks& callbacks, CallbackModule module, const Replacement (&entries)[N]) {
  CallbackTable table = nullptr;
  unsigned size = 0;
  if (callbacks.module_table(module, &table, &size) == 0 || table == nullptr) return false;
  for (const Replacement& entry : entries)
    if (entry.index < size && table[entry.index] != nullptr) *table[entry.index] = entry.function;
  return true;
}

} // namespace

bool attach(const memtrace_bridge* to, GetExportTable get) {
  const auto* const callbacks = static_cast<const Callbacks*>(get(kCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks || callbacks->module_table == nullptr)
    return false;
  bridge = to;
  const std::size_t known = offsetof(memtrace_bridge, nvtx_domains) + sizeof to->nvtx_domains;
  read_wanted_domains(to->bytes >= known ? to->nvtx_domains() : nullptr);
  const Replacement core[] = {{kRangeStartEx, any(&start_ex)},  {kRangeStartA, any(&start_ascii)},
                              {kRangeStartW, any(&start_wide)}, {kRangeEnd, any(&end)},
                              {kRangePushEx, any(&push_ex)},    {kRangePushA, any(&push_ascii)},
                              {kRangePushW, any(&push_wide)},   {kRangePop, any(&pop_default)}};
  const Replacement core2[] = {
      {kDomainRangeStartEx, any(&domain_start)},    {kDomainRangeEnd, any(&domain_end)},
      {kDomainRangePushEx, any(&domain_push)},      {kDomainRangePop, any(&domain_pop)},
      {kDomainRegisterStringA, any(&string_ascii)}, {kDomainRegisterStringW, any(&string_wide)},
      {kDomainCreateA, any(&domain_ascii)},         {kDomainCreateW, any(&domain_wide)}};
  return fill(*callbacks, kCore, core) && fill(*callbacks, kCore2, core2);
}

} // namespace memtrace::cupti::nvtx
