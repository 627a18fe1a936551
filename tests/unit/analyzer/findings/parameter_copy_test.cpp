// Purpose: a state dict that is held after it was loaded is a finding, if it has the size of the parameters.
#include <gtest/gtest.h>

#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

class ParameterCopy : public Folder {
 protected:
  // A model of 100 MiB, and a state dict of `bytes` that lives as long as the model, or until it was loaded.
  std::vector<report::Finding> findings(std::uint64_t bytes, bool kept) {
    Builder b;
    b.parameters(25 << 20, 100 * kMiB, 1);
    const std::uint32_t user = b.python_frame("main", "/home/u/train.py", 7, 0);
    const std::uint32_t reads = b.python_frame("load", "/l/site-packages/torch/serialization.py", 9, user);
    b.begin("load").tensor(1, 100 * kMiB).tensor(2, bytes, reads);
    if (!kept) b.tensor_death(2);
    b.end("load");
    for (int step = 0; step < 4; ++step)
      b.begin("forward").tensor(3, 50 * kMiB).end("forward").begin("step").tensor_death(3).end("step");
    b.exit(0);
    write(".memtrace", b.bytes());
    std::vector<report::Finding> out = report::find(analysis());
    std::erase_if(out, [](const report::Finding& one) { return one.id != "parameter-copy"; });
    return out;
  }
};

// A state dict of 100 MiB on the host, and a model of as many bytes on a GPU, or on the host alone.
class HostCopy : public Folder {
 protected:
  std::vector<report::Finding> findings(bool kept, bool on_gpu, std::uint64_t bytes = 100 * kMiB) {
    Builder b;
    b.parameters(25 << 20, 100 * kMiB, 1);
    const std::uint32_t user = b.python_frame("main", "/home/u/train.py", 7, 0);
    const std::uint32_t reads = b.python_frame("load", "/l/site-packages/torch/serialization.py", 9, user);
    const auto gpu = static_cast<std::uint16_t>((on_gpu ? 1 : 0) << format::kMemoryShift | format::kTensor);
    b.begin("load").tensor(1 << 20, bytes, reads);
    b.birth(2 << 20, on_gpu ? 0 : 100 * kMiB, on_gpu ? Kind::none : Kind::heap, gpu, user, 100 * kMiB);
    b.put(EventType::label, 0, gpu, {2 << 20, 100 * kMiB, b.text("parameter")});
    if (!kept) b.tensor_death(1 << 20);
    b.end("load");
    for (int step = 0; step < 4; ++step) b.begin("forward").end("forward").begin("step").end("step");
    b.exit(0);
    write(".memtrace", b.bytes());
    std::vector<report::Finding> out = report::find(analysis());
    std::erase_if(out, [](const report::Finding& one) { return one.id != "parameter-copy"; });
    return out;
  }
};

TEST_F(HostCopy, AStateDictOnTheHostOfAModelOnAGpu) {
  const std::vector<report::Finding> found = findings(true, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].memory, 0);
  EXPECT_EQ(found[0].bytes, static_cast<std::int64_t>(100 * kMiB + 8)) << "the usable bytes of the block";
  EXPECT_EQ(found[0].title,
            "A state dict of 100.00 MiB = 1.000 P is still held on the host, at train.py:7, and the model is "
            "on cuda:0");
}

TEST_F(HostCopy, NoneOnceItIsGoneOrOfAnotherSizeOrBesideAModelOnTheHost) {
  EXPECT_TRUE(findings(false, true).empty());
  EXPECT_TRUE(findings(true, true, 60 * kMiB).empty());
  EXPECT_TRUE(findings(true, false).empty());
}

TEST_F(ParameterCopy, AStateDictThatIsKept) {
  const std::vector<report::Finding> found = findings(100 * kMiB, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_EQ(found[0].title,
            "A state dict of 100.00 MiB = 1.000 P is still held beside the model, at train.py:7");
  EXPECT_NE(found[0].remedy.find("-100.00 MiB at the peak"), std::string::npos) << found[0].remedy;
}

TEST_F(ParameterCopy, NoneOfAnotherSizeOrOnceItIsGone) {
  EXPECT_TRUE(findings(60 * kMiB, true).empty());
  EXPECT_TRUE(findings(100 * kMiB, false).empty());
}

} // namespace
} // namespace memtrace::tests
