// A lane with a log, driven message by message, that can die and come back from its log.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/host_table.h"
#include "tests/ps/server/fake_log.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {

inline LaneConfig DurableConfig() {
  LaneConfig config = TestLaneConfig();
  config.durable = true;
  config.make_table = [](const TableSpec& spec) { return std::make_unique<HostTable>(spec); };
  return config;
}

// Gives the lane back what the first `records` of the log hold, and lets it serve.
inline Status RecoverFrom(TestLane& lane, const std::shared_ptr<FakeLogState>& log,
                          size_t records) {
  for (size_t i = 0; i < records; ++i) {
    const FakeLogState::Record& record = log->records[i];
    STRATA_TRY(
        lane.lane.Replay({.kind = record.kind, .lsn = i + 1, .body = record.body}, lane.now));
  }
  auto rest = std::make_shared<FakeLogState>();
  rest->records.assign(log->records.begin(), log->records.begin() + static_cast<long>(records));
  rest->written = rest->synced = records;
  lane.lane.Serve(std::make_unique<FakeLog>(std::move(rest)));
  return {};
}

// A lane that serves with an empty log.
struct DurableLane {
  std::shared_ptr<FakeLogState> log = std::make_shared<FakeLogState>();
  TestLane lane;

  explicit DurableLane(LaneConfig config = DurableConfig()) : lane(std::move(config)) {
    lane.lane.Serve(std::make_unique<FakeLog>(log));
  }
  // The replies that Commit lets out.
  std::vector<std::pair<std::string, wire::Received>> Commit() {
    std::vector<Envelope> out;
    const Status status = lane.lane.Commit(&out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return TestLane::Opened(std::move(out));
  }
  // A request and the commit that lets its reply out.
  wire::Received Ask(const wire::Header& header, Message payload = {}) {
    auto replies = lane.Handle("peer", wire::Seal(header, std::move(payload)));
    for (auto& reply : Commit()) replies.push_back(std::move(reply));
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? wire::Received{} : std::move(replies[0].second);
  }
  Status AskStatus(const wire::Header& header, Message payload = {}) {
    return wire::StatusOfReply(Ask(header, std::move(payload)));
  }
};

}  // namespace strata
