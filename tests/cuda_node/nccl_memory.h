// Purpose: the device memory of a communicator. NCCL takes some when the communicator is made, on the thread
// that makes it. Its service thread takes the buffers to the other ranks when they are first needed. Shared by
// the parts of the stand-in for libnccl.so.2.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace fake::node {

class CommunicatorMemory {
 public:
  // Takes NCCL_BUFFSIZE bytes for each channel, and kBookkeeping for the communicator. Without that variable,
  // it takes nothing.
  static constexpr std::size_t kBookkeeping = std::size_t{1} << 20;

  explicit CommunicatorMemory(int channels);
  ~CommunicatorMemory();
  CommunicatorMemory(const CommunicatorMemory&) = delete;
  CommunicatorMemory& operator=(const CommunicatorMemory&) = delete;

  // Has the service thread take the buffers. Waits for them. Does nothing at later calls.
  void connect();

 private:
  enum class Work { none, connect, end };

  void serve();
  void take(std::size_t bytes);
  void ask(Work work);

  std::vector<void*> taken_;
  std::size_t buffer_bytes_ = 0; // of all channels
  int device_ = 0;
  bool connected_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_ = Work::none;
  std::thread service_;
};

} // namespace fake::node
