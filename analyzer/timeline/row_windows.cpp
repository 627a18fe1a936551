// Purpose: chooses the parts of a run whose blocks the timeline stores one by one.
#include "analyzer/timeline/row_windows.h"

#include <algorithm>

namespace memtrace::replay {
namespace {

constexpr std::size_t kNoInterest = ~std::size_t{0};

class WindowChoice {
 public:
  WindowChoice(const std::vector<Bin>& bins, std::uint64_t most_blocks)
      : bins_(bins), left_(most_blocks), chosen_for_(bins.size(), kNoInterest) {}

  // True if the budget is enough for all bins.
  bool fits() const {
    std::uint64_t all = 0;
    for (const Bin& bin : bins_) all += bin.blocks;
    return all <= left_;
  }

  // Takes the bins of an interest, from the middle to both sides, and at most `share` births and deaths.
  void take(const Interest& interest, std::size_t number, std::uint64_t share) {
    const auto after = [](trace::Ordinal at, const Bin& bin) { return at < bin.first; };
    const auto place = [&](trace::Ordinal at) {
      const auto next = std::upper_bound(bins_.begin(), bins_.end(), at, after);
      return static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - bins_.begin() - 1, 0));
    };
    const std::size_t first = place(interest.from), last = place(interest.to);
    const std::size_t middle = first + (last - first) / 2;
    grow(middle, first, last, number, std::min(left_, share));
  }

  // Spends what is left: the chosen bins grow on both sides.
  void spread() {
    bool grew = true;
    while (grew) {
      grew = false;
      const std::vector<std::size_t> before = chosen_for_;
      for (std::size_t i = 0; i < bins_.size(); ++i) {
        if (before[i] != kNoInterest) continue;
        const bool left = i > 0 && before[i - 1] != kNoInterest && !bins_[i].after_gap;
        const bool right = i + 1 < bins_.size() && before[i + 1] != kNoInterest && !bins_[i + 1].after_gap;
        if ((left || right) && choose(i, left ? before[i - 1] : before[i + 1])) grew = true;
      }
    }
  }

  std::vector<RowWindow> take_windows(const std::vector<Interest>& interests) const {
    std::vector<RowWindow> out;
    std::vector<std::size_t> best;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      if (chosen_for_[i] == kNoInterest) continue;
      const bool joins = !out.empty() && out.back().last_bin + 1 == i && !bins_[i].after_gap;
      if (!joins) {
        out.push_back({i, i, bins_[i].first, bins_[i].last, ""});
        best.push_back(chosen_for_[i]);
      }
      out.back().last_bin = i;
      out.back().to = bins_[i].last;
      best.back() = std::min(best.back(), chosen_for_[i]);
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i].why = interests[best[i]].why;
    return out;
  }

 private:
  bool choose(std::size_t bin, std::size_t number) {
    if (chosen_for_[bin] != kNoInterest || bins_[bin].blocks > left_) return false;
    left_ -= bins_[bin].blocks;
    chosen_for_[bin] = number;
    return true;
  }

  void grow(std::size_t middle, std::size_t first, std::size_t last, std::size_t number, std::uint64_t share) {
    std::uint64_t taken = 0;
    for (std::size_t away = 0; away <= last - first; ++away) {
      for (const std::size_t bin : {middle + away, middle - away}) {
        if (bin < first || bin > last || bin >= bins_.size()) continue; // below 0 wraps
        if (taken + bins_[bin].blocks > share && taken != 0) return;
        if (choose(bin, number)) taken += bins_[bin].blocks;
      }
    }
  }

  const std::vector<Bin>& bins_;
  std::uint64_t left_;                  // births and deaths
  std::vector<std::size_t> chosen_for_; // by bin: the number of an interest
};

} // namespace

std::vector<RowWindow> choose_windows(const LevelBins& bins, const std::vector<Interest>& interests,
                                      std::uint64_t most_blocks) {
  if (bins.bins().empty()) return {};
  WindowChoice choice(bins.bins(), most_blocks);
  if (choice.fits()) {
    const Interest whole{bins.bins().front().first, bins.bins().back().last, "the whole run"};
    choice.take(whole, 0, most_blocks);
    return choice.take_windows({whole});
  }
  for (std::size_t i = 0; i < interests.size(); ++i)
    choice.take(interests[i], i, std::max<std::uint64_t>(most_blocks / 4, 1));
  choice.spread();
  return choice.take_windows(interests);
}

} // namespace memtrace::replay
