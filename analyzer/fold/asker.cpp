// Room: fold. Pure: ids in, numbers out.
// Job: what memory of a device is for that no framework's allocator asked for, told from the library that did.
#include "fold/asker.h"

#include <string>

namespace memtrace::fold {
namespace {

// The beginnings of file names. What only passes a call on is looked through.
constexpr const char* kPassOn[] = {"libmemtrace", "libcudart", "libcuda."};
constexpr const char* kComm[] = {"libnccl", "libnvshmem"};
constexpr const char* kWorkspace[] = {"libcublas", "libcudnn",  "libcusolver", "libcusparse",
                                      "libcufft",  "libcurand", "libcutensor"};

template <std::size_t N>
bool begins(const std::string& name, const char* const (&with)[N]) {
  for (const char* begin : with)
    if (name.starts_with(begin)) return true;
  return false;
}

} // namespace

// The file's name of the module mapped there last; empty: none is known.
std::string Askers::library_at(std::uint64_t address) const {
  const trace::Module* found = nullptr;
  for (const trace::Module& module : definitions_.modules())
    if (address >= module.first && address - module.first < module.pages * page_bytes_) found = &module;
  if (found == nullptr) return {};
  const std::string path = definitions_.text(found->path);
  return path.substr(path.rfind('/') + 1);
}

Role Askers::look(format::StackId stack) const {
  for (const trace::Frame& frame : definitions_.frames(stack)) {
    if (frame.python) return Role::unknown;
    const std::string library = library_at(frame.value);
    if (begins(library, kPassOn)) continue;
    return begins(library, kComm) ? Role::comm : begins(library, kWorkspace) ? Role::workspace : Role::unknown;
  }
  return Role::unknown;
}

Role Askers::role(format::StackId stack) {
  const auto [at, fresh] = known_.try_emplace(static_cast<std::uint32_t>(stack));
  if (fresh) at->second = look(stack);
  return at->second;
}

} // namespace memtrace::fold
