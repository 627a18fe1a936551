// Purpose: the values of a pickle. A value that the pickle refers to several times is there once.
#include "analyzer/snapshot/pickle_tree.h"

namespace memtrace::snapshot {

std::string_view PickleTree::text(PickleValue value) const {
  if (value.type() != PickleType::text) return {};
  const PickleText& text = texts_[value.payload()];
  return std::string_view(file_).substr(text.offset, text.bytes);
}

std::optional<std::uint64_t> PickleTree::number(PickleValue value) const {
  if (value.type() != PickleType::integer || integers_[value.payload()] < 0) return std::nullopt;
  return static_cast<std::uint64_t>(integers_[value.payload()]);
}

std::optional<bool> PickleTree::boolean(PickleValue value) const {
  if (value.type() != PickleType::boolean) return std::nullopt;
  return value.payload() != 0;
}

const PickleTree::Items& PickleTree::items(PickleValue value) const {
  static const Items none;
  return value.type() == PickleType::list || value.type() == PickleType::dict ? containers_[value.payload()]
                                                                              : none;
}

const char* words_of(PickleType type) {
  switch (type) {
    case PickleType::none:
      return "None";
    case PickleType::boolean:
      return "a bool";
    case PickleType::integer:
      return "an integer";
    case PickleType::real:
      return "a float";
    case PickleType::text:
      return "a text";
    case PickleType::bytes:
      return "bytes";
    case PickleType::list:
      return "a list";
    case PickleType::dict:
      return "a dict";
  }
  return "an unknown value";
}

} // namespace memtrace::snapshot
