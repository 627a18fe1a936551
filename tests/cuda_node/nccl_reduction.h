// Purpose: the arithmetic of NCCL's reductions, element by element, in memory of the host.
// Shared by the parts of the stand-in for libnccl.so.2.
#pragma once

#include <cstddef>

namespace fake::node {

// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, and float8 twice,
// with which nothing is computed.
enum Type : int {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16,
  kFloat8,
  kOtherFloat8
};

// ncclRedOp_t. Any other number is an operation that the program made: ncclRedOpCreatePreMulSum.
enum Operation : int { kSum, kProduct, kMaximum, kMinimum, kAverage, kOperations };

// Bytes of an element; 0 if there is no such type.
std::size_t bytes_of(int type);
bool is_computable(int type);
float as_float(const void* value, int type);
// `values` of the type: the ones of a rank, before they are reduced.
void scale(void* values, std::size_t count, int type, float factor);
// Reduces `values` with the ones of another rank. An operation of the program's own is a sum.
void reduce(void* values, const void* others, std::size_t count, int type, int operation);
// The sum of all ranks becomes their average.
void divide(void* values, std::size_t count, int type, int ranks);

} // namespace fake::node
