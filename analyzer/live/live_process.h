// Purpose: follows one process: each refresh replays what its trace got since, and gives the figures of now.
#pragma once

#include <memory>
#include <string>

#include "analyzer/attribute/block_groups.h"
#include "analyzer/follow/followed_trace.h"
#include "analyzer/live/live_state.h"
#include "analyzer/live/recent_steps.h"
#include "analyzer/replay/replay.h"
#include "analyzer/symbols/symbolizer.h"

namespace memtrace::live {

// levels: without call sites, which need the symbols of the libraries, and without the way in which it ended.
enum class LiveDetail { all, levels };

class LiveProcess {
 public:
  explicit LiveProcess(std::string path, LiveDetail detail = LiveDetail::all) : detail_(detail) {
    now_.path = std::move(path);
  }

  // Reads what came since, and sets now(). An error of the trace is in now().error.
  void refresh();
  const ProcessNow& now() const { return now_; }
  double read_at() const { return read_at_; } // seconds of CLOCK_MONOTONIC of the last refresh; 0: none
  bool is_over() const { return over_; }      // it ended, and all of its trace was read
  std::uint64_t start_unix_ns() const { return trace_ ? trace_->facts().start_unix_ns : 0; }

 private:
  void begin_again();
  void follow(bool running);
  void describe();
  void describe_place();
  std::uint64_t used_of(std::size_t memory, std::int64_t live) const;
  void describe_memories();
  void describe_growth(MemoryNow& memory);
  void describe_large();
  void describe_roles();
  void note_end();
  bool is_running() const;

  LiveDetail detail_;
  std::unique_ptr<trace::FollowedTrace> trace_;
  std::unique_ptr<RecentSteps> recent_;
  std::unique_ptr<replay::FollowedReplay> replay_;
  std::unique_ptr<replay::BlockGroups> groups_;
  std::unique_ptr<symbols::Symbolizer> symbolizer_;
  std::size_t modules_ = 0; // that the groups and the symbolizer know
  bool parameters_ = false; // the groups know that there are some
  ProcessNow now_;
  double read_at_ = 0;
  bool over_ = false;
};

} // namespace memtrace::live
