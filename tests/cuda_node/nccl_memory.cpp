// Purpose: the device memory of a communicator.
// Stands for libnccl.so.2, beside nccl.cpp.
#include "tests/cuda_node/nccl_memory.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

namespace fake::node {

CommunicatorMemory::CommunicatorMemory(int channels) {
  const char* const said = std::getenv("NCCL_BUFFSIZE");
  if (said == nullptr) return;
  cudaGetDevice(&device_);
  buffer_bytes_ =
      static_cast<std::size_t>(std::strtoull(said, nullptr, 10)) * static_cast<std::size_t>(channels);
  take(kBookkeeping);
  service_ = std::thread([this] { serve(); });
}

CommunicatorMemory::~CommunicatorMemory() {
  if (!service_.joinable()) return;
  ask(Work::end);
  service_.join();
  for (void* const one : taken_) cudaFree(one);
}

void CommunicatorMemory::take(std::size_t bytes) {
  void* address = nullptr;
  if (cudaMalloc(&address, bytes) == cudaSuccess) taken_.push_back(address);
}

void CommunicatorMemory::ask(Work work) {
  std::unique_lock lock(mutex_);
  work_ = work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return work_ == Work::none; });
}

void CommunicatorMemory::connect() {
  if (connected_ || !service_.joinable()) return;
  connected_ = true;
  ask(Work::connect);
}

void CommunicatorMemory::serve() {
  cudaSetDevice(device_);
  std::unique_lock lock(mutex_);
  for (bool goes_on = true; goes_on;) {
    changed_.wait(lock, [this] { return work_ != Work::none; });
    goes_on = work_ != Work::end;
    if (work_ == Work::connect) take(buffer_bytes_);
    work_ = Work::none;
    changed_.notify_all();
  }
}

} // namespace fake::node
