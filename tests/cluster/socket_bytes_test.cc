// What the circulant pair costs, counted by the kernel at every rank's sockets: ceil(lg n) messages
// and (n-1)/n of the vector each way, for any number of ranks, and not a byte more but headers.
#include <fmt/format.h>
#include <gtest/gtest.h>
// Not <netinet/tcp.h>, whose tcp_info ends before the bytes.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <new>

#include "cluster/collective/group.h"
#include "cluster/link/connect/frame.h"
#include "tests/cluster/forked_ranks.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr int kWorldMax = 17;
constexpr size_t kBlock = 5'000;  // elements of 8 bytes

// Where processes wait for each other without a byte in any socket.
class MeetingPoint {
 public:
  explicit MeetingPoint(int world) : world_(world) {
    void* const memory = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    come_ = new (memory) std::atomic<int>(0);
  }
  ~MeetingPoint() { munmap(come_, sizeof(*come_)); }
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;

  void Meet() {
    const int needed = (++meetings_) * world_;
    ++*come_;
    EXPECT_TRUE(WaitUntil([&] { return *come_ >= needed; }));
  }

 private:
  const int world_;
  int meetings_ = 0;  // of this process
  std::atomic<int>* come_;
};

struct Bytes {
  uint64_t sent = 0;
  uint64_t received = 0;
};

// Of all connections of this process, each byte once, however often it travelled.
Bytes CountAtSockets() {
  Bytes bytes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info = {};
    socklen_t size = sizeof(info);
    const int fd = std::stoi(entry.path().filename());
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    bytes.sent += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
    bytes.received += info.tcpi_bytes_received;
  }
  return bytes;
}

struct Answer {
  Bytes reduce_scatter;
  Bytes allgather;
};

Answer CountBoth(Loopback* net, int rank, MeetingPoint* all) {
  LinkOptions options = net->Options(rank);
  options.shared_memory = false;
  // No heartbeat among what is counted.
  options.heartbeat_every = 3600 * kSecond;
  options.peer_lost_after = 10 * options.heartbeat_every;
  const auto links = net->Listen(std::move(options));
  const Status connected = links->Connect();
  EXPECT_TRUE(connected.ok()) << connected.ToString();
  Group group(*links, {.timeout = 20 * kSecond});
  std::vector<int64_t> data(kBlock * net->machines.size(), 1);
  const auto counted = [all](const auto& call) {
    all->Meet();  // all that was sent before has arrived
    const Bytes before = CountAtSockets();
    all->Meet();
    const Status status = call();
    EXPECT_TRUE(status.ok()) << status.ToString();
    all->Meet();
    const Bytes after = CountAtSockets();
    all->Meet();
    return Bytes{.sent = after.sent - before.sent, .received = after.received - before.received};
  };
  Answer answer;
  answer.reduce_scatter = counted([&] {
    const CallOptions circulant{.algorithm = Algorithm::kCirculant};
    return group.ReduceScatter(std::span(data), ReduceOp::kSum, {}, circulant).status();
  });
  answer.allgather = counted(
      [&] { return group.Allgather(std::span(data), {}, {.algorithm = Algorithm::kBruck}); });
  for (const int64_t value : data) EXPECT_EQ(value, group.world());
  EXPECT_TRUE(links->Leave(20 * kSecond).ok());
  return answer;
}

TEST(SocketBytes, TheCirculantPairReachesTheLowerBounds) {
  fmt::print(
      "ranks  rounds  bytes of a rank, each way: a reduce-scatter, an allgather, the bound\n");
  for (int world = 2; world <= kWorldMax; ++world) {
    SCOPED_TRACE(world);
    Loopback net(world);
    MeetingPoint all(world);
    const std::vector<Answer> answers =
        InProcesses<Answer>(&net, [&](int rank) { return CountBoth(&net, rank, &all); });
    const auto rounds = static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(world - 1)));
    const uint64_t payload = static_cast<uint64_t>(world - 1) * kBlock * sizeof(int64_t);
    const uint64_t bound = payload + rounds * kLinkHeaderBytes;
    for (const Answer& answer : answers) {
      for (const Bytes& bytes : {answer.reduce_scatter, answer.allgather}) {
        EXPECT_EQ(bytes.sent, bound);
        EXPECT_EQ(bytes.received, bound);
      }
    }
    fmt::print("{:>5}  {:>6}  {}, {}, {} + {} x {}\n", world, rounds,
               answers[0].reduce_scatter.sent, answers[0].allgather.sent, payload, rounds,
               kLinkHeaderBytes);
  }
}

}  // namespace
}  // namespace strata
