// Purpose: the names of PyTorch's functions and files, as traces and symbol tables have them.
#include "analyzer/frameworks/function_names.h"

#include <gtest/gtest.h>

namespace memtrace::frameworks {
namespace {

TEST(Operators, AreTakenFromTheirCall) {
  EXPECT_EQ(operator_of("at::_ops::_foreach_sqrt::call(c10::ArrayRef<at::Tensor>)"), "_foreach_sqrt");
  EXPECT_EQ(operator_of("at::_ops::add_Tensor::call(at::Tensor const&)"), "add");
  EXPECT_EQ(operator_of("at::_ops::_foreach_addcdiv__ScalarList::call(x)"), "_foreach_addcdiv_");
  EXPECT_EQ(operator_of("at::_ops::sum_dim_IntList::call(x)"), "sum");
  EXPECT_EQ(operator_of("at::_ops::empty_memory_format::call(x)"), "empty");
  EXPECT_EQ(operator_of("at::_ops::_int::call(x)"), "_int");
  EXPECT_EQ(operator_of("at::_ops::zeros_like::redispatch(x)"), "");
  EXPECT_EQ(operator_of("at::native::zeros_like(x)"), "");
  EXPECT_EQ(operator_of(""), "");
}

TEST(Optimizers, HaveTheirPathsByFile) {
  EXPECT_TRUE(optimizer_at("torch/optim/adam.py:790").one_list);
  EXPECT_TRUE(optimizer_at("torch/optim/sgd.py:4").fused);
  EXPECT_FALSE(optimizer_at("torch/optim/sgd.py:4").one_list);
  EXPECT_FALSE(optimizer_at("torch/optim/rprop.py:4").fused);
  EXPECT_FALSE(optimizer_at("/home/u/torch/optim/adam.py:790").fused);
}

TEST(FunctionNames, AreKnownByTheirEnds) {
  EXPECT_TRUE(starts_backward("/l/site-packages/torch/_tensor.py"));
  EXPECT_TRUE(starts_backward("/l/site-packages/torch/autograd/graph.py"));
  EXPECT_FALSE(starts_backward("/l/site-packages/torch/_tensor_str.py"));
  EXPECT_TRUE(calls_module("/l/site-packages/torch/nn/modules/module.py"));
  EXPECT_FALSE(calls_module("/l/site-packages/torch/nn/modules/linear.py"));
}

} // namespace
} // namespace memtrace::frameworks
