// Purpose: the operators of torch.compile's buffers, read from generated code.
#include "analyzer/symbols/inductor_code.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "builder.h"

namespace memtrace::symbols {
namespace {

constexpr char kName[] = "/xl/cxlmr7qndhgbgnuksupnpgxue4osfnod7ahtu3s3jmk6f4lum35a.py";
// As PyTorch 2.13 writes it, shortened.
constexpr char kCode[] = R"(
    def call(self, args):
        buf0 = empty_strided_cpu((8192, 1024), (1024, 1), torch.float32)
        # Topologically Sorted Source Nodes: [permute, linear], Original ATen: [aten.t, aten.addmm]
        extern_kernels.addmm(primals_2, primals_3, alpha=1, beta=1, out=buf0)
        buf1 = buf0; del buf0  # reuse
        buf20 = empty_strided_cuda((8192, 1024), (1024, 1), torch.float32)
        buf2 = empty_strided_cuda((8192, 1024), (1024, 1), torch.float32)
        triton_poi_fused_mul_sigmoid_1.run(buf20, buf1, 8388608, stream=stream0)
        cpp_fused_relu_0(buf2)
        buf3 = empty_strided_cpu((1024, 1024), (1024, 1), torch.float32)
        buf4 = buf3; del buf3  # reuse
        del buf3
        return (buf3, )
        extern_kernels.mm(buf2, primals_3, out=buf3)
)";

TEST(InductorCode, NamesTheOperatorsThatFillABuffer) {
  const tests::Scratch scratch;
  std::filesystem::create_directory(scratch.file("xl"));
  const std::string file = scratch.path() + kName;
  tests::write_file(file, kCode);
  InductorCode code;
  EXPECT_EQ(code.filled_by(file, 3), "linear");
  EXPECT_EQ(code.filled_by(file, 7), "mul_sigmoid");
  EXPECT_EQ(code.filled_by(file, 8), "relu");
  EXPECT_EQ(code.filled_by(file, 11), "mm") << "no comment: the function's own name";
  EXPECT_EQ(code.filled_by(file, 5), "") << "allocates nothing";
  EXPECT_EQ(code.filled_by(file, 0), "");
  EXPECT_EQ(code.filled_by(file, 99), "");
}

TEST(InductorCode, ReadsNoOtherFile) {
  const tests::Scratch scratch;
  tests::write_file(scratch.file("train.py"), kCode);
  InductorCode code;
  EXPECT_EQ(code.filled_by(scratch.file("train.py"), 3), "");
  EXPECT_EQ(code.filled_by(scratch.path() + kName, 3), "") << "it is gone";
  EXPECT_TRUE(InductorCode::is_generated(std::string("/tmp/torchinductor_root") + kName));
  EXPECT_FALSE(InductorCode::is_generated(std::string("/tmp/xy") + (kName + 3))) << "another folder";
  EXPECT_FALSE(InductorCode::is_generated("c.py"));
}

} // namespace
} // namespace memtrace::symbols
