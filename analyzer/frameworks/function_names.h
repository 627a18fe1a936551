// Purpose: the names of files and functions of PyTorch and its kin that memtrace knows.
//
// No other file of the analyzer has such a name. If a version of a framework renames something, add the new
// name here and leave the old one: a trace may come from any version.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/replay/roles.h"

namespace memtrace::frameworks {

// ---- roles -------------------------------------------------------------------------------------------------

// A function that makes memory of one role, itself or in its callees. `file` is the end of a path, or a folder
// if it ends with '/'. `function` is a name, the beginning of a name ("all_gather*"), or empty for every
// function of the file. The innermost frame that matches a line decides, by the first such line.
struct RoleOfFunction {
  std::string_view file;
  std::string_view function;
  replay::Role role;
  const char* name = ""; // what the memory is, if a role alone does not tell: "DeepSpeed swap buffer"
};

inline constexpr char kSwap[] = "DeepSpeed swap buffer";
inline constexpr char kOffload[] = "DeepSpeed offload buffer";
inline constexpr char kEngine[] = "TransformerEngine workspace";
inline constexpr char kAdapter[] = "PEFT adapter";
inline constexpr char kPacked[] = "packed weight of torch.ao";

inline constexpr RoleOfFunction kRolesOfFunctions[] = {
    // A module is imported when it is first needed, so its memory does not have the role of its caller.
    {"<frozen importlib._bootstrap>", "", replay::Role::unknown},
    // DistributedDataParallel: the Reducer's buckets, made with it and made again after the first backward.
    {"/torch/nn/parallel/distributed.py", "_ddp_init_helper", replay::Role::comm},
    {"/torch/nn/parallel/distributed.py", "_pre_forward", replay::Role::comm},
    {"/torch/distributed/utils.py", "_sync_module_states", replay::Role::comm},
    {"/torch/distributed/utils.py", "_to_kwargs", replay::Role::input},
    // Collectives. The tensors that they fill belong to the program and are labelled.
    {"/torch/distributed/distributed_c10d.py", "all_gather_object", replay::Role::gathered},
    {"/torch/distributed/distributed_c10d.py", "gather_object", replay::Role::gathered},
    {"/torch/distributed/distributed_c10d.py", "", replay::Role::comm},
    {"/torch/distributed/_functional_collectives.py", "all_gather*", replay::Role::gathered},
    {"/torch/distributed/tensor/_api.py", "full_tensor", replay::Role::gathered},
    {"/torch/distributed/_state_dict_utils.py", "_gather_state_dict", replay::Role::gathered},
    {"/torch/distributed/_state_dict_utils.py", "_all_gather_sharded_tensor", replay::Role::gathered},
    // FSDP2: parameters of all ranks for a layer's forward or backward; gradients that are being reduced.
    {"_fsdp_collectives.py", "_get_param_all_gather_inputs", replay::Role::comm},
    {"_fsdp_collectives.py", "foreach_all_gather*", replay::Role::gathered},
    {"_fsdp_collectives.py", "foreach_reduce", replay::Role::comm},
    {"_fsdp_param.py", "init_all_gather_outputs", replay::Role::gathered},
    {"_fsdp_param.py", "alloc_all_gather_outputs", replay::Role::gathered},
    // FSDP1: parameters of all ranks; gradients that are being reduced.
    {"/fsdp/_flat_param.py", "_alloc_padded_unsharded_flat_param", replay::Role::gathered},
    {"/fsdp/_runtime_utils.py", "_reduce_grad", replay::Role::comm},
    // DeepSpeed: gradients that are being reduced; ZeRO-3's parameters of all ranks.
    {"/deepspeed/runtime/zero/stage_1_and_2.py", "setup_buckets", replay::Role::comm},
    {"/deepspeed/runtime/zero/stage3.py", "__avg_scatter*", replay::Role::comm},
    {"/deepspeed/runtime/zero/partition_parameters.py", "_all_gather*", replay::Role::gathered},
    {"/deepspeed/runtime/zero/partition_parameters.py", "_allgather*", replay::Role::gathered},
    {"/deepspeed/runtime/comm/coalesced_collectives.py", "", replay::Role::comm},
    // DeepSpeed: buffers through which ZeRO-Infinity swaps with files, and state that was moved to the host.
    // Activations that a checkpoint divides among the ranks or moves to the host, and those between the stages
    // of a pipeline.
    {"/deepspeed/runtime/swap_tensor/", "", replay::Role::staging, kSwap},
    {"/deepspeed/runtime/zero/offload_states.py", "offload_*", replay::Role::optimizer_state, kOffload},
    {"/deepspeed/runtime/zero/stage3.py", "offload_states", replay::Role::staging, kOffload},
    {"/deepspeed/runtime/zero/stage_1_and_2.py", "offload_states", replay::Role::staging, kOffload},
    {"/deepspeed/runtime/activation_checkpointing/checkpointing.py", "partition_activations",
     replay::Role::activation, "DeepSpeed partitioned activation"},
    {"/deepspeed/runtime/utils.py", "copy_to_device", replay::Role::activation,
     "DeepSpeed offloaded activation"},
    {"/deepspeed/runtime/activation_checkpointing/offload_activations.py", "", replay::Role::activation,
     "DeepSpeed offloaded activation"},
    {"/deepspeed/runtime/pipe/engine.py", "_allocate_*", replay::Role::comm, "DeepSpeed pipeline buffer"},
    // TransformerEngine: workspaces for cuBLAS, buffers of its own communication, activations on the host.
    {"/transformer_engine/pytorch/module/base.py", "get_workspace", replay::Role::workspace, kEngine},
    {"/transformer_engine/pytorch/module/base.py", "get_multi_stream_cublas_workspace", replay::Role::workspace,
     kEngine},
    {"/transformer_engine/pytorch/cpp_extensions/gemm.py", "get_cublas_workspace*", replay::Role::workspace,
     kEngine},
    {"/transformer_engine/pytorch/module/base.py", "initialize_ub", replay::Role::comm,
     "TransformerEngine userbuffers"},
    {"/transformer_engine/pytorch/module/base.py", "add_ub", replay::Role::comm,
     "TransformerEngine userbuffers"},
    {"/transformer_engine/pytorch/cpu_offload.py", "", replay::Role::activation,
     "TransformerEngine offloaded activation"},
    {"/transformer_engine/pytorch/cpu_offload_v1.py", "", replay::Role::activation,
     "TransformerEngine offloaded activation"},
    // torchtune and TRL: saved tensors that were offloaded to the host, and came back.
    {"/torchtune/training/_activation_offloading.py", "pack_tensor", replay::Role::activation,
     "torchtune offloaded activation"},
    {"/torchtune/training/_activation_offloading.py", "unpack_tensor*", replay::Role::activation,
     "torchtune reloaded activation"},
    {"/trl/models/activation_offloading.py", "pack_tensor", replay::Role::activation,
     "TRL offloaded activation"},
    {"/trl/models/activation_offloading.py", "unpack_tensor*", replay::Role::activation,
     "TRL reloaded activation"},
    // PEFT: what it adds to a layer. The weights of a layer that torch.ao packed for its kernels.
    // An initialisation from the model's own weights has temporaries.
    {"/peft/tuners/", "reset_lora_parameters", replay::Role::unknown},
    {"/peft/tuners/", "pissa_init", replay::Role::unknown},
    {"/peft/tuners/", "corda_init", replay::Role::unknown},
    {"/peft/tuners/", "olora_init", replay::Role::unknown},
    {"/peft/tuners/", "loftq_init", replay::Role::unknown},
    {"/peft/tuners/", "update_layer", replay::Role::parameter, kAdapter},
    {"/torch/ao/nn/quantized/modules/linear.py", "set_weight_bias", replay::Role::parameter, kPacked},
    {"/torch/ao/nn/quantized/modules/linear.py", "__init__", replay::Role::temporary}, // replaced at once
    {"/torch/ao/nn/quantized/modules/utils.py", "_quantize_weight", replay::Role::parameter, kPacked},
    {"/torch/ao/nn/quantized/modules/conv.py", "set_weight_bias", replay::Role::parameter, kPacked},
    {"/torch/ao/nn/quantized/modules/embedding_ops.py", "set_weight", replay::Role::parameter, kPacked},
    // Optimizers: the states that the first step makes. The recorder labels them when that step returns, so
    // they have no label if the process dies in it.
    {"/bitsandbytes/optim/optimizer.py", "get_state_buffer", replay::Role::optimizer_state},
    {"/torchao/optim/adam.py", "_new_buffer", replay::Role::optimizer_state},
    {"/torch/optim/adam.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/adamw.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/nadam.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/radam.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/adamax.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/adadelta.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/rmsprop.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/rprop.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/asgd.py", "_init_group", replay::Role::optimizer_state},
    {"/torch/optim/_adafactor.py", "_init_group", replay::Role::optimizer_state},
    // Saved tensors that were offloaded to the host.
    {"/torch/autograd/graph.py", "pack_to_cpu", replay::Role::activation},
    // Checkpoints: copies that are written later, and the bytes that are written.
    {"/torch/distributed/_state_dict_utils.py", "_offload_state_dict_to_cpu", replay::Role::staging},
    {"/torch/distributed/_state_dict_utils.py", "_copy_state_dict", replay::Role::staging},
    {"/torch/distributed/_state_dict_utils.py", "_create_cpu_state_dict", replay::Role::staging},
    {"/torch/distributed/checkpoint/_state_dict_stager.py", "", replay::Role::staging},
    {"/torch/distributed/checkpoint/staging.py", "", replay::Role::staging},
    {"/torch/distributed/checkpoint/filesystem.py", "", replay::Role::checkpoint},
    {"/torch/serialization.py", "save", replay::Role::checkpoint},
    {"/safetensors/torch.py", "save*", replay::Role::checkpoint},
    // The keys and values that a model retains for earlier tokens.
    {"/transformers/cache_utils.py", "", replay::Role::kv_cache},
};

// Functions that make the parameters of a module. They decide only if nothing else does.
inline constexpr RoleOfFunction kBuilders[] = {
    {"/torch/nn/init.py", "", replay::Role::unknown}, // its temporaries
    {"/torch/nn/modules/linear.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/sparse.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/conv.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/rnn.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/normalization.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/batchnorm.py", "__init__", replay::Role::parameter},
    {"/torch/nn/modules/activation.py", "__init__", replay::Role::parameter},
};

// ---- serializers -------------------------------------------------------------------------------------------

// A function that serializes objects to bytes, and the alternative that needs no such bytes.
struct Serializer {
  const char* file;
  const char* function;
  const char* name;
  const char* remedy;
};
inline constexpr Serializer kSerializers[] = {
    {"torch/storage.py", "TypedStorage.__reduce__", "pickle",
     "torch.save(object, path): it writes each tensor to the file"},
    {"torch/storage.py", "UntypedStorage.__reduce__", "pickle",
     "torch.save(object, path): it writes each tensor to the file"},
    {"torch/serialization.py", "save", "torch.save",
     "torch.save(object, path): it writes each tensor to the file"},
    {"safetensors/torch.py", "save", "safetensors", "safetensors.torch.save_file(tensors, path)"},
    {"multiprocessing/reduction.py", "ForkingPickler.dumps", "pickle",
     "memory that both sides share: a tensor, multiprocessing.shared_memory, a file"},
};

// ---- PyTorch -----------------------------------------------------------------------------------------------

// Returns the operator: "at::_ops::_foreach_sqrt::call(...)" -> "_foreach_sqrt". Returns "" for any other
// function. Omits the name of an overload ("add_Tensor").
std::string operator_of(std::string_view function);

// True for an operator on a list of tensors, as torch._foreach_sqrt.
bool is_foreach(std::string_view function);

// True for an operator of the cross-entropy loss.
bool computes_loss(std::string_view function);

// True for a function that makes one array of others, as torch.cat, numpy.append and pandas.concat. `file`: of
// a Python function; empty for a native one.
bool joins_arrays(std::string_view function, std::string_view file);

// True for functions that every allocation of PyTorch passes, so their names say nothing.
bool allocates_for_all(std::string_view function);

// True for a function in which PyTorch makes a workspace of cuBLAS. It takes it from its own allocator, in the
// first matrix product of a thread and stream, and keeps it for all later ones.
bool makes_workspace(std::string_view function);

// A cache of a library that grows until it has its limit of entries.
struct LibraryCache {
  std::string_view function; // the beginning of the name of a function that fills it
  const char* keeps;         // "oneDNN keeps a kernel for each new shape"
  const char* remedy;
};
// Returns the cache that the function fills, or null if it fills none.
const LibraryCache* cache_filled_by(std::string_view function);

// True for the function in which cuDNN measures its algorithms: in the first convolution of a shape, if
// torch.backends.cudnn.benchmark is set.
bool measures_convolutions(std::string_view function);

// True for Python code between loss.backward() and the engine.
bool starts_backward(std::string_view file);

// True for Module.__call__ and what it calls.
bool calls_module(std::string_view file);

// True for Python code between a call and the called function: Module.__call__, the decorators of no_grad and
// optimizers, the calls of backward.
bool wraps_calls(std::string_view file);

// True for a shared object of PyTorch: libtorch_cpu.so, libc10.so.
bool is_torch_library(std::string_view module);

// True for code that reads a checkpoint: torch.load, safetensors.
bool reads_checkpoint(std::string_view file);

// True for code that makes or converts a part of a module.
bool builds_module(std::string_view file);

struct OptimizerPaths {
  bool fused;    // it has a path without temporaries
  bool one_list; // its foreach path makes one list of temporaries, as Adam's does
};
// `where` is a place as the report has it: "torch/optim/adam.py:774".
OptimizerPaths optimizer_at(std::string_view where);

} // namespace memtrace::frameworks
