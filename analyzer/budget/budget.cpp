// Purpose: a memory budget, parsed from text such as "peak(host, tensor) <= 2GiB".
#include "analyzer/budget/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "analyzer/job/usage_error.h"
#include "analyzer/wording/units.h"

namespace memtrace::budget {
namespace {

struct ExpressionForm {
  const char* name;
  Quantity quantity;
  std::size_t least, most; // arguments
  const char* takes;
  const char* usage;
};

constexpr std::array<ExpressionForm, 4> kForms{{
    {"peak", Quantity::peak, 0, 2, "0 to 2 arguments", "peak(host, tensor)"},
    {"phase", Quantity::phase, 1, 3, "1 to 3 arguments", "phase(forward, host, tensor)"},
    {"leak", Quantity::leak, 0, 1, "0 or 1 argument", "leak(host)"},
    {"findings", Quantity::findings, 0, 0, "no argument", "findings()"},
}};
constexpr std::array<const char*, 5> kMeasures{"live", "tensor", "reserved", "used", "rss"};
constexpr std::array<const char*, 2> kPhaseMeasures{"live", "tensor"};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char letter) { return letter == ' ' || letter == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& option) : text_(text), option_(option) {}

  MemoryBudget parse() {
    const std::size_t relation = text_.rfind("<=");
    if (relation == std::string::npos) refuse("expected EXPRESSION <= SIZE, as in 'peak(host) <= 2G'");
    const std::string_view whole = text_;
    const ExpressionForm& form = expression(trimmed(whole.substr(0, relation)));
    budget_.quantity = form.quantity;
    fill(form);
    set_limit(std::string(trimmed(whole.substr(relation + 2))));
    budget_.text = fmt::format("{} <= {}", expression_of(budget_), figure_text(budget_, budget_.limit));
    return budget_;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw report::UsageError(fmt::format("{} '{}': {}", option_, text_, reason));
  }

  // Reads "NAME(ARGUMENT, ARGUMENT)" into `arguments_`, and returns the form of this name.
  const ExpressionForm& expression(std::string_view text) {
    const std::size_t open = text.find('(');
    const std::string name(trimmed(text.substr(0, open)));
    const auto form = std::find_if(kForms.begin(), kForms.end(),
                                   [&name](const ExpressionForm& one) { return name == one.name; });
    if (form == kForms.end())
      refuse(fmt::format("'{}' is not an expression; it is one of peak, phase, leak, findings", name));
    if (open == std::string_view::npos)
      refuse(fmt::format("expected '(' after '{}', as in {}", name, form->usage));
    if (text.back() != ')') refuse(fmt::format("expected ')' before '<=', as in {}", form->usage));
    std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
    while (!inside.empty()) {
      const std::size_t comma = inside.find(',');
      arguments_.emplace_back(trimmed(inside.substr(0, comma)));
      inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
      if (comma != std::string_view::npos && trimmed(inside).empty()) arguments_.emplace_back();
    }
    if (arguments_.size() < form->least || arguments_.size() > form->most)
      refuse(fmt::format("{} takes {}, as in {}", name, form->takes, form->usage));
    if (std::find(arguments_.begin(), arguments_.end(), "") != arguments_.end())
      refuse(fmt::format("an argument is empty; expected {}", form->usage));
    return *form;
  }

  void fill(const ExpressionForm& form) {
    std::size_t at = 0;
    if (form.quantity == Quantity::phase) {
      budget_.phase = arguments_[at++];
      if (budget_.phase == "update") budget_.phase = "step"; // the text report calls this phase update
      if (budget_.phase.starts_with("update/")) budget_.phase.replace(0, 6, "step");
    }
    if (at < arguments_.size()) set_memory(arguments_[at++]);
    if (at < arguments_.size()) set_measure(arguments_[at++], form);
  }

  void set_memory(const std::string& name) {
    const std::string_view number = std::string_view(name).substr(std::min<std::size_t>(5, name.size()));
    const bool device = name.starts_with("cuda:") && !number.empty() && number.size() <= 3 &&
                        std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name != "host" && !device) refuse(fmt::format("'{}' is not a memory; expected host or cuda:N", name));
    budget_.memory = name;
  }

  void set_measure(const std::string& name, const ExpressionForm& form) {
    const bool phase = form.quantity == Quantity::phase;
    const bool known =
        phase ? std::find(kPhaseMeasures.begin(), kPhaseMeasures.end(), name) != kPhaseMeasures.end()
              : std::find(kMeasures.begin(), kMeasures.end(), name) != kMeasures.end();
    if (!known)
      refuse(fmt::format("'{}' is not a measure of {}; expected {}", name, form.name,
                         phase ? "live or tensor" : "live, tensor, reserved, used or rss"));
    budget_.measure = name;
  }

  void set_limit(const std::string& text) {
    const auto size = parse_size(text);
    if (!size)
      refuse(fmt::format("'{}' is not a size; expected bytes, or K, M, G, T as in 512M or 2GiB", text));
    if (budget_.quantity == Quantity::findings && text.find_first_not_of("0123456789") != std::string::npos)
      refuse(fmt::format("'{}' is not a number of findings", text));
    budget_.limit = *size;
  }

  const std::string& text_;
  const std::string& option_;
  std::vector<std::string> arguments_;
  MemoryBudget budget_;
};

} // namespace

MemoryBudget parse_budget(const std::string& text, const std::string& option) {
  return Parser(text, option).parse();
}

std::string expression_of(const MemoryBudget& budget) {
  switch (budget.quantity) {
    case Quantity::peak:
      return fmt::format("peak({}, {})", budget.memory, budget.measure);
    case Quantity::phase:
      return fmt::format("phase({}, {}, {})", budget.phase, budget.memory, budget.measure);
    case Quantity::leak:
      return fmt::format("leak({})", budget.memory);
    case Quantity::findings:
      break;
  }
  return "findings()";
}

std::string figure_text(const MemoryBudget& budget, std::int64_t figure) {
  return budget.quantity == Quantity::findings ? std::to_string(figure) : report::size(figure);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  constexpr double kMost = 1e18;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view unit = trimmed({at, static_cast<std::size_t>(end - at)});
  for (const char letter : {'K', 'M', 'G', 'T'}) {
    if (!unit.empty() && (unit.front() == letter || unit.front() == letter + ('a' - 'A'))) {
      value *= letter == 'K' ? 0x1p10 : letter == 'M' ? 0x1p20 : letter == 'G' ? 0x1p30 : 0x1p40;
      unit.remove_prefix(1);
      if (unit == "iB") unit = "";
      break;
    }
  }
  if (unit == "B") unit = "";
  if (!unit.empty() || value > kMost) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

} // namespace memtrace::budget
