// Purpose: reads Python's pickle format: values without classes. It runs nothing that the pickle names.
#include "analyzer/snapshot/pickle_reader.h"

#include <bit>

#include "analyzer/decode/read_error.h"
#include "analyzer/snapshot/pickle_opcodes.h"

namespace memtrace::snapshot {
namespace {

constexpr std::uint8_t kOldestProtocol = 2, kNewestProtocol = 5;
constexpr std::size_t kShownName = 80; // bytes of a class's name in a message

std::string shown(std::string_view name) {
  return std::string(name.substr(0, kShownName));
}

} // namespace

bool begins_as_pickle(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto protocol = static_cast<std::uint8_t>(bytes[1]);
  return static_cast<std::uint8_t>(bytes[0]) == kProto && protocol >= kOldestProtocol &&
         protocol <= kNewestProtocol;
}

void PickleReader::refuse(const std::string& expected) const {
  throw trace::ReadError(path_, op_, expected);
}

void PickleReader::refuse_object(const std::string& name) const {
  refuse("expected values only, but the pickle holds an object of class " + name +
         ", which memtrace does not load");
}

std::string_view PickleReader::take(std::uint64_t bytes) {
  const std::string_view file = tree_.file_;
  if (bytes > file.size() - at_)
    refuse("expected " + std::to_string(bytes) + " more bytes, but the file ends at byte " +
           std::to_string(file.size()));
  at_ += bytes;
  return file.substr(at_ - bytes, bytes);
}

std::uint64_t PickleReader::little_endian(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::string_view from = take(bytes);
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(from[i]);
  return value;
}

std::string_view PickleReader::line() {
  const std::size_t end = tree_.file_.find('\n', at_);
  if (end == std::string::npos) refuse("expected a line, but the file ends");
  const std::string_view out = take(end - at_);
  take(1);
  return out;
}

PickleTree PickleReader::read() && {
  if (!begins_as_pickle(tree_.file_)) refuse("expected a pickle of protocol 2 to 5");
  for (After after = After::goes_on; after == After::goes_on;) {
    op_ = at_;
    if (at_ == tree_.file_.size()) refuse("expected the end of the pickle, but the file ends: it is cut off");
    after = opcode(static_cast<std::uint8_t>(take(1)[0]));
  }
  tree_.root_ = pop();
  return std::move(tree_);
}

PickleReader::After PickleReader::opcode(std::uint8_t code) {
  if (code == kStop) return After::stops;
  if (scalar(code) || text_or_bytes(code) || container(code) || memo(code)) return After::goes_on;
  object(code);
  return After::goes_on;
}

bool PickleReader::scalar(std::uint8_t code) {
  switch (code) {
    case kProto: {
      const std::uint64_t protocol = little_endian(1);
      if (protocol < kOldestProtocol || protocol > kNewestProtocol) refuse("expected a protocol of 2 to 5");
      return true;
    }
    case kFrame: // says how many bytes to read at once
      little_endian(8);
      return true;
    case kNone:
      push({});
      return true;
    case kNewTrue:
    case kNewFalse:
      push({PickleType::boolean, code == kNewTrue ? 1u : 0u});
      return true;
    case kBinInt:
      push_integer(static_cast<std::int32_t>(little_endian(4)));
      return true;
    case kBinInt1:
    case kBinInt2:
      push_integer(static_cast<std::int64_t>(little_endian(code == kBinInt1 ? 1 : 2)));
      return true;
    case kLong1:
    case kLong4:
      push_long(little_endian(code == kLong1 ? 1 : 4));
      return true;
    case kBinFloat:
      push_real();
      return true;
    default:
      return false;
  }
}

bool PickleReader::text_or_bytes(std::uint8_t code) {
  switch (code) {
    case kShortBinUnicode:
    case kShortBinString:
      push_text(PickleType::text, little_endian(1));
      return true;
    case kBinUnicode:
    case kBinString:
      push_text(PickleType::text, little_endian(4));
      return true;
    case kBinUnicode8:
      push_text(PickleType::text, little_endian(8));
      return true;
    case kShortBinBytes:
      push_text(PickleType::bytes, little_endian(1));
      return true;
    case kBinBytes:
      push_text(PickleType::bytes, little_endian(4));
      return true;
    case kBinBytes8:
    case kByteArray8:
      push_text(PickleType::bytes, little_endian(8));
      return true;
    default:
      return false;
  }
}

bool PickleReader::container(std::uint8_t code) {
  switch (code) {
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kEmptyList:
    case kEmptyTuple:
    case kEmptySet:
      push_container(PickleType::list, stack_.size());
      return true;
    case kEmptyDict:
      push_container(PickleType::dict, stack_.size());
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3: {
      const std::size_t number = static_cast<std::size_t>(code - kTuple1) + 1;
      const std::size_t floor = marks_.empty() ? 0 : marks_.back();
      if (stack_.size() - floor < number) refuse("expected the items of a tuple before it");
      push_container(PickleType::list, stack_.size() - number);
      return true;
    }
    case kList:
    case kTuple:
    case kFrozenSet:
      push_container(PickleType::list, pop_mark());
      return true;
    case kDict:
      push_container(PickleType::dict, pop_mark());
      return true;
    case kAppend:
      add_to(PickleType::list, stack_.size() - 1);
      return true;
    case kAppends:
    case kAddItems:
      add_to(PickleType::list, pop_mark());
      return true;
    case kSetItem:
      add_to(PickleType::dict, stack_.size() - 2);
      return true;
    case kSetItems:
      add_to(PickleType::dict, pop_mark());
      return true;
    default:
      return false;
  }
}

bool PickleReader::memo(std::uint8_t code) {
  switch (code) {
    case kMemoize:
      remember(memoized_);
      return true;
    case kBinPut:
      remember(little_endian(1));
      return true;
    case kLongBinPut:
      remember(little_endian(4));
      return true;
    case kBinGet:
      recall(little_endian(1));
      return true;
    case kLongBinGet:
      recall(little_endian(4));
      return true;
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        pop();
      return true;
    case kPopMark:
      stack_.resize(pop_mark());
      return true;
    case kDup:
      push(top());
      return true;
    default:
      return false;
  }
}

// Refuses all that makes an object, and all that no pickle of these protocols has.
void PickleReader::object(std::uint8_t code) {
  switch (code) {
    case kGlobal:
    case kInst: {
      const std::string module = shown(line());
      refuse_object(module + "." + shown(line()));
    }
    case kStackGlobal: {
      const std::string name = shown(tree_.text(pop()));
      refuse_object(shown(tree_.text(pop())) + "." + name);
    }
    case kReduce:
    case kBuild:
    case kObj:
    case kNewObj:
    case kNewObjEx:
      refuse_object("without a name");
    case kExt1:
    case kExt2:
    case kExt4:
      refuse_object("number " + std::to_string(little_endian(std::size_t{1} << (code - kExt1))) +
                    " of a registry");
    case kPersId:
    case kBinPersId:
      refuse_object("that is stored elsewhere");
    case kNextBuffer:
    case kReadonlyBuffer:
      refuse_object("whose buffer is stored elsewhere");
    case kInt:
    case kLong:
    case kFloat:
      refuse("expected protocol 2 or newer, but found a number in the text form of protocol 0");
    default:
      refuse("expected an opcode of a pickle, but found byte " + std::to_string(code));
  }
}

void PickleReader::push_integer(std::int64_t value) {
  push({PickleType::integer, tree_.integers_.size()});
  tree_.integers_.push_back(value);
}

// Two's complement, the lowest byte first. No byte at all is 0.
void PickleReader::push_long(std::uint64_t bytes) {
  if (bytes > sizeof(std::int64_t)) refuse("expected integers of at most 64 bits");
  const std::uint64_t value = little_endian(bytes);
  const auto unused = static_cast<unsigned>(64 - 8 * bytes);
  push_integer(bytes == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused);
}

void PickleReader::push_real() {
  std::uint64_t bits = 0;
  for (const char byte : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(byte);
  push({PickleType::real, tree_.reals_.size()});
  tree_.reals_.push_back(std::bit_cast<double>(bits));
}

void PickleReader::push_text(PickleType type, std::uint64_t bytes) {
  const std::uint64_t offset = at_;
  take(bytes);
  push({type, tree_.texts_.size()});
  tree_.texts_.push_back({offset, bytes});
}

// Replaces the values from `from` on with a container of them.
void PickleReader::push_container(PickleType type, std::size_t from) {
  const std::size_t number = stack_.size() - from;
  if (type == PickleType::dict && number % 2 != 0) refuse("expected a value for each key of a dict");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(from);
  tree_.containers_.emplace_back(begin, stack_.end());
  stack_.resize(from);
  push({type, tree_.containers_.size() - 1});
}

PickleValue PickleReader::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("expected a value before this opcode");
  return stack_.back();
}

PickleValue PickleReader::pop() {
  const PickleValue out = top();
  stack_.pop_back();
  return out;
}

std::size_t PickleReader::pop_mark() {
  if (marks_.empty()) refuse("expected a mark before this opcode");
  const std::size_t out = marks_.back();
  marks_.pop_back();
  return out;
}

// Adds the values from `from` on to the container below them.
void PickleReader::add_to(PickleType type, std::size_t from) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (from > stack_.size() || from <= floor || stack_[from - 1].type() != type)
    refuse(std::string("expected ") + words_of(type) + " before its items");
  if (type == PickleType::dict && (stack_.size() - from) % 2 != 0)
    refuse("expected a value for each key of a dict");
  PickleTree::Items& items = tree_.containers_[stack_[from - 1].payload()];
  items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
}

// Python numbers the entries from 0 on, so there are fewer than bytes.
void PickleReader::remember(std::uint64_t key) {
  if (key >= tree_.file_.size())
    refuse("expected a number of a remembered value that is below the file's size");
  const PickleValue value = top();
  if (key >= memo_.size()) memo_.resize(key + 1);
  memo_[key] = {true, value};
  ++memoized_;
}

void PickleReader::recall(std::uint64_t key) {
  if (key >= memo_.size() || !memo_[key].is)
    refuse("expected a remembered value, but none has the number " + std::to_string(key));
  push(memo_[key].value);
}

} // namespace memtrace::snapshot
