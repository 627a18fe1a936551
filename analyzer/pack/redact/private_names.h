// Purpose: the replacements of private names. Equal names get equal replacements in all files of a job.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::redact {

// docs/pack.md has the rule: what is private, and what stays.
class PrivateNames {
 public:
  // Learns names whose replacements also apply inside other texts.
  void learn_host(const std::string& host);
  void learn_path(const std::string& path) { this->path(path); }
  // Learns a folder of PYTHONPATH. Public packages directly in it stay.
  void learn_library(const std::string& folder) { libraries_.push_back(folder); }

  std::string host(const std::string& name);
  std::string job(const std::string& id);
  std::string program(const std::string& name); // as the kernel shortens it
  // Replaces the parts of a path, each by itself, so that paths in one folder stay in one folder.
  std::string path(const std::string& path);
  // `joined`: the arguments with NUL between them.
  std::string arguments(const std::string& joined);
  // A fact `key=value` of the recorder.
  std::string note(const std::string& note);
  // A name that the program gave: only host names and users are private.
  std::string label(const std::string& text);
  // A sentence of a kernel or a tool: paths, and all words that have a replacement.
  std::string sentence(const std::string& text);
  // The subject of a statement: "pod train-0, container main".
  std::string subject(const std::string& text);
  // The name of a file in /dev/shm.
  std::string shared_file(const std::string& name);
  // The name of a file of evidence that the user gave.
  std::string evidence_file(const std::string& name);
  // HOST-PID-START.
  std::string stem(const std::string& stem);

 private:
  using Replacements = std::map<std::string, std::string, std::less<>>;

  const std::string& replaced(Replacements& map, const std::string& name, const char* prefix,
                              std::string_view suffix = "");
  std::string part(const std::string& name);
  std::string argument(const std::string& text);
  std::string words(const std::string& text, const std::vector<const Replacements*>& known, bool paths);

  Replacements hosts_, users_, parts_, arguments_, jobs_, programs_, evidence_files_, stems_, subjects_;
  std::map<std::string, unsigned> numbers_; // the last number of each prefix
  std::vector<std::string> libraries_;
};

} // namespace memtrace::redact
