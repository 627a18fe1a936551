// Purpose: the replacements of private names. Equal names get equal replacements in all files of a job.
#include "analyzer/pack/redact/private_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "analyzer/job/trace_name.h"
#include "analyzer/pack/redact/public_paths.h"

namespace memtrace::redact {
namespace {

constexpr std::string_view kCompiled = "torchinductor_"; // the folder of torch.compile has the user's name
constexpr const char* kPathNotes[] = {"rings", "python-library", "python-path", "malloc"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '/' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// "--batch", "-c": the name of an option. One letter behind a single dash, because a value may follow it.
std::size_t option_bytes(std::string_view word) {
  if (!word.starts_with("--")) return std::min<std::size_t>(word.size(), 2);
  const auto end = std::find_if_not(word.begin() + 2, word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  return static_cast<std::size_t>(end - word.begin());
}

} // namespace

const std::string& PrivateNames::replaced(Replacements& map, const std::string& name, const char* prefix,
                                          std::string_view suffix) {
  std::string& out = map[name];
  if (out.empty()) out = prefix + std::to_string(++numbers_[prefix]) + std::string(suffix);
  return out;
}

void PrivateNames::learn_host(const std::string& name) {
  if (!name.empty()) host(name);
}

std::string PrivateNames::host(const std::string& name) {
  return name.empty() ? name : replaced(hosts_, name, "host");
}

std::string PrivateNames::job(const std::string& id) {
  const bool plain =
      std::all_of(id.begin(), id.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
  return plain ? id : replaced(jobs_, id, "job");
}

std::string PrivateNames::program(const std::string& name) {
  return is_common(name) ? name : replaced(programs_, name, "program");
}

std::string PrivateNames::part(const std::string& name) {
  if (const auto known = hosts_.find(name); known != hosts_.end()) return known->second;
  if (const auto known = users_.find(name); known != users_.end()) return known->second;
  if (is_common(name)) return name;
  if (name.starts_with(kCompiled))
    return std::string(kCompiled) + replaced(users_, name.substr(kCompiled.size()), "user");
  const std::string_view suffix = known_suffix(name);
  return replaced(parts_, name, suffix.empty() ? "d" : "f", suffix);
}

std::string PrivateNames::path(const std::string& path) {
  if (path.empty() || (path.find('/') == std::string::npos && (path.front() == '<' || path.front() == '[')))
    return path;
  const std::vector<std::string> parts = parts_of(path);
  std::size_t end = first_public(parts);
  for (const std::string& library : libraries_) {
    const std::size_t depth = parts_of(library).size();
    if (depth < end && path.starts_with(library + "/") && is_public_package(parts[depth])) end = depth;
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool user = i == 2 && parts[0].empty() && parts[1] == "home" && !parts[i].empty();
    if (i != 0) out += '/';
    out += i >= end ? parts[i] : user ? replaced(users_, parts[i], "user") : part(parts[i]);
  }
  return out;
}

std::string PrivateNames::argument(const std::string& text) {
  if (text.empty()) return text;
  if (text.front() == '-') {
    const std::size_t name = option_bytes(text);
    const bool value = name < text.size() && text[name] == '=';
    const std::string rest = text.substr(name + (value ? 1 : 0));
    return text.substr(0, name) + (value ? "=" : "") + (rest.empty() ? "" : replaced(arguments_, rest, "arg"));
  }
  return text.ends_with(".py") ? path(text) : replaced(arguments_, text, "arg");
}

std::string PrivateNames::arguments(const std::string& joined) {
  std::string out;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t end = std::min(joined.find('\0', at), joined.size());
    const std::string word = joined.substr(at, end - at);
    out += at == 0 ? path(word) : argument(word);
    if (end < joined.size()) out += '\0';
    at = end + 1;
  }
  return out;
}

std::string PrivateNames::note(const std::string& note) {
  const std::size_t equals = note.find('=');
  if (equals == std::string::npos) return sentence(note);
  const std::string key = note.substr(0, equals), value = note.substr(equals + 1);
  const bool path_follows =
      std::any_of(std::begin(kPathNotes), std::end(kPathNotes), [&](const char* one) { return key == one; });
  if (path_follows) return key + "=" + path(value);
  if (key == "boot") return key + "=" + replaced(subjects_, value, "boot");
  return key + "=" + sentence(value);
}

// Replaces whole words. `paths`: words with a slash are paths.
std::string PrivateNames::words(const std::string& text, const std::vector<const Replacements*>& known,
                                bool paths) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = is_word(*begin) ? std::find_if_not(begin, text.end(), is_word) : begin + 1;
    std::string word(begin, end);
    at += word.size();
    if (paths && word.find('/') != std::string::npos) {
      word = path(word);
    } else {
      for (const Replacements* const map : known)
        if (const auto found = map->find(word); found != map->end()) {
          word = found->second;
          break;
        }
    }
    out += word;
  }
  return out;
}

std::string PrivateNames::label(const std::string& text) {
  return words(text, {&hosts_, &users_}, false);
}

std::string PrivateNames::sentence(const std::string& text) {
  return words(text, {&hosts_, &users_, &programs_, &parts_, &arguments_}, true);
}

std::string PrivateNames::subject(const std::string& text) {
  static constexpr const char* kWords[] = {"pod", "container", "job", "step", "pid", "task", "batch", "extern"};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool plain =
        word.find_first_not_of("0123456789.") == std::string::npos ||
        std::any_of(std::begin(kWords), std::end(kWords), [&](const char* one) { return word == one; });
    out += plain ? word : replaced(subjects_, word, "name");
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

std::string PrivateNames::shared_file(const std::string& name) {
  static constexpr const char* kPublic[] = {"torch_", "psm_", "sem.mp-", "__KMP_REGISTERED_LIB_"};
  const bool known = std::any_of(std::begin(kPublic), std::end(kPublic),
                                 [&](const char* one) { return name.starts_with(one); });
  return known ? name : part(name);
}

std::string PrivateNames::evidence_file(const std::string& name) {
  return replaced(evidence_files_, name, "file");
}

std::string PrivateNames::stem(const std::string& stem) {
  const auto name = report::trace_name(stem + ".memtrace");
  return name ? host(name->host) + stem.substr(name->host.size()) : replaced(stems_, stem, "trace");
}

} // namespace memtrace::redact
