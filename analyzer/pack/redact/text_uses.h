// Purpose: finds what each text of a trace is: a path, a host name, arguments, or a name that stays.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/decode/definitions.h"
#include "analyzer/decode/ring_reader.h"
#include "analyzer/decode/rollup_reader.h"
#include "analyzer/pack/redact/private_names.h"

namespace memtrace::redact {

// If a text has several uses, the last of these that applies counts.
enum class TextUse : std::uint8_t { name, label, path, note, job, arguments, host };

// Collects the uses from the records. A text without any use is not in the list: no report prints it.
class TextUses {
 public:
  void add(const format::RingRecord& record);
  void add(const trace::Rings& rings);
  void add(const trace::RollupRows& rollup);

  // Lets `names` learn the hosts, and then the users in paths.
  void learn(const trace::Definitions& definitions, PrivateNames& names) const;
  // Returns the text that replaces each text, by its id.
  std::map<format::TextId, std::string> replacements(const trace::Definitions& definitions,
                                                     PrivateNames& names) const;

 private:
  void add_definition(const format::RingRecord& record);
  void add_process(const format::RingRecord& record);
  void add_phase(const format::RingRecord& record);
  void use(format::TextId id, TextUse as);

  std::map<format::TextId, TextUse> uses_;
};

} // namespace memtrace::redact
