// Random traffic for a lane, and what the lane then looks like, to the bit.
#pragma once

#include <array>
#include <bit>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/ps/server/lane_fixture.h"

namespace strata {

constexpr uint16_t kWorld = 3;
constexpr uint32_t kGroup = 9;

// Rows, state and counters of all tables, as bits, sorted.
using Rows64 = std::map<std::pair<std::string, Key>, std::vector<uint32_t>>;

template <typename Ask>
Rows64 AllRows(Ask&& ask, TestClient reader) {
  Rows64 all;
  const wire::Received listed = ask(reader.Read(wire::Command::kListTables));
  const auto tables = wire::DecodeTableDefinitions(listed.payload.at(0).bytes());
  for (const wire::TableDefinition& table : *tables) {
    const TableSpec spec = FromWire(table).value();
    for (bool done = false; !done;) {
      wire::Header header = reader.Read(wire::Command::kScan, IdOf(spec), 1'000'000);
      header.flags |= wire::kFlagWithState;
      const wire::Received page = ask(header);
      done = page.header.is(wire::kFlagDone);
      EXPECT_TRUE(done);
      const uint32_t count = page.header.count;
      const auto keys = wire::ReadKeys(page.payload.at(0), count).value();
      const auto rows = wire::ReadRows(page.payload.at(1), count, page.header.width).value();
      const auto counters = page.payload.at(2).bytes();
      for (size_t i = 0; i < count; ++i) {
        std::vector<uint32_t>& bits = all[{spec.name, keys[i]}];
        for (size_t j = 0; j < page.header.width; ++j) {
          bits.push_back(std::bit_cast<uint32_t>(rows[i * page.header.width + j]));
        }
        for (const std::byte b : counters.subspan(i * sizeof(RowCounters), sizeof(RowCounters))) {
          bits.push_back(std::to_integer<uint32_t>(b));
        }
      }
    }
  }
  return all;
}

// Random traffic of some clients: puts, pushes, erases, tables that come and go, refusals, and a
// group that trains in steps.
class Traffic {
 public:
  Traffic(uint64_t seed, bool drops) : random_(seed), drops_(drops) {
    for (uint64_t i = 0; i < kWorld + 2; ++i) clients_.push_back({.id = i + 1});
    for (size_t i = 0; i < 3; ++i) {
      TableSpec spec = TestSpec("t" + std::to_string(i), static_cast<uint32_t>(1 + i));
      spec.optimizer.kind =
          std::array{OptimizerKind::kSgd, OptimizerKind::kAdaGrad, OptimizerKind::kAdam}[i];
      spec.seed = seed;
      spec.value_type = std::array{ElementType::kFp32, ElementType::kBf16, ElementType::kFp16}[i];
      spec.state_type = std::array{ElementType::kFp32, ElementType::kFp16, ElementType::kFp32}[i];
      spec.initializer = {.kind = InitializerKind::kUniform, .scale = 0.1F};
      specs_.push_back(spec);
    }
  }

  struct Sent {
    wire::Header header;
    Message payload;
  };

  Sent Next() {
    if (created_ < specs_.size()) {
      return {clients_.back().Write(wire::Command::kCreateTable), {Definition(specs_[created_++])}};
    }
    const size_t which = random_() % 12;
    TestClient& client = clients_[kWorld + random_() % 2];
    const TableSpec& spec = specs_[random_() % specs_.size()];
    if (which == 0) return {client.Write(wire::Command::kCreateTable), {Definition(spec)}};
    if (which == 1 && drops_ && random_() % 8 == 0) {
      return {client.Write(wire::Command::kDropTable, IdOf(spec)), {}};
    }
    if (which == 2) return {client.Write(wire::Command::kErase, 4711, 1), {Keys({1})}};  // refused
    const auto count = static_cast<uint32_t>(random_() % 6);
    std::vector<uint64_t> keys(count);
    for (uint64_t& key : keys) key = random_() % 20;
    if (which == 3) return {client.Write(wire::Command::kErase, IdOf(spec), count), {Keys(keys)}};
    std::vector<float> rows(count * spec.dim);
    for (float& x : rows) x = static_cast<float>(random_() % 1000) / 97 - 5;
    const Message payload = {Keys(keys), Rows(rows)};
    if (which == 4)
      return {client.Write(wire::Command::kPut, IdOf(spec), count, spec.dim), payload};
    if (which < 8) return Push(client, spec, count, payload);
    // The next push of the group's open step, of any rank that has not pushed yet.
    const auto rank = static_cast<uint16_t>(pushed_++ % kWorld);
    if (rank == 0) ++step_;
    wire::Header header = Push(clients_[rank], specs_[0], count, {}).header;
    rows.resize(count * specs_[0].dim);
    header.width = specs_[0].dim;
    return {TestClient::Sync(header, {.id = kGroup, .rank = rank, .world = kWorld}, step_),
            {Keys(keys), Rows(rows)}};
  }

 private:
  Sent Push(TestClient& client, const TableSpec& spec, uint32_t count, const Message& payload) {
    wire::Header header = client.Write(wire::Command::kPush, IdOf(spec), count, spec.dim);
    header.step = 1 + random_() % 50;
    if (header.sequence > 6) header.settled_below = header.sequence - 5;
    return {header, payload};
  }

  std::mt19937_64 random_;
  const bool drops_;
  size_t created_ = 0;
  std::vector<TestClient> clients_;
  std::vector<TableSpec> specs_;
  uint64_t pushed_ = 0;
  uint64_t step_ = 0;
};

// What the lane answers to each write that it is sent again.
inline std::map<std::pair<uint64_t, uint64_t>, std::string> AnswersOf(
    TestLane& lane, const std::vector<Traffic::Sent>& sent) {
  std::map<std::pair<uint64_t, uint64_t>, std::string> answers;
  for (const Traffic::Sent& one : sent) {
    wire::Header header = one.header;
    header.ack = static_cast<uint8_t>(AckLevel::kApplied);
    const auto replies = lane.Handle("again", wire::Seal(header, one.payload));
    answers[{header.client_hi, header.sequence}] =
        replies.empty() ? "waits" : wire::StatusOfReply(replies.back().second).ToString();
  }
  return answers;
}

}  // namespace strata
