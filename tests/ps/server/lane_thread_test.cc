// A lane's thread over a port that is a script: in which order it answers what has come.
#include "ps/service/lane_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/thread/mutex.h"
#include "base/thread/while_waiting.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

// Each look at it takes a millisecond, so that a round handles one message.
class SlowClock final : public Clock {
 public:
  TimeNs Now() const override { return now_ += kMillisecond; }
  int64_t WallUnixNs() const override { return now_; }

 private:
  mutable std::atomic<TimeNs> now_ = kSecond;
};

// What is to come is there from the start. Peers may be gone.
class ScriptedPort final : public MessagePort {
 public:
  std::deque<Envelope> to_come;
  std::string gone;
  std::vector<std::string> answered;  // peers, in order

  Status Send(Envelope envelope) override {
    const MutexLock lock(mutex_);
    answered.push_back(envelope.peer);
    changed_.NotifyAll();
    return envelope.peer == gone ? Lost("gone") : Status();
  }
  Result<std::optional<Envelope>> Receive(TimeNs deadline) override {
    const MutexLock lock(mutex_);
    while (deadline > 0 && !woken_ && to_come.empty()) changed_.Wait(mutex_);
    woken_ = false;
    if (to_come.empty()) return std::optional<Envelope>();
    Envelope next = std::move(to_come.front());
    to_come.pop_front();
    return std::optional<Envelope>(std::move(next));
  }
  void Wake() override {
    const MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }
  void WaitFor(const std::string& peer) {
    const MutexLock lock(mutex_);
    while (std::ranges::count(answered, peer) == 0) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool woken_ STRATA_GUARDED_BY(mutex_) = false;
};

struct Scripted {
  MetricsRegistry registry;
  LaneMetrics metrics{registry, 0};
  SlowClock clock;
  ScriptedPort* port = nullptr;
  std::unique_ptr<LaneThread> lane;

  explicit Scripted(std::unique_ptr<ScriptedPort> script, LaneConfig config = TestLaneConfig())
      : port(script.get()) {
    lane = std::make_unique<LaneThread>(std::move(script), std::move(config), metrics, clock);
  }

  void RunUntilAnswered(const std::string& peer) {
    ASSERT_TRUE(lane->Start("lane").ok());
    port->WaitFor(peer);
    lane->Stop();
    lane->Join();
  }
};

void AddRequests(ScriptedPort* port, const std::string& peer, wire::Command command, size_t count) {
  TestClient client;
  for (size_t i = 0; i < count; ++i) {
    const bool pulls = command == wire::Command::kPull;
    const wire::Header header = client.Read(command, 1, pulls ? 1 : 0);
    port->to_come.push_back({peer, wire::Seal(header, pulls ? Message{Keys({1})} : Message())});
  }
}

TEST(LaneThread, APingIsAnsweredBeforeTheWorkThatWaits) {
  auto script = std::make_unique<ScriptedPort>();
  AddRequests(script.get(), "hog", wire::Command::kPull, 500);
  AddRequests(script.get(), "other", wire::Command::kPing, 1);
  Scripted scripted(std::move(script));
  ASSERT_NO_FATAL_FAILURE(scripted.RunUntilAnswered("other"));
  EXPECT_EQ(scripted.port->answered[0], "other");
}

// Its first lookup ends only when `during` was called and says that it is enough.
class SlowTable final : public MapTable {
 public:
  SlowTable(const TableSpec& spec, std::function<bool()> during)
      : MapTable(spec), during_(std::move(during)) {}
  Status Lookup(std::span<const Key> keys, std::span<float> out) override {
    while (!during_()) DoWhileWaiting();
    return MapTable::Lookup(keys, out);
  }

 private:
  const std::function<bool()> during_;
};

TEST(LaneThread, PingsAreAnsweredInTheMiddleOfARequestThatWaits) {
  auto script = std::make_unique<ScriptedPort>();
  ScriptedPort* const port = script.get();
  const TableSpec spec = TestSpec("t", 1);
  TestClient client;
  port->to_come.push_back(
      {"creator", wire::Seal(client.Write(wire::Command::kCreateTable), {Definition(spec)})});
  wire::Header pull = client.Read(wire::Command::kPull, IdOf(spec), 1);
  pull.width = 1;
  port->to_come.push_back({"slow", wire::Seal(pull, {Keys({1})})});
  LaneConfig config = TestLaneConfig();
  bool came = false;
  // While the lookup goes on, these come: an answer to the last one ends it.
  const auto during = [&] {
    if (!std::exchange(came, true)) {
      AddRequests(port, "late", wire::Command::kPull, 1);
      AddRequests(port, "hello", wire::Command::kHello, 1);
      AddRequests(port, "ping", wire::Command::kPing, 1);
    }
    return std::ranges::count(port->answered, "ping") > 0;
  };
  config.make_table = [&](const TableSpec& made) {
    return std::make_unique<SlowTable>(made, during);
  };
  Scripted scripted(std::move(script), std::move(config));
  ASSERT_NO_FATAL_FAILURE(scripted.RunUntilAnswered("late"));
  EXPECT_THAT(port->answered, ElementsAre("creator", "hello", "ping", "slow", "late"));
}

TEST(LaneThread, AClientsRequestIsAnsweredAfterOneOfTheHogs) {
  auto script = std::make_unique<ScriptedPort>();
  AddRequests(script.get(), "hog", wire::Command::kPull, 500);
  AddRequests(script.get(), "other", wire::Command::kPull, 1);
  Scripted scripted(std::move(script));
  ASSERT_NO_FATAL_FAILURE(scripted.RunUntilAnswered("other"));
  EXPECT_EQ(scripted.port->answered[1], "other");
}

TEST(LaneThread, TheWorkOfAClientThatIsGoneIsNotDone) {
  auto script = std::make_unique<ScriptedPort>();
  script->gone = "hog";
  AddRequests(script.get(), "hog", wire::Command::kPull, 500);
  AddRequests(script.get(), "other", wire::Command::kStats, 1);
  Scripted scripted(std::move(script));
  ASSERT_NO_FATAL_FAILURE(scripted.RunUntilAnswered("other"));
  EXPECT_EQ(std::ranges::count(scripted.port->answered, "hog"), 1);
  EXPECT_EQ(scripted.metrics.dropped.Value(), 499U);
}

TEST(LaneThread, WhatExceedsAClientsCreditByFarIsRefusedAndCounted) {
  auto script = std::make_unique<ScriptedPort>();
  TestClient client;
  for (int i = 0; i < 100; ++i) {
    wire::Header header = client.Read(wire::Command::kPull, 1, 1);
    header.width = 4'000'000;  // of the reply
    script->to_come.push_back({"hog", wire::Seal(header, {Keys({1})})});
  }
  AddRequests(script.get(), "other", wire::Command::kStats, 1);
  Scripted scripted(std::move(script));
  ASSERT_NO_FATAL_FAILURE(scripted.RunUntilAnswered("other"));
  EXPECT_EQ(scripted.metrics.RefusedFor(Refusal::kCredit).Value(), 92U);
}

}  // namespace
}  // namespace strata
