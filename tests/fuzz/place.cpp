// Purpose: a directory for the files of one fuzz target: its readers open paths.
#include "place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bytes.h"

namespace memtrace::tests {
namespace {

namespace fs = std::filesystem;

class Place {
 public:
  Place() {
    path_ = fs::temp_directory_path() / "memtrace-fuzz-XXXXXX";
    expect(::mkdtemp(path_.data()) != nullptr, "no directory can be made for the target's files");
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

} // namespace

std::string in_place(const std::string& name) {
  static const Place place;
  return place.path() + "/" + name;
}

void put_file(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  expect(file >= 0, "a file of the target cannot be opened");
  expect(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
         "a file of the target cannot be written");
  ::close(file);
}

void drop_file(const std::string& path) {
  ::unlink(path.c_str());
}

} // namespace memtrace::tests
