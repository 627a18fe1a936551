// Purpose: what a line of torch.compile's generated code computes, from the code itself.
#include "analyzer/symbols/inductor_code.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "analyzer/files/reading.h"

namespace memtrace::symbols {
namespace {

constexpr std::size_t kHashLetters = 50;        // base32 of 256 bits has 52
constexpr std::uint64_t kLargest = 4 << 20;     // bytes of a file; a large model's has some 100 KiB
constexpr std::size_t kMostLines = 50'000;      // of a file
constexpr std::size_t kMostFiles = 64;          // a trace may name any number
constexpr std::size_t kLongestLine = 16 * 1024; // of the lines that are parsed
constexpr std::size_t kUseWithin = 40;          // lines from an allocation to the call that fills it
constexpr std::size_t kLongestName = 60;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

std::string_view word_at_start(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// Returns the last name of "# Topologically Sorted Source Nodes: [permute, linear_1], Original ATen: ...". The
// last node is the one whose result the call writes.
std::string_view last_node(std::string_view comment) {
  constexpr std::string_view kNodes = "Source Nodes: [";
  const std::size_t at = comment.find(kNodes);
  if (at == std::string_view::npos) return {};
  std::string_view names = comment.substr(at + kNodes.size());
  names = names.substr(0, names.find(']'));
  const std::size_t comma = names.rfind(", ");
  return word_at_start(comma == std::string_view::npos ? names : names.substr(comma + 2));
}

// "mul_sigmoid" for "cpp_fused_mul_sigmoid_1" or "triton_poi_fused_mul_sigmoid_1".
std::string_view operators_of_kernel(std::string_view kernel) {
  constexpr std::string_view kFused = "_fused_";
  const std::size_t at = kernel.find(kFused);
  if (at == std::string_view::npos) return {};
  std::string_view out = kernel.substr(at + kFused.size());
  out = out.substr(0, out.find('.')); // triton's kernels are called by .run
  const std::size_t number = out.rfind('_');
  return number == std::string_view::npos ? std::string_view{} : out.substr(0, number);
}

} // namespace

bool InductorCode::is_generated(std::string_view file) {
  const std::size_t name = file.rfind('/');
  if (name == std::string_view::npos || name < 3 || !file.ends_with(".py")) return false;
  const std::string_view hash = file.substr(name + 1, file.size() - name - 4);
  return hash.size() > kHashLetters && hash.front() == 'c' && file[name - 3] == '/' &&
         file.substr(name - 2, 2) == hash.substr(1, 2) && std::all_of(hash.begin(), hash.end(), is_word);
}

const std::vector<std::string>& InductorCode::lines_of(std::string_view file) {
  const auto known = files_.find(file);
  if (known != files_.end()) return known->second;
  std::vector<std::string>& lines = files_[std::string(file)];
  if (files_.size() > kMostFiles) return lines;
  const std::optional<std::string> text = files::read_found(std::string(file), kLargest);
  for (std::size_t at = 0; text && at < text->size() && lines.size() < kMostLines;) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    lines.push_back(text->substr(at, std::min(end - at, kLongestLine)));
    at = end + 1;
  }
  return lines;
}

std::string InductorCode::filled_by(std::string_view file, std::uint32_t line) {
  if (!is_generated(file)) return {};
  const std::vector<std::string>& lines = lines_of(file);
  if (line == 0 || line > lines.size()) return {};
  const std::string_view allocation = trimmed(lines[line - 1]);
  const std::string_view buffer = word_at_start(allocation);
  if (buffer.empty() || allocation.find("= empty_strided") == std::string_view::npos) return {};
  const std::size_t end = std::min<std::size_t>(lines.size(), line + kUseWithin);
  for (std::size_t i = line; i < end; ++i) {
    const std::string_view call = trimmed(lines[i]);
    if (call.starts_with('#') || !has_word(call, buffer)) continue;
    const std::string_view function = word_at_start(call);
    if (function.size() == call.size() || call[function.size()] != '(') continue; // "del buf0", "buf1 = buf0"
    std::string_view name = operators_of_kernel(function);
    if (name.empty()) name = last_node(lines[i - 1]);
    if (name.empty()) name = function.substr(function.rfind('.') + 1);
    return std::string(name.substr(0, kLongestName));
  }
  return {};
}

} // namespace memtrace::symbols
