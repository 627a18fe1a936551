// Purpose: the values of a pickle. A value that the pickle refers to several times is there once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::snapshot {

enum class PickleType : std::uint8_t { none, boolean, integer, real, text, bytes, list, dict };

// A value, or the index of a value that does not fit here. Lists, tuples and sets have the type list.
class PickleValue {
 public:
  constexpr PickleValue() = default;
  constexpr PickleValue(PickleType type, std::uint64_t payload)
      : coded_(payload << kTypeBits | static_cast<std::uint64_t>(type)) {}

  constexpr PickleType type() const { return static_cast<PickleType>(coded_ & ((1u << kTypeBits) - 1)); }
  constexpr std::uint64_t payload() const { return coded_ >> kTypeBits; }
  constexpr bool operator==(const PickleValue&) const = default;

 private:
  static constexpr unsigned kTypeBits = 4;
  std::uint64_t coded_ = 0;
};

class PickleTree {
 public:
  using Items = std::vector<PickleValue>;

  explicit PickleTree(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  PickleValue root() const { return root_; }

  // Returns the text, or "" for a value of another type. It is valid as long as the tree.
  std::string_view text(PickleValue value) const;
  // Returns the number, or nullopt if it is none, or if it is negative.
  std::optional<std::uint64_t> number(PickleValue value) const;
  std::optional<bool> boolean(PickleValue value) const;
  // Returns the items of a list, or the keys and values of a dict in turn. Empty for other types.
  const Items& items(PickleValue value) const;

 private:
  friend class PickleReader;
  struct PickleText {
    std::uint64_t offset = 0; // in the file
    std::uint64_t bytes = 0;
  };

  std::string file_;
  PickleValue root_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<PickleText> texts_;
  std::vector<Items> containers_;
};

// Returns the type in words: "a list".
const char* words_of(PickleType type);

} // namespace memtrace::snapshot
