// Purpose: tests which Python files are the user's own.
#include "analyzer/symbols/library_folders.h"

#include <gtest/gtest.h>

namespace memtrace::symbols {
namespace {

trace::Facts facts_of(std::string argv, std::vector<std::string> notes) {
  trace::Facts facts;
  facts.working_directory = "/home/u/job";
  facts.argv = std::move(argv);
  facts.notes = std::move(notes);
  return facts;
}

const std::string kScript("python\0train.py", 15);

TEST(LibraryFolders, AreThoseThatTheInterpreterNamed) {
  const LibraryFolders folders(facts_of(
      kScript,
      {"python-library=/usr/lib/python3.11", "python-library=/home/u/job/.venv/lib/python3.11/site-packages"}));
  EXPECT_TRUE(folders.holds("/usr/lib/python3.11/json/decoder.py"));
  EXPECT_TRUE(folders.holds("/home/u/job/.venv/lib/python3.11/site-packages/torch/nn/a.py"));
  EXPECT_FALSE(folders.holds("/home/u/job/train.py"));
  EXPECT_FALSE(folders.holds("/home/u/lib/python3.11-notes/site-packages/mine.py")) << "a name decides nothing";
  EXPECT_EQ(folders.below("/home/u/job/.venv/lib/python3.11/site-packages/torch/nn/a.py"), "torch/nn/a.py");
}

TEST(LibraryFolders, OfPythonPathAreThoseWithoutTheScriptOutsideOfTheWorkingDirectory) {
  const std::vector<std::string> notes = {"python-library=/usr/lib/python3.11", "python-path=/opt/framework",
                                          "python-path=/home/u/job/src"};
  const LibraryFolders folders(facts_of(kScript, notes));
  EXPECT_TRUE(folders.holds("/opt/framework/pandas/core/frame.py"));
  EXPECT_EQ(folders.below("/opt/framework/pandas/core/frame.py"), "pandas/core/frame.py");
  EXPECT_FALSE(folders.holds("/home/u/job/src/model.py"));
  const LibraryFolders of_itself(facts_of(std::string("python\0/opt/framework/tool.py", 29), notes));
  EXPECT_FALSE(of_itself.holds("/opt/framework/pandas/core/frame.py")) << "the script is a part of it";
}

TEST(LibraryFolders, WithoutNotesTheUsualNamesDecide) {
  const LibraryFolders folders(facts_of(kScript, {}));
  EXPECT_TRUE(folders.holds("/v/lib/python3.11/site-packages/torch/a.py"));
  EXPECT_TRUE(folders.holds("/usr/lib/python3/dist-packages/yaml/a.py"));
  EXPECT_FALSE(folders.holds("/home/u/job/train.py"));
}

TEST(LibraryFolders, WhatWasTypedInIsTheUsers) {
  const LibraryFolders script(facts_of(kScript, {"python-library=/usr/lib/python3.11"}));
  EXPECT_FALSE(script.holds("<ipython-input-3-0a>"));
  EXPECT_FALSE(script.holds("<stdin>"));
  EXPECT_TRUE(script.holds("<string>")) << "a dataclass compiles such code";
  EXPECT_TRUE(script.holds("<frozen importlib._bootstrap>"));
  const LibraryFolders command(facts_of(std::string("python\0-c\0pass", 14), {}));
  EXPECT_FALSE(command.holds("<string>"));
  EXPECT_TRUE(script.holds("/tmp/torchinductor_u/ab/cab.py"));
  EXPECT_TRUE(script.holds("/scratch/cache/xl/cxlmr7qndhgbgnuksupnpgxue4osfnod7ahtu3s3jmk6f4lum35a.py"));
}

} // namespace
} // namespace memtrace::symbols
