// Purpose: the role of a block, inferred from the framework's function that made it.
#include "analyzer/attribute/role_by_function.h"

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::replay {
namespace {

// A function that makes memory of one role, itself or in its callees. `function` is a name, the beginning of a
// name ("all_gather*"), or empty for every function of the file. The innermost frame that matches a line
// decides, by the first such line.
struct RoleOfFunction {
  std::string_view file;
  std::string_view function;
  Role role;
};

constexpr RoleOfFunction kMakers[] = {
    // A module is imported when it is first needed, so its memory does not have the role of its caller.
    {"<frozen importlib._bootstrap>", "", Role::unknown},
    // DistributedDataParallel: the Reducer's buckets, made with it and made again after the first backward.
    {"/torch/nn/parallel/distributed.py", "_ddp_init_helper", Role::comm},
    {"/torch/nn/parallel/distributed.py", "_pre_forward", Role::comm},
    {"/torch/distributed/utils.py", "_sync_module_states", Role::comm},
    {"/torch/distributed/utils.py", "_to_kwargs", Role::input},
    // Collectives. The tensors that they fill belong to the program and are labelled.
    {"/torch/distributed/distributed_c10d.py", "all_gather_object", Role::gathered},
    {"/torch/distributed/distributed_c10d.py", "gather_object", Role::gathered},
    {"/torch/distributed/distributed_c10d.py", "", Role::comm},
    {"/torch/distributed/_functional_collectives.py", "all_gather*", Role::gathered},
    {"/torch/distributed/tensor/_api.py", "full_tensor", Role::gathered},
    {"/torch/distributed/_state_dict_utils.py", "_gather_state_dict", Role::gathered},
    {"/torch/distributed/_state_dict_utils.py", "_all_gather_sharded_tensor", Role::gathered},
    // FSDP2: parameters of all ranks for a layer's forward or backward; gradients that are being reduced.
    {"_fsdp_collectives.py", "_get_param_all_gather_inputs", Role::comm},
    {"_fsdp_collectives.py", "foreach_all_gather*", Role::gathered},
    {"_fsdp_collectives.py", "foreach_reduce", Role::comm},
    {"_fsdp_param.py", "init_all_gather_outputs", Role::gathered},
    {"_fsdp_param.py", "alloc_all_gather_outputs", Role::gathered},
    // FSDP1: parameters of all ranks; gradients that are being reduced.
    {"/fsdp/_flat_param.py", "_alloc_padded_unsharded_flat_param", Role::gathered},
    {"/fsdp/_runtime_utils.py", "_reduce_grad", Role::comm},
    // DeepSpeed: gradients that are being reduced; ZeRO-3's parameters of all ranks.
    {"/deepspeed/runtime/zero/stage_1_and_2.py", "setup_buckets", Role::comm},
    {"/deepspeed/runtime/zero/stage3.py", "__avg_scatter*", Role::comm},
    {"/deepspeed/runtime/zero/partition_parameters.py", "_all_gather*", Role::gathered},
    {"/deepspeed/runtime/zero/partition_parameters.py", "_allgather*", Role::gathered},
    {"/deepspeed/runtime/comm/coalesced_collectives.py", "", Role::comm},
    // Saved tensors that were offloaded to the host.
    {"/torch/autograd/graph.py", "pack_to_cpu", Role::activation},
    // Checkpoints: copies that are written later, and the bytes that are written.
    {"/torch/distributed/_state_dict_utils.py", "_offload_state_dict_to_cpu", Role::staging},
    {"/torch/distributed/_state_dict_utils.py", "_copy_state_dict", Role::staging},
    {"/torch/distributed/_state_dict_utils.py", "_create_cpu_state_dict", Role::staging},
    {"/torch/distributed/checkpoint/_state_dict_stager.py", "", Role::staging},
    {"/torch/distributed/checkpoint/staging.py", "", Role::staging},
    {"/torch/distributed/checkpoint/filesystem.py", "", Role::checkpoint},
    {"/torch/serialization.py", "save", Role::checkpoint},
    {"/safetensors/torch.py", "save*", Role::checkpoint},
    // The keys and values that a model retains for earlier tokens.
    {"/transformers/cache_utils.py", "", Role::kv_cache},
};

// Returns the last part of a qualified name: "pack" for "Outer.__init__.<locals>.pack".
std::string_view own_name(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1); // npos + 1 is 0
}

bool fits(std::string_view name, std::string_view wanted) {
  return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1))
                               : wanted.empty() || name == wanted;
}

std::optional<Role> maker(const std::string& file, const std::string& function) {
  for (const RoleOfFunction& known : kMakers)
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
