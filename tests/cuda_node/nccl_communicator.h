// Purpose: the ranks of a communicator. Each two of them are joined by a socket, through which their bytes go.
// Shared by the parts of the stand-in for libnccl.so.2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_node/nccl_memory.h"

namespace fake::node {

class Communicator {
 public:
  // Waits, without a limit, until all `ranks` have come with the same name. Null if a socket fails.
  static std::unique_ptr<Communicator> join(std::string name, int ranks, int rank);
  // The ranks of `whole` that give the same color, ordered by key; each rank of `whole` has to call it. Null in
  // `part` for those with a negative color. False if a rank is gone.
  static bool split(Communicator& whole, int color, int key, std::unique_ptr<Communicator>& part);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int ranks() const { return static_cast<int>(peers_.size()); }
  int rank() const { return rank_; }

  // Takes the device memory of the communicator. Call it once, when it is made.
  void take_memory(int channels) { memory_ = std::make_unique<CommunicatorMemory>(channels); }
  // Called first in each collective.
  void connect_buffers() const { memory_->connect(); }

  // From and to memory of the host. False if the peer is gone. A receiver has to wait for what is sent: the
  // socket holds little.
  bool send(int peer, const void* from, std::size_t bytes) const;
  bool receive(int peer, void* to, std::size_t bytes) const;

 private:
  Communicator(std::string name, int ranks, int rank);
  bool connect_to(int peer);
  bool accept_one(int listening);

  std::string name_;
  std::vector<int> peers_; // the sockets, by rank; -1 for this one
  int rank_;
  int splits_ = 0;
  std::unique_ptr<CommunicatorMemory> memory_;
};

} // namespace fake::node
