// Purpose: writes a call tree as text.
#include "analyzer/print/text/tree_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/calltree/shown_frames.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_wrap.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kFewestOfName = 16; // columns: a function's name is cut before its file and line

class TreeText {
 public:
  TreeText(const ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree, const Screen& screen)
      : analysis_(analysis),
        held_(held),
        tree_(tree),
        places_(analysis.facts()),
        unit_(unit_for(held.total)),
        lines_(screen) {}

  std::string write(const TreeQuestion& question) {
    lines_.strong(script_and_pid(analysis_.facts()) + "  " + held_text(analysis_, held_));
    if (!question.finding.empty()) lines_.paragraph("", question.finding);
    if (held_.total == 0) return nothing();
    lines_.gap();
    lines_.faint(
        fmt::format("{:>10}{:>7}{:>9}  {}", unit_.name, "%", "blocks",
                    question.inverted ? "allocation, then its callers" : "call, with what it calls below it"));
    for (const TreeLine& line : tree_lines(tree_, question.limits)) put(line);
    lines_.gap();
    notes(question.limits);
    return lines_.take();
  }

 private:
  std::string nothing() {
    lines_.plain("Nothing was alive there.");
    return lines_.take();
  }

  std::string figures(std::int64_t bytes, std::uint64_t blocks) const {
    const double percent = 100.0 * static_cast<double>(bytes) / static_cast<double>(held_.total);
    return fmt::format("{:>10}{:>7.1f}{:>9}", in_unit(bytes, unit_), percent,
                       blocks == 0 ? "" : std::to_string(blocks));
  }

  // Returns at most a fifth of the screen. A deeper branch has its depth as a number.
  std::string indent(const TreeLine& line) const {
    const std::size_t deepest = lines_.columns() / 10;
    const std::size_t depth = std::min(line.depth, deepest);
    const std::string number = line.depth > deepest && line.branch ? fmt::format("({}) ", line.depth) : "";
    return std::string(2 * depth, ' ') + (line.branch ? "+ " : "  ") + number;
  }

  std::string call(const TreeLine& line, std::size_t width) const {
    const symbols::SiteFrame& frame = tree_.frames.at(tree_.nodes[line.node].frame);
    const std::string name = function_text(frame);
    std::size_t left_out = line.count;
    std::string place = places_.of(frame);
    if (is_operator(frame)) place = line_of_caller(line, left_out);
    if (!place.empty()) place = "  " + place;
    const std::string between =
        left_out == 0 ? "" : fmt::format("... {} {} ", left_out, left_out == 1 ? "call" : "calls");
    if (columns(between + name + place) > width && place.find(':') != std::string::npos &&
        place.find('/') != std::string::npos)
      place = "  " + place.substr(place.rfind('/') + 1);
    const std::size_t taken = columns(place) + columns(between);
    return cut(between + shortened(name, std::max(kFewestOfName, width - std::min(width, taken))) + place,
               width);
  }

  // Returns the line that called an operator of PyTorch, which has no line itself. Then that call is not left
  // out. "" if the line above shows it.
  std::string line_of_caller(const TreeLine& line, std::size_t& left_out) const {
    const CallNode& caller = tree_.nodes[tree_.nodes[line.node].parent];
    if (left_out == 0 || !tree_.frames.at(caller.frame).python) return "";
    --left_out;
    return places_.of(tree_.frames.at(caller.frame));
  }

  std::string words(const TreeLine& line, std::size_t width) const {
    switch (line.kind) {
      case TreeLine::LineKind::call:
        return call(line, width);
      case TreeLine::LineKind::itself:
        return "(itself)";
      case TreeLine::LineKind::no_stack:
        return kNoStack;
      case TreeLine::LineKind::small:
        return line.count == 1 ? "(itself and 1 smaller call)"
                               : fmt::format("({} smaller calls)", count(line.count));
    }
    return "";
  }

  void put(const TreeLine& line) {
    const std::string before = figures(line.bytes, line.blocks) + "  " + indent(line);
    const std::size_t width = lines_.columns() - std::min(lines_.columns(), columns(before));
    const std::string text = before + words(line, width);
    if (line.kind == TreeLine::LineKind::small)
      lines_.faint(text);
    else if (line.own)
      lines_.own_code(text);
    else
      lines_.plain(text);
  }

  void notes(const TreeLimits& limits) {
    std::string text = "The lines without lines below them add up to the total.";
    if (limits.least > 0)
      text += fmt::format(" Calls below {} share a line; --min-size 0 shows each.", size(limits.least));
    if (tree_.hidden != 0)
      text += fmt::format(
          " {} of allocators, the interpreter, PyTorch's dispatcher and imports {} not shown; "
          "--all-frames shows them.",
          tree_.hidden == 1 ? "1 call" : report::count(tree_.hidden) + " different calls",
          tree_.hidden == 1 ? "is" : "are");
    if (held_.reduced != 0)
      text += fmt::format(
          " The estimates of sampled blocks were {} too high together, and were reduced to the exact total.",
          size(held_.reduced));
    lines_.paragraph("", text);
  }

  const ProcessAnalysis& analysis_;
  const HeldBlocks& held_;
  const CallTree& tree_;
  const PlaceNames places_;
  const Unit unit_;
  Lines lines_;
};

} // namespace

std::string held_text(const ProcessAnalysis& analysis, const HeldBlocks& held) {
  const replay::Peak& peak = peak_of(analysis, held.peak);
  std::string out = fmt::format("{}: {}{} alive at the {}", memory_name(held.peak.memory), size(held.total),
                                held.peak.measure == replay::Measure::tensor ? " of tensors" : "",
                                held.at_end ? "end" : "peak");
  if (held.at_end) return out;
  out += ", " + analysis.place(peak.path, peak.step);
  if (!peak.bucket) out += fmt::format(", {} after the start", duration(analysis.seconds(peak.stamp)));
  return out;
}

std::string tree_text(ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree,
                      const TreeQuestion& question, const Screen& screen) {
  return TreeText(analysis, held, tree, screen).write(question);
}

} // namespace memtrace::report
