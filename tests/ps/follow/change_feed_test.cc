// Which positions a feed knows, and what it hands out behind them.
#include "ps/shard/change_feed.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

Frame Record(const std::string& text) { return Frame::Copy(std::as_bytes(std::span(text))); }

std::pair<uint64_t, std::string> Read(const ChangeFeed& feed, uint64_t position, size_t bytes) {
  std::vector<std::byte> out;
  const uint64_t behind = feed.Read(position, bytes, &out);
  return {behind, std::string(reinterpret_cast<const char*>(out.data()), out.size())};
}

TEST(ChangeFeed, HandsOutRecordsInOrderUntilThereAreEnoughBytes) {
  ChangeFeed feed(100);
  EXPECT_EQ(feed.newest(), 0U);
  EXPECT_TRUE(feed.Knows(0));
  EXPECT_FALSE(feed.Knows(1));
  EXPECT_EQ(Read(feed, 0, 10), std::pair(uint64_t{0}, std::string()));
  for (const char* const text : {"ab", "", "c", "def"}) feed.Add(Record(text));
  EXPECT_EQ(feed.newest(), 4U);
  EXPECT_EQ(Read(feed, 0, 100), std::pair(uint64_t{4}, std::string("abcdef")));
  EXPECT_EQ(Read(feed, 2, 100), std::pair(uint64_t{4}, std::string("cdef")));
  EXPECT_EQ(Read(feed, 4, 100), std::pair(uint64_t{4}, std::string()));
  EXPECT_EQ(Read(feed, 0, 3), std::pair(uint64_t{3}, std::string("abc")));
  EXPECT_EQ(Read(feed, 3, 1), std::pair(uint64_t{4}, std::string("def")));
}

TEST(ChangeFeed, ForgetsTheOldest) {
  ChangeFeed feed(5);
  for (int i = 0; i < 4; ++i) feed.Add(Record("ab"));
  EXPECT_FALSE(feed.Knows(1));
  EXPECT_TRUE(feed.Knows(2));
  EXPECT_EQ(Read(feed, 2, 100), std::pair(uint64_t{4}, std::string("abab")));
  feed.Add(Record("abcdef"));  // larger than all there is room for
  EXPECT_TRUE(feed.Knows(5));
  EXPECT_FALSE(feed.Knows(4));
}

}  // namespace
}  // namespace strata
