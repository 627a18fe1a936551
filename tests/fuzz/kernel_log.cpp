// Purpose: fuzz target: a kernel's log, from its lines to the process that each kill is about.
//
// Input: text. The first line that is a number is about when the processes were there.
#include "analyzer/evidence/sources/kernel_log.h"

#include "analyzer/evidence/sources/evidence_file.h"
#include "bytes.h"
#include "evidence_use.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

// The kernel's own words of a kill say the same again.
void expect_words(const evidence::Kill& kill) {
  evidence::Evidence again;
  evidence::KernelLog(again, 0).line(kill.words, {});
  expect(again.kills.size() == 1, "the words of a kill are none");
  const evidence::Kill& read = again.kills.front();
  expect(read.pid == kill.pid && read.name == kill.name && read.anon == kill.anon &&
             read.total_vm == kill.total_vm,
         "the words of a kill say something else");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  evidence::Evidence found;
  evidence::KernelLog log(found, 1795278084);
  log.all(text);
  log.from();
  for (const evidence::Kill& kill : found.kills) expect_words(kill);
  use_evidence(found);
  evidence::Evidence file;
  try {
    evidence::read_evidence(text, 1795278084, file);
    use_evidence(file);
  } catch (const evidence::Unknown&) {
    expect(found.kills.empty() && found.faults.empty(), "a log with kills is taken for something else");
  }
  return 0;
}
