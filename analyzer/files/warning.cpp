// Purpose: hands warnings to spdlog. Only this file includes spdlog: its headers take 8 s to compile.
#include "analyzer/files/warning.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

namespace memtrace::files {
namespace {

class Sink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(std::function<void(const std::string&)> writer) : writer_(std::move(writer)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_(std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  std::function<void(const std::string&)> writer_;
};

constinit thread_local std::vector<std::string>* kept_lines = nullptr;

} // namespace

KeptWarnings::KeptWarnings(std::vector<std::string>& lines) : before_(std::exchange(kept_lines, &lines)) {}

KeptWarnings::~KeptWarnings() {
  kept_lines = before_;
}

void warn(const std::string& line) {
  if (kept_lines != nullptr) return kept_lines->push_back(line);
  spdlog::warn("{}", line);
}

void set_warning_writer(std::function<void(const std::string&)> writer) {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("memtrace", std::make_shared<Sink>(std::move(writer))));
}

} // namespace memtrace::files
