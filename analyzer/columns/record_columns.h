// Purpose: puts the fields of records into columns, and takes them out again.
// Writer and reader share each function, so that both predict the same.
#pragma once

#include <cstring>

#include "analyzer/columns/block_history.h"
#include "analyzer/columns/column_bytes.h"
#include "preload/format/block_events.h"
#include "preload/format/definition_events.h"
#include "preload/format/record_coding.h"

namespace memtrace::columns {

// `Io` is ColumnOutput or ColumnInput. The one writes the fields of a record, the other sets them.
template <class Io>
class RecordColumns {
 public:
  RecordColumns() : history_(Io::kWrites) {}

  void code(Io& io, format::RingRecord& record) {
    io.byte(kTypes, record.type);
    if (record.type >= format::kEventTypes) return io.fail();
    const auto type = static_cast<format::EventType>(record.type);
    difference(io, column_of(record.type, kStamp), record.stamp, stamp_);
    stamp_ = record.stamp;
    if (type == format::EventType::birth) return birth(io, record);
    if (type == format::EventType::death) return death(io, record);
    if (type == format::EventType::move) return move(io, record);
    other(io, record);
  }

 private:
  static void difference(Io& io, std::size_t column, std::uint64_t& value, std::uint64_t base) {
    std::uint64_t coded = format::zigzag(static_cast<std::int64_t>(value - base));
    io.number(column, coded);
    value = base + static_cast<std::uint64_t>(format::unzigzag(coded));
  }
  static void address_difference(Io& io, std::size_t column, std::uint64_t& value, std::uint64_t base) {
    std::uint64_t rotated = format::rotated(value);
    difference(io, column, rotated, format::rotated(base));
    value = format::unrotated(rotated);
  }
  template <class Value>
  static void number(Io& io, std::size_t column, Value& value) {
    auto coded = static_cast<std::uint64_t>(value);
    io.number(column, coded);
    value = static_cast<Value>(coded);
  }
  static void head(Io& io, format::RingRecord& record) {
    io.byte(column_of(record.type, kKind), record.kind);
    number(io, column_of(record.type, kFlags), record.flags);
  }

  // Codes the address of a block, word `word` of its record: how many blocks of its size were freed after the
  // last one at this address.
  void born(Io& io, const format::RingRecord& record, std::size_t word, std::uint64_t& address,
            std::uint64_t given) {
    std::uint64_t after = BlockHistory::kFreed;
    if constexpr (Io::kWrites) after = history_.freed_after(given, address).value_or(BlockHistory::kFreed);
    io.number(word_column(record.type, word), after);
    const std::optional<std::uint64_t> freed = history_.take_freed(given, after);
    if (freed) {
      address = *freed;
    } else {
      if (after != BlockHistory::kFreed) io.fail();
      address_difference(io, second_column(record.type, word), address, neighbour_);
    }
    neighbour_ = address + given + sizeof(std::uint64_t); // as malloc places blocks, with the next one's size
    history_.born({address, given, record.flags, record.kind});
  }

  // Codes which block ends: how many births ago it was born. `differs` becomes true if the record has more than
  // follows from the block; a writer asks `has_more`. Returns nullopt if the block is not known.
  template <class HasMore>
  std::optional<BornBlock> ended(Io& io, const format::RingRecord& record, std::uint64_t& address,
                                 bool& differs, HasMore has_more) {
    std::uint64_t coded = 0;
    if constexpr (Io::kWrites) {
      const std::uint64_t ago = history_.births_since(address);
      const BornBlock* const known = history_.birth(ago);
      coded = ago << 1 | (known == nullptr || has_more(*known));
    }
    io.number(word_column(record.type, 0), coded);
    differs = (coded & 1) != 0;
    const BornBlock* const birth = history_.birth(coded >> 1);
    if (birth == nullptr) {
      if (coded != 1) io.fail();
      address_difference(io, second_column(record.type, 0), address, ended_);
      ended_ = address;
      return std::nullopt;
    }
    ended_ = address = birth->address;
    history_.freed(*birth);
    return *birth;
  }

  static void flows(Io& io, std::size_t type, format::CarriedFlows& flows) {
    number(io, word_column(type, 4), flows.allocated);
    number(io, second_column(type, 4), flows.freed);
    number(io, word_column(type, 5), flows.births);
    number(io, second_column(type, 5), flows.deaths);
  }

  void birth(Io& io, format::RingRecord& record) {
    auto& event = record.as<format::BirthEvent>();
    head(io, record);
    io.number(word_column(record.type, 1), event.given);
    difference(io, word_column(record.type, 2), event.asked, event.given);
    number(io, word_column(record.type, 3), event.stack);
    number(io, second_column(record.type, 3), event.module);
    flows(io, record.type, event.flows);
    born(io, record, 0, event.address, event.given);
  }

  void death(Io& io, format::RingRecord& record) {
    auto& event = record.as<format::DeathEvent>();
    bool differs = false;
    const auto of = ended(io, record, event.address, differs, [&](const BornBlock& known) {
      return known.given != event.given || known.kind != record.kind || known.flags != record.flags;
    });
    if (differs) {
      io.number(word_column(record.type, 1), event.given);
      head(io, record);
    } else if (of) {
      event.given = of->given;
      record.kind = of->kind;
      record.flags = of->flags;
    }
    io.number(word_column(record.type, 2), event.unused[0]);
    io.number(word_column(record.type, 3), event.unused[1]);
    flows(io, record.type, event.flows);
  }

  void move(Io& io, format::RingRecord& record) {
    auto& event = record.as<format::MoveEvent>();
    head(io, record);
    bool differs = false;
    const auto of = ended(io, record, event.from, differs,
                          [&](const BornBlock& known) { return known.given != event.given_before; });
    if (differs) {
      io.number(word_column(record.type, 4), event.given_before);
    } else if (of) {
      event.given_before = of->given;
    }
    io.number(word_column(record.type, 2), event.given);
    difference(io, word_column(record.type, 3), event.asked, event.given);
    number(io, word_column(record.type, 5), event.stack);
    number(io, second_column(record.type, 5), event.birth_after);
    born(io, record, 1, event.to, event.given);
  }

  // A record of another type is coded as the difference to the last one of its type. Of a stack, the id is the
  // next one, and the caller is the last one.
  void other(Io& io, format::RingRecord& record) {
    format::Payload& last = last_[record.type];
    head(io, record);
    if (record.type == static_cast<std::uint8_t>(format::EventType::stack)) {
      auto& stack = last.as<format::StackEvent>();
      stack.caller = stack.id;
      stack.id = static_cast<format::StackId>(static_cast<std::uint32_t>(stack.id) + 1);
    }
    format::each_word(record.payload, last, [&](std::size_t i, std::uint64_t& value, std::uint64_t base) {
      other_word(io, record, i, value, base);
    });
    last = record.payload;
  }
  static void other_word(Io& io, const format::RingRecord& record, std::size_t i, std::uint64_t& value,
                         std::uint64_t base) {
    const std::size_t column = word_column(record.type, i);
    switch (format::layout_of(record.type, i, record.flags)) {
      case 'w':
        return difference(io, column, value, base);
      case 'a':
        return address_difference(io, column, value, base);
      case 'h': {
        std::uint64_t low = format::low(value), high = format::high(value);
        difference(io, column, low, format::low(base));
        difference(io, second_column(record.type, i), high, format::high(base));
        value = format::halves(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
        return;
      }
      default:
        return io.eight(column, value);
    }
  }

  BlockHistory history_;
  format::Payload last_[format::kEventTypes] = {};
  std::uint64_t stamp_ = 0;
  std::uint64_t neighbour_ = 0; // where a block would be that lies behind the one that was born last
  std::uint64_t ended_ = 0;     // the address of the block that ended last
};

} // namespace memtrace::columns
