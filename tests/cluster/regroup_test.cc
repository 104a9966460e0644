// Groups that are rebuilt after a failure: with the survivors, with replacements, or not at all.
#include "cluster/link/regroup/regroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/thread/mutex.h"
#include "cluster/collective/group.h"
#include "cluster/link/connect/query.h"
#include "cluster/link/regroup/regroup_message.h"
#include "tests/cluster/with_tls.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr RegroupOptions kSurvivors = {
    .replacements = false, .patience = 10 * kSecond, .timeout = 40 * kSecond};
constexpr RegroupOptions kReplacements = {
    .replacements = true, .patience = 10 * kSecond, .timeout = 40 * kSecond};
// For those that wait in vain.
constexpr TimeNs kShort = kSecond / 2;

class RegroupTest : public WithAndWithoutTls {
 protected:
  using Rebuilt = Result<std::unique_ptr<Links>>;

  void Begin(int world) {
    net_ = std::make_unique<Loopback>(Net(world));
    links_ = ConnectAll(net_.get());
  }

  std::string NameOf(int rank) const {
    return RankName(rank, net_->machines[static_cast<size_t>(rank)]);
  }

  // As processes die that are killed: without a word, and nobody listens there any more.
  void Lose(const std::vector<int>& ranks) {
    for (const int rank : ranks) links_[static_cast<size_t>(rank)].reset();
    for (const auto& links : links_) {
      if (links != nullptr) AwaitFailure(*links);
    }
  }
  static void AwaitFailure(const Links& links) {
    EXPECT_TRUE(WaitUntil([&] { return !links.Failure().ok(); }));
  }

  // All that are left, at once, and new processes for the ranks `joining`; by old rank.
  std::map<int, Rebuilt> RegroupAll(const RegroupOptions& options,
                                    const std::vector<int>& joining = {}) {
    std::map<int, Rebuilt> rebuilt;
    Mutex mutex;
    InThreads(static_cast<int>(links_.size()), [&](int rank) {
      auto& mine = links_[static_cast<size_t>(rank)];
      const bool joins = std::ranges::find(joining, rank) != joining.end();
      if (mine == nullptr && !joins) return;
      Rebuilt result = joins ? JoinAsReplacement(net_->Options(rank), options)
                             : Regroup(std::move(mine), options);
      const MutexLock lock(mutex);
      rebuilt.emplace(rank, std::move(result));
    });
    return rebuilt;
  }

  // They are the ranks of one group, in the old order, and work together.
  void ExpectOneGroup(std::map<int, Rebuilt>* rebuilt, uint64_t generation) {
    int64_t expected = 0;
    for (const auto& [old, links] : *rebuilt) {
      ASSERT_TRUE(links.ok()) << "old rank " << old << ": " << links.status().ToString();
      expected += int64_t{1} << old;
    }
    std::vector<int> olds;
    for (const auto& [old, links] : *rebuilt) olds.push_back(old);
    InThreads(static_cast<int>(olds.size()), [&](int rank) {
      const int old = olds[static_cast<size_t>(rank)];
      Links& links = **rebuilt->at(old);
      EXPECT_EQ(links.rank(), rank);
      EXPECT_EQ(links.world(), static_cast<int>(olds.size()));
      EXPECT_EQ(links.options().generation, generation);
      for (size_t r = 0; r < olds.size(); ++r) {
        EXPECT_EQ(links.options().workers[r].Address(),
                  net_->machines[static_cast<size_t>(olds[r])].Address());
      }
      Group group(links, {.timeout = 20 * kSecond});
      std::vector<int64_t> data(10'000, int64_t{1} << old);
      for (int i = 0; i < 3; ++i) {
        data.assign(data.size(), int64_t{1} << old);
        const Status status = group.Allreduce(std::span(data), ReduceOp::kSum);
        ASSERT_TRUE(status.ok()) << status.ToString();
        EXPECT_EQ(data.front(), expected);
        EXPECT_EQ(data.back(), expected);
      }
    });
  }

  void Leave(std::map<int, Rebuilt>* rebuilt) {
    std::vector<Links*> all;
    for (auto& [old, links] : *rebuilt) all.push_back(links->get());
    InThreads(static_cast<int>(all.size()),
              [&](int i) { EXPECT_TRUE(all[static_cast<size_t>(i)]->Leave(20 * kSecond).ok()); });
  }

  std::unique_ptr<Loopback> net_;
  std::vector<std::unique_ptr<Links>> links_;
};

struct Loss {
  int world;
  std::vector<int> lost;
};

INSTANTIATE_TEST_SUITE_P(Security, RegroupTest, testing::Bool(), TlsName);

TEST_P(RegroupTest, SurvivorsFormASmallerGroup) {
  for (const auto& [world, lost] : {Loss{5, {3}},
                                    {5, {0}},
                                    {5, {4}},
                                    {5, {1, 3}},
                                    {5, {0, 1}},
                                    {4, {2, 3}},  // half, with the lowest
                                    {2, {1}},
                                    {3, {0}},
                                    {9, {0, 2, 4, 8}}}) {
    SCOPED_TRACE(testing::Message() << world << " ranks without " << testing::PrintToString(lost));
    Begin(world);
    Lose(lost);
    const TimeNs before = RealClock().Now();
    auto rebuilt = RegroupAll(kSurvivors);
    EXPECT_LT(RealClock().Now() - before, kSurvivors.patience);  // of the dead nobody waits
    ExpectOneGroup(&rebuilt, 1);
    Leave(&rebuilt);
  }
}

TEST_P(RegroupTest, ReplacementsTakeThePlacesOfTheLost) {
  for (const auto& [world, lost] : {Loss{5, {3}}, {5, {0}}, {5, {1, 4}}, {5, {0, 2}}, {2, {1}}}) {
    SCOPED_TRACE(testing::Message() << world << " ranks without " << testing::PrintToString(lost));
    Begin(world);
    Lose(lost);
    auto rebuilt = RegroupAll(kReplacements, lost);
    ASSERT_EQ(rebuilt.size(), static_cast<size_t>(world));
    ExpectOneGroup(&rebuilt, 1);
    Leave(&rebuilt);
  }
}

TEST_P(RegroupTest, EveryGenerationMayFail) {
  Begin(6);
  Lose({5});
  std::vector<int> alive = {0, 1, 2, 3, 4};
  for (uint64_t generation = 1; generation <= 4; ++generation) {
    auto rebuilt = RegroupAll(kSurvivors);
    ExpectOneGroup(&rebuilt, generation);
    for (auto& [old, links] : rebuilt) links_[static_cast<size_t>(old)] = std::move(*links);
    if (generation < 4)
      Lose({static_cast<int>(generation) % 2 == 0 ? 4 : static_cast<int>(generation) / 2});
  }
}

TEST_P(RegroupTest, AGroupThatLostNobodyIsRebuiltWhole) {
  Begin(3);
  links_[1]->Cancel(Invalid("train.csv:7: no label"));
  for (const auto& links : links_) AwaitFailure(*links);
  auto rebuilt = RegroupAll(kSurvivors);
  ASSERT_EQ(rebuilt.size(), 3U);
  ExpectOneGroup(&rebuilt, 1);
}

TEST_P(RegroupTest, TooFewEndWithTheNamesOfTheMissing) {
  RegroupOptions options = kSurvivors;
  options.patience = kShort;
  options.timeout = 2 * kShort;
  for (const auto& [world, lost] : {Loss{5, {1, 3, 4}}, {4, {0, 3}}, {2, {0}}}) {
    SCOPED_TRACE(testing::Message() << world << " ranks without " << testing::PrintToString(lost));
    Begin(world);
    Lose(lost);
    for (auto& [old, links] : RegroupAll(options)) {
      EXPECT_EQ(links.status().code(), StatusCode::kLost);
      for (const int rank : lost) {
        EXPECT_THAT(links.status().message(), HasSubstr(NameOf(rank) + ": nobody listens there"));
      }
    }
  }
}

TEST_P(RegroupTest, ReplacementsThatDoNotComeAreNamed) {
  RegroupOptions options = kReplacements;
  options.timeout = 8 * kShort;  // all have asked by then, on a machine that is busy, too
  Begin(4);
  Lose({1, 2});
  auto rebuilt = RegroupAll(options, {2});
  ASSERT_EQ(rebuilt.size(), 3U);
  for (auto& [old, links] : rebuilt) {
    EXPECT_EQ(links.status().code(), StatusCode::kLost) << old;
    EXPECT_THAT(links.status().message(), HasSubstr(NameOf(1) + ": nobody listens there")) << old;
  }
}

TEST_P(RegroupTest, WhoComesTooLateIsOut) {
  for (const int late : {0, 2}) {
    SCOPED_TRACE(late);
    Begin(5);
    Lose({4});
    std::unique_ptr<Links> stopped = std::move(links_[static_cast<size_t>(late)]);
    RegroupOptions options = kSurvivors;
    options.patience = 4 * kShort;  // to link up within, too
    auto rebuilt = RegroupAll(options);
    ASSERT_EQ(rebuilt.size(), 3U);
    ExpectOneGroup(&rebuilt, 1);
    const Rebuilt out = Regroup(std::move(stopped), options);
    EXPECT_EQ(out.status().code(), StatusCode::kRefused);
    EXPECT_THAT(out.status().message(),
                AllOf(HasSubstr(NameOf(late) + " is out"), HasSubstr("generation 1 of 3 ranks"),
                      HasSubstr(net_->machines[1].Address() + ", ")));
    // As is a process that is started as if nothing had been.
    LinkOptions again = net_->Options(4);
    again.connect_timeout = 5 * kSecond;
    auto old = Links::Listen(again);
    ASSERT_TRUE(old.ok()) << old.status().ToString();
    const Status refused = (*old)->Connect();
    EXPECT_EQ(refused.code(), StatusCode::kRefused);
    EXPECT_THAT(refused.message(), HasSubstr("rank 4 of generation 0 is out"));
    ExpectOneGroup(&rebuilt, 1);
    Leave(&rebuilt);
  }
}

TEST_P(RegroupTest, AllMustChooseAlike) {
  Begin(3);
  Lose({2});
  RegroupOptions survivors = kSurvivors;
  RegroupOptions replacements = kReplacements;
  survivors.timeout = replacements.timeout = 2 * kShort;
  std::vector<Status> ends(2);
  InThreads(2, [&](int rank) {
    ends[static_cast<size_t>(rank)] =
        Regroup(std::move(links_[static_cast<size_t>(rank)]), rank == 0 ? survivors : replacements)
            .status();
  });
  const auto told = std::ranges::find(ends, StatusCode::kInvalid, &Status::code);
  ASSERT_NE(told, ends.end());
  EXPECT_THAT(told->message(), HasSubstr("all ranks must choose alike"));
}

TEST_P(RegroupTest, OnlyWhatHasFailedIsRebuilt) {
  Begin(1);
  EXPECT_EQ(Regroup(std::move(links_[0]), kSurvivors).status().code(), StatusCode::kInvalid);
  // A process that was started anew as if nothing had been has no vote.
  net_ = std::make_unique<Loopback>(Net(1));
  auto unconnected = net_->Listen(net_->Options(0));
  unconnected->Cancel(Failed("too early"));
  EXPECT_EQ(Regroup(std::move(unconnected), kSurvivors).status().code(), StatusCode::kInvalid);
}

TEST_P(RegroupTest, AReplacementWithoutAGroup) {
  RegroupOptions options = kReplacements;
  options.timeout = kShort;
  net_ = std::make_unique<Loopback>(Net(2));
  net_->listeners.clear();
  const Rebuilt alone = JoinAsReplacement(net_->Options(1), options);
  EXPECT_EQ(alone.status().code(), StatusCode::kLost);
  EXPECT_THAT(alone.status().message(), HasSubstr(NameOf(0) + ": nobody listens there"));
  // A port that is in use.
  net_ = std::make_unique<Loopback>(Net(2));
  EXPECT_EQ(JoinAsReplacement(net_->Options(1), options).status().code(), StatusCode::kFailed);
}

TEST_P(RegroupTest, TheAdminToolHearsWhoIsMissing) {
  Begin(3);
  Lose({1});
  std::map<int, Rebuilt> rebuilt;
  std::thread first([&] { rebuilt.emplace(0, Regroup(std::move(links_[0]), kSurvivors)); });
  Status answer;
  EXPECT_TRUE(WaitUntil([&] {
    answer = QueryStatus("127.0.0.1", net_->machines[0].port, "a secret", kSecond, Tls()).status();
    return answer.message().find("rebuilt") != std::string::npos;
  }));
  EXPECT_EQ(answer.code(), StatusCode::kRefused);
  EXPECT_THAT(answer.message(), HasSubstr("the group is being rebuilt"));
  Rebuilt second = Regroup(std::move(links_[2]), kSurvivors);
  first.join();
  rebuilt.emplace(2, std::move(second));
  ExpectOneGroup(&rebuilt, 1);
}

TEST(RegroupMessage, RoundTripAndDamage) {
  link_internal::RegroupMessage message{.word = link_internal::RegroupWord::kPromised,
                                        .replacements = true,
                                        .generation = 3,
                                        .process = 77,
                                        .ballot = 1 << 16 | 2,
                                        .members = {},
                                        .note = "rank 4 (a:1): gives no answer"};
  for (const char* host : {"10.0.0.1", "", "a.host.name"}) {
    Machine machine;
    machine.host = host;
    machine.port = 7700;
    message.members.push_back({.machine = machine, .process = 5});
  }
  const std::string body = link_internal::EncodeRegroup(message);
  const auto again = link_internal::DecodeRegroup(body);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(link_internal::EncodeRegroup(*again), body);
  EXPECT_EQ(again->members[2].machine.rank, 2);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(link_internal::DecodeRegroup(body.substr(0, size)).ok());
  }
  EXPECT_FALSE(link_internal::DecodeRegroup(body + "x").ok());
  std::string wrong = body;
  wrong[0] = 12;
  EXPECT_FALSE(link_internal::DecodeRegroup(wrong).ok());
}

}  // namespace
}  // namespace strata
