// Rings in shared memory: bytes and messages from every offset against a deque, and what a broken
// or hostile peer may write.
#include "cluster/link/exchange/shared_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "tests/cluster/shared_pair.h"

namespace strata {
namespace {

TEST(SharedRing, CarriesBytesInOrderFromEveryOffset) {
  constexpr size_t kRing = 256;
  Random random(7);
  for (size_t offset = 0; offset < kRing; ++offset) {
    SharedRings pair(kRing);
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
    SharedRings pair(kRing);
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

TEST(SharedRing, MessageIsSeenOnceItIsPublishedAndSaysHowMuchOfItIsThere) {
  constexpr size_t kRing = 256;
  SharedRings pair(kRing);
  RingSender& sender = pair.sides[0]->sender;
  RingReceiver& receiver = pair.sides[1]->receiver;
  for (size_t i = 0; i < 100; ++i) {
    const size_t length = 100 + i;  // the next message begins at the next line
    const std::span<std::byte> line = sender.Begin(length);
    ASSERT_EQ(line.size(), kRingLineBytes);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(line.data()) % kRingLineBytes, 0U);
    line[kRingMarkBytes] = static_cast<std::byte>(i);
    sender.Advance(20);
    ASSERT_FALSE(receiver.Begin().has_value());
    sender.Publish();
    ASSERT_EQ(receiver.Begin(), length);
    const std::span<const std::byte> filled = receiver.Filled(20);
    ASSERT_EQ(filled.size(), 20U);
    ASSERT_EQ(filled[kRingMarkBytes], static_cast<std::byte>(i));
    receiver.Advance(20);
    for (size_t sent = 20; sent < length;) {
      const size_t bytes = std::min(sender.Room(1).size(), length - sent);
      ASSERT_GT(bytes, 0U);
      sender.Advance(bytes);
      sender.Publish();
      ASSERT_EQ(receiver.Filled(bytes).size(), bytes);
      receiver.Advance(bytes);
      sent += bytes;
    }
  }
}

}  // namespace
}  // namespace strata
