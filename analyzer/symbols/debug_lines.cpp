// Purpose: the source line and the inlined functions at an address, from the debug information of one ELF file.
#include "analyzer/symbols/debug_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "analyzer/files/reading.h"
#include "analyzer/symbols/debuginfod.h"
#include "analyzer/symbols/unit_functions.h"

namespace memtrace::symbols {
namespace {

bool debuginfod_allowed = false;

// Returns a descriptor, or -1. libdw follows the names in debug information to more files, and opens them
// without a check: a name of a FIFO would stop the report. So another user's file is not read, whatever its
// content.
int open_trusted(const std::string& path) {
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::system, why);
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == ::geteuid())) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

// True if the file has the build id of the module.
bool is_build_of(Dwfl_Module* module, int fd) {
  const unsigned char* wanted = nullptr;
  GElf_Addr at = 0;
  const int wanted_bytes = dwfl_module_build_id(module, &wanted, &at);
  if (wanted_bytes <= 0) return false;
  Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const void* found = nullptr;
  const ssize_t bytes = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &found) : -1;
  const bool equal = bytes == wanted_bytes && std::memcmp(found, wanted, static_cast<std::size_t>(bytes)) == 0;
  elf_end(elf);
  return equal;
}

// Returns a descriptor of debug information that a server sent, or -1.
int open_downloaded(Dwfl_Module* module, char** found) {
  const unsigned char* id = nullptr;
  GElf_Addr at = 0;
  const int bytes = dwfl_module_build_id(module, &id, &at);
  if (bytes <= 0) return -1;
  const std::string path = downloaded_debuginfo({id, static_cast<std::size_t>(bytes)});
  const int fd = path.empty() ? -1 : open_trusted(path);
  if (fd >= 0) *found = ::strdup(path.c_str());
  return fd;
}

// libdw's callback for a separate file of debug information. Beside the object, memtrace opens the file itself.
// Below /usr/lib/debug, where only root can write, libdw looks. Then the servers are asked, if that is allowed.
int find_debuginfo(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base, const char* object,
                   const char* link, GElf_Word crc, char** found) {
  if (object != nullptr && link != nullptr) {
    const std::string folder = std::string(object).substr(0, std::string_view(object).rfind('/') + 1);
    for (const char* const below : {"", ".debug/"}) {
      const std::string path = folder + below + link;
      const int fd = open_trusted(path);
      if (fd >= 0 && is_build_of(module, fd)) {
        *found = ::strdup(path.c_str());
        return fd;
      }
      if (fd >= 0) ::close(fd);
    }
  }
  const int local = dwfl_standard_find_debuginfo(module, user, name, base, object, link, crc, found);
  return local < 0 && debuginfod_allowed ? open_downloaded(module, found) : local;
}

char* debuginfo_path = const_cast<char*>("/usr/lib/debug");

const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                   .find_debuginfo = find_debuginfo,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = &debuginfo_path};

std::string text(const char* of) {
  return of != nullptr ? of : "";
}

// Prefers the mangled name, which distinguishes overloads and template arguments. C functions have no mangled
// name.
std::string function_name(Dwarf_Die* die) {
  for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, name, &attribute) != nullptr) return text(dwarf_formstring(&attribute));
  }
  return text(dwarf_diename(die));
}

std::uint32_t value_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return 0;
  return static_cast<std::uint32_t>(value);
}

} // namespace

class DebugLines::Reader {
 public:
  // False if the file cannot be read or has no debug information.
  bool open(const std::string& path) {
    if (!debuginfod_allowed) ::unsetenv("DEBUGINFOD_URLS"); // libdw itself may be able to ask
    dwfl_.reset(dwfl_begin(&kCallbacks));
    const int fd = dwfl_ ? open_trusted(path) : -1;
    if (fd < 0) return false;
    dwfl_report_begin(dwfl_.get());
    Dwfl_Module* const module = dwfl_report_offline(dwfl_.get(), path.c_str(), path.c_str(), fd);
    if (module == nullptr) ::close(fd); // otherwise libdw owns it
    if (module == nullptr || dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0) return false;
    // libdw shifts an object that has no address of its own. Addresses in the trace are those of the file.
    GElf_Addr shift = 0;
    Dwarf_Addr dwarf_shift = 0;
    if (dwfl_module_getelf(module, &shift) == nullptr) return false;
    Dwarf* const dwarf = dwfl_module_getdwarf(module, &dwarf_shift);
    if (dwarf == nullptr) return false;
    to_dwarf_ = shift - dwarf_shift; // not 0 if the debug information was made for another address
    list_units(dwarf);
    return !ranges_.empty();
  }

  std::vector<SourceFrame> at(std::uint64_t address) {
    address += to_dwarf_;
    DebugUnit* const unit = unit_of(address);
    if (unit == nullptr) return {};
    SourceFrame here = line_at(&unit->entry, address);
    if (here.line == 0) return {};
    std::vector<SourceFrame> out;
    add_inlined(*unit, address, here, out);
    out.push_back(std::move(here));
    return out;
  }

 private:
  struct DebugUnit {
    Dwarf_Die entry;
    std::optional<UnitFunctions> functions; // set when an address of the unit is looked up
  };
  struct UnitRange {
    std::uint64_t begin;
    std::uint64_t end; // exclusive
    std::size_t unit;
  };

  // Reads the address ranges from each unit, because clang does not write .debug_aranges.
  void list_units(Dwarf* dwarf) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit) continue;
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
        if (begin < end) ranges_.push_back({begin, end, units_.size()});
      units_.push_back({die, std::nullopt});
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
  }

  DebugUnit* unit_of(std::uint64_t address) {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address,
                         [](std::uint64_t value, const UnitRange& range) { return value < range.begin; });
    if (after == ranges_.begin() || address >= std::prev(after)->end) return nullptr;
    return &units_[std::prev(after)->unit];
  }

  static SourceFrame line_at(Dwarf_Die* unit, std::uint64_t address) {
    SourceFrame out;
    Dwarf_Line* const line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return out;
    out.line = static_cast<std::uint32_t>(number);
    out.file = text(dwarf_linesrc(line, nullptr, nullptr));
    return out;
  }

  // With -gsplit-dwarf, the functions are in a separate file, and the object has only lines.
  static Dwarf_Die split_unit(Dwarf_Die unit) {
    Dwarf_Die split;
    if (dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        split.cu != nullptr)
      return split;
    return unit;
  }

  // Adds one frame for each inlined function at `address`. Before the call, `here` is the innermost line; after
  // it, the line of the function itself. The caller of an inlined function has the line of the call.
  static void add_inlined(DebugUnit& of, std::uint64_t address, SourceFrame& here,
                          std::vector<SourceFrame>& out) {
    Dwarf_Die unit = split_unit(of.entry);
    if (!of.functions) of.functions.emplace(unit);
    std::vector<Dwarf_Die> scopes = of.functions->scopes(address);
    Dwarf_Files* files = nullptr;
    std::size_t file_count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &file_count) != 0) files = nullptr;
    for (Dwarf_Die& scope : scopes) {
      if (dwarf_tag(&scope) == DW_TAG_subprogram) {
        here.function = function_name(&scope);
        return;
      }
      if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) continue;
      here.function = function_name(&scope);
      out.push_back(std::move(here));
      here = {};
      const std::uint32_t file = value_of(&scope, DW_AT_call_file);
      if (files != nullptr && file < file_count) here.file = text(dwarf_filesrc(files, file, nullptr, nullptr));
      here.line = value_of(&scope, DW_AT_call_line);
    }
  }

  struct EndDwfl {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::unique_ptr<Dwfl, EndDwfl> dwfl_;
  std::uint64_t to_dwarf_ = 0;
  std::vector<DebugUnit> units_;
  std::vector<UnitRange> ranges_; // by address
};

void allow_debuginfod() {
  debuginfod_allowed = true;
}

DebugLines::DebugLines(const std::string& path) {
  auto reader = std::make_unique<Reader>();
  if (reader->open(path)) reader_ = std::move(reader);
}

DebugLines::~DebugLines() = default;

std::vector<SourceFrame> DebugLines::at(std::uint64_t address) {
  return reader_ ? reader_->at(address) : std::vector<SourceFrame>{};
}

} // namespace memtrace::symbols
