// Purpose: reads Python's pickle format: values without classes. It runs nothing that the pickle names.
#pragma once

#include <string>
#include <vector>

#include "analyzer/snapshot/pickle_tree.h"

namespace memtrace::snapshot {

// True if the file begins like a pickle of protocol 2 to 5.
bool begins_as_pickle(std::string_view bytes);

// Reads the first pickle of a file. It uses a stack of its own and no recursion, so nothing limits how deep
// values may nest. Memory grows with the file, because a value is there once.
class PickleReader {
 public:
  // `path` is for messages. `file` is the content.
  PickleReader(std::string path, std::string file) : path_(std::move(path)), tree_(std::move(file)) {}

  // Throws trace::ReadError if the pickle is damaged, or if it holds an object of a class.
  PickleTree read() &&;

 private:
  enum class After : std::uint8_t { goes_on, stops };

  [[noreturn]] void refuse(const std::string& expected) const;
  [[noreturn]] void refuse_object(const std::string& name) const;
  std::uint64_t little_endian(std::size_t bytes);
  std::string_view take(std::uint64_t bytes);
  std::string_view line();

  After opcode(std::uint8_t code);
  bool scalar(std::uint8_t code);
  bool text_or_bytes(std::uint8_t code);
  bool container(std::uint8_t code);
  bool memo(std::uint8_t code);
  void object(std::uint8_t code);

  void push(PickleValue value) { stack_.push_back(value); }
  void push_integer(std::int64_t value);
  void push_long(std::uint64_t bytes);
  void push_real();
  void push_text(PickleType type, std::uint64_t bytes);
  void push_container(PickleType type, std::size_t from);
  PickleValue pop();
  PickleValue top() const;
  std::size_t pop_mark();
  void add_to(PickleType type, std::size_t from);
  void remember(std::uint64_t key);
  void recall(std::uint64_t key);

  std::string path_;
  PickleTree tree_;
  std::uint64_t at_ = 0; // next byte
  std::uint64_t op_ = 0; // offset of the present opcode
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_; // the height of the stack at each mark
  struct MemoEntry {
    bool is = false;
    PickleValue value;
  };
  std::vector<MemoEntry> memo_;
  std::uint64_t memoized_ = 0;
};

} // namespace memtrace::snapshot
