// Purpose: the role of device memory that no framework's allocator requested, inferred from the library that
// requested it.
#include "analyzer/attribute/role_by_library.h"

#include <string>
#include <vector>

namespace memtrace::replay {
namespace {

// The beginnings of file names. Libraries of kPassOn only forward a call, so their callers decide. CUPTI is in
// the stack if its callbacks report the memory.
constexpr const char* kPassOn[] = {"libmemtrace", "libcudart", "libcuda.", "libcupti"};
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

// Returns the file name of the module that was mapped there last. Returns "" if none is known.
std::string Askers::library_at(std::uint64_t address) const {
  const trace::Module* const found = modules_.at(address);
  if (found == nullptr) return {};
  const std::string& path = definitions_.text(found->path);
  return path.substr(path.rfind('/') + 1);
}

// Returns the role by the library of a frame. Returns nullopt if the library only forwards calls.
std::optional<Role> Askers::of_frame(const trace::Frame& frame) const {
  if (frame.python) return Role::unknown;
  const std::string library = library_at(frame.value);
  if (begins(library, kPassOn)) return std::nullopt;
  return begins(library, kComm) ? Role::comm : begins(library, kWorkspace) ? Role::workspace : Role::unknown;
}

// A stack is a path in a tree of frames. If a frame does not decide the role, its caller does, and the result
// holds for all frames below.
Role Askers::role(format::StackId stack) {
  Role role = Role::unknown;
  std::vector<std::uint32_t> below; // frames whose role was not known yet
  for (auto id = static_cast<std::uint32_t>(stack); id != 0;) {
    const auto [at, fresh] = known_.try_emplace(id, Role::unknown);
    role = at->second;
    if (!fresh) break; // known already, or the chain is a circle
    below.push_back(id);
    const trace::Definitions::StackNode* const node = definitions_.node(id);
    if (node == nullptr) break;
    if (trace::is_forward_call(node->frame)) break; // the outer frames allocated other memory
    const auto said = of_frame(node->frame);
    role = said.value_or(Role::unknown);
    if (said) break;
    id = node->caller;
  }
  if (role == Role::unknown) return role;
  for (const std::uint32_t id : below) known_[id] = role;
  return role;
}

} // namespace memtrace::replay
