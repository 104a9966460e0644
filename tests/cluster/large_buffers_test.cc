// Buffers that 32 bits cannot count, in place, over sockets, against formulas. They take minutes
// and much memory, so only who sets STRATA_LARGE_GIB, for instance to 5, has them run: twice as
// many GiB are needed, as both ranks are threads of this process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "tests/cluster/loopback.h"

namespace strata {
namespace {

constexpr int kWorld = 2;
constexpr uint64_t kGib = uint64_t{1} << 30;

uint64_t Value(uint64_t index, int rank) {
  return Mix64(index) + static_cast<uint64_t>(rank) * index;
}
uint64_t Sum(uint64_t index) { return 2 * Mix64(index) + index; }

class LargeBuffers : public testing::Test {
 protected:
  void SetUp() override {
    const char* const text = std::getenv("STRATA_LARGE_GIB");
    if (text == nullptr || *text == '\0') GTEST_SKIP() << "set STRATA_LARGE_GIB=5 to run it";
    count_ = std::strtoull(text, nullptr, 10) * kGib / sizeof(uint64_t) + 1;  // no equal blocks
    ASSERT_GT(count_, 1U);
  }

  // `work` of both ranks, each with its own buffer; says how long the call took.
  void OnBothRanks(const char* what,
                   const std::function<Status(Group*, std::span<uint64_t>)>& work) {
    Loopback net(kWorld);
    InThreads(kWorld, [&](int rank) {
      LinkOptions options = net.Options(rank);
      options.shared_memory = false;
      const auto links = net.Listen(std::move(options));
      ASSERT_TRUE(links->Connect().ok());
      Group group(*links);
      std::vector<uint64_t> data(count_);
      for (uint64_t i = 0; i < count_; ++i) data[i] = Value(i, rank);
      ASSERT_TRUE(group.Barrier().ok());
      const TimeNs begin = RealClock().Now();
      const Status status = work(&group, data);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_TRUE(group.Barrier().ok());
      if (rank == 0) {
        fmt::print("{} of {} bytes a rank: {:.1f} s\n", what, count_ * sizeof(uint64_t),
                   static_cast<double>(RealClock().Now() - begin) / kSecond);
      }
      EXPECT_TRUE(links->Leave(60 * kSecond).ok());
    });
  }

  // Elements from `first` on.
  static void ExpectSums(std::span<const uint64_t> sums, uint64_t first) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < sums.size(); ++i) wrong += sums[i] == Sum(first + i) ? 0 : 1;
    EXPECT_EQ(wrong, 0U);
  }

  uint64_t count_ = 0;
};

TEST_F(LargeBuffers, Allreduce) {
  OnBothRanks("allreduce", [](Group* group, std::span<uint64_t> data) -> Status {
    STRATA_TRY(group->Allreduce(data, ReduceOp::kSum));
    ExpectSums(data, 0);
    return {};
  });
}

TEST_F(LargeBuffers, ReduceScatter) {
  OnBothRanks("reduce-scatter", [](Group* group, std::span<uint64_t> data) -> Status {
    STRATA_ASSIGN(const auto block, group->ReduceScatter(data, ReduceOp::kSum));
    EXPECT_GE(block.size(), data.size() / kWorld);
    ExpectSums(block, static_cast<uint64_t>(block.data() - data.data()));
    return {};
  });
}

TEST_F(LargeBuffers, Allgather) {
  OnBothRanks("allgather", [](Group* group, std::span<uint64_t> data) -> Status {
    STRATA_TRY(group->Allgather(data));
    // Block r holds what rank r had there: the first half is rank 0's.
    const uint64_t half = data.size() / kWorld;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < data.size(); ++i) {
      wrong += data[i] == Value(i, i < half ? 0 : 1) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U);
    return {};
  });
}

}  // namespace
}  // namespace strata
