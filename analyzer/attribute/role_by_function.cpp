// Purpose: the role of a block, inferred from the framework's function that made it.
#include "analyzer/attribute/role_by_function.h"

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/frameworks/function_names.h"

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

std::optional<Role> maker(const std::string& file, const std::string& function) {
  for (const frameworks::RoleOfFunction& known : frameworks::kRolesOfFunctions)
    if (file.ends_with(known.file) && fits(own_name(function), known.function)) return known.role;
  return std::nullopt;
}

} // namespace

std::optional<Role> Makers::of_code(std::uint32_t id) {
  const auto [at, fresh] = codes_.try_emplace(id);
  const trace::Code* const code = fresh ? definitions_.code(format::CodeId{id}) : nullptr;
  if (code != nullptr) at->second = maker(definitions_.text(code->file), definitions_.text(code->function));
  return at->second;
}

// A stack is a path in a tree of frames. If a frame does not decide the role, its caller does, and the result
// holds for all frames below.
Role Makers::role(format::StackId stack) {
  Role role = Role::unknown;
  std::vector<std::uint32_t> below; // frames whose role was not known yet
  for (auto id = static_cast<std::uint32_t>(stack); id != 0;) {
    const auto [at, fresh] = stacks_.try_emplace(id, Role::unknown);
    role = at->second;
    if (!fresh) break; // known already, or the chain is a circle
    below.push_back(id);
    const trace::Definitions::StackNode* const node = definitions_.node(id);
    if (node == nullptr) break;
    if (trace::is_forward_call(node->frame)) break; // the outer frames allocated other memory
    const auto said = node->frame.python ? of_code(format::low(node->frame.value)) : std::nullopt;
    role = said.value_or(Role::unknown);
    if (said) break;
    id = node->caller;
  }
  if (role == Role::unknown) return role;
  for (const std::uint32_t id : below) stacks_[id] = role;
  return role;
}

} // namespace memtrace::replay
