// Purpose: the arithmetic of NCCL's reductions. Types of 16 bits are computed as float.
// Stands for libnccl.so.2, beside nccl.cpp.
#include "tests/cuda_node/nccl_reduction.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace fake::node {
namespace {

template <typename Stored>
using Wide = std::conditional_t<sizeof(Stored) == 2, float, Stored>; // there are no integers of 2 bytes

// Calls with a null pointer to the type.
template <typename Call>
void with_type(int type, Call call) {
  switch (type) {
    case kInt8:
      return call(static_cast<std::int8_t*>(nullptr));
    case kUint8:
      return call(static_cast<std::uint8_t*>(nullptr));
    case kInt32:
      return call(static_cast<std::int32_t*>(nullptr));
    case kUint32:
      return call(static_cast<std::uint32_t*>(nullptr));
    case kInt64:
      return call(static_cast<std::int64_t*>(nullptr));
    case kUint64:
      return call(static_cast<std::uint64_t*>(nullptr));
    case kHalf:
      return call(static_cast<__half*>(nullptr));
    case kFloat:
      return call(static_cast<float*>(nullptr));
    case kDouble:
      return call(static_cast<double*>(nullptr));
    case kBfloat16:
      return call(static_cast<__nv_bfloat16*>(nullptr));
    default:
      return;
  }
}

// Each value becomes what `compute` makes of it and of the one at its place in `others`.
template <typename Compute>
void change_each(void* values, const void* others, std::size_t count, int type, Compute compute) {
  with_type(type, [=](auto* kind) {
    using Stored = std::remove_pointer_t<decltype(kind)>;
    auto* const stored = static_cast<Stored*>(values);
    const auto* const given = static_cast<const Stored*>(others);
    for (std::size_t i = 0; i < count; ++i)
      stored[i] = static_cast<Stored>(
          compute(static_cast<Wide<Stored>>(stored[i]), static_cast<Wide<Stored>>(given[i])));
  });
}

template <typename T>
T combined(T a, T b, int operation) {
  switch (operation) {
    case kProduct:
      return static_cast<T>(a * b);
    case kMaximum:
      return std::max(a, b);
    case kMinimum:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

} // namespace

std::size_t bytes_of(int type) {
  static constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < 0 || type > kOtherFloat8 ? 0 : kSizes[type];
}
bool is_computable(int type) {
  return type >= 0 && type < kFloat8;
}
float as_float(const void* value, int type) {
  float result = 0;
  with_type(type, [&result, value](auto* kind) {
    result = static_cast<float>(*static_cast<const std::remove_pointer_t<decltype(kind)>*>(value));
  });
  return result;
}

void scale(void* values, std::size_t count, int type, float factor) {
  change_each(values, values, count, type,
              [factor]<typename T>(T value, T) { return static_cast<T>(value * static_cast<T>(factor)); });
}
void reduce(void* values, const void* others, std::size_t count, int type, int operation) {
  change_each(values, others, count, type,
              [operation](auto value, auto other) { return combined(value, other, operation); });
}
void divide(void* values, std::size_t count, int type, int ranks) {
  change_each(values, values, count, type,
              [ranks]<typename T>(T value, T) { return static_cast<T>(value / static_cast<T>(ranks)); });
}

} // namespace fake::node
