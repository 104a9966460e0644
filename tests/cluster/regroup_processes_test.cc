// Groups of processes that are rebuilt while ranks are killed and stopped, in the middle of a
// rebuild too: all that live end as ranks of one group, or are told that they are out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <new>

#include "base/random.h"
#include "cluster/collective/group.h"
#include "cluster/link/regroup/regroup.h"
#include "tests/cluster/loopback.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int kWorld = 5;
constexpr TimeNs kHang = 60 * kSecond;

// What the processes know of each other. The plain members hold once `ended` is true.
struct Board {
  struct Rank {
    std::atomic<int> pid = 0;
    std::atomic<uint64_t> generation = 0;  // that it works in
    std::atomic<uint64_t> calls = 0;       // of that generation
    std::atomic<bool> regroups = false;    // has noticed the failure
    std::atomic<bool> ended = false;
    StatusCode code = StatusCode::kInternal;
    std::array<char, 512> message{};
    int world = 0;
    int rank = -1;
    int64_t members = 0;  // bits of old ranks, as the last sum says
  };
  std::atomic<bool> stop = false;
  std::array<Rank, kWorld> ranks;
};

class RegroupProcesses : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    void* const memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board_ = new (memory) Board;
    for (int rank = 0; rank < kWorld; ++rank) Start(rank, false);
    net_.listeners.clear();
    ASSERT_TRUE(AllWork(0, {}));
  }

  void TearDown() override {
    for (const auto& rank : board_->ranks) {
      if (rank.pid == 0) continue;
      kill(rank.pid, SIGKILL);
      waitpid(rank.pid, nullptr, 0);
    }
    munmap(board_, sizeof(Board));
  }

  void Start(int rank, bool replaces) {
    Board::Rank& mine = board_->ranks[static_cast<size_t>(rank)];
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      mine.calls = 0;
      const Status status = Work(rank, replaces);
      mine.code = status.code();
      std::memcpy(mine.message.data(), status.message().data(),
                  std::min(status.message().size(), mine.message.size() - 1));
      mine.ended = true;
      _exit(0);
    }
    mine.pid = pid;
  }

  // Links up, works, and again after each failure, until all are told to stop.
  Status Work(int rank, bool replaces) {
    Board::Rank& mine = board_->ranks[static_cast<size_t>(rank)];
    LinkOptions options = net_.Options(rank);
    options.peer_lost_after = kSecond;
    options.heartbeat_every = 100 * kMillisecond;
    std::unique_ptr<Links> links;
    if (replaces) {
      STRATA_ASSIGN(links, JoinAsReplacement(options, regroup_));
    } else {
      Listener listener = std::move(net_.listeners[static_cast<size_t>(rank)]);
      net_.listeners.clear();
      STRATA_ASSIGN(links, Links::Listen(options, std::move(listener)));
      STRATA_TRY(links->Connect());
    }
    for (;;) {
      mine.calls = 0;
      mine.generation = links->options().generation;
      mine.world = links->world();
      mine.rank = links->rank();
      const Status status = WorkInGroup(links.get(), int64_t{1} << rank, &mine);
      if (status.ok()) return links->Leave(kHang);
      mine.regroups = true;
      STRATA_ASSIGN(links, Regroup(std::move(links), regroup_));
    }
  }

  // Until the group fails, or all agree to stop.
  Status WorkInGroup(Links* links, int64_t mark, Board::Rank* mine) {
    Group group(*links, {.timeout = kHang});
    constexpr int64_t kStop = int64_t{1} << 32;
    std::vector<int64_t> data(5000);
    for (;;) {
      const int64_t sent = mark + (board_->stop ? kStop : 0);
      std::ranges::fill(data, sent);
      STRATA_TRY(group.Allreduce(std::span(data), ReduceOp::kSum));
      mine->members = data.front() % kStop;
      if (data.front() != data.back()) return Internal("a wrong sum");
      if (data.front() >= kStop) return {};
      ++mine->calls;
    }
  }

  void Signal(int rank, int signal) {
    auto& pid = board_->ranks[static_cast<size_t>(rank)].pid;
    kill(pid, signal);
    if (signal != SIGKILL) return;
    waitpid(pid, nullptr, 0);
    pid = 0;
  }

  // All but those work in a generation from `generation` on.
  bool AllWork(uint64_t generation, const std::vector<int>& except) {
    return WaitUntil(
        [&] {
          for (int rank = 0; rank < kWorld; ++rank) {
            const auto& one = board_->ranks[static_cast<size_t>(rank)];
            if (std::ranges::find(except, rank) != except.end()) continue;
            if (one.generation < generation || one.calls == 0) return false;
          }
          return true;
        },
        kHang);
  }

  // All but those end well, as one group of just them; returns their generation.
  uint64_t ExpectOneGroupWithout(const std::vector<int>& except) {
    board_->stop = true;
    int64_t members = 0;
    std::vector<int> alive;
    for (int rank = 0; rank < kWorld; ++rank) {
      if (std::ranges::find(except, rank) != except.end()) continue;
      alive.push_back(rank);
      members += int64_t{1} << rank;
    }
    for (size_t place = 0; place < alive.size(); ++place) {
      const auto& one = board_->ranks[static_cast<size_t>(alive[place])];
      const bool ended = WaitUntil([&] { return one.ended.load(); }, kHang);
      EXPECT_TRUE(ended) << alive[place];
      if (!ended) continue;
      EXPECT_EQ(one.code, StatusCode::kOk) << one.message.data();
      EXPECT_EQ(one.world, static_cast<int>(alive.size()));
      EXPECT_EQ(one.rank, static_cast<int>(place));
      EXPECT_EQ(one.members, members);
      EXPECT_EQ(one.generation, board_->ranks[static_cast<size_t>(alive[0])].generation);
    }
    return board_->ranks[static_cast<size_t>(alive[0])].generation;
  }

  Loopback net_{kWorld};
  Board* board_ = nullptr;
  RegroupOptions regroup_ = {.replacements = false, .patience = 2 * kSecond, .timeout = kHang};
  Random random_{static_cast<uint64_t>(GetParam())};
};

TEST_P(RegroupProcesses, SurvivorsOfAKill) {
  const auto victim = static_cast<int>(random_.Below(kWorld));
  Signal(victim, SIGKILL);
  const TimeNs before = RealClock().Now();
  ASSERT_TRUE(AllWork(1, {victim}));
  RecordProperty("rebuilt_ms", static_cast<int>((RealClock().Now() - before) / kMillisecond));
  ExpectOneGroupWithout({victim});
}

TEST_P(RegroupProcesses, ASecondKillWhileTheGroupIsRebuilt) {
  const auto first = static_cast<int>(random_.Below(kWorld));
  const auto second = (first + 1 + static_cast<int>(random_.Below(kWorld - 1))) % kWorld;
  Signal(first, SIGKILL);
  const auto& next = board_->ranks[static_cast<size_t>(second)];
  ASSERT_TRUE(WaitUntil([&] { return next.regroups.load(); }, kHang));
  // Within the first moments of the rebuild.
  const TimeNs moment = RealClock().Now() + static_cast<TimeNs>(random_.Below(5 * kMillisecond));
  while (RealClock().Now() < moment) {
  }
  Signal(second, SIGKILL);
  ASSERT_TRUE(AllWork(1, {first, second}));
  ExpectOneGroupWithout({first, second});
}

TEST_P(RegroupProcesses, ARankThatWasStoppedIsOut) {
  const auto victim = static_cast<int>(random_.Below(kWorld));
  Signal(victim, SIGSTOP);
  ASSERT_TRUE(AllWork(1, {victim}));
  Signal(victim, SIGCONT);
  const auto& stopped = board_->ranks[static_cast<size_t>(victim)];
  ASSERT_TRUE(WaitUntil([&] { return stopped.ended.load(); }, kHang));
  EXPECT_EQ(stopped.code, StatusCode::kRefused);
  EXPECT_THAT(stopped.message.data(),
              HasSubstr(RankName(victim, net_.machines[static_cast<size_t>(victim)]) + " is out"));
  ExpectOneGroupWithout({victim});
}

class ReplacedProcesses : public RegroupProcesses {
 protected:
  void SetUp() override {
    regroup_.replacements = true;
    RegroupProcesses::SetUp();
  }
};

TEST_P(ReplacedProcesses, OneOrTwoAreReplaced) {
  const auto first = static_cast<int>(random_.Below(kWorld));
  const auto second = (first + 1 + static_cast<int>(random_.Below(kWorld - 1))) % kWorld;
  std::vector<int> victims = {first};
  if (random_.Chance(0.5)) victims.push_back(second);
  for (const int victim : victims) Signal(victim, SIGKILL);
  for (const int victim : victims) Start(victim, true);
  ASSERT_TRUE(AllWork(1, {}));
  ExpectOneGroupWithout({});
}

TEST_P(ReplacedProcesses, AReplacementIsKilledToo) {
  const auto victim = static_cast<int>(random_.Below(kWorld));
  Signal(victim, SIGKILL);
  Start(victim, true);
  const TimeNs moment = RealClock().Now() + static_cast<TimeNs>(random_.Below(60 * kMillisecond));
  while (RealClock().Now() < moment) {
  }
  Signal(victim, SIGKILL);
  Start(victim, true);
  ASSERT_TRUE(AllWork(1, {}));
  ExpectOneGroupWithout({});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegroupProcesses, testing::Range(0, 5));
INSTANTIATE_TEST_SUITE_P(Seeds, ReplacedProcesses, testing::Range(0, 5));

}  // namespace
}  // namespace strata
