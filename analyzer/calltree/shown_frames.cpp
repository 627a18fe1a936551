// Purpose: chooses the frames of a stack that tell a reader something, and names them in one line.
#include "analyzer/calltree/shown_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "analyzer/frameworks/function_names.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using symbols::SiteFrame;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool of_interpreter(const SiteFrame& frame) {
  const std::string_view module = file_name(frame.module);
  return module.starts_with("libpython") || module.starts_with("python3") || module == "python";
}

// True for a native frame that only passes a call on.
bool passes_on(const SiteFrame& frame) {
  return symbols::is_plumbing(frame) || of_interpreter(frame) || frameworks::is_torch_library(frame.module);
}

bool tells_nothing(const SiteFrame& frame) {
  if (frame.python) return frame.file.starts_with("<frozen ") || frameworks::wraps_calls(frame.file);
  return passes_on(frame);
}

// Returns the frames without what the import of a library called below its first module.
std::span<const SiteFrame> without_import(const std::vector<SiteFrame>& frames) {
  bool importing = false;
  for (std::size_t left = frames.size(); left > 0; --left) { // the outermost first
    const SiteFrame& frame = frames[left - 1];
    if (!frame.python) continue;
    const bool importer = frame.file.starts_with("<frozen importlib");
    if (importing && !importer && !frame.own) return std::span(frames).subspan(left - 1);
    importing = importer;
  }
  return frames;
}

} // namespace

bool is_operator(const SiteFrame& frame) {
  return !frame.python && !frameworks::operator_of(frame.function).empty();
}

std::vector<const SiteFrame*> shown_frames(const std::vector<SiteFrame>& all) {
  const std::span<const SiteFrame> frames = without_import(all);
  std::vector<const SiteFrame*> out;
  const SiteFrame* called = nullptr; // the outermost operator so far, of the present call of PyTorch
  const auto close = [&] {
    if (called != nullptr) out.push_back(called);
    called = nullptr;
  };
  for (const SiteFrame& frame : frames) {
    if (is_operator(frame)) {
      called = &frame;
      continue;
    }
    const bool telling = !tells_nothing(frame);
    if (frame.python || telling) close(); // another call of PyTorch follows
    if (telling) out.push_back(&frame);
  }
  close();
  if (out.empty() && !frames.empty()) {
    const auto telling = std::find_if(frames.begin(), frames.end(),
                                      [](const SiteFrame& frame) { return !symbols::is_plumbing(frame); });
    out.push_back(telling != frames.end() ? &*telling : &frames.front());
  }
  return out;
}

std::string function_text(const SiteFrame& frame) {
  if (frame.python) return printable(frame.function);
  const std::string name = frameworks::operator_of(frame.function);
  return printable(!name.empty() ? "torch." + name : std::string(symbols::without_parameters(frame.function)));
}

std::string PlaceNames::of(const SiteFrame& frame) const {
  if (frame.file.empty() || frame.line == 0) return printable(file_name(frame.module));
  std::string path(frame.python ? libraries_.below(frame.file) : "");
  if (path.empty()) path = symbols::short_path(frame.file, facts_.working_directory);
  if (frame.file == libraries_.main_script()) path = file_name(frame.file);
  return printable(fmt::format("{}:{}", path, frame.line));
}

} // namespace memtrace::report
