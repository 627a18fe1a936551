// Purpose: the forward call of a node of autograd, found by its number and thread.
#include "preload/record/autograd_nodes.h"

#include <gtest/gtest.h>

#include "child.h"
#include "preload/state/thread.h"

namespace memtrace::record {
namespace {

using format::StackId;
using tests::in_child;

// The first words of torch::autograd::Node.
struct Node213 { // since PyTorch 2.13
  const void* functions = nullptr;
  std::uint64_t references = 0x8000000100000002;
  std::uint64_t number = 0;
  std::uint64_t depth = 1;
  std::uint64_t has_parent = 0;
  std::uint64_t thread = 0;
  std::uint64_t mutex = 1; // held during an evaluation
  std::uint64_t more[8] = {};
};
struct Node211 { // and before
  const void* functions = nullptr;
  const void* self = this;
  const void* self_count = nullptr;
  std::uint64_t number = 0;
  std::uint64_t depth = 1;
  std::uint64_t has_parent = 0;
  std::uint64_t thread = 0;
  std::uint64_t more[8] = {};
};

constexpr std::uint64_t kReturn = 0x1234;
constexpr std::uint64_t kAddresses[] = {0x10, kReturn, 0x20};

template <class Node>
StackId forward_call_of(const Node& node) {
  const std::uint64_t slot = kReturn;
  begin_node(&node, &slot);
  return forward_of(kAddresses, 3).stack;
}

TEST(AutogradNodes, AreKnownByNumberAndThread) {
  in_child([] {
    prepare_nodes();
    note_forward(node_key(7, 3), {StackId{42}, {}});
    note_forward(node_key(7, 4), {StackId{43}, {}});
    note_forward(node_key(0, 4), {StackId{44}, {}});
    EXPECT_EQ(forward_call_of(Node213{.number = 7, .thread = 3}), StackId{42});
    EXPECT_EQ(forward_call_of(Node213{.number = 7, .thread = 4}), StackId{43});
    EXPECT_EQ(forward_call_of(Node211{.number = 7, .thread = 3}), StackId{42});
    EXPECT_EQ(forward_call_of(Node211{.number = 0, .thread = 4}), StackId{44});
    EXPECT_EQ(forward_call_of(Node213{.number = 8, .thread = 3}), StackId{0});
    EXPECT_EQ(forward_call_of(Node213{.number = ~std::uint64_t{0}, .thread = 3}), StackId{0})
        << "a node that accumulates into .grad";
    EXPECT_GT(node_bytes(), 0u);
  });
}

TEST(AutogradNodes, HaveTheModuleOfTheirForwardCall) {
  in_child([] {
    prepare_nodes();
    note_forward(node_key(7, 3), {StackId{42}, format::TextId{5}});
    note_forward(node_key(8, 3), {StackId{42}, format::TextId{}});
    const std::uint64_t slot = kReturn;
    const Node213 of_module{.number = 7, .thread = 3}, of_none{.number = 8, .thread = 3};
    begin_node(&of_module, &slot);
    EXPECT_EQ(forward_of(kAddresses, 3).module, format::TextId{5});
    begin_node(&of_none, &slot);
    EXPECT_EQ(forward_of(kAddresses, 3).module, format::TextId{});
  });
}

TEST(AutogradNodes, OtherWordsOfANodeAreNoKey) {
  in_child([] {
    prepare_nodes();
    note_forward(node_key(5, 1), {StackId{42}, {}});
    EXPECT_EQ(forward_call_of(Node213{.number = 99, .depth = 5, .thread = 3}), StackId{0});
    EXPECT_EQ(forward_call_of(Node213{.number = 5, .thread = (std::uint64_t{1} << 48) + 1}), StackId{0});
  });
}

TEST(AutogradNodes, CountOnlyDuringTheirEvaluation) {
  in_child([] {
    prepare_nodes();
    const Node213 node{.number = 7, .thread = 3};
    note_forward(node_key(7, 3), {StackId{42}, {}});
    std::uint64_t slot = kReturn;
    begin_node(&node, &slot);
    EXPECT_EQ(forward_of(kAddresses, 3).stack, StackId{42});
    constexpr std::uint64_t kElsewhere[] = {0x10, 0x20, 0x30};
    EXPECT_EQ(forward_of(kElsewhere, 3).stack, StackId{0}) << "Python frames are between";
    slot = 0x9999;
    EXPECT_EQ(forward_of(kAddresses, 3).stack, StackId{0}) << "an evaluation inside another has ended";
    slot = kReturn;
    begin_node(&node, &slot);
    local.node_slot = &slot - 100'000;
    EXPECT_EQ(forward_of(kAddresses, 3).stack, StackId{0}) << "its frame is gone";
  });
}

TEST(AutogradNodes, ThatAreMadeAreTakenOnceAtTheirInstruction) {
  in_child([] {
    EXPECT_EQ(take_made_node(), 0u);
    make_node(0);
    EXPECT_EQ(take_made_node(), 1u) << "the number + 1";
    EXPECT_EQ(take_made_node(), 0u);
    make_node(5);
    make_node(6);
    EXPECT_EQ(take_made_node(), 7u) << "the last of one operator";
    make_node(7);
    const PythonPlace here = local.node_made_at;
    local.node_made_at.lasti += 2;
    EXPECT_EQ(take_made_node(), 0u) << "Python is at another instruction";
    local.node_made_at = here;
    EXPECT_EQ(take_made_node(), 8u) << "Python is back: a hook had run between";
  });
}

TEST(AutogradNodes, TheNewestAreKnown) {
  in_child([] {
    prepare_nodes();
    constexpr std::uint64_t kMade = 100'000, kKept = 16'384;
    for (std::uint64_t number = 0; number < kMade; ++number)
      note_forward(node_key(number, 1), {StackId{static_cast<std::uint32_t>(number + 1)}, {}});
    for (std::uint64_t number = 0; number < kMade; number += 111) {
      const StackId expected{number < kMade - kKept ? 0 : static_cast<std::uint32_t>(number + 1)};
      EXPECT_EQ(forward_call_of(Node213{.number = number, .thread = 1}), expected) << number;
    }
  });
}

} // namespace
} // namespace memtrace::record
