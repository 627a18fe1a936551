// Purpose: fuzz target: the evidence that is kept beside a trace.
#include "analyzer/evidence/evidence_store.h"

#include "bytes.h"
#include "evidence_use.h"
#include "place.h"

using namespace memtrace;
using namespace memtrace::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = evidence::store_of(in_place("t.memtrace"));
  put_file(path, {reinterpret_cast<const char*>(data), size});
  const auto found = evidence::load(path);
  if (!found) return 0;
  // It was JSON, so it is UTF-8: nothing of it changes.
  expect(evidence::save(path, *found), "evidence cannot be kept");
  const auto back = evidence::load(path);
  expect(back && same(*found, *back), "evidence changes when it is kept");
  use_evidence(*found);
  return 0;
}
