// Purpose: fuzz target: a memory snapshot of PyTorch, from the pickle to the fold of the trace that it becomes.
//
// Input: the pickle without its first two bytes, which name the protocol. Its trace has no loss and no death
// without a birth, whatever the history holds.
#include <map>

#include "analyzer/attribute/phase_accounting.h"
#include "analyzer/decode/read_error.h"
#include "analyzer/snapshot/pickle_reader.h"
#include "analyzer/snapshot/translation.h"
#include "analyzer/symbols/stored_names.h"
#include "bytes.h"
#include "place.h"
#include "trace_use.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

void expect_no_loss(const trace::Trace& trace) {
  const replay::Account account = replay::account_phases(trace);
  expect(account.unknown_deaths == 0, "a block dies that was not born");
  expect(trace.losses(account.counts).total() == 0, "a record of the translation is lost");
  expect(trace.facts().note("torch-snapshot").has_value(), "the trace does not say that it is a snapshot");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::map<std::string, std::string> files;
  try {
    const std::string pickle = "\x80\x04" + std::string(reinterpret_cast<const char*>(data), size);
    const snapshot::PickleTree tree = snapshot::PickleReader("t.pickle", pickle).read();
    snapshot::translate(tree, "t.pickle", "t.memtrace",
                        [&](const std::string& name, std::string_view part) { files[name] += part; });
  } catch (const trace::ReadError&) {
    return 0;
  }
  for (const auto& [name, content] : files) put_file(in_place(name), content);
  expect(symbols::load_names(in_place("t.symbols")).has_value(), "the names cannot be read");
  use_trace(in_place("t.memtrace"));
  expect_no_loss(trace::Trace(in_place("t.memtrace")));
  return 0;
}
