// Purpose: which names are private, and that equal names get equal replacements.
#include "analyzer/pack/redact/private_names.h"

#include <gtest/gtest.h>

namespace memtrace::redact {
namespace {

TEST(PrivateNames, PartsOfAPathAreReplacedOneByOne) {
  PrivateNames names;
  EXPECT_EQ(names.path("/home/alice/project/train.py"), "/home/user1/d1/f1.py");
  EXPECT_EQ(names.path("/home/alice/project/models/net.py"), "/home/user1/d1/d2/f2.py");
  EXPECT_EQ(names.path("project/train.py"), "d1/f1.py");
  EXPECT_EQ(names.path("/home/alice/libfill.so.1.2"), "/home/user1/f3.so.1.2");
  EXPECT_EQ(names.path(""), "");
  EXPECT_EQ(names.path("<frozen importlib._bootstrap>"), "<frozen importlib._bootstrap>");
  EXPECT_EQ(names.path("</home/alice/cell>"), "d3/home/user1/d4");
}

TEST(PrivateNames, CodeOfTheSystemAndOfPackagesStays) {
  PrivateNames names;
  for (const char* const path :
       {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3.11",
        "/usr/lib/python3/dist-packages/numpy/core.py", "/usr/include/c++/12/bits/new_allocator.h"})
    EXPECT_EQ(names.path(path), path);
  EXPECT_EQ(names.path("/home/bob/venv/lib/python3.12/site-packages/torch/nn/a.py"),
            "/home/user1/d1/lib/python3.12/site-packages/torch/nn/a.py");
  EXPECT_EQ(names.path("/opt/conda/bin/python3.11"), "/opt/d2/bin/python3.11");
  EXPECT_EQ(names.path("/opt/conda/lib/libcudart.so.12"), "/opt/d2/lib/libcudart.so.12");
  EXPECT_EQ(names.path("/usr/local/company/tool"), "/usr/local/d3/d4");
}

TEST(PrivateNames, APackageOfAFolderOfPythonpathStays) {
  PrivateNames names;
  EXPECT_EQ(names.path("/data/libs/deepspeed/runtime/a.py"), "/d1/d2/d3/d4/f1.py");
  names.learn_library("/data/libs");
  EXPECT_EQ(names.path("/data/libs/deepspeed/runtime/a.py"), "/d1/d2/deepspeed/runtime/a.py");
  EXPECT_EQ(names.path("/data/libs/secret/a.py"), "/d1/d2/d5/f1.py");
}

TEST(PrivateNames, FilesOfTorchCompileStayButNotTheUser) {
  PrivateNames names;
  const std::string hash = "c" + std::string("ab") + std::string(49, 'x');
  EXPECT_EQ(names.path("/tmp/torchinductor_alice/ab/" + hash + ".py"),
            "/tmp/torchinductor_user1/ab/" + hash + ".py");
  EXPECT_EQ(names.path("/home/alice/x.py"), "/home/user1/f1.py");
}

TEST(PrivateNames, ArgumentsAreReplacedButNotOptions) {
  PrivateNames names;
  using std::string_literals::operator""s;
  EXPECT_EQ(names.arguments("/usr/bin/python3\0-u\0train.py\0--lr\0"s
                            "0.1\0--name=secret\0-Xsecret\0--\0"s),
            "/usr/bin/python3\0-u\0f1.py\0--lr\0"s
            "arg1\0--name=arg2\0-Xarg2\0--\0"s);
  EXPECT_EQ(names.path("/home/a/train.py"), "/home/user1/f1.py") << "the script is found among the sources";
}

TEST(PrivateNames, HostsAndUsersAreReplacedInsideOtherTexts) {
  PrivateNames names;
  names.learn_host("node-7");
  names.learn_path("/home/alice/x");
  EXPECT_EQ(names.stem("node-7-123-18ea1cccb39519e6"), "host1-123-18ea1cccb39519e6");
  EXPECT_EQ(names.stem("my_run"), "trace1");
  EXPECT_EQ(names.label("eval on node-7 of alice, malice"), "eval on host1 of user1, malice");
  EXPECT_EQ(names.sentence("cannot read /home/alice/x: denied"), "cannot read /home/user1/d1: denied");
  EXPECT_EQ(names.path("/mnt/node-7/y"), "/mnt/host1/d2");
  EXPECT_EQ(names.subject("pod train-0, container main"), "pod name1, container name2");
  EXPECT_EQ(names.subject("job step 123.0"), "job step 123.0");
}

TEST(PrivateNames, NotesKeepTheirKeys) {
  PrivateNames names;
  EXPECT_EQ(names.note("python-path=/home/a/libs"), "python-path=/home/user1/d1");
  EXPECT_EQ(names.note("boot=11-22"), "boot=boot1");
  EXPECT_EQ(names.note("lost.rings=12"), "lost.rings=12");
  EXPECT_EQ(names.note("injection=CUDA_INJECTION64_PATH /home/a/libs/tool"),
            "injection=CUDA_INJECTION64_PATH /home/user1/d1/d2");
  EXPECT_EQ(names.job("20260101-120000-1"), "20260101-120000-1");
  EXPECT_EQ(names.job("secret-run"), "job1");
}

} // namespace
} // namespace memtrace::redact
