// A rank that exchanges as LightGBM's network does (src/network, 4.x): SOCKET RANK WORLD. A full
// mesh of blocking sockets with buffers of 100 kB; a thread for each exchange that sends as much;
// recursive halving, whose last ranks pair up, and Bruck's allgather with a rotation at its end;
// whole blocks are received, then reduced. Written anew, with its numbers.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/peers/rank_orders.h"
#include "cluster/link/connect/listener.h"
#include "cluster/topology/bruck.h"
#include "cluster/topology/halving.h"

namespace strata::bench {
namespace {

constexpr int kSocketBufferBytes = 100'000;
constexpr size_t kSmallAllreduceBytes = 4096;
constexpr size_t kRingBytes = 10ULL << 20;

void SetUp(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
}

constexpr int kDialTimeoutMs = 10'000;

// Sockets to all other ranks. A failure ends the process: strata-bench sees that.
class Mesh {
 public:
  static Result<Mesh> Connect(const RankMaster& master, int rank, int world) {
    STRATA_ASSIGN(const Listener listener, OpenListener("127.0.0.1", 0, kSecond));
    STRATA_ASSIGN(const auto ports, master.Meet({.rank = rank, .port = listener.port}, world));
    Mesh mesh;
    mesh.sockets_.resize(static_cast<size_t>(world));
    for (int r = 0; r < rank; ++r) {
      OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(ports[static_cast<size_t>(r)]);
      SetUp(fd.get());
      if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
          send(fd.get(), &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) {
        return Failed(fmt::format("rank {} cannot be reached", r));
      }
      mesh.sockets_[static_cast<size_t>(r)] = std::move(fd);
    }
    for (int r = rank + 1; r < world; ++r) {
      pollfd dialled = {.fd = listener.socket.get(), .events = POLLIN, .revents = 0};
      poll(&dialled, 1, kDialTimeoutMs);
      OwnedFd fd(accept(listener.socket.get(), nullptr, nullptr));
      int from = -1;
      if (recv(fd.get(), &from, sizeof from, MSG_WAITALL) != sizeof from || from <= rank ||
          from >= world) {
        return Failed("no rank dialled");
      }
      SetUp(fd.get());
      mesh.sockets_[static_cast<size_t>(from)] = std::move(fd);
    }
    return mesh;
  }

  void Send(int to, const char* data, size_t bytes) const {
    while (bytes > 0) {
      const ssize_t sent = send(fd(to), data, bytes, MSG_NOSIGNAL);
      if (sent <= 0) std::_Exit(1);
      data += sent;
      bytes -= static_cast<size_t>(sent);
    }
  }
  void Receive(int from, char* data, size_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = recv(fd(from), data, bytes, 0);
      if (got <= 0) std::_Exit(1);
      data += got;
      bytes -= static_cast<size_t>(got);
    }
  }
  void SendReceive(int to, const char* out, size_t out_bytes, int from, char* in,
                   size_t in_bytes) const {
    if (out_bytes < kSocketBufferBytes) {
      Send(to, out, out_bytes);
      Receive(from, in, in_bytes);
      return;
    }
    std::thread sender([&] { Send(to, out, out_bytes); });
    Receive(from, in, in_bytes);
    sender.join();
  }

 private:
  int fd(int rank) const { return sockets_[static_cast<size_t>(rank)].get(); }
  std::vector<OwnedFd> sockets_;
};

void Add(char* into, const char* from, size_t bytes) {
  auto* const a = reinterpret_cast<float*>(into);
  const auto* const b = reinterpret_cast<const float*>(from);
  for (size_t i = 0; i < bytes / sizeof(float); ++i) a[i] += b[i];
}

class PatternCollectives final : public RankCollectives {
 public:
  PatternCollectives(const Mesh& mesh, int rank, int world)
      : mesh_(mesh),
        rank_(rank),
        world_(world),
        power_of_two_(std::has_single_bit(static_cast<unsigned>(world))),
        bruck_(MakeBruckMap(world, rank)),
        halving_(MakeHalvingMap(world, rank, HalvingForm::kPairLast)) {}

  // It has no broadcast.
  uint32_t variants(Collective operation) const override {
    return operation == Collective::kAllreduce || operation == Collective::kReduceScatter ||
                   operation == Collective::kAllgather
               ? 1
               : 0;
  }

  Status Prepare(const RankOrder& order, std::span<float> data) override {
    operation_ = order.operation;
    input_ = data;
    const auto n = static_cast<size_t>(world_);
    const size_t step = (data.size() + n - 1) / n;
    offsets_.assign(n + 1, 0);
    for (size_t r = 1; r <= n; ++r) {
      offsets_[r] = std::min(r * step, data.size()) * sizeof(float);
    }
    small_ = operation_ == Collective::kAllreduce &&
             (data.size() < n || data.size_bytes() < kSmallAllreduceBytes);
    if (small_) {
      for (size_t r = 0; r <= n; ++r) offsets_[r] = r * data.size_bytes();
    }
    output_.assign(offsets_[n], 0);
    return {};
  }

  Status Call() override {
    char* const input = reinterpret_cast<char*>(input_.data());
    const char* const own = input + (small_ ? 0 : offsets_[index()]);
    switch (operation_) {
      case Collective::kAllgather:
        Allgather(own);
        break;
      case Collective::kReduceScatter:
        ReduceScatter(input);
        break;
      default:
        if (small_) {
          Allgather(own);
          for (size_t r = 1; r < offsets_.size() - 1; ++r) {
            Add(output_.data(), output_.data() + offsets_[r], offsets_[1]);
          }
        } else {
          ReduceScatter(input);
          Allgather(output_.data());
        }
        break;
    }
    return {};
  }

  std::span<const float> Result() const override {
    return {reinterpret_cast<const float*>(output_.data()), output_.size() / sizeof(float)};
  }

 private:
  size_t index() const { return static_cast<size_t>(rank_); }
  size_t Bytes(int start, int count) const {  // of blocks, cyclically
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += BlockBytes((start + i) % world_);
    return bytes;
  }
  size_t BlockBytes(int block) const {
    const auto b = static_cast<size_t>(block);
    return offsets_[b + 1] - offsets_[b];
  }
  size_t Offset(int block) const { return offsets_[static_cast<size_t>(block)]; }

  // `own` may be the front of output_.
  void Allgather(const char* own) {
    if (offsets_.back() > kRingBytes) {
      AllgatherRing(own);
    } else if (power_of_two_) {
      AllgatherDoubling(own);
    } else {
      AllgatherBruck(own);
    }
  }

  void AllgatherBruck(const char* own) {
    std::memmove(output_.data(), own, BlockBytes(rank_));
    for (const BruckStep& step : bruck_.steps) {
      mesh_.SendReceive(step.out, output_.data(), Bytes(step.send.start, step.send.count), step.in,
                        output_.data() + Bytes(rank_, step.recv.start - rank_ +
                                                          (step.recv.start < rank_ ? world_ : 0)),
                        Bytes(step.recv.start, step.recv.count));
    }
    const auto behind = static_cast<ptrdiff_t>(Offset(rank_));
    std::reverse(output_.begin(), output_.end());
    std::reverse(output_.begin(), output_.begin() + behind);
    std::reverse(output_.begin() + behind, output_.end());
  }

  void AllgatherDoubling(const char* own) {
    std::memmove(output_.data() + Offset(rank_), own, BlockBytes(rank_));
    for (int step = 1; step < world_; step *= 2) {
      const int mine = rank_ / step * step;
      const int peer = rank_ ^ step;
      const int theirs = peer / step * step;
      mesh_.SendReceive(peer, output_.data() + Offset(mine), Bytes(mine, step), peer,
                        output_.data() + Offset(theirs), Bytes(theirs, step));
    }
  }

  void AllgatherRing(const char* own) {
    std::memmove(output_.data() + Offset(rank_), own, BlockBytes(rank_));
    for (int i = 0; i < world_ - 1; ++i) {
      const int out = (rank_ - i + world_) % world_;
      const int in = (out - 1 + world_) % world_;
      mesh_.SendReceive((rank_ + 1) % world_, output_.data() + Offset(out), BlockBytes(out),
                        (rank_ - 1 + world_) % world_, output_.data() + Offset(in), BlockBytes(in));
    }
  }

  // Uses `input` up; the own block ends up in front of output_.
  void ReduceScatter(char* input) {
    if (power_of_two_ || offsets_.back() < kRingBytes) {
      ReduceScatterHalving(input);
    } else {
      ReduceScatterRing(input);
    }
  }

  void ReduceScatterHalving(char* input) {
    const size_t all = offsets_.back();
    if (halving_.type == NodeType::kOther) {
      mesh_.Send(halving_.neighbour, input, all);
      mesh_.Receive(halving_.neighbour, output_.data(), BlockBytes(rank_));
      return;
    }
    if (halving_.type == NodeType::kLeader) {
      mesh_.Receive(halving_.neighbour, output_.data(), all);
      Add(input, output_.data(), all);
    }
    for (const HalvingRound& round : halving_.rounds) {
      const size_t bytes = Bytes(round.recv.start, round.recv.count);
      mesh_.SendReceive(round.peer, input + Offset(round.send.start),
                        Bytes(round.send.start, round.send.count), round.peer, output_.data(),
                        bytes);
      Add(input + Offset(round.recv.start), output_.data(), bytes);
    }
    if (halving_.type == NodeType::kLeader) {
      mesh_.Send(halving_.neighbour, input + Offset(halving_.neighbour),
                 BlockBytes(halving_.neighbour));
    }
    std::memcpy(output_.data(), input + Offset(rank_), BlockBytes(rank_));
  }

  void ReduceScatterRing(char* input) {
    for (int i = 1; i < world_; ++i) {
      const int out = (rank_ - i + world_) % world_;
      const int in = (out - 1 + world_) % world_;
      mesh_.SendReceive((rank_ + 1) % world_, input + Offset(out), BlockBytes(out),
                        (rank_ - 1 + world_) % world_, output_.data(), BlockBytes(in));
      Add(input + Offset(in), output_.data(), BlockBytes(in));
    }
    std::memcpy(output_.data(), input + Offset(rank_), BlockBytes(rank_));
  }

  const Mesh& mesh_;
  const int rank_;
  const int world_;
  const bool power_of_two_;
  const BruckMap bruck_;
  const HalvingMap halving_;
  Collective operation_ = Collective::kAllreduce;
  bool small_ = false;
  std::span<float> input_;
  std::vector<size_t> offsets_;  // of blocks, in bytes
  std::vector<char> output_;
};

Status Run(std::span<char*> arguments) {
  if (arguments.size() != 3) return Invalid("expected SOCKET RANK WORLD");
  const int rank = std::atoi(arguments[1]);
  const int world = std::atoi(arguments[2]);
  STRATA_ASSIGN(const RankMaster master, RankMaster::Reach(arguments[0]));
  STRATA_ASSIGN(const Mesh mesh, Mesh::Connect(master, rank, world));
  PatternCollectives collectives(mesh, rank, world);
  return master.Serve(rank, world, collectives);
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) { return strata::bench::RankMain(argc, argv, strata::bench::Run); }
