// Purpose: tests that the list of loaded objects gives what glibc's _dl_find_object gives.
#include "preload/stack/object_list.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <vector>

namespace memtrace::record {
namespace {

using FindObject = int (*)(void*, dl_find_object*);

class ObjectList : public testing::Test {
 protected:
  void SetUp() override {
    glibc = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
    if (glibc == nullptr) GTEST_SKIP() << "glibc is older than 2.35";
  }
  void expect_the_same(std::uintptr_t address) {
    auto* const at = reinterpret_cast<void*>(address);
    dl_find_object theirs{}, ours{};
    const int found = glibc(at, &theirs);
    ASSERT_EQ(find_listed_object(at, &ours), found) << at;
    if (found != 0) return;
    EXPECT_EQ(ours.dlfo_link_map, theirs.dlfo_link_map);
    EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
    EXPECT_EQ(ours.dlfo_map_start, theirs.dlfo_map_start);
    EXPECT_EQ(ours.dlfo_map_end, theirs.dlfo_map_end);
  }
  FindObject glibc = nullptr;
};

struct Found {
  std::vector<std::uintptr_t> starts, ends;
};
int note(dl_phdr_info* info, std::size_t, void* to) {
  auto& found = *static_cast<Found*>(to);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || header.p_memsz == 0) continue;
    found.starts.push_back(info->dlpi_addr + header.p_vaddr);
    found.ends.push_back(info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  return 0;
}

TEST_F(ObjectList, GivesWhatGlibcGivesForEachSegment) {
  Found found;
  dl_iterate_phdr(note, &found);
  ASSERT_GT(found.starts.size(), 10u);
  for (const std::uintptr_t start : found.starts) expect_the_same(start);
  for (const std::uintptr_t end : found.ends) expect_the_same(end - 1);
}

TEST_F(ObjectList, FindsNothingOnTheHeapAndOnTheStack) {
  int local = 0;
  const std::vector<int> heap(10);
  expect_the_same(reinterpret_cast<std::uintptr_t>(&local));
  expect_the_same(reinterpret_cast<std::uintptr_t>(heap.data()));
  expect_the_same(0);
}

TEST_F(ObjectList, FollowsLibrariesThatComeAndGo) {
  for (const char* name : {"libBrokenLocale.so.1", "libutil.so.1", "libBrokenLocale.so.1"}) {
    ASSERT_EQ(dlopen(name, RTLD_NOW | RTLD_NOLOAD), nullptr) << name << " must not be loaded yet";
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const std::uintptr_t code = static_cast<link_map*>(library)->l_addr + 16;
    dl_find_object object{};
    EXPECT_EQ(find_listed_object(reinterpret_cast<void*>(code), &object), 0);
    expect_the_same(code);
    dlclose(library);
    expect_the_same(code);
  }
}

} // namespace
} // namespace memtrace::record
