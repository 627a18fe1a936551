// Purpose: the files of a trace whose process runs, each read on from where the last reading ended.
#include "analyzer/follow/growing_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "analyzer/decode/read_error.h"

namespace memtrace::trace {

GrowingFiles::GrowingFiles(const std::string& path, files::Origin origin)
    : file_(path, origin), index_(file_), stem_(stem_of(path)), rings_path_(stem_ + ".rings") {}

// The recorder makes a file anew for each window, so another inode is another window.
void GrowingFiles::find_window(std::uint32_t place) try {
  const std::string path = stem_ + ".window-" + std::to_string(place);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    windows_.erase(place);
    return;
  }
  GrowingWindow& window = windows_[place];
  if (window.of.file == nullptr || window.inode != status.st_ino) {
    window = {};
    window.inode = status.st_ino;
    window.of.file = std::make_unique<File>(path, files::Origin::found);
    window.of.index = std::make_unique<SegmentIndex>(*window.of.file, index_.trace_id());
  } else if (!window.of.number) {
    window.of.index->extend();
  }
  if (!window.of.number) window.of.number = number_of(window.of);
} catch (const ReadError&) {
  windows_.erase(place);
}

// The recorder writes one window at a time. So a window whose successor is known is complete when it is listed
// after that.
std::vector<GrowingFiles::GrowingWindow*> GrowingFiles::windows_in_order() {
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) find_window(i);
  std::vector<GrowingWindow*> order;
  for (auto& [place, window] : windows_)
    if (window.of.number) order.push_back(&window);
  std::sort(order.begin(), order.end(),
            [](const GrowingWindow* a, const GrowingWindow* b) { return *a->of.number < *b->of.number; });
  if (!std::exchange(begun_, true) && !order.empty()) {
    const std::uint32_t last = *order.back()->of.number;
    const bool pair = order.size() > 1 && *order[order.size() - 2]->of.number + 1 == last;
    first_window_ = pair ? last - 1 : last;
  }
  std::erase_if(order, [this](const GrowingWindow* window) { return *window->of.number < first_window_; });
  for (GrowingWindow* const window : order) window->of.index->extend();
  return order;
}

// Lists the trace file after the windows: so it has the definitions of all that is in them.
void GrowingFiles::read_on(const Take& take) {
  const std::vector<GrowingWindow*> windows = windows_in_order();
  index_.extend();
  for (; given_ < index_.segments().size(); ++given_) take(file_, index_.segments()[given_], 0);
  for (GrowingWindow* const window : windows) {
    const std::vector<Segment>& segments = window->of.index->segments();
    for (; window->given < segments.size(); ++window->given)
      take(*window->of.file, segments[window->given], *window->of.number);
  }
}

void GrowingFiles::begin_again() {
  given_ = 0;
  for (auto& [place, window] : windows_) window.given = 0;
}

} // namespace memtrace::trace
