// Purpose: joins the ranks of a communicator by sockets of the kernel's abstract names, which leave no file
// behind. Stands for libnccl.so.2, beside nccl.cpp.
#include "tests/cuda_node/nccl_communicator.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

namespace fake::node {
namespace {

struct Address {
  sockaddr_un socket;
  socklen_t bytes;
};
// A zero comes first: the name is not a file's.
Address address_of(const std::string& name, int rank) {
  const std::string whole = "memtrace-nccl-" + name + "-" + std::to_string(rank);
  Address address = {{AF_UNIX, {}}, 0};
  const std::size_t length = std::min(whole.size(), sizeof address.socket.sun_path - 1);
  std::copy_n(whole.data(), length, address.socket.sun_path + 1);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.socket);
}
int new_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
bool send_all(int socket, const void* from, std::size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes != 0) {
    const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}
bool receive_all(int socket, void* to, std::size_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t received = recv(socket, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    bytes -= static_cast<std::size_t>(received);
  }
  return true;
}

} // namespace

Communicator::Communicator(std::string name, int ranks, int rank)
    : name_(std::move(name)), peers_(static_cast<std::size_t>(ranks), -1), rank_(rank) {}

Communicator::~Communicator() {
  for (const int peer : peers_)
    if (peer != -1) close(peer);
}

// A rank that has not come yet refuses.
bool Communicator::connect_to(int peer) {
  const Address address = address_of(name_, peer);
  int& joined = peers_[static_cast<std::size_t>(peer)];
  joined = new_socket();
  while (connect(joined, generic(address), address.bytes) != 0) {
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) return false;
    usleep(2000);
  }
  return send_all(joined, &rank_, sizeof rank_);
}
bool Communicator::accept_one(int listening) {
  int joined = -1;
  do joined = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  while (joined == -1 && errno == EINTR);
  int peer = -1;
  if (joined == -1 || !receive_all(joined, &peer, sizeof peer) || peer <= rank_ || peer >= ranks())
    return false;
  return peers_[static_cast<std::size_t>(peer)] = joined, true;
}

std::unique_ptr<Communicator> Communicator::join(std::string name, int ranks, int rank) {
  std::unique_ptr<Communicator> made(new Communicator(std::move(name), ranks, rank));
  const Address own = address_of(made->name_, rank);
  const int listening = new_socket();
  bool good = bind(listening, generic(own), own.bytes) == 0 && listen(listening, ranks) == 0;
  for (int peer = 0; good && peer < rank; ++peer) good = made->connect_to(peer);
  for (int peer = rank + 1; good && peer < ranks; ++peer) good = made->accept_one(listening);
  close(listening);
  return good ? std::move(made) : nullptr;
}

bool Communicator::send(int peer, const void* from, std::size_t bytes) const {
  return send_all(peers_[static_cast<std::size_t>(peer)], from, bytes);
}
bool Communicator::receive(int peer, void* to, std::size_t bytes) const {
  return receive_all(peers_[static_cast<std::size_t>(peer)], to, bytes);
}

// Rank 0 collects what each wants, and gives all of it to each.
bool Communicator::split(Communicator& whole, int color, int key, std::unique_ptr<Communicator>& part) {
  struct Wish {
    int color, key, rank;
  };
  std::vector<Wish> wishes(static_cast<std::size_t>(whole.ranks()));
  wishes[static_cast<std::size_t>(whole.rank_)] = {color, key, whole.rank_};
  bool good = true;
  if (whole.rank_ == 0) {
    for (int peer = 1; good && peer < whole.ranks(); ++peer)
      good = whole.receive(peer, &wishes[static_cast<std::size_t>(peer)], sizeof(Wish));
    for (int peer = 1; good && peer < whole.ranks(); ++peer)
      good = whole.send(peer, wishes.data(), wishes.size() * sizeof(Wish));
  } else {
    good = whole.send(0, &wishes[static_cast<std::size_t>(whole.rank_)], sizeof(Wish)) &&
           whole.receive(0, wishes.data(), wishes.size() * sizeof(Wish));
  }
  const int number = whole.splits_++;
  part.reset();
  if (!good || color < 0) return good;

  std::erase_if(wishes, [color](const Wish& wish) { return wish.color != color; });
  std::sort(wishes.begin(), wishes.end(),
            [](const Wish& a, const Wish& b) { return std::tie(a.key, a.rank) < std::tie(b.key, b.rank); });
  const auto own = std::find_if(wishes.begin(), wishes.end(),
                                [&whole](const Wish& wish) { return wish.rank == whole.rank_; });
  part = join(whole.name_ + "." + std::to_string(number) + "." + std::to_string(color),
              static_cast<int>(wishes.size()), static_cast<int>(own - wishes.begin()));
  return part != nullptr;
}

} // namespace fake::node
