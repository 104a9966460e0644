// A lane on a simulated disk, with the real log and a folder of checkpoints, driven message by
// message; what is for its background may be held back.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/wire/checkpoint_payload.h"
#include "ps/service/lane.h"
#include "ps/service/lane_recovery.h"
#include "storage/memory/host_table.h"
#include "tests/ps/server/lane_traffic.h"
#include "tests/support/sim_disk.h"

namespace strata {

inline const std::string kRoot = "checkpoints";

// A machine's disk, the lane of the process that runs on it, and what clients send to it. Machines
// with one disk are lanes of one server.
struct Machine {
  using Command = wire::Command;

  std::shared_ptr<SimDisk> disk_owner;
  SimDisk& disk = *disk_owner;
  const uint16_t lanes = 1;
  const uint16_t index = 0;
  SimClock clock{kSecond};
  Traffic traffic;
  std::unique_ptr<TestLane> lane;
  TestClient admin{.id = 1000};
  bool holds = false;  // what is for the background
  std::deque<std::function<void()>> held;

  // It has handled so many requests; with `drops` tables are dropped now and then.
  explicit Machine(uint64_t seed, int requests = 0, bool drops = false)
      : disk_owner(std::make_shared<SimDisk>()), traffic(seed, drops) {
    Boot();
    Play(requests);
  }
  Machine(std::shared_ptr<SimDisk> disk_of_all, uint16_t of_lanes, uint16_t lane_index)
      : disk_owner(std::move(disk_of_all)), lanes(of_lanes), index(lane_index), traffic(1, false) {
    Boot();
  }
  std::string Folder() const { return index == 0 ? "log" : "log-" + std::to_string(index); }

  // A new process; the one before is gone.
  void Boot() {
    lane.reset();
    held.clear();
    LaneConfig config = TestLaneConfig(lanes, index);
    config.durable = true;
    config.checkpoints =
        CheckpointConfig{.disk = &disk,
                         .root = kRoot,
                         .base = std::make_shared<ReplaceableFile>(disk, Folder() + "/base"),
                         .keep = 2,
                         .clock = &clock};
    config.make_table = [](const TableSpec& spec) { return std::make_unique<HostTable>(spec); };
    config.background = [this](std::function<void()> work) {
      if (!holds) return work();
      held.push_back(std::move(work));
    };
    lane = std::make_unique<TestLane>(std::move(config));
    ASSERT_TRUE(disk.MakeFolder(Folder()).ok());
    const auto summary = RecoverLane(lane->lane, Log(), clock);
    ASSERT_TRUE(summary.ok()) << summary.status().ToString();
  }
  LogOptions Log() {
    return {.disk = &disk,
            .folder = Folder(),
            .lineage = LineageOf(kTestIncarnation),
            .lane = index,
            .boot_id = "b",
            .segment_bytes = 4096};
  }
  // One round: a request, and what it makes leave.
  std::vector<std::pair<std::string, wire::Received>> Send(const wire::Header& header,
                                                           Message payload) {
    std::vector<Envelope> out;
    lane->lane.Handle({"peer", wire::Seal(header, std::move(payload))}, lane->now, &out);
    return Leave(std::move(out));
  }
  std::vector<std::pair<std::string, wire::Received>> Tick() {
    std::vector<Envelope> out;
    lane->lane.Tick(lane->now, &out);
    return Leave(std::move(out));
  }
  std::vector<std::pair<std::string, wire::Received>> Leave(std::vector<Envelope> out) {
    EXPECT_TRUE(lane->lane.Commit(&out).ok());
    return TestLane::Opened(std::move(out));
  }
  // The reply, now or in one of the ticks that the lane asks for.
  wire::Received Ask(const wire::Header& header, Message payload = {}) {
    auto replies = Send(header, std::move(payload));
    while (true) {
      for (auto& [peer, reply] : replies) {  // what waited may be answered besides
        if (reply.header.request_id == header.request_id &&
            reply.header.client_lo == header.client_lo) {
          return std::move(reply);
        }
      }
      if (lane->lane.NextTick() > lane->now) break;
      replies = Tick();
    }
    ADD_FAILURE() << "no reply";
    return {};
  }
  void Finish() {
    while (lane->lane.NextTick() <= lane->now) Tick();
  }
  wire::Header Call(Command command, uint32_t number) {
    wire::Header header = command == Command::kRestore ? admin.Write(command) : admin.Read(command);
    header.cursor = number;
    return header;
  }
  Status Commit(uint32_t number, const Frame& part) {
    const Frame parts[] = {part};
    const wire::NamedBlock attachments[] = {
        {"dense", Frame::Copy(std::as_bytes(std::span("weights", 7)))}};
    return wire::StatusOfReply(
        Ask(Call(Command::kCommitCheckpoint, number),
            {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks(attachments)}));
  }
  // Cut, save, commit, trim.
  void Checkpoint(uint32_t number, bool full) {
    wire::Header header = Call(Command::kCheckpoint, number);
    if (full) header.flags |= wire::kFlagFull;
    const wire::Received part = Ask(header);
    ASSERT_TRUE(wire::StatusOfReply(part).ok()) << wire::StatusOfReply(part).ToString();
    const Status committed = Commit(number, part.payload.at(0));
    ASSERT_TRUE(committed.ok()) << committed.ToString();
    for (const uint32_t flags : {0U, uint32_t{wire::kFlagFull}}) {
      header = Call(Command::kTrimLog, number);
      header.flags |= flags;
      const Status trimmed = wire::StatusOfReply(Ask(header));
      ASSERT_TRUE(trimmed.ok()) << trimmed.ToString();
    }
  }
  Status Restore(uint32_t number) {
    return wire::StatusOfReply(Ask(Call(Command::kRestore, number)));
  }
  void Play(int requests, std::vector<Traffic::Sent>* sent = nullptr) {
    for (int i = 0; i < requests; ++i) {
      Traffic::Sent next = traffic.Next();
      Send(next.header, next.payload);
      if (sent != nullptr) sent->push_back(std::move(next));
    }
  }
  // The epoch in the counters is of the lane's own; what a test compares is the rest.
  Rows64 Rows() {
    return AllRows([&](const auto& header) { return Ask(header); }, {.id = 99});
  }
};

}  // namespace strata
