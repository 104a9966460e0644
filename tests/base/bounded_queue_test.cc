#include "base/thread/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace strata {
namespace {

TEST(BoundedQueueTest, KeepsOrderAndBothBudgets) {
  BoundedQueue<int> queue({.items_max = 3, .bytes_max = 100});
  EXPECT_TRUE(queue.TryPush(1, 60).ok());
  EXPECT_EQ(queue.TryPush(2, 41).code(), StatusCode::kRefused);
  EXPECT_TRUE(queue.TryPush(2, 40).ok());
  EXPECT_TRUE(queue.TryPush(3, 0).ok());
  EXPECT_EQ(queue.TryPush(4, 0).code(), StatusCode::kRefused);
  EXPECT_EQ(queue.Stats().items, 3u);
  EXPECT_EQ(queue.Stats().bytes, 100u);
  EXPECT_EQ(queue.TryPop(), 1);
  EXPECT_EQ(queue.Stats().bytes, 40u);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), 3);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
  EXPECT_EQ(queue.Pop(RealClock().Now()), std::nullopt);
}

TEST(BoundedQueueTest, AFailedPushLeavesTheItemWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue({.items_max = 1, .bytes_max = 10});
  auto large = std::make_unique<int>(5);
  EXPECT_EQ(queue.Push(std::move(large), 11).code(), StatusCode::kRefused);
  EXPECT_NE(large, nullptr);
  EXPECT_TRUE(queue.Push(std::move(large), 10).ok());
  auto next = std::make_unique<int>(6);
  EXPECT_EQ(queue.Push(std::move(next), 0, RealClock().Now()).code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_NE(next, nullptr);
}

TEST(BoundedQueueTest, CloseEndsPushesAndDrainsPops) {
  BoundedQueue<int> queue({.items_max = 2});
  ASSERT_TRUE(queue.Push(1, 1).ok());
  queue.Close();
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_EQ(queue.Push(2, 1).code(), StatusCode::kCancelled);
  EXPECT_EQ(queue.TryPush(2, 1).code(), StatusCode::kCancelled);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesThoseWhoWait) {
  BoundedQueue<int> full({.items_max = 1});
  ASSERT_TRUE(full.Push(1, 1).ok());
  BoundedQueue<int> empty({.items_max = 1});
  Status pushed;
  std::optional<int> popped = 0;
  {
    std::jthread pusher([&] { pushed = full.Push(2, 1); });
    std::jthread popper([&] { popped = empty.Pop(); });
    full.Close();
    empty.Close();
  }
  EXPECT_EQ(pushed.code(), StatusCode::kCancelled);
  EXPECT_EQ(popped, std::nullopt);
}

TEST(BoundedQueueTest, ManyProducersAndConsumersLoseNothing) {
  constexpr int kProducers = 4;
  constexpr int kConsumers = 3;
  constexpr int kItems = 2000;
  constexpr uint64_t kBytesMax = 50;
  BoundedQueue<int> queue({.items_max = 8, .bytes_max = kBytesMax});
  std::vector<std::vector<int>> taken(kConsumers);
  {
    std::vector<std::jthread> consumers;
    for (int c = 0; c < kConsumers; ++c) {
      consumers.emplace_back([&, c] {
        while (std::optional<int> item = queue.Pop())
          taken[static_cast<size_t>(c)].push_back(*item);
      });
    }
    std::vector<std::jthread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back([&, p] {
        for (int i = 0; i < kItems; ++i) {
          // Sizes up to the whole budget, so that small and large pushes compete.
          const uint64_t bytes = static_cast<uint64_t>(i * 7 + p) % (kBytesMax + 1);
          EXPECT_TRUE(queue.Push(p * kItems + i, bytes).ok());
        }
      });
    }
    producers.clear();
    queue.Close();
  }
  std::vector<int> all;
  for (const std::vector<int>& part : taken) {
    for (int p = 0; p < kProducers; ++p) {  // one producer's items stay in order
      std::vector<int> of_producer;
      std::ranges::copy_if(part, std::back_inserter(of_producer),
                           [&](int item) { return item / kItems == p; });
      EXPECT_TRUE(std::ranges::is_sorted(of_producer));
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), static_cast<size_t>(kProducers * kItems));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i));
  EXPECT_EQ(queue.Stats().bytes, 0u);
}

}  // namespace
}  // namespace strata
