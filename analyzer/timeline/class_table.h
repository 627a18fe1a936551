// Purpose: numbers the groups and the classes of the blocks that a timeline stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/timeline/stored_blocks.h"

namespace memtrace::replay {

class ClassTable {
 public:
  // `tensors`: the memories that had tensors.
  explicit ClassTable(std::set<MemoryId> tensors) : tensors_(std::move(tensors)), classes_(1) {}

  // Returns the number of the class, from 1. `reserved`: the bytes were never touched.
  std::uint32_t number(const HoldingGroup& group, MemoryId memory, std::uint64_t given, std::uint64_t tensor,
                       bool reserved = false);
  Band band(const HoldingGroup& group, MemoryId memory) const {
    return band_of(group, memory != 0, tensors_.contains(memory));
  }

  std::vector<PageGroup> take_groups() { return std::move(groups_); }
  std::vector<BlockClass> take_classes() { return std::move(classes_); }

 private:
  struct ClassKey {
    std::uint32_t group;
    std::uint64_t given, tensor;
    bool operator==(const ClassKey&) const = default;
  };
  struct ClassHash {
    std::size_t operator()(const ClassKey& key) const {
      return static_cast<std::size_t>(((key.group * 0x9E3779B97F4A7C15u) ^ key.given) * 0x9E3779B97F4A7C15u ^
                                      key.tensor);
    }
  };
  struct MemoryGroup {
    HoldingGroup group;
    MemoryId memory;
    bool reserved;
    bool operator==(const MemoryGroup&) const = default;
  };
  struct MemoryGroupHash {
    std::size_t operator()(const MemoryGroup& key) const {
      return (GroupHash()(key.group) * 31 + key.memory) * 2 + (key.reserved ? 1 : 0);
    }
  };

  std::uint32_t group_number(const HoldingGroup& group, MemoryId memory, bool reserved);

  std::set<MemoryId> tensors_;
  std::vector<PageGroup> groups_;
  std::vector<BlockClass> classes_; // the first one is not a block
  std::unordered_map<MemoryGroup, std::uint32_t, MemoryGroupHash> by_group_;
  std::unordered_map<ClassKey, std::uint32_t, ClassHash> by_class_;
};

} // namespace memtrace::replay
