// Purpose: predicts the next record of a thread from the records before it.
// Writer and reader share this code, because their predictions must be equal.
#pragma once

#include <cstring>

#include "preload/format/records.h"

namespace memtrace::format {

// Training repeats itself. If two successive records occurred before, the next record is usually the one that
// followed them then, except for its stamp and its address. A death usually ends a block that was born as many
// births ago as last time. Each record is coded as the difference to such a guess. This takes about half of the
// bytes that the difference to the last record of its type takes.
//
// A model takes about 190 KiB of private memory. Only `epoch_` has to be valid in it, so a restart is cheap.
struct ModelSizes {
  static constexpr std::size_t kContexts = 2048;
  static constexpr std::size_t kBirths = 2048; // how many births back a death may refer

  struct Guess {
    std::uint64_t word[kWords];
    std::uint32_t epoch; // an entry of another epoch is invalid
    std::uint16_t flags;
    std::uint16_t distance; // of a death: births since that of the block; 0: not a recent block
    std::uint8_t type;
    std::uint8_t kind;
  };
  struct Birth {
    std::uint64_t address;
    std::uint64_t given;
    std::uint16_t flags;
    std::uint8_t kind;
  };
};

// The tables of a writer's model. A reader has as many models as threads are interleaved, so it has tables of
// its own, which grow (analyzer/decode/growing_model.h).
class WholeTables : public ModelSizes {
 public:
  const Guess& guess(std::size_t slot) const { return guesses_[slot]; }
  Guess& guess(std::size_t slot) { return guesses_[slot]; }
  const Birth& birth(std::size_t place) const { return recent_[place]; }
  void set_birth(std::size_t place, const Birth& birth) { recent_[place] = birth; }
  std::uint16_t number(std::size_t hash) const { return births_by_address_[hash]; }
  void set_number(std::size_t hash, std::uint16_t number) { births_by_address_[hash] = number; }
  void expect(std::size_t) const {} // the writer looks for the block of a death first
  static void copy_words(std::uint64_t* to, const std::uint64_t* from) {
    std::memcpy(to, from, kWords * sizeof *to);
  }

 private:
  // A guess that lies in two cache lines costs two waits for memory.
  alignas(64) Guess guesses_[kContexts] = {};
  static_assert(sizeof(Guess) == 64);
  Birth recent_[kBirths] = {};
  std::uint16_t births_by_address_[2 * kBirths] = {};
};

template <class Tables>
class BasicModel : public ModelSizes {
 public:
  // Forgets all records, so that a reader can decode what follows without what came before.
  void restart() {
    ++epoch_;
    births_ = 0;
    stamp = 0;
    context_[0] = context_[1] = 0;
    slot_ = slot();
    fresh_ = true;
  }
  bool fresh() const { return fresh_; } // true if it learned nothing since the restart
  const Tables& tables() const { return tables_; }

  Stamp stamp = 0; // of the last record

  // Returns the type of the record that is expected now, or kEventTypes if none is expected.
  std::size_t likely_type() const {
    const Guess& guess = tables_.guess(slot_);
    return guess.epoch == epoch_ ? guess.type : kEventTypes;
  }
  // Returns the base against which a record of this type is coded.
  Guess base(std::size_t type) const {
    const Guess& guess = tables_.guess(slot_);
    if (guess.epoch == epoch_ && guess.type == type) return guess;
    return last_of(last_[type]);
  }
  // Refines the base of a stack record once its flags are known. A frame resembles the last frame of its
  // language. The last frame is its caller, and its id is the next one.
  void refine(Guess& base, bool python) const {
    const Guess frame = last_of(frames_[python]);
    std::memcpy(base.word, frame.word, sizeof base.word);
    const std::uint32_t before = low(last_of(last_[static_cast<std::size_t>(EventType::stack)]).word[0]);
    base.word[0] = halves(before + 1, before);
  }

  // Prefetches the guess for the record after `record`, and the block that `record` ends. `before`: the trait
  // of the record before it. Returns the trait of `record`.
  [[gnu::always_inline]] std::uint64_t prefetch_after(std::uint64_t before, const RingRecord& record) const {
    const std::uint64_t now = trait(record);
    __builtin_prefetch(&tables_.guess(slot(before, now)), 1);
    if (record.type == static_cast<std::uint8_t>(EventType::death))
      __builtin_prefetch(&tables_.birth(tables_.number(hash(record.payload.word[0])) % kBirths));
    return now;
  }

  // Returns the block that was born `distance` births ago, or null if the model does not have it.
  const Birth* born(std::uint64_t distance) const {
    if (distance == 0 || distance > kBirths || distance > births_) return nullptr;
    return &tables_.birth((births_ - distance) % kBirths);
  }
  // Returns how many births ago a block at this address was born, or 0 if unknown. Only a writer calls it.
  std::uint16_t distance_of(std::uint64_t address) const {
    const std::uint64_t number = tables_.number(hash(address)); // modulo 2^16, of any epoch
    const auto distance = static_cast<std::uint16_t>(births_ - number);
    const Birth* const birth = born(distance);
    return birth != nullptr && birth->address == address ? distance : 0;
  }

  // Learns a record that was coded. `distance` is the coded distance of a death.
  void learn(const RingRecord& record, std::uint16_t distance) {
    set_guess(tables_.guess(slot_), record, distance);
    set_guess(last_[record.type], record, distance);
    const auto type = static_cast<EventType>(record.type);
    if (type == EventType::stack) set_guess(frames_[record.flags & kPythonFrame], record, distance);
    if (type == EventType::birth) remember(record, record.payload.word[0], record.payload.word[1]);
    if (type == EventType::move) remember(record, record.payload.word[1], record.payload.word[2]);
    context_[0] = context_[1];
    context_[1] = trait(record);
    slot_ = slot();
    tables_.expect(slot_);
    stamp = record.stamp;
    fresh_ = false;
  }

 private:
  void set_guess(Guess& guess, const RingRecord& record, std::uint16_t distance) const {
    Tables::copy_words(guess.word, record.payload.word);
    guess.epoch = epoch_;
    guess.flags = record.flags;
    guess.distance = distance;
    guess.type = record.type;
    guess.kind = record.kind;
  }
  Guess last_of(const Guess& guess) const {
    if (guess.epoch == epoch_) return guess;
    return Guess{};
  }
  // Returns the part of a record that predicts the next record: its stack, size or phase, but not its address.
  static std::uint64_t trait(const RingRecord& record) {
    const std::uint64_t type = record.type * 0x100000001B3u;
    switch (static_cast<EventType>(record.type)) {
      case EventType::birth:
        return type ^ (low(record.payload.word[3]) * 31u + record.payload.word[1]);
      case EventType::death:
        return type ^ record.payload.word[1];
      case EventType::move:
        return type ^ low(record.payload.word[5]);
      case EventType::phase_begin:
      case EventType::phase_end:
        return type ^ record.payload.word[0];
      default:
        return type;
    }
  }
  static std::size_t slot(std::uint64_t before, std::uint64_t last) {
    const std::uint64_t mixed = (last * 0x9E3779B97F4A7C15u + before) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed >> 53); // 11 bits
  }
  std::size_t slot() const { return slot(context_[0], context_[1]); }
  static std::size_t hash(std::uint64_t address) {
    return static_cast<std::size_t>(address * 0x9E3779B97F4A7C15u >> 52); // 12 bits
  }
  void remember(const RingRecord& record, std::uint64_t address, std::uint64_t given) {
    tables_.set_birth(births_ % kBirths, {address, given, record.flags, record.kind});
    tables_.set_number(hash(address), static_cast<std::uint16_t>(births_));
    ++births_;
  }

  std::uint32_t epoch_ = 1; // 0 is the epoch in zeroed memory
  bool fresh_ = true;
  std::uint64_t births_ = 0;
  std::uint64_t context_[2] = {};
  std::size_t slot_ = 0; // of `context_`
  alignas(64) Guess last_[kEventTypes] = {};
  Guess frames_[2] = {};
  Tables tables_;
  static_assert(kContexts == 1 << 11 && 2 * kBirths == 1 << 12);
};

using Model = BasicModel<WholeTables>;

} // namespace memtrace::format
