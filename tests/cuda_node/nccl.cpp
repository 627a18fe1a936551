// Purpose: NCCL's calls, by their documented interface: ranks in different processes, each with one GPU of the
// node. Stands for libnccl.so.2. All is done when it is asked for, on the thread that asks: a call returns when
// the data of the other ranks has come. Only the sends and receives of a group wait for its end.
#include <cuda_runtime_api.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/cuda_node/nccl_communicator.h"
#include "tests/cuda_node/nccl_reduction.h"

using fake::node::bytes_of;
using fake::node::Communicator;

namespace {

constexpr int kSuccess = 0, kCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
              kRemoteError = 6;
constexpr size_t kPiece = size_t{1} << 16; // bytes that go through memory of the host at once

struct alignas(64) Piece {
  unsigned char bytes[kPiece];
};

unsigned char* after(void* start, size_t bytes) {
  return static_cast<unsigned char*>(start) + bytes;
}
const unsigned char* after(const void* start, size_t bytes) {
  return static_cast<const unsigned char*>(start) + bytes;
}

// Between GPU and GPU, or GPU and host.
int copy(void* to, const void* from, size_t bytes) {
  if (to == from || bytes == 0) return kSuccess;
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr) == cudaSuccess ? kSuccess : kCudaError;
}

// Calls for each piece, with its offset and length, until one fails.
template <typename Call>
int by_pieces(size_t bytes, Call call) {
  for (size_t at = 0; at < bytes; at += kPiece)
    if (const int result = call(at, std::min(kPiece, bytes - at)); result != kSuccess) return result;
  return kSuccess;
}
int send(const Communicator& comm, int peer, const void* from, size_t bytes) {
  Piece piece;
  return by_pieces(bytes, [&](size_t at, size_t length) {
    const int result = copy(piece.bytes, after(from, at), length);
    return result != kSuccess ? result : comm.send(peer, piece.bytes, length) ? kSuccess : kRemoteError;
  });
}
int receive(const Communicator& comm, int peer, void* to, size_t bytes) {
  Piece piece;
  return by_pieces(bytes, [&](size_t at, size_t length) {
    return comm.receive(peer, piece.bytes, length) ? copy(after(to, at), piece.bytes, length) : kRemoteError;
  });
}

int broadcast(const Communicator& comm, const void* from, void* to, size_t bytes, int root) {
  comm.connect_buffers();
  if (comm.rank() != root) return receive(comm, root, to, bytes);
  for (int peer = 0; peer < comm.ranks(); ++peer)
    if (peer != root)
      if (const int result = send(comm, peer, from, bytes); result != kSuccess) return result;
  return copy(to, from, bytes);
}

// The program made it, by ncclRedOpCreatePreMulSum.
bool is_own(int operation) {
  return operation < 0 || operation >= fake::node::kOperations;
}

// The root computes. It takes the others in their order, so that sums of floating-point numbers repeat.
int reduce(const Communicator& comm, const void* from, void* to, size_t count, int type, int operation,
           int root) {
  if (!fake::node::is_computable(type)) return kInvalidArgument;
  comm.connect_buffers();
  if (comm.ranks() == 1 && !is_own(operation)) return copy(to, from, count * bytes_of(type));
  Piece own, other;
  return by_pieces(count * bytes_of(type), [&](size_t at, size_t length) {
    const size_t elements = length / bytes_of(type);
    if (const int result = copy(own.bytes, after(from, at), length); result != kSuccess) return result;
    if (is_own(operation)) fake::node::scale(own.bytes, elements, type, std::bit_cast<float>(operation));
    if (comm.rank() != root) return comm.send(root, own.bytes, length) ? kSuccess : kRemoteError;
    for (int peer = 0; peer < comm.ranks(); ++peer) {
      if (peer == root) continue;
      if (!comm.receive(peer, other.bytes, length)) return kRemoteError;
      fake::node::reduce(own.bytes, other.bytes, elements, type, operation);
    }
    if (operation == fake::node::kAverage) fake::node::divide(own.bytes, elements, type, comm.ranks());
    return copy(after(to, at), own.bytes, length);
  });
}

// A send or a receive, of which the other rank has the counterpart.
struct Transfer {
  Communicator* comm;
  int peer;
  bool sends;
  void* memory;
  size_t bytes;
};
thread_local std::vector<Transfer> group;
thread_local int groups_open = 0;

int transfer_all(const std::vector<Transfer>& transfers, bool sends) {
  for (const Transfer& one : transfers) {
    if (one.sends != sends) continue;
    const int result = sends ? send(*one.comm, one.peer, one.memory, one.bytes)
                             : receive(*one.comm, one.peer, one.memory, one.bytes);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}
// The first send to itself is what the first receive gets, and so on.
int transfer_within(const std::vector<Transfer>& transfers) {
  auto next = transfers.begin();
  const auto find = [&transfers](auto at, bool sends) {
    return std::find_if(at, transfers.end(), [sends](const Transfer& one) { return one.sends == sends; });
  };
  for (auto sent = find(transfers.begin(), true); sent != transfers.end();
       sent = find(sent + 1, true), ++next) {
    next = find(next, false);
    if (next == transfers.end()) return kInvalidArgument;
    if (const int result = copy(next->memory, sent->memory, sent->bytes); result != kSuccess) return result;
  }
  return kSuccess;
}
// The two of a pair send in turn, the lower rank first. Each rank takes its pairs in the order of the other's
// rank. So no ranks wait for each other in a circle.
int transfer_with(Communicator& comm, int peer, const std::vector<Transfer>& transfers) {
  comm.connect_buffers();
  if (peer == comm.rank()) return transfer_within(transfers);
  const bool first = comm.rank() < peer;
  const int result = transfer_all(transfers, first);
  return result != kSuccess ? result : transfer_all(transfers, !first);
}
int end_group() {
  std::vector<Transfer> rest;
  rest.swap(group);
  while (!rest.empty()) {
    Communicator* const comm = rest.front().comm;
    for (int peer = 0; peer < comm->ranks(); ++peer) {
      std::vector<Transfer> pair;
      std::copy_if(rest.begin(), rest.end(), std::back_inserter(pair),
                   [=](const Transfer& one) { return one.comm == comm && one.peer == peer; });
      if (const int result = transfer_with(*comm, peer, pair); result != kSuccess) return result;
    }
    std::erase_if(rest, [comm](const Transfer& one) { return one.comm == comm; });
  }
  return kSuccess;
}
int transfer(const Transfer& wanted) {
  if (wanted.peer < 0 || wanted.peer >= wanted.comm->ranks()) return kInvalidArgument;
  group.push_back(wanted);
  return groups_open == 0 ? end_group() : kSuccess;
}

} // namespace

extern "C" {

struct ncclUniqueId {
  char bytes[128];
};

// The first members of ncclConfig_t, as documented.
struct ncclConfig {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
};
static int channels_of(const ncclConfig* config) {
  constexpr int kUndefined = INT_MIN; // NCCL_CONFIG_UNDEF_INT
  return config == nullptr || config->maxCTAs == kUndefined || config->maxCTAs < 1 ? 1 : config->maxCTAs;
}

int ncclGetVersion(int* version) {
  return *version = 22703, kSuccess;
}
// A random name, by which the ranks find each other.
int ncclGetUniqueId(ncclUniqueId* id) {
  std::uint64_t number = 0;
  *id = {};
  if (getrandom(&number, sizeof number, 0) != sizeof number) return kSystemError;
  std::snprintf(id->bytes, sizeof id->bytes, "%016llx", static_cast<unsigned long long>(number));
  return kSuccess;
}
int ncclCommInitRankConfig(Communicator** out, int ranks, ncclUniqueId id, int rank, const ncclConfig* config) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return kInvalidArgument;
  *out = Communicator::join(id.bytes, ranks, rank).release();
  if (*out == nullptr) return kSystemError;
  (*out)->take_memory(channels_of(config));
  return kSuccess;
}
int ncclCommInitRank(Communicator** out, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(out, ranks, id, rank, nullptr);
}
int ncclCommSplit(Communicator* comm, int color, int key, Communicator** out, const ncclConfig* config) {
  std::unique_ptr<Communicator> part;
  const bool good = Communicator::split(*comm, color, key, part);
  if (part != nullptr) part->take_memory(channels_of(config));
  *out = part.release();
  return good ? kSuccess : kRemoteError;
}
int ncclCommFinalize(Communicator*) {
  return kSuccess;
}
int ncclCommDestroy(Communicator* comm) {
  return delete comm, kSuccess;
}
int ncclCommAbort(Communicator* comm) {
  return delete comm, kSuccess;
}
int ncclCommCount(const Communicator* comm, int* count) {
  return *count = comm->ranks(), kSuccess;
}
int ncclCommUserRank(const Communicator* comm, int* rank) {
  return *rank = comm->rank(), kSuccess;
}
int ncclCommGetAsyncError(Communicator*, int* error) {
  return *error = kSuccess, kSuccess;
}
// The sum of the values times a factor, which is a value of the type in memory of the host or of a GPU. The
// bits of the factor, as a float, are the operation's number.
int ncclRedOpCreatePreMulSum(int* operation, void* scalar, int type, int, Communicator*) {
  if (!fake::node::is_computable(type)) return kInvalidArgument;
  std::uint64_t value = 0;
  if (const int result = copy(&value, scalar, bytes_of(type)); result != kSuccess) return result;
  *operation = std::bit_cast<int>(fake::node::as_float(&value, type));
  return is_own(*operation) ? kSuccess : kInvalidArgument; // a factor of 0
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Communicator* comm,
                  cudaStream_t) {
  return broadcast(*comm, from, to, count * bytes_of(type), root);
}
int ncclBcast(void* values, size_t count, int type, int root, Communicator* comm, cudaStream_t stream) {
  return ncclBroadcast(values, values, count, type, root, comm, stream);
}
int ncclReduce(const void* from, void* to, size_t count, int type, int operation, int root, Communicator* comm,
               cudaStream_t) {
  return reduce(*comm, from, to, count, type, operation, root);
}
int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, Communicator* comm,
                  cudaStream_t) {
  const int result = reduce(*comm, from, to, count, type, operation, 0);
  return result != kSuccess ? result : broadcast(*comm, to, to, count * bytes_of(type), 0);
}
// `count` of each rank.
int ncclAllGather(const void* from, void* to, size_t count, int type, Communicator* comm, cudaStream_t) {
  const size_t bytes = count * bytes_of(type);
  for (int root = 0; root < comm->ranks(); ++root)
    if (const int result = broadcast(*comm, from, after(to, static_cast<size_t>(root) * bytes), bytes, root);
        result != kSuccess)
      return result;
  return kSuccess;
}
// `count` to each rank.
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation, Communicator* comm,
                      cudaStream_t) {
  const size_t bytes = count * bytes_of(type);
  for (int root = 0; root < comm->ranks(); ++root)
    if (const int result =
            reduce(*comm, after(from, static_cast<size_t>(root) * bytes), to, count, type, operation, root);
        result != kSuccess)
      return result;
  return kSuccess;
}

int ncclGroupStart() {
  return ++groups_open, kSuccess;
}
int ncclGroupEnd() {
  return --groups_open == 0 ? end_group() : kSuccess;
}
int ncclSend(const void* from, size_t count, int type, int peer, Communicator* comm, cudaStream_t) {
  return transfer({comm, peer, true, const_cast<void*>(from), count * bytes_of(type)});
}
int ncclRecv(void* to, size_t count, int type, int peer, Communicator* comm, cudaStream_t) {
  return transfer({comm, peer, false, to, count * bytes_of(type)});
}
// `count` from each rank to each rank.
int ncclAlltoAll(const void* from, void* to, size_t count, int type, Communicator* comm, cudaStream_t stream) {
  const size_t bytes = count * bytes_of(type);
  ncclGroupStart();
  for (int peer = 0; peer < comm->ranks(); ++peer) {
    ncclSend(after(from, static_cast<size_t>(peer) * bytes), count, type, peer, comm, stream);
    ncclRecv(after(to, static_cast<size_t>(peer) * bytes), count, type, peer, comm, stream);
  }
  return ncclGroupEnd();
}

// What the stand-in does not have: the generated functions would say that it was done.
#define REFUSE(name)      \
  int name() {            \
    return kInvalidUsage; \
  }
REFUSE(ncclCommInitAll)
REFUSE(ncclCommInitRankScalable)
REFUSE(ncclCommShrink)
REFUSE(ncclMemAlloc)
REFUSE(ncclCommWindowRegister)
REFUSE(ncclDevCommCreate)
REFUSE(ncclPutSignal)
REFUSE(ncclSignal)
REFUSE(ncclWaitSignal)

} // extern "C"
