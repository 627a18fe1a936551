// Purpose: the role of a block, inferred from the framework's function that made it.
#include "analyzer/attribute/role_by_function.h"

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::replay {
namespace {

// Returns the last part of a qualified name: "pack" for "Outer.__init__.<locals>.pack".
std::string_view own_name(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1); // npos + 1 is 0
}

bool fits(std::string_view name, std::string_view wanted) {
  return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1))
                               : wanted.empty() || name == wanted;
}

bool is_in(std::string_view file, std::string_view wanted) {
  return wanted.ends_with('/') ? file.find(wanted) != std::string_view::npos : file.ends_with(wanted);
}

const frameworks::RoleOfFunction* known_as(std::span<const frameworks::RoleOfFunction> functions,
                                           const std::string& file, const std::string& function) {
  for (const frameworks::RoleOfFunction& known : functions)
    if (is_in(file, known.file) && fits(own_name(function), known.function)) return &known;
  return nullptr;
}

} // namespace

Makers::Known Makers::of_code(std::uint32_t id) {
  const auto [at, fresh] = codes_.try_emplace(id, nullptr);
  const trace::Code* const code = fresh ? definitions_.code(format::CodeId{id}) : nullptr;
  if (code != nullptr)
    at->second = known_as(functions_, definitions_.text(code->file), definitions_.text(code->function));
  return at->second;
}

// A stack is a path in a tree of frames. If a frame does not decide the role, its caller does, and the result
// holds for all frames below.
Makers::Known Makers::maker(format::StackId stack) {
  Known known = nullptr;
  std::vector<std::uint32_t> below; // frames whose maker was not known yet
  for (auto id = static_cast<std::uint32_t>(stack); id != 0;) {
    const auto [at, fresh] = stacks_.try_emplace(id, nullptr);
    known = at->second;
    if (!fresh) break; // known already, or the chain is a circle
    below.push_back(id);
    const trace::Definitions::StackNode* const node = definitions_.node(id);
    if (node == nullptr) break;
    if (trace::is_forward_call(node->frame)) break; // the outer frames allocated other memory
    known = node->frame.python ? of_code(format::low(node->frame.value)) : nullptr;
    if (known != nullptr) break;
    id = node->caller;
  }
  if (known == nullptr) return known;
  for (const std::uint32_t id : below) stacks_[id] = known;
  return known;
}

Role Makers::role(format::StackId stack) {
  const Known known = maker(stack);
  return known == nullptr ? Role::unknown : known->role;
}

const char* Makers::name(format::StackId stack) {
  const Known known = maker(stack);
  return known == nullptr ? "" : known->name;
}

} // namespace memtrace::replay
