// Exchanges through shared memory between threads: random messages against a model, and the errors
// that name who is to blame.
#include "cluster/link/exchange/shared_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "cluster/link/connect/listener.h"
#include "tests/cluster/shared_pair.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

// Adds byte by byte; `context` is the element's size. Elements must lie as their type demands.
void AddBytes(void* into, const void* from, size_t count, const void* context) {
  const size_t size = *static_cast<const size_t*>(context);
  const size_t alignment = std::min<size_t>(size & (~size + 1), 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(from) % alignment, 0U) << "elements of " << size;
  auto* const a = static_cast<unsigned char*>(into);
  const auto* const b = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < count * size; ++i) a[i] = static_cast<unsigned char>(a[i] + b[i]);
}

class SharedExchange : public ::testing::TestWithParam<size_t> {};

// Each of three ranks sends to the next and receives from the one before, so that it waits for two
// peers at once; sizes, pieces and elements are random, and so is whether bytes are combined.
TEST_P(SharedExchange, MovesAndReducesRandomMessagesInACircle) {
  const uint64_t calls = GetParam() > 4096 ? 30 : 150;
  static constexpr size_t kByte = 1;
  std::array<std::unique_ptr<SharedRings>, 3>
      pairs;  // i: between rank i, side 0, and the next, side 1
  for (auto& pair : pairs) pair = std::make_unique<SharedRings>(GetParam());
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

// Two ranks that send through memory in one direction and over a socket in the other.
TEST(SharedExchangeBoth, HalfThroughMemoryAndHalfOverASocket) {
  SharedRings rings(1024);
  std::array<int, 2> fds{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  const std::array<OwnedFd, 2> sockets = {OwnedFd(fds[0]), OwnedFd(fds[1])};
  const OwnedFd wake(eventfd(0, EFD_CLOEXEC));
  const auto work = [&](size_t self) {
    Rank rank(self == 0 ? rings.sides[0].get() : nullptr,
              self == 0 ? nullptr : rings.sides[1].get());
    std::vector<std::byte> scratch(kReduceScratchBytes);
    const int fd = sockets[self].get();
    const SocketEnds ends = {.send_fd = self == 0 ? -1 : fd,
                             .receive_fd = self == 0 ? fd : -1,
                             .wake_fd = wake.get(),
                             .send_peer = "the other",
                             .receive_peer = "the other",
                             .scratch = scratch};
    const size_t kByte = 1;
    for (uint64_t call = 0; call < 40; ++call) {
      const auto message = [call](size_t from) {
        Random random(2 * call + from);
        return RandomBytes(&random, Random(call).Below(call % 4 == 0 ? 1'000'000 : 3000));
      };
      const std::vector<std::byte> out = message(self);
      std::vector<std::byte> in = message(self);
      std::vector<std::byte> expected = message(1 - self);
      AddBytes(expected.data(), in.data(), in.size(), &kByte);
      const std::span<const std::byte> out_piece = out;
      const std::span<std::byte> in_piece = in;
      const Reduction add = CustomReduction(1, &AddBytes, &kByte);
      rank.tag.call = call;
      const Status status =
          ExchangeOverBoth(rank.ends, ends, rank.tag, {.peer = 1, .pieces = {&out_piece, 1}},
                           {.peer = 2, .pieces = {&in_piece, 1}, .reduction = &add},
                           RealClock().Now() + 60 * kSecond);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(in, expected) << "call " << call;
    }
    if (self == 1) return;
    // The other does not take part.
    const std::vector<std::byte> much(100'000);
    const std::span<const std::byte> piece = much;
    const auto fail = [&] {
      return ExchangeOverBoth(rank.ends, ends, rank.tag, {.peer = 1, .pieces = {&piece, 1}}, {},
                              RealClock().Now() + 20 * kMillisecond);
    };
    EXPECT_EQ(fail().code(), StatusCode::kDeadlineExceeded);
    rings.left[1] = 1;
    EXPECT_EQ(fail().code(), StatusCode::kLost);
    rank.failed = true;
    EXPECT_EQ(fail().code(), StatusCode::kCancelled);
  };
  const std::jthread other(work, 1);
  work(0);
}

// Two ranks in one pair of rings.
struct TwoRanks {
  SharedRings pair{1024};
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
