// Purpose: tests which data of workers count as copies, by traces of workers whose batches are not in shared
// memory.
#include "analyzer/findings/process/across_processes.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;

using tests::kMiB;

constexpr std::uint64_t kItems = 40;
constexpr std::uint64_t kBatch = 1000; // address of what each batch makes and frees

// A worker that reads 40 items of 1 MiB, and makes a batch after each of them, and 40 more batches.
class Worker {
 public:
  Worker() {
    builder.fork(0, 0);
    const std::uint32_t loop = builder.python_frame("_worker_loop", "/l/site-packages/torch/worker.py", 3, 0);
    reads = builder.python_frame("read", "/home/u/train.py", 7, loop);
    makes = builder.python_frame("collate", "/home/u/train.py", 9, loop);
    builder.begin("data");
  }
  Worker& batch(std::uint64_t bytes = 2 * kMiB) {
    builder.wait(1'000'000).tensor(kBatch, bytes, makes).tensor_death(kBatch);
    return *this;
  }
  Worker& batches(std::uint64_t number) {
    for (std::uint64_t i = 0; i < number; ++i) batch();
    return *this;
  }
  Worker& read(std::uint64_t items) {
    for (std::uint64_t i = 0; i < items; ++i) builder.tensor(1 + items_++, kMiB, reads), batch();
    return *this;
  }

  Builder builder;
  std::uint32_t reads = 0, makes = 0;

 private:
  std::uint64_t items_ = 0;
};

std::vector<JobFinding> found(const std::function<void(Worker&)>& run, int workers = 2) {
  JobFindings findings;
  for (int i = 0; i < workers; ++i) {
    Worker worker;
    run(worker);
    tests::Scratch scratch;
    tests::write_file(scratch.file("t.memtrace"), worker.builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    const auto analysis = analyze_process(std::move(trace), "worker", std::move(end), Options{});
    JobFindings apart;
    apart.add(*analysis, find(*analysis), true);
    findings.add(std::move(apart));
  }
  return findings.find();
}

void expect_copies(const std::vector<JobFinding>& findings) {
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0].finding;
  EXPECT_EQ(finding.id, "worker-copies");
  EXPECT_EQ(finding.bytes, static_cast<std::int64_t>(2 * kItems * (kMiB + 8))) << "8 bytes above each tensor";
  EXPECT_NE(finding.title.find("train.py:7: 40.00 MiB in each of 2 workers"), std::string::npos)
      << finding.title;
}

TEST(WorkerCopies, WithoutSharedBlocks) {
  expect_copies(found([](Worker& worker) { worker.read(kItems).batches(60).builder.end("data").exit(0); }));
}

TEST(WorkerCopies, OfAWorkerThatItsLoaderEnds) {
  expect_copies(found([](Worker& worker) { worker.read(kItems).batches(60).builder.exit(0); }));
}

TEST(WorkerCopies, CountWhatWasReadLate) {
  expect_copies(
      found([](Worker& worker) { worker.read(kItems - 10).batches(40).read(10).builder.end("data").exit(0); }));
}

TEST(WorkerCopies, NeedNoWaitAtTheEnd) {
  expect_copies(found([](Worker& worker) {
    worker.read(kItems).batches(60).builder.wait(60'000'000'000).end("data").exit(0);
  }));
}

TEST(WorkerCopies, AreNotWhatGrowsToTheEnd) {
  EXPECT_TRUE(found([](Worker& worker) { worker.read(100).builder.end("data").exit(0); }).empty());
}

// The scratch of the last item stays alive while the worker waits for its parent.
TEST(WorkerCopies, AreNotWhatTheLastBatchLeft) {
  EXPECT_TRUE(found([](Worker& worker) {
                worker.batches(20).builder.tensor(1, 64 * kMiB, worker.reads);
                worker.builder.wait(60'000'000'000).end("data").exit(0);
              }).empty());
}

// Half of a batch is made when the kernel kills the workers.
TEST(WorkerCopies, AreNotABatchOfAKilledWorker) {
  EXPECT_TRUE(found([](Worker& worker) {
                for (std::uint64_t i = 1; i < 100; ++i) worker.builder.tensor(i, kMiB, worker.makes);
              }).empty());
}

TEST(WorkerCopies, OfOneWorkerAreNone) {
  EXPECT_TRUE(
      found([](Worker& worker) { worker.read(kItems).batches(60).builder.end("data").exit(0); }, 1).empty());
}

// Two files of 24 MiB fit into 64 MiB; the third does not.
void refuse(Worker& worker, std::uint64_t bytes, std::uint32_t code = 28) {
  worker.builder.put(tests::EventType::failure, static_cast<std::uint8_t>(tests::Kind::shm), 0,
                     {bytes, code, worker.makes, 0, format::kNotSaid, format::kNotSaid});
}

TEST(FullSharedMemory, IsWhatAWorkersFileDidNotFitInto) {
  const std::vector<JobFinding> findings = found([](Worker& worker) {
    refuse(worker, 24 * kMiB);
    worker.builder.end("data").exit(0);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].finding.id, "shm-full");
  EXPECT_EQ(findings[0].finding.bytes, static_cast<std::int64_t>(24 * kMiB));
  EXPECT_NE(findings[0].finding.title.find("24.00 MiB of shared memory at train.py:9"), std::string::npos)
      << findings[0].finding.title;
}

TEST(FullSharedMemory, LeadsBeforeLargerCopies) {
  const std::vector<JobFinding> findings = found([](Worker& worker) {
    worker.read(kItems).batches(60);
    refuse(worker, 4 * kMiB);
    worker.builder.end("data").exit(0);
  });
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].finding.id, "shm-full");
  EXPECT_EQ(findings[1].finding.id, "worker-copies");
}

TEST(FullSharedMemory, IsNotAnotherError) {
  EXPECT_TRUE(found([](Worker& worker) {
                refuse(worker, 24 * kMiB, 12);
                worker.builder.end("data").exit(0);
              }).empty());
}

void ledger(Worker& worker, std::uint64_t resident, std::uint64_t shared, std::uint64_t copied) {
  const auto row = [&](format::LedgerRow which, std::uint64_t mib) {
    worker.builder.put(tests::EventType::sample_resident, 0,
                       static_cast<std::uint16_t>(static_cast<unsigned>(which) << format::kRowShift),
                       {mib * kMiB, mib * kMiB, 0});
  };
  worker.builder.wait(1'000'000'000);
  worker.builder.put(tests::EventType::sample_ledger, 0, format::kLedgerAsked,
                     {resident * kMiB, resident * kMiB, 0, 0, 0, worker.builder.now()});
  row(format::LedgerRow::inherited, shared);
  row(format::LedgerRow::copied, copied);
}

// RSS falls a little while the worker copies most.
TEST(CopiedPages, AreTheMostOfAnyLedgerWithoutThoseBeforeTheFirstItem) {
  const std::vector<JobFinding> findings = found([](Worker& worker) {
    ledger(worker, 300, 280, 4);
    worker.builder.note("copied-at-first-item=8388608");
    ledger(worker, 310, 220, 60);
    ledger(worker, 305, 190, 90);
    ledger(worker, 305, 192, 88);
    worker.builder.exit(0);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].finding.id, "copy-on-write-growth");
  EXPECT_EQ(findings[0].finding.bytes, static_cast<std::int64_t>(2 * (90 - 8) * kMiB));
  EXPECT_EQ(findings[0].finding.evidence[0],
            "188743680 bytes of 587202560 that they were given by fork are pages of their own now");
}

// The shared tensors of a pickled data set are in /dev/shm before the loop of the worker begins.
TEST(LoaderPrefetch, IsWithoutTheSharedTensorsOfTheDataSet) {
  JobFindings findings;
  Builder parent;
  parent.birth(1 << 20, 100 * kMiB).exit(0);
  const auto take = [&findings](Builder& builder, const char* kind) {
    tests::Scratch scratch;
    tests::write_file(scratch.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    const auto analysis = analyze_process(std::move(trace), kind, std::move(end), Options{});
    findings.add(*analysis, find(*analysis), true);
    return analysis->facts().pid;
  };
  const std::uint32_t pid = take(parent, "main");
  Builder worker;
  worker.note("kind=worker").note("worker-of=" + std::to_string(pid)).begin("load");
  worker.birth(1 << 20, 200 * kMiB, tests::Kind::shm).end("load").begin("data");
  for (std::uint64_t i = 0; i < 6; ++i) worker.birth((2 + i) << 30, 16 * kMiB, tests::Kind::shm);
  worker.end("data").exit(0);
  take(worker, "worker");
  const std::vector<JobFinding> all = findings.find();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].finding.id, "loader-prefetch");
  EXPECT_EQ(all[0].finding.bytes, static_cast<std::int64_t>(96 * kMiB));
}

TEST(CopiedPages, AreThoseAfterTheFirstLedger) {
  const auto finding = find_copied({{150 * kMiB, 100 * kMiB, 4 * kMiB}, {160 * kMiB, 90 * kMiB, 6 * kMiB}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->bytes, static_cast<std::int64_t>(300 * kMiB));
  EXPECT_EQ(finding->title, "2 workers copied 300.00 MiB of their parent's memory by writing to it");
  ASSERT_EQ(finding->sentences.size(), 2u);
  EXPECT_EQ(finding->sentences[1],
            "They had copied 10.00 MiB before that, when they started: 310.00 MiB in all.");
}

TEST(CopiedPages, AreAllIfNoLedgerIsEarly) {
  const auto finding = find_copied({{150 * kMiB, 100 * kMiB, 0}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->bytes, static_cast<std::int64_t>(150 * kMiB));
  EXPECT_EQ(finding->sentences.size(), 1u);
}

} // namespace
} // namespace memtrace::report
