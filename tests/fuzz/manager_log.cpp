// Purpose: fuzz target: the logs of managers, from their lines to the processes that each kill is about.
#include "analyzer/evidence/sources/manager_log.h"

#include "analyzer/evidence/text_scan.h"
#include "bytes.h"
#include "evidence_use.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

constexpr double kNear = 1795278084; // when the processes were there
constexpr std::size_t kUncut = 400;  // a longer message is cut

// What a kill states stands in the words that it quotes.
void expect_words(const evidence::ManagerKill& kill) {
  expect(kill.pid != 0 || !kill.group.empty(), "a kill is about no process");
  const std::string stated = kill.pid != 0 ? std::to_string(kill.pid) : kill.group.substr(1);
  expect(kill.words.find(evidence::trimmed(stated)) != std::string::npos, "a kill quotes other words");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  evidence::Evidence found;
  evidence::ManagerLog log(found, kNear);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = evidence::next_line(rest);
    const std::size_t before = found.manager_kills.size();
    log.line(line);
    expect(found.manager_kills.size() <= before + 1, "a line has several kills");
    if (found.manager_kills.size() > before && line.size() <= kUncut) expect_words(found.manager_kills.back());
  }
  evidence::Evidence whole;
  evidence::ManagerLog(whole, kNear).all(text);
  expect(same(whole, found), "a log says something else line by line");
  expect(evidence::is_manager_log(text) == (!found.manager_kills.empty() || !found.statements.empty()),
         "a log with kills is taken for something else");
  for (const evidence::Statement& statement : found.statements)
    expect(statement.pid != 0 && statement.code.has_value() != statement.signal.has_value(),
           "a failure is of no process, or has no status");
  use_evidence(found);
  return 0;
}
