// Purpose: the library's own memory and text functions answer as libc's do, and read nothing beyond their
// range.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#undef assert // forbidden in the file below
#define MEMTRACE_OWN(name) own_##name
#include "../../../preload/hooks/libc/own_text.cpp"

namespace {

int sign(int value) {
  return (value > 0) - (value < 0);
}

// Bytes that end where the memory ends: one read too far is a SIGSEGV.
class AtTheEnd {
 public:
  AtTheEnd() : page_(static_cast<char*>(::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::mprotect(page_, 4096, PROT_READ | PROT_WRITE);
  }
  ~AtTheEnd() { ::munmap(page_, 8192); }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  char* last(std::size_t bytes) { return page_ + 4096 - bytes; }

 private:
  char* page_;
};

std::vector<char> pattern(std::size_t bytes) {
  std::vector<char> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 37 + 11);
  return out;
}

TEST(OwnText, MovesEveryLengthAndOverlap) {
  for (std::size_t bytes = 0; bytes <= 100; ++bytes) {
    for (std::size_t from = 0; from <= 40; ++from) {
      for (std::size_t to = 0; to <= 40; ++to) {
        std::vector<char> ours = pattern(160), theirs = ours;
        own_memmove(ours.data() + to, ours.data() + from, bytes);
        std::memmove(theirs.data() + to, theirs.data() + from, bytes);
        ASSERT_EQ(ours, theirs) << bytes << " bytes from " << from << " to " << to;
      }
    }
  }
}

TEST(OwnText, CopiesAndFillsEveryLength) {
  AtTheEnd in, out;
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
    const std::vector<char> from = pattern(bytes + 1); // an empty one has no data()
    std::memcpy(in.last(bytes), from.data(), bytes);
    char* const to = out.last(bytes);
    to[-1] = 'x';
    ASSERT_EQ(own_memcpy(to, in.last(bytes), bytes), to);
    ASSERT_EQ(std::memcmp(to, from.data(), bytes), 0) << bytes;
    ASSERT_EQ(own_memset(to, 0x1C5, bytes), to);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], static_cast<char>(0xC5)) << bytes;
    ASSERT_EQ(to[-1], 'x') << bytes;
  }
}

TEST(OwnText, ComparesAndFindsWithinItsBytes) {
  AtTheEnd one, other;
  for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
    char* const a = one.last(bytes);
    char* const b = other.last(bytes);
    std::memset(a, 'a', bytes);
    std::memset(b, 'a', bytes);
    ASSERT_EQ(own_memcmp(a, b, bytes), 0);
    ASSERT_EQ(own_memchr(a, 'z', bytes), nullptr);
    for (std::size_t i = 0; i < bytes; ++i) {
      a[i] = '\xF0';
      ASSERT_EQ(own_memchr(a, 0x1F0, bytes), a + i) << bytes;
      ASSERT_GT(own_memcmp(a, b, bytes), 0) << i;
      ASSERT_LT(own_memcmp(b, a, bytes), 0) << i;
      a[i] = 'a';
    }
  }
}

TEST(OwnText, TextIsReadToItsEnd) {
  const std::string texts[] = {
      "", "a", "ab", "b", "abc,def", "a,b,c", "\xFFz", "libmemtrace.so", "memtracememtrace"};
  AtTheEnd one, other;
  for (const std::string& x : texts) {
    char* const a = one.last(x.size() + 1);
    std::memcpy(a, x.c_str(), x.size() + 1);
    EXPECT_EQ(own_strlen(a), x.size());
    for (std::size_t most = 0; most < 20; ++most) EXPECT_EQ(own_strnlen(a, most), ::strnlen(a, most));
    for (const int wanted : std::initializer_list<int>{'a', ',', 'z', 0, 0x1FF}) {
      EXPECT_EQ(own_strchr(a, wanted), std::strchr(a, wanted)) << x;
      EXPECT_EQ(own_strrchr(a, wanted), std::strrchr(a, wanted)) << x;
    }
    for (const std::string& y : texts) {
      char* const b = other.last(y.size() + 1);
      std::memcpy(b, y.c_str(), y.size() + 1);
      EXPECT_EQ(sign(own_strcmp(a, b)), sign(std::strcmp(a, b))) << x << " and " << y;
      EXPECT_EQ(own_strstr(a, b), std::strstr(a, b)) << x << " and " << y;
      EXPECT_EQ(own_strcspn(a, b), std::strcspn(a, b)) << x << " and " << y;
      for (std::size_t most = 0; most < 20; ++most)
        EXPECT_EQ(sign(own_strncmp(a, b, most)), sign(std::strncmp(a, b, most))) << x << " and " << y;
    }
  }
}

} // namespace
