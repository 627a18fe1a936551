// Purpose: the model that a reader decodes with, in memory that grows with what the model learned.
#pragma once

#include <vector>

#include "preload/format/predictor.h"

namespace memtrace::trace {

// A reader has a model for each thread that it is in the middle of. With 190 KiB for each model, 20,000 threads
// took 3.8 GB. A segment of 66 bytes is enough for a model.
class GrowingTables : public format::ModelSizes {
 public:
  const Guess& guess(std::size_t slot) const {
    static constexpr Guess kNothing{};
    return places_[slot] == 0 ? kNothing : guesses_[places_[slot] - 1].guess;
  }
  Guess& guess(std::size_t slot) {
    if (places_[slot] == 0) {
      guesses_.emplace_back();
      places_[slot] = static_cast<std::uint16_t>(guesses_.size());
    }
    return guesses_[places_[slot] - 1].guess;
  }
  // Loads the guess into the cache. The next record needs it, and a fifth of the decoder's time went to
  // waiting.
  void expect(std::size_t slot) const {
    if (const std::uint16_t place = places_[slot]; place != 0) __builtin_prefetch(&guesses_[place - 1]);
  }
  // Copies word by word. The decoder has just stored each word, and a wider load would wait for these stores.
  static void copy_words(std::uint64_t* to, const std::uint64_t* from) {
    for (std::size_t i = 0; i < format::kWords; ++i) {
      std::uint64_t word = from[i];
      asm("" : "+r"(word)); // so that the compiler does not join the copies
      to[i] = word;
    }
  }
  const Birth& birth(std::size_t place) const { return recent_[place]; }
  void set_birth(std::size_t place, const Birth& birth) { // new places come in order
    if (place < recent_.size()) {
      recent_[place] = birth;
    } else {
      recent_.push_back(birth);
    }
  }
  void set_number(std::size_t, std::uint16_t) {} // only the writer needs it
  std::size_t bytes() const {
    return sizeof *this + guesses_.size() * sizeof(GuessLine) + recent_.size() * sizeof(Birth);
  }

 private:
  struct alignas(64) GuessLine { // of the cache
    Guess guess{};
  };
  static_assert(sizeof(GuessLine) == sizeof(Guess));

  std::uint16_t places_[kContexts] = {}; // index in `guesses_`, from 1; 0: none
  std::vector<GuessLine> guesses_;
  std::vector<Birth> recent_;
};

class Model : public format::BasicModel<GrowingTables> {
 public:
  std::size_t bytes() const { return sizeof *this + tables().bytes(); }
};

} // namespace memtrace::trace
