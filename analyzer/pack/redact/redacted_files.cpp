// Purpose: the small files of a job without private names: evidence, ends, the files of attempts, symbols.
#include "analyzer/pack/redact/redacted_files.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "analyzer/evidence/watched_ends.h"
#include "analyzer/pack/redact/public_paths.h"
#include "analyzer/trace/module_map.h"

namespace memtrace::redact {
namespace {

// A kernel's message has the name of the program, which may contain spaces.
std::string message(std::string words, const std::string& program, const std::string& replacement,
                    PrivateNames& names) {
  for (std::size_t at = 0; !program.empty() && (at = words.find(program, at)) != std::string::npos;
       at += replacement.size())
    words.replace(at, program.size(), replacement);
  return names.sentence(words);
}

template <class Event>
void redact_event(Event& event, PrivateNames& names) {
  const std::string replacement = names.program(event.name);
  event.words = message(event.words, event.name, replacement, names);
  event.name = replacement;
}

} // namespace

evidence::Evidence redacted_evidence(evidence::Evidence evidence, PrivateNames& names) {
  evidence.log = names.sentence(evidence.log);
  for (std::string& file : evidence.files) file = names.evidence_file(file);
  for (evidence::CgroupState& group : evidence.groups) group.path = names.path(group.path);
  for (evidence::Kill& kill : evidence.kills) {
    kill.limited = names.path(kill.limited);
    kill.group = names.path(kill.group);
    redact_event(kill, names);
  }
  for (evidence::ProgramFault& fault : evidence.faults) redact_event(fault, names);
  for (evidence::Statement& statement : evidence.statements) {
    statement.who = names.subject(statement.who);
    statement.host = names.host(statement.host);
    statement.reason = names.sentence(statement.reason);
  }
  for (evidence::ManagerKill& kill : evidence.manager_kills) {
    kill.group = names.path(kill.group);
    kill.host = names.host(kill.host);
    kill.words.clear(); // names of programs, command lines and paths may be anywhere in it
  }
  for (evidence::ShmOrphan& orphan : evidence.left.orphans) orphan.name = names.shared_file(orphan.name);
  return evidence;
}

std::string redacted_ends(const std::string& content, PrivateNames& names) {
  std::string out;
  for (evidence::End& end : evidence::parse_ends(content)) {
    end.host = names.host(end.host);
    if (!end.trace.empty()) end.trace = names.stem(end.trace);
    out += evidence::line_of(end);
  }
  return out;
}

std::string redacted_job(const std::string& content, PrivateNames& names) {
  static constexpr const char* kNumbers[] = {"attempt", "began", "failed"};
  std::istringstream lines(content);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    const bool number =
        std::any_of(std::begin(kNumbers), std::end(kNumbers), [&](const char* one) { return key == one; }) &&
        value.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (number) out += line + "\n";
    if (key == "job") out += key + "=" + names.job(value) + "\n";
    if (key == "host") out += key + "=" + names.host(value) + "\n";
  }
  return out;
}

symbols::StoredNames redacted_symbols(const symbols::StoredNames& from, const trace::Trace& trace,
                                      PrivateNames& names) {
  const trace::ModuleMap modules(trace.definitions(), trace.facts().page_bytes);
  symbols::StoredNames out = from;
  for (auto& [address, frames] : out.natives) {
    const trace::Module* const module = modules.at(address - 1);
    const std::string path = module != nullptr ? trace.definitions().text(module->path) : "";
    if (!path.empty() && names.path(path) == path) continue; // of the system or of a package
    const bool known = is_public_object(std::string_view(path).substr(path.rfind('/') + 1));
    for (symbols::SourceFrame& frame : frames)
      if (!known || frame.file.starts_with('/')) frame.file = names.path(frame.file);
  }
  out.compiled.clear();
  for (const auto& [place, operators] : from.compiled)
    out.compiled[{names.path(place.first), place.second}] = operators;
  return out;
}

} // namespace memtrace::redact
