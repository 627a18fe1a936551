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
    return places_[slot] == 0 ? kNothing : guesses_[places_[slot] - 1];
  }
  Guess& guess(std::size_t slot) {
    if (places_[slot] == 0) {
      guesses_.emplace_back();
      places_[slot] = static_cast<std::uint16_t>(guesses_.size());
    }
    return guesses_[places_[slot] - 1];
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
    return sizeof *this + guesses_.size() * sizeof(Guess) + recent_.size() * sizeof(Birth);
  }

 private:
  std::uint16_t places_[kContexts] = {}; // index in `guesses_`, from 1; 0: none
  std::vector<Guess> guesses_;
  std::vector<Birth> recent_;
};

class Model : public format::BasicModel<GrowingTables> {
 public:
  std::size_t bytes() const { return sizeof *this + tables().bytes(); }
};

} // namespace memtrace::trace
