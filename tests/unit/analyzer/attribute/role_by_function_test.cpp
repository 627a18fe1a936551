// Purpose: the role of a block by the framework's function that made it.
#include "analyzer/attribute/role_by_function.h"

#include <gtest/gtest.h>

#include <vector>

#include "analyzer/attribute/role_by_library.h"
#include "builder.h"

namespace memtrace::replay {
namespace {

using tests::Builder;

trace::Trace written(Builder& builder, const tests::Scratch& scratch) {
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  return trace::Trace(scratch.file("t.memtrace"));
}

TEST(RoleByFunction, BackwardDoesNotMakeWhatItsForwardCallMade) {
  const tests::Scratch scratch;
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t cache = builder.python_frame("update", "/l/transformers/cache_utils.py", 9, user);
  const std::uint32_t marker = builder.native_frame(format::kForwardCall, cache);
  const std::uint32_t backward = builder.native_frame(0x5000, marker);
  const trace::Trace trace = written(builder, scratch);
  Makers makers(trace);
  EXPECT_EQ(makers.role(format::StackId{cache}), Role::kv_cache);
  EXPECT_EQ(makers.role(format::StackId{backward}), Role::unknown);
}

// The recorder labels states when the step returns. A process that dies in it has these tensors without a
// label.
TEST(RoleByFunction, StatesAreMadeByTheInitOfAnOptimizersGroup) {
  const tests::Scratch scratch;
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t step = builder.python_frame("Adam.step", "/l/torch/optim/adam.py", 241, user);
  const std::uint32_t states = builder.python_frame("Adam._init_group", "/l/torch/optim/adam.py", 178, step);
  const std::uint32_t update = builder.python_frame("_single_tensor_adam", "/l/torch/optim/adam.py", 400, step);
  const trace::Trace trace = written(builder, scratch);
  Makers makers(trace);
  EXPECT_EQ(makers.role(format::StackId{states}), Role::optimizer_state);
  EXPECT_EQ(makers.role(format::StackId{update}), Role::unknown) << "a temporary";
}

// Paths and functions of packages that the tests do not have, or not on a GPU.
TEST(RoleByFunction, BuffersOfEnginesHaveTheirNames) {
  struct Made {
    const char* file;
    const char* function;
    Role role;
    const char* name;
  };
  const Made all[] = {
      {"/l/deepspeed/runtime/swap_tensor/utils.py", "SwapBufferManager.__init__", Role::staging,
       "DeepSpeed swap buffer"},
      {"/l/deepspeed/runtime/swap_tensor/partitioned_param_swapper.py",
       "AsyncPartitionedParameterSwapper._configure_aio", Role::staging, "DeepSpeed swap buffer"},
      {"/l/deepspeed/runtime/zero/offload_states.py", "offload_adam_states", Role::optimizer_state,
       "DeepSpeed offload buffer"},
      {"/l/deepspeed/runtime/zero/offload_states.py", "reload_adam_states", Role::unknown, ""},
      {"/l/torchtune/training/_activation_offloading.py", "OffloadActivations.__init__.<locals>.pack_tensor",
       Role::activation, "torchtune offloaded activation"},
      {"/l/torchtune/training/_activation_offloading.py",
       "OffloadActivations.__init__.<locals>.unpack_tensor_with_streams", Role::activation,
       "torchtune reloaded activation"},
      {"/l/transformer_engine/pytorch/module/base.py", "get_workspace", Role::workspace,
       "TransformerEngine workspace"},
      {"/l/transformer_engine/pytorch/cpp_extensions/gemm.py", "get_cublas_workspace", Role::workspace,
       "TransformerEngine workspace"},
      {"/l/peft/tuners/lora/layer.py", "LoraLayer.update_layer", Role::parameter, "PEFT adapter"},
      {"/l/peft/tuners/lora/layer.py", "LoraLayer.pissa_init", Role::unknown, ""},
      {"/home/u/swap_tensor/utils.py", "SwapBufferManager.__init__", Role::unknown, ""},
  };
  const tests::Scratch scratch;
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  std::vector<std::uint32_t> stacks;
  for (const Made& made : all) stacks.push_back(builder.python_frame(made.function, made.file, 9, user));
  const trace::Trace trace = written(builder, scratch);
  Makers makers(trace);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_EQ(makers.role(format::StackId{stacks[i]}), all[i].role) << all[i].file << " " << all[i].function;
    EXPECT_STREQ(makers.name(format::StackId{stacks[i]}), all[i].name) << all[i].file;
  }
}

TEST(RoleByLibrary, WorkspacesHaveTheNameOfTheirLibrary) {
  const tests::Scratch scratch;
  Builder builder;
  builder.module("/l/libcublasLt.so.13", 0x10000, 0x10000, 4, {});
  builder.module("/l/libcublas.so.13", 0x30000, 0x30000, 4, {});
  builder.module("/l/libcudart.so.13", 0x50000, 0x50000, 4, {});
  builder.module("/l/libnccl.so.2", 0x70000, 0x70000, 4, {});
  builder.module("/l/libother.so", 0x90000, 0x90000, 4, {});
  const auto asked_by = [&](std::uint64_t address) {
    return builder.native_frame(0x50100, builder.native_frame(address, 0));
  };
  const std::uint32_t lt = asked_by(0x10100), blas = asked_by(0x30100), nccl = asked_by(0x70100),
                      other = asked_by(0x90100);
  const trace::Trace trace = written(builder, scratch);
  Askers askers(trace);
  EXPECT_STREQ(askers.name(format::StackId{lt}), "cuBLASLt");
  EXPECT_STREQ(askers.name(format::StackId{blas}), "cuBLAS");
  EXPECT_STREQ(askers.name(format::StackId{nccl}), "NCCL");
  EXPECT_EQ(askers.role(format::StackId{nccl}), Role::comm);
  EXPECT_STREQ(askers.name(format::StackId{other}), "");
}

TEST(RoleByLibrary, BackwardDoesNotAskForWhatItsForwardCallAskedFor) {
  const tests::Scratch scratch;
  Builder builder;
  builder.module("/l/libcublas.so.13", 0x10000, 0x10000, 4, {});
  builder.module("/l/libcupti.so.13", 0x20000, 0x20000, 4, {});
  const std::uint32_t cublas = builder.native_frame(0x10100, 0);
  const std::uint32_t cupti = builder.native_frame(0x20100, cublas);
  const std::uint32_t backward =
      builder.native_frame(0x20200, builder.native_frame(format::kForwardCall, cublas));
  const trace::Trace trace = written(builder, scratch);
  Askers askers(trace);
  EXPECT_EQ(askers.role(format::StackId{cupti}), Role::workspace);
  EXPECT_EQ(askers.role(format::StackId{backward}), Role::unknown);
}

} // namespace
} // namespace memtrace::replay
