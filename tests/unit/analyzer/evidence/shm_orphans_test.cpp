// Purpose: files in /dev/shm: who holds them, whose they are, and what is said of those that nobody has.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "analyzer/evidence/shm_orphans.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/job/shm_creator.h"
#include "analyzer/print/json/document.h"
#include "builder.h"
#include "parsed.h"
#include "tests/unit/sizes.h"

namespace memtrace::evidence {
namespace {

using tests::Builder;
using tests::Kind;
using tests::Scratch;
using tests::write_file;

using tests::kMiB;

TEST(Names, ThatHaveAPid) {
  EXPECT_EQ(pid_in("torch_4242_1873465_0"), 4242u);
  for (const char* name : {"", "torch_", "torch__1", "torch_12", "torch_x_1", "psm_4242_1", "sem.torch_1_1",
                           "torch_99999999999999999999_1"})
    EXPECT_FALSE(pid_in(name)) << name;
}

TEST(SharedFiles, ThoseThatTakeMemory) {
  Scratch scratch;
  write_file(scratch.file("small"), std::string(4096, 'x'));
  write_file(scratch.file("large"), std::string(100'000, 'x'));
  write_file(scratch.file("empty"), "");
  std::filesystem::create_directory(scratch.file("folder"));
  std::filesystem::create_symlink("large", scratch.file("link"));
  const auto files = shared_files(scratch.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "large");
  EXPECT_EQ(files[0].size, 100'000u);
  struct stat info {};
  ASSERT_EQ(::stat(scratch.file("large").c_str(), &info), 0);
  EXPECT_EQ(files[0].bytes, static_cast<std::uint64_t>(info.st_blocks) * 512);
  EXPECT_EQ(files[0].id, FileId(info.st_dev, info.st_ino));
  EXPECT_NEAR(files[0].changed, static_cast<double>(info.st_mtim.tv_sec), 1);
  EXPECT_LE(files[0].made, files[0].changed + 0.001);
  EXPECT_TRUE(shared_files(scratch.file("none")).empty());
}

// A /proc of processes that are made up.
class Processes : public testing::Test {
 protected:
  void SetUp() override { process("1"); }
  std::string process(const std::string& pid, const std::string& maps = "",
                      const std::string& environment = "") {
    const std::string at = scratch.file(pid);
    std::filesystem::create_directories(at + "/fd");
    write_file(at + "/cmdline", "x");
    write_file(at + "/maps", maps);
    write_file(at + "/environ", environment);
    return at;
  }
  Living look() const { return living(scratch.path()); }
  Scratch scratch;
};

TEST_F(Processes, HoldWhatTheyMap) {
  process("7",
          "7f00-7f01 rw-s 00000000 00:1b 119895                     /dev/shm/a b\n"
          "7f02-7f03 rw-p 00000000 00:00 0 \n"
          "7f04-7f05 r--p 00000000 103:02 12 /lib/x (deleted)\n"
          "nonsense\n");
  const Living found = look();
  EXPECT_EQ(found.held, (std::set<FileId>{{::makedev(0, 0x1b), 119895}, {::makedev(0x103, 2), 12}}));
  EXPECT_EQ(found.unseen, 0u);
}

TEST_F(Processes, HoldWhatTheyHaveOpen) {
  write_file(scratch.file("file"), "x");
  std::filesystem::create_symlink(scratch.file("file"), process("7") + "/fd/3");
  std::filesystem::create_symlink("socket:[1]", scratch.file("7") + "/fd/4");
  struct stat info {};
  ASSERT_EQ(::stat(scratch.file("file").c_str(), &info), 0);
  EXPECT_EQ(look().held, (std::set<FileId>{{info.st_dev, info.st_ino}}));
}

TEST_F(Processes, ThatCannotBeLookedInto) {
  std::filesystem::remove_all(process("7") + "/fd");
  std::filesystem::remove(process("8") + "/maps");
  std::filesystem::remove_all(process("9") + "/fd"); // the kernel's own, or ended
  write_file(scratch.file("9") + "/cmdline", "");
  EXPECT_EQ(look().unseen, 2u);
  std::filesystem::remove_all(scratch.file("1"));
  EXPECT_EQ(look().unseen, kUnknown);
}

TEST_F(Processes, AreOfJobs) {
  process("7", "", std::string("A=b\0MEMTRACE_JOB=one;/out/%j\0C=d\0", 33));
  process("8", "", std::string("NOT_MEMTRACE_JOB=two;/out\0MEMTRACE_JOB=\0", 39));
  process("9", "", "MEMTRACE_JOB=own;/out");
  std::filesystem::create_symlink("9", scratch.file("self"));
  const Living found = look();
  EXPECT_TRUE(found.jobs.contains("one"));
  EXPECT_FALSE(found.jobs.contains("two"));
  EXPECT_FALSE(found.jobs.contains("own"));
}

ShmCreator maker() {
  return {4242, 100, 200, {{110, kMiB}, {150.001, 4 * kMiB}, {150.002, 4 * kMiB}}};
}

SharedFile file(const std::string& name, double made, std::uint64_t size) {
  SharedFile out;
  out.name = name;
  out.bytes = out.size = size;
  out.made = out.changed = made;
  return out;
}

TEST(Claims, ByAMappingOfItsSizeWhenItWasMade) {
  const auto orphan = claim(file("psm_1", 150, 4 * kMiB - 100), maker());
  ASSERT_TRUE(orphan);
  EXPECT_EQ(orphan->mapped, 150.001);
  EXPECT_FALSE(claim(file("psm_1", 150, 4 * kMiB + 1), maker())); // another size
  EXPECT_FALSE(claim(file("psm_1", 110, 4 * kMiB), maker()));     // another time
  EXPECT_FALSE(claim(file("psm_1", 148.9, 4 * kMiB), maker()));   // made by somebody long before
  EXPECT_FALSE(claim(file("psm_1", 150.2, 4 * kMiB), maker()));   // and after
  SharedFile grown = file("psm_1", 120, 4 * kMiB);
  grown.changed = 150;
  EXPECT_TRUE(claim(grown, maker())) << "it was given its size then";
  grown.made = 50;
  EXPECT_FALSE(claim(grown, maker())) << "it was there before the process";
}

TEST(Claims, ByThePidInTheName) {
  const auto orphan = claim(file("torch_4242_5_6", 120, 4096), maker());
  ASSERT_TRUE(orphan);
  EXPECT_FALSE(orphan->mapped);
  EXPECT_TRUE(claim(file("torch_4242_5_6", 150, 4 * kMiB), maker())->mapped);
  EXPECT_FALSE(claim(file("torch_4242_5_6", 99, 4096), maker())) << "of an earlier process of that pid";
  EXPECT_FALSE(claim(file("torch_4242_5_6", 210, 4096), maker())) << "of a later one";
  EXPECT_FALSE(claim(file("torch_4243_5_6", 150, 4 * kMiB), maker())) << "another one's, which it mapped";
}

// A process that mapped 32 MiB of shared memory while loading, and what it left.
class Left : public testing::Test {
 protected:
  void SetUp() override {
    builder.note("pids=4026531836").begin("load");
    builder.birth(0x7000000, 32 * kMiB, Kind::shm, format::kRange,
                  builder.python_frame("make", "/u/t.py", 7, 0));
    builder.end("load");
  }
  report::Json findings(const ShmLeftovers& left) {
    write_file(scratch.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
    report::ProcessEnd end = report::read_end(*trace);
    end.left = left;
    const report::Options options; // the document keeps a reference
    report::Document document(options);
    const auto analysis = report::analyze_process(std::move(trace), "main", std::move(end), {});
    document.add(*analysis, report::find(*analysis));
    report::Json out = report::Json::array();
    const report::Json all = tests::parsed(std::move(document));
    for (const auto& one : all["processes"][0]["findings"])
      if (one["id"] == "orphan-shm") out.push_back(one);
    return out;
  }
  double mapped() {
    write_file(scratch.file("t.memtrace"), builder.bytes());
    return report::creator_of(trace::Trace(scratch.file("t.memtrace"))).mapped.at(0).unix;
  }
  ShmLeftovers left(std::vector<ShmOrphan> orphans, std::uint64_t unseen = 0, std::string pids = "4026531836") {
    return {1'700'000'010, unseen, std::move(pids), std::move(orphans)};
  }
  Builder builder;
  Scratch scratch;
};

TEST_F(Left, IsSaidWhereItWasMapped) {
  const auto found = findings(left({{"it's; mine", 32 * kMiB, mapped(), mapped()}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["bytes"], 32 * kMiB);
  EXPECT_EQ(found[0]["phase"], "load");
  EXPECT_EQ(found[0]["confidence"], "likely") << "another process may have mapped as much just then";
  EXPECT_EQ(found[0]["site"]["frames"][0]["line"], 7);
  EXPECT_TRUE(found[0]["remedy"].get<std::string>().starts_with("rm '/dev/shm/it'\\''s; mine';")) << found[0];
}

TEST_F(Left, IsCertainByPidAmongAllThatLive) {
  const std::vector<ShmOrphan> named = {{"torch_4242_1_1", 9 * kMiB, 1'700'000'000.5, {}}};
  EXPECT_EQ(findings(left(named))[0]["confidence"], "certain");
  EXPECT_EQ(findings(left(named, 1))[0]["confidence"], "likely");
  EXPECT_EQ(findings(left(named, kUnknown))[0]["confidence"], "likely");
  EXPECT_EQ(findings(left(named, 0, "4026532000"))[0]["confidence"], "likely") << "pids of another namespace";
  EXPECT_EQ(findings(left(named))[0]["site"], nullptr);
}

TEST_F(Left, IsNotSaidOfLittleOrNothing) {
  EXPECT_TRUE(findings({}).empty());
  EXPECT_TRUE(findings(left({})).empty());
  EXPECT_TRUE(findings(left({{"torch_4242_1_1", 7 * kMiB, 1'700'000'000.5, {}}})).empty());
  EXPECT_FALSE(
      findings(left(std::vector<ShmOrphan>(100, {"torch_4242_1_1", kMiB, 1'700'000'000.5, {}}))).empty());
}

} // namespace
} // namespace memtrace::evidence
