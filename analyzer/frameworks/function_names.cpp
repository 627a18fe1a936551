// Purpose: recognizes the files and functions of PyTorch by their names.
#include "analyzer/frameworks/function_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace memtrace::frameworks {
namespace {

template <std::size_t N>
bool begins_with_any(std::string_view text, const std::array<std::string_view, N>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

std::string operator_of(std::string_view function) {
  static constexpr char kNamespace[] = "at::_ops::";
  const std::size_t start = sizeof kNamespace - 1;
  if (function.compare(0, start, kNamespace) != 0) return {};
  const std::size_t end = function.find("::call(", start);
  if (end == std::string::npos) return {};
  std::string name(function.substr(start, end - start));
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (i != 0 && name[i] == '_' && std::isupper(static_cast<unsigned char>(name[i + 1])) != 0) {
      name.resize(i);
      break;
    }
  }
  for (const char* overload : {"_memory_format", "_dim", "_int", "_dtype", "_low", "_out"}) {
    const std::size_t length = std::char_traits<char>::length(overload);
    if (name.size() > length && name.compare(name.size() - length, length, overload) == 0) {
      name.resize(name.size() - length);
      break;
    }
  }
  return name;
}

bool is_foreach(std::string_view function) {
  return operator_of(function).starts_with("_foreach_");
}

bool computes_loss(std::string_view function) {
  return begins_with_any(
      operator_of(function),
      std::array<std::string_view, 4>{"log_softmax", "_log_softmax", "cross_entropy_loss", "nll_loss"});
}

bool joins_arrays(std::string_view function, std::string_view file) {
  static constexpr std::array<std::string_view, 11> kOperators = {
      "cat",    "concat", "concatenate",  "stack",     "hstack",         "vstack",
      "dstack", "pad",    "column_stack", "row_stack", "constant_pad_nd"};
  static constexpr std::array<std::string_view, 7> kFunctions = {
      "append", "concat", "concatenate", "hstack", "vstack", "column_stack", "pad"};
  if (!file.empty())
    return (has(file, "/numpy/") || has(file, "/pandas/core/reshape/")) &&
           std::find(kFunctions.begin(), kFunctions.end(), function) != kFunctions.end();
  if (function.starts_with("PyArray_Concatenate") || function.starts_with("array_concatenate")) return true;
  const std::string name = operator_of(function);
  return std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end();
}

bool allocates_for_all(std::string_view function) {
  return begins_with_any(function,
                         std::array<std::string_view, 5>{
                             "c10::alloc_cpu", "c10::cuda::CUDACachingAllocator::",
                             "torch::unwind::", // these record PyTorch's own history
                             "torch::CapturedTraceback::", "torch::cuda::(anonymous namespace)::gather"});
}

// getNewWorkspace, getCUDABlasLtWorkspace, setWorkspaceForHandle.
bool makes_workspace(std::string_view function) {
  return function.starts_with("at::cuda::") && has(function, "Workspace");
}

const LibraryCache* cache_filled_by(std::string_view function) {
  // pytorch#98688, #32037: memory grows while input sizes vary. oneDNN documents the variable and its default.
  static constexpr LibraryCache kCaches[] = {
      {"dnnl::impl::primitive_cache", "oneDNN keeps a compiled kernel for each new shape",
       "inputs of few different sizes (pad them), or the environment variable "
       "ONEDNN_PRIMITIVE_CACHE_CAPACITY=N for at "
       "most N kernels, by default 1024. The growth ends there"},
  };
  for (const LibraryCache& cache : kCaches)
    if (function.starts_with(cache.function)) return &cache;
  return nullptr;
}

bool measures_convolutions(std::string_view function) {
  return function.starts_with("at::native::generate_and_filter_plans(");
}

bool starts_backward(std::string_view file) {
  return has(file, "/torch/autograd/") || file.ends_with("/torch/_tensor.py");
}

bool calls_module(std::string_view file) {
  return file.ends_with("/torch/nn/modules/module.py");
}

bool wraps_calls(std::string_view file) {
  constexpr const char* kFiles[] = {"/torch/utils/_contextlib.py", "/torch/optim/optimizer.py",
                                    "/torch/_compile.py"};
  return calls_module(file) || starts_backward(file) ||
         std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](const char* one) { return file.ends_with(one); });
}

bool is_torch_library(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('/') + 1);
  return begins_with_any(name, std::array<std::string_view, 3>{"libtorch", "libc10", "libaten"});
}

bool reads_checkpoint(std::string_view file) {
  return has(file, "torch/serialization.py") || has(file, "torch/_weights_only_unpickler.py") ||
         has(file, "/safetensors/");
}

bool builds_module(std::string_view file) {
  return has(file, "torch/nn/modules/") || has(file, "torch/nn/parameter.py");
}

OptimizerPaths optimizer_at(std::string_view where) {
  const bool adam =
      begins_with_any(where, std::array<std::string_view, 2>{"torch/optim/adam.py:", "torch/optim/adamw.py:"});
  const bool fused = adam || begins_with_any(where, std::array<std::string_view, 2>{"torch/optim/sgd.py:",
                                                                                    "torch/optim/adagrad.py:"});
  return {fused, adam};
}

} // namespace memtrace::frameworks
