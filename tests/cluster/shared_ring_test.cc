// The transport between ranks of one host: rings of all offsets against a deque, exchanges of
// random messages between threads, and what a broken or hostile peer may write.
#include "cluster/link/shared_ring.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "base/random.h"
#include "cluster/link/shared_exchange.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kSecret = 0x1234567890abcdef;

// Two rings in the memory of this process, as two ranks share them.
struct Pair {
  explicit Pair(size_t ring_bytes)
      : lines{std::vector<Line>(ring_bytes / kRingLineBytes),
              std::vector<Line>(ring_bytes / kRingLineBytes)} {
    for (size_t i = 0; i < 2; ++i) {
      sides[i] = std::make_unique<SharedSide>(
          SharedSide{.sender = {&indexes[i], Ring(i), kSecret, &bells[1 - i]},
                     .receiver = {&indexes[1 - i], Ring(1 - i), kSecret, &bells[1 - i]},
                     .bell = &bells[i],
                     .peer_left = &left[1 - i]});
    }
  }
  std::span<std::byte> Ring(size_t i) { return std::as_writable_bytes(std::span(lines[i])); }

  struct alignas(kRingLineBytes) Line {
    std::array<std::byte, kRingLineBytes> bytes{};
  };
  std::array<std::vector<Line>, 2> lines;
  std::array<RingIndexes, 2> indexes{};  // of the ring that side i fills
  std::array<Doorbell, 2> bells{};
  std::array<std::atomic<uint32_t>, 2> left{};
  std::array<std::unique_ptr<SharedSide>, 2> sides;
};

// A rank that sends to one pair of rings and receives from another.
struct Rank {
  Rank(SharedSide* to, SharedSide* from)
      : ends{.send = to,
             .receive = from,
             .failed = &failed,
             .send_peer = "rank 1 (to)",
             .receive_peer = "rank 2 (from)",
             .scratch = scratch,
             .crowded = true} {}

  Status Send(std::span<const std::byte> out, TimeNs deadline = kNever) {
    return ExchangeOverMemory(ends, tag, {.peer = 1, .pieces = {&out, 1}}, {}, deadline);
  }
  Status Receive(std::span<std::byte> in, const Reduction* reduction = nullptr,
                 TimeNs deadline = kNever) {
    return ExchangeOverMemory(ends, tag, {},
                              {.peer = 2, .pieces = {&in, 1}, .reduction = reduction}, deadline);
  }

  std::vector<std::byte> scratch = std::vector<std::byte>(4096);
  std::atomic<bool> failed = false;
  ExchangeTag tag;
  SharedEnds ends;
};

std::vector<std::byte> RandomBytes(Random* random, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random->Next());
  return bytes;
}

// Adds byte by byte; `context` is the element's size. Elements must lie as their type demands.
void AddBytes(void* into, const void* from, size_t count, const void* context) {
  const size_t size = *static_cast<const size_t*>(context);
  const size_t alignment = std::min<size_t>(size & (~size + 1), 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(from) % alignment, 0U) << "elements of " << size;
  auto* const a = static_cast<unsigned char*>(into);
  const auto* const b = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < count * size; ++i) a[i] = static_cast<unsigned char>(a[i] + b[i]);
}

TEST(SharedRing, CarriesBytesInOrderFromEveryOffset) {
  constexpr size_t kRing = 256;
  Random random(7);
  for (size_t offset = 0; offset < kRing; ++offset) {
    Pair pair(kRing);
    RingSender& sender = pair.sides[0]->sender;
    RingReceiver& receiver = pair.sides[1]->receiver;
    for (size_t i = 0; i < offset; ++i) {  // to the offset
      ASSERT_FALSE(sender.Room(1).empty());
      sender.Advance(1);
      sender.Publish();
      ASSERT_EQ(receiver.Filled(1).size(), 1U);
      receiver.Advance(1);
    }
    std::deque<std::byte> model;  // what is in the ring
    size_t hidden = 0;            // of that, at its end: not published
    for (int i = 0; i < 200; ++i) {
      const std::span<std::byte> room = sender.Room(kRing);
      ASSERT_LE(room.size(), kRing - model.size());
      ASSERT_FALSE(model.empty() && room.empty());
      const std::vector<std::byte> bytes = RandomBytes(&random, random.Below(room.size() + 1));
      std::copy(bytes.begin(), bytes.end(), room.begin());
      model.insert(model.end(), bytes.begin(), bytes.end());
      sender.Advance(bytes.size());
      hidden += bytes.size();
      if (random.Chance(0.8)) {
        sender.Publish();
        hidden = 0;
      }
      const std::span<const std::byte> filled = receiver.Filled(kRing);
      ASSERT_LE(filled.size(), model.size() - hidden);
      const size_t used = random.Below(filled.size() + 1);
      ASSERT_TRUE(
          std::equal(filled.begin(), filled.begin() + static_cast<ptrdiff_t>(used), model.begin()));
      receiver.Advance(used);
      model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(used));
    }
    ASSERT_FALSE(sender.broken() || receiver.broken());
  }
}

TEST(SharedRing, IndexThatCannotBeBreaksTheEndThatReadsIt) {
  constexpr size_t kRing = 256;
  for (const uint64_t bad : {uint64_t{0}, uint64_t{63}, uint64_t{64 + kRing + 1}, ~uint64_t{0}}) {
    Pair pair(kRing);
    RingSender& sender = pair.sides[0]->sender;
    RingReceiver& receiver = pair.sides[1]->receiver;
    // 64 bytes have gone through, which is a quarter: the sender knows.
    sender.Advance(64);
    sender.Publish();
    ASSERT_EQ(receiver.Filled(64).size(), 64U);
    receiver.Advance(64);
    ASSERT_EQ(sender.Room(kRing).size(), kRing - 64);
    pair.indexes[0].read = bad;
    EXPECT_TRUE(sender.Room(kRing + 1).empty() && sender.broken()) << bad;
    pair.indexes[0].written = bad;
    EXPECT_TRUE(receiver.Filled(1).empty() && receiver.broken()) << bad;
  }
}

class SharedExchange : public ::testing::TestWithParam<size_t> {};

// Each of three ranks sends to the next and receives from the one before, so that it waits for two
// peers at once; sizes, pieces and elements are random, and so is whether bytes are combined.
TEST_P(SharedExchange, MovesAndReducesRandomMessagesInACircle) {
  const uint64_t calls = GetParam() > 4096 ? 30 : 150;
  static constexpr size_t kByte = 1;
  std::array<std::unique_ptr<Pair>, 3> pairs;  // i: between rank i, side 0, and the next, side 1
  for (auto& pair : pairs) pair = std::make_unique<Pair>(GetParam());
  const auto work = [&](size_t self) {
    Rank rank(pairs[self]->sides[0].get(), pairs[(self + 2) % 3]->sides[1].get());
    rank.ends.crowded = self != 0;
    for (uint64_t call = 0; call < calls; ++call) {
      Random shared(call);  // what all ranks know
      const size_t element = 1 + shared.Below(shared.Chance(0.1) ? 4000 : 200);
      const size_t size = element * shared.Below(1 + 4 * GetParam() / element);
      const bool reduces = shared.Chance(0.5);
      const auto message = [&](size_t from) {
        Random content(call * 3 + from);
        return RandomBytes(&content, size);
      };
      const std::vector<std::byte> out = message(self);
      std::vector<std::byte> in = message(self + 3);
      std::vector<std::byte> expected = message((self + 2) % 3);
      if (reduces) AddBytes(expected.data(), in.data(), size, &kByte);
      // In pieces: of the sender any, of the receiver whole elements; some are empty.
      Random cuts(call * 3 + self);
      const size_t out_cut = cuts.Below(size + 1);
      const size_t in_cut = element * cuts.Below(size / element + 1);
      const std::array<std::span<const std::byte>, 3> out_pieces = {
          std::span(out).first(out_cut), {}, std::span(out).subspan(out_cut)};
      const std::array<std::span<std::byte>, 2> in_pieces = {std::span(in).first(in_cut),
                                                             std::span(in).subspan(in_cut)};
      const Reduction add = CustomReduction(element, &AddBytes, &element);
      rank.tag.call = call;
      const Status status = ExchangeOverMemory(
          rank.ends, rank.tag, {.peer = 1, .pieces = out_pieces},
          {.peer = 2, .pieces = in_pieces, .reduction = reduces ? &add : nullptr},
          RealClock().Now() + 60 * kSecond);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(in, expected) << "call " << call << ", elements of " << element;
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < 3; ++i) threads.emplace_back(work, i);
}

INSTANTIATE_TEST_SUITE_P(RingBytes, SharedExchange, ::testing::Values(256, 1024, 65536),
                         ::testing::PrintToStringParamName());

// Two ranks in one pair of rings.
struct TwoRanks {
  Pair pair{1024};
  Rank a{pair.sides[0].get(), pair.sides[0].get()};
  Rank b{pair.sides[1].get(), pair.sides[1].get()};
  std::vector<std::byte> bytes = std::vector<std::byte>(8);
  std::vector<std::byte> many = std::vector<std::byte>(100'000);
  TimeNs Soon() const { return RealClock().Now() + 20 * kMillisecond; }
};

TEST(SharedExchangeErrors, NameWhatTwoRanksDisagreeOn) {
  TwoRanks ranks;
  ranks.a.tag.call = 3;
  ASSERT_TRUE(ranks.a.Send(ranks.bytes).ok());
  const Status other = ranks.b.Receive(ranks.bytes);
  EXPECT_EQ(other.code(), StatusCode::kFailed);
  EXPECT_THAT(other.message(), AllOf(HasSubstr("rank 2 (from) is in barrier"), HasSubstr("call 3"),
                                     HasSubstr("this rank in barrier"), HasSubstr("call 0")));

  TwoRanks sizes;
  ASSERT_TRUE(sizes.a.Send(sizes.bytes).ok());
  const Status size = sizes.b.Receive(sizes.many);
  EXPECT_EQ(size.code(), StatusCode::kFailed);
  EXPECT_THAT(size.message(), AllOf(HasSubstr("rank 2 (from) sends 8 bytes"),
                                    HasSubstr("this rank expects 100000")));
}

TEST(SharedExchangeErrors, DeadlineSaysHowFarItCame) {
  TwoRanks ranks;
  const Status late = ranks.b.Receive(ranks.bytes, nullptr, ranks.Soon());
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("rank 2 (from) is alive but sent 0 of 8 bytes"));
  const Status full = ranks.a.Send(ranks.many, ranks.Soon());
  EXPECT_EQ(full.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(full.message(), HasSubstr("rank 1 (to) is alive but took"));
}

TEST(SharedExchangeErrors, FailedGroupWakesWhoeverSleeps) {
  TwoRanks ranks;
  std::jthread failure([&] {
    // Once it is about to sleep; whichever of the two comes first, it must not sleep on.
    while (ranks.pair.bells[1].listened == 0) std::this_thread::yield();
    ranks.b.failed = true;
    ranks.pair.bells[1].Ring();
  });
  EXPECT_EQ(ranks.b.Receive(ranks.bytes).code(), StatusCode::kCancelled);
}

TEST(SharedExchangeErrors, WhoHasLeftIsLostOnceAllItSentIsRead) {
  TwoRanks ranks;
  ASSERT_TRUE(ranks.a.Send(ranks.bytes).ok());
  ranks.pair.left[0] = 1;
  EXPECT_TRUE(ranks.b.Receive(ranks.bytes).ok());
  const Status gone = ranks.b.Receive(ranks.bytes);
  EXPECT_EQ(gone.code(), StatusCode::kLost);
  EXPECT_THAT(gone.message(), HasSubstr("rank 2 (from) is lost"));
  EXPECT_EQ(ranks.b.Send(ranks.many).code(), StatusCode::kLost);
}

TEST(SharedExchangeErrors, MarkOfMoreThanTheRingHoldsIsCorrupt) {
  TwoRanks ranks;
  ASSERT_TRUE(ranks.a.Send(ranks.bytes).ok());
  const uint64_t length = ranks.bytes.size() | 1025ULL << kRingLengthBits;
  std::memcpy(ranks.pair.Ring(0).data() + 8, &length, sizeof(length));
  EXPECT_EQ(ranks.b.Receive(ranks.bytes).code(), StatusCode::kCorrupt);
}

TEST(SharedExchangeErrors, BrokenRingIsCorrupt) {
  TwoRanks ranks;
  ASSERT_FALSE(ranks.a.Send(ranks.many, ranks.Soon()).ok());  // the ring is full of it
  ranks.pair.indexes[0].written = 5000;
  const Status in = ranks.b.Receive(ranks.many);
  EXPECT_EQ(in.code(), StatusCode::kCorrupt);
  EXPECT_THAT(in.message(), HasSubstr("rank 2 (from) has written to the shared memory"));
  ranks.pair.indexes[1].read = 5000;
  EXPECT_EQ(ranks.b.Send(ranks.many).code(), StatusCode::kCorrupt);
}

TEST(SharedExchangeErrors, ElementBeyondTheScratchMemoryIsInvalid) {
  TwoRanks ranks;
  const size_t size = 10'000;
  const Reduction add = CustomReduction(size, &AddBytes, &size);
  EXPECT_EQ(ranks.b.Receive(ranks.many, &add).code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata
