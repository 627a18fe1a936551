// Purpose: the files inside packed files. Each opens like a file in a directory that has the packed file's
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::files {

// Returns the descriptor of a new, empty file without a name, in TMPDIR or /tmp, or in memory if neither can be
// written. The kernel removes it when its last descriptor is closed, also if the process is killed. Returns -1
// with errno set.
int open_nameless();

// Returns false, with errno set, if not all bytes could be written.
bool write_at(int fd, std::string_view bytes, std::uint64_t offset);

// Writes the pieces that are not zeros. The file must have no bytes there yet. Returns false, with errno set,
// if it cannot be written.
bool write_sparse(int fd, std::string_view bytes, std::uint64_t offset);

// The content of all packed files that the command has unpacked. It lies in one nameless file, so no folder has
// to be removed.
class PackedFiles {
 public:
  static PackedFiles& of_command();

  // Adds a packed file without members.
  void add(const std::string& pack) { packs_[pack]; }
  // Adds an empty member. The following calls of append() are about it.
  void add(const std::string& pack, const std::string& name);
  // Returns false, with errno set, if the bytes could not be stored.
  bool append(std::string_view bytes);

  bool has(const std::string& pack) const { return packs_.contains(pack); }
  // True if the path is "PACK/NAME" of a packed file, whether it has that member or not.
  bool holds(const std::string& path) const;
  // Returns the names of the members, sorted.
  std::vector<std::string> names(const std::string& pack) const;
  // Returns a descriptor of a copy of the member "PACK/NAME", which the caller closes. Returns -1 with errno
  // set; ENOENT if there is no such member.
  int open(const std::string& path) const;
  // Writes a copy of the member "PACK/NAME" to a new file. Returns false with errno set; EEXIST if there is
  // such a file.
  bool write(const std::string& path, const std::string& to) const;
  // True if the file `other` has the bytes of the member "PACK/NAME".
  bool equals(const std::string& path, const std::string& other) const;

 private:
  struct PackedMember {
    std::uint64_t offset = 0; // in the nameless file
    std::uint64_t bytes = 0;
  };
  using Members = std::map<std::string, PackedMember>;

  // Returns null with errno set if there is no such member.
  const PackedMember* member(const std::string& path) const;
  // Gives `take` the content, piece by piece, until it returns false. Returns true if it took all.
  template <class Take>
  bool each_piece(const PackedMember& member, Take take) const;
  bool copy(const std::string& path, int to) const;

  std::map<std::string, Members> packs_; // by the path that the user gave
  PackedMember* last_ = nullptr;
  int store_ = -1;
  std::uint64_t end_ = 0;
};

} // namespace memtrace::files
