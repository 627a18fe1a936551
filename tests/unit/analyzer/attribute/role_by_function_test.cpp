// Purpose: the role of a block by the framework's function that made it.
#include "analyzer/attribute/role_by_function.h"

#include <gtest/gtest.h>

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
