// Purpose: tests the table of the modules of models.
#include "preload/record/model_modules.h"

#include <gtest/gtest.h>

#include "child.h"

namespace memtrace::record {
namespace {

using format::TextId;
using tests::in_child;

const void* module_at(std::uint64_t number) {
  return reinterpret_cast<const void*>(0x7F0000000000 + number * 48);
}

TextId path_of(std::uint64_t number) {
  return module_of({1, {module_at(number)}});
}

TEST(ModelModules, TheInnermostThatHasAPathCounts) {
  in_child([] {
    prepare_modules();
    name_module(module_at(1), TextId{11});
    name_module(module_at(2), TextId{12});
    EXPECT_EQ(module_of({3, {module_at(9), module_at(2), module_at(1)}}), TextId{12});
    EXPECT_EQ(module_of({1, {module_at(9)}}), TextId{0});
    EXPECT_EQ(module_of({0, {module_at(1)}}), TextId{0}) << "no module runs";
    name_module(module_at(2), TextId{13});
    EXPECT_EQ(path_of(2), TextId{13}) << "it is in another place of the model now";
  });
}

TEST(ModelModules, AreForgottenTogether) {
  in_child([] {
    EXPECT_EQ(path_of(1), TextId{0}) << "no table";
    prepare_modules();
    EXPECT_EQ(module_bytes(), 0u);
    name_module(module_at(1), TextId{11});
    EXPECT_GT(module_bytes(), 0u);
    forget_modules();
    EXPECT_EQ(path_of(1), TextId{0}) << "its object may have died";
    EXPECT_EQ(module_bytes(), 0u);
    name_module(module_at(2), TextId{12});
    EXPECT_EQ(path_of(2), TextId{12});
  });
}

TEST(ModelModules, ManyAreKnownAndNoneIsWrong) {
  in_child([] {
    constexpr std::uint64_t kMany = 30'000, kTooMany = 200'000;
    prepare_modules();
    for (std::uint64_t i = 0; i < kMany; ++i)
      name_module(module_at(i), TextId{static_cast<std::uint32_t>(i + 1)});
    for (std::uint64_t i = 0; i < kMany; ++i)
      ASSERT_EQ(path_of(i), TextId{static_cast<std::uint32_t>(i + 1)}) << i;
    for (std::uint64_t i = kMany; i < kTooMany; ++i)
      name_module(module_at(i), TextId{static_cast<std::uint32_t>(i + 1)});
    for (std::uint64_t i = 0; i < kTooMany; ++i) {
      const TextId path = path_of(i);
      ASSERT_TRUE(path == TextId{0} || path == TextId{static_cast<std::uint32_t>(i + 1)}) << i;
    }
  });
}

} // namespace
} // namespace memtrace::record
