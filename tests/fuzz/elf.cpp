// Purpose: fuzz target: an ELF file, from its sections to the libraries it needs and the names of a stack's
// functions.
#include "analyzer/symbols/elf_symbols.h"

#include "analyzer/symbols/needed_libraries.h"
#include "analyzer/symbols/symbolizer.h"
#include "builder.h"
#include "bytes.h"
#include "place.h"
#include "preload/format/definition_events.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

constexpr std::uint64_t kAt = 0x7F0000000000; // where the module is mapped

format::RingRecord record_of(format::EventType type, std::uint16_t flags,
                             std::initializer_list<std::uint64_t> words) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.flags = flags;
  std::copy(words.begin(), words.end(), record.payload.word);
  return record;
}

// A module at kAt that is the file `path`, and a stack for each of `addresses`, from id 1 on.
trace::Definitions definitions_of(const std::string& path, const std::vector<std::uint64_t>& addresses) {
  trace::Definitions definitions;
  for (std::size_t done = 0; done < path.size(); done += format::kTextChunk) {
    const std::size_t bytes = std::min(path.size() - done, format::kTextChunk);
    const bool more = done + bytes < path.size();
    auto record = record_of(format::EventType::text,
                            static_cast<std::uint16_t>(bytes | (more ? format::kTextMore : 0)), {1});
    std::memcpy(record.as<format::TextEvent>().bytes, path.data() + done, bytes);
    definitions.add(0, record);
  }
  definitions.add(0, record_of(format::EventType::module, 0,
                               {format::halves(1, 1), kAt, kAt, format::halves(0x100000, 0)}));
  for (std::uint32_t id = 1; id <= addresses.size(); ++id)
    definitions.add(
        0, record_of(format::EventType::stack, 0, {format::halves(id, id - 1), kAt + addresses[id - 1]}));
  return definitions;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = in_place("module.so");
  put_file(path, {reinterpret_cast<const char*>(data), size});
  const std::vector<std::uint64_t> addresses = {0,      1,      0x100,  0x1000, 0x1001,  0x1010,
                                                0x1020, 0x1040, 0x1100, 0x2000, 0x401000};
  const symbols::ElfSymbols any(path, {});
  std::size_t longest = 0;
  for (const std::uint64_t address : addresses)
    if (const char* name = any.function(address); name != nullptr)
      longest = std::max(longest, std::strlen(name));
  for (const std::string& library : symbols::needed_libraries(path))
    longest = std::max(longest, library.size());
  expect(longest <= size, "a name is longer than the file");
  const std::uint8_t id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  const symbols::ElfSymbols one(path, id);
  const trace::Definitions definitions = definitions_of(path, addresses);
  const trace::Facts facts;
  symbols::Symbolizer symbolizer(definitions, facts);
  for (std::uint32_t stack = 1; stack <= addresses.size(); ++stack) symbolizer.site(format::StackId{stack});
  return 0;
}
