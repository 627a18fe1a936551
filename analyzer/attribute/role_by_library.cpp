// Purpose: the role of device memory that no framework's allocator requested, inferred from the library that
// requested it.
#include "analyzer/attribute/role_by_library.h"

#include <string>
#include <vector>

#include "preload/format/passing_libraries.h"

namespace memtrace::replay {
namespace {

template <std::size_t N>
bool begins(const std::string& name, const char* const (&with)[N]) {
  for (const char* begin : with)
    if (name.starts_with(begin)) return true;
  return false;
}

} // namespace

constexpr Askers::AskingLibrary Askers::kLibraries[] = {
    {"libnccl", "NCCL", Role::comm},
    {"libnvshmem", "NVSHMEM", Role::comm},
    {"libcublasLt", "cuBLASLt", Role::workspace},
    {"libcublas", "cuBLAS", Role::workspace},
    {"libcudnn", "cuDNN", Role::workspace},
    {"libcusolver", "cuSOLVER", Role::workspace},
    {"libcusparse", "cuSPARSE", Role::workspace}, // and cuSPARSELt
    {"libcufft", "cuFFT", Role::workspace},
    {"libcurand", "cuRAND", Role::workspace},
    {"libcutensor", "cuTENSOR", Role::workspace},
    {"libtransformer_engine", "TransformerEngine", Role::workspace},
};

// Returns the file name of the module that was mapped there last. Returns "" if none is known.
std::string Askers::library_at(std::uint64_t address) const {
  const trace::Module* const found = modules_.at(address);
  if (found == nullptr) return {};
  const std::string& path = definitions_.text(found->path);
  return path.substr(path.rfind('/') + 1);
}

std::optional<const Askers::AskingLibrary*> Askers::of_frame(const trace::Frame& frame) const {
  if (frame.python) return nullptr;
  const std::string library = library_at(frame.value);
  if (begins(library, format::kPassingLibraries)) return std::nullopt;
  for (const AskingLibrary& known : kLibraries)
    if (library.starts_with(known.file)) return &known;
  return nullptr;
}

// A stack is a path in a tree of frames. If a frame does not decide, its caller does, and the result holds for
// all frames below.
const Askers::AskingLibrary* Askers::asker(format::StackId stack) {
  const AskingLibrary* found = nullptr;
  std::vector<std::uint32_t> below; // frames whose library was not known yet
  for (auto id = static_cast<std::uint32_t>(stack); id != 0;) {
    const auto [at, fresh] = known_.try_emplace(id, nullptr);
    found = at->second;
    if (!fresh) break; // known already, or the chain is a circle
    below.push_back(id);
    const trace::Definitions::StackNode* const node = definitions_.node(id);
    if (node == nullptr) break;
    if (trace::is_forward_call(node->frame)) break; // the outer frames allocated other memory
    const auto said = of_frame(node->frame);
    found = said.value_or(nullptr);
    if (said) break;
    id = node->caller;
  }
  if (found == nullptr) return found;
  for (const std::uint32_t id : below) known_[id] = found;
  return found;
}

Role Askers::role(format::StackId stack) {
  const AskingLibrary* const found = asker(stack);
  return found == nullptr ? Role::unknown : found->role;
}

const char* Askers::name(format::StackId stack) {
  const AskingLibrary* const found = asker(stack);
  return found == nullptr ? "" : found->name;
}

} // namespace memtrace::replay
