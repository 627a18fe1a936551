// Purpose: tests which process has the loader that started a worker.
#include "analyzer/job/worker_parent.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

constexpr char kForkserver[] = "python\0-c\0from multiprocessing.forkserver import main; main(5, 6)";
constexpr char kSpawn[] = "python\0-c\0from multiprocessing.spawn import spawn_main; spawn_main()";

constexpr char kRaylet[] = "raylet\0--head\0python /v/site-packages/ray/_private/workers/default_worker.py\0";
constexpr char kRay[] =
    "python\0/v/site-packages/ray/_private/workers/default_worker.py\0--node-ip-address=10.0.0.1";

template <std::size_t kBytes>
trace::Facts started_by(std::uint32_t ppid, const char (&argv)[kBytes], std::vector<std::string> notes) {
  trace::Facts out;
  out.pid = 30;
  out.ppid = ppid;
  out.argv.assign(argv, kBytes - 1);
  out.notes = std::move(notes);
  return out;
}

TEST(WorkerParent, IsWhatMultiprocessingStates) {
  trace::Facts worker = started_by(20, kForkserver, {"ancestors=11 1", "kind=worker", "worker-of=10"});
  worker.fork = trace::ForkedFrom{20, 0, 0};
  EXPECT_TRUE(is_worker(worker));
  EXPECT_EQ(worker_parent(worker), 10u) << "another process started the server";
  EXPECT_FALSE(is_fork_of_parent(worker)) << "it is a fork of the server";
}

TEST(WorkerParent, OfAForkserverIsTheParentOfTheServer) {
  trace::Facts worker = started_by(20, kForkserver, {"ancestors=10 1"});
  worker.fork = trace::ForkedFrom{20, 0, 0};
  EXPECT_EQ(worker_parent(worker), 10u);
  EXPECT_EQ(worker_parent(started_by(10, kForkserver, {"ancestors=1"})), 10u) << "the server itself";
}

TEST(WorkerParent, OfRayIsTheParentOfItsServer) {
  trace::Facts worker = started_by(20, kRay, {"ancestors=10 1"});
  EXPECT_TRUE(is_worker(worker));
  EXPECT_EQ(worker_parent(worker), 10u);
  EXPECT_FALSE(is_worker(started_by(10, kRaylet, {"ancestors=1"}))) << "the server, which starts workers";
  worker.parameters.emplace();
  EXPECT_FALSE(is_worker(worker)) << "it trains";
}

TEST(WorkerParent, IsElseTheParent) {
  EXPECT_EQ(worker_parent(started_by(10, kSpawn, {"ancestors=1"})), 10u);
  trace::Facts fork = started_by(10, "python\0train.py", {"worker-of=nonsense"});
  fork.fork = trace::ForkedFrom{10, 0, 0};
  EXPECT_EQ(worker_parent(fork), 10u);
  EXPECT_TRUE(is_fork_of_parent(fork));
}

} // namespace
} // namespace memtrace::report
