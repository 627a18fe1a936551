// Purpose: the functions of one ELF file, by address.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct Elf;

namespace memtrace::symbols {

// The symbol table of one file: .symtab, or .dynsym if .symtab was stripped.
class ElfSymbols {
 public:
  enum class Outcome { good, missing, not_elf, other_build };

  // `build_id`: empty if unknown; then any file is accepted.
  ElfSymbols(const std::string& path, std::span<const std::uint8_t> build_id);
  ~ElfSymbols();
  ElfSymbols(const ElfSymbols&) = delete;
  ElfSymbols& operator=(const ElfSymbols&) = delete;

  Outcome state() const { return state_; }
  // Returns the mangled name of the function at `address` (as in the file), or nullptr if there is none.
  const char* function(std::uint64_t address) const;

 private:
  struct FunctionSymbol {
    std::uint64_t address;
    std::uint64_t size;
    const char* name; // in the mapped string table
    bool local;
  };
  bool same_build(std::span<const std::uint8_t> build_id) const;
  void read_table(std::uint32_t type);

  int descriptor_ = -1;
  Elf* elf_ = nullptr;
  Outcome state_ = Outcome::missing;
  std::vector<FunctionSymbol> functions_; // by address
};

} // namespace memtrace::symbols
