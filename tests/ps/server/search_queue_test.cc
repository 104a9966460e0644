// Which searches are one batch, and when there is no room for more.
#include "ps/shard/search_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

WaitingSearch Search(const std::string& peer, const std::shared_ptr<Collection>& collection,
                     uint32_t queries, uint32_t k = 10, size_t bytes = 100) {
  WaitingSearch search{.to = {.peer = peer, .request = {}}};
  search.to.request.count = queries;
  search.collection = collection;
  wire::SearchTerms terms;
  terms.k = k;
  search.terms = wire::EncodeSearchTerms(terms);
  search.bytes = bytes;
  return search;
}

std::string Peers(const std::vector<WaitingSearch>& batch) {
  std::string peers;
  for (const WaitingSearch& search : batch) peers += search.to.peer;
  return peers;
}

TEST(SearchQueue, WhatAsksTheSameIsOneBatchInTheOrderOfArrival) {
  const auto one = std::make_shared<Collection>();
  const auto other = std::make_shared<Collection>();
  SearchQueue queue(1 << 20);
  EXPECT_TRUE(queue.IsIdle());
  EXPECT_TRUE(queue.Begin().empty());
  for (const WaitingSearch& search :
       {Search("a", one, 1), Search("b", other, 1), Search("c", one, 1), Search("d", one, 1, 11)}) {
    ASSERT_TRUE(queue.Add(search).ok());
  }
  EXPECT_EQ(Peers(queue.Begin()), "ac");
  EXPECT_TRUE(queue.Begin().empty());  // one is under way
  queue.End(2, kMillisecond);
  EXPECT_EQ(Peers(queue.Begin()), "b");
  queue.End(1, kMillisecond);
  EXPECT_EQ(Peers(queue.Begin()), "d");
  EXPECT_EQ(queue.bytes(), 100U);
  queue.End(1, kMillisecond);
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_TRUE(queue.IsIdle());
}

TEST(SearchQueue, ABatchIsAsLargeAsTheBudgetAllows) {
  const auto one = std::make_shared<Collection>();
  SearchQueue queue(1 << 20);
  const auto fill = [&] {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.Add(Search("x", one, 10)).ok());
  };
  fill();
  EXPECT_EQ(queue.Begin().size(), 3U);  // 32 queries while nothing is known
  queue.End(30, 30 * SearchQueue::kBatchTime / 75);
  EXPECT_EQ(queue.Begin().size(), 7U);  // 75 queries are 10 ms
  queue.End(0, 0);                      // nothing was searched, and nothing is learnt
  fill();
  EXPECT_EQ(queue.Begin().size(), 7U);
  for (int i = 0; i < 40; ++i) queue.End(1, kSecond);
  EXPECT_EQ(queue.Begin().size(), 3U);  // at least 32
  queue.End(1, kSecond);
  queue.TakeAll();
  ASSERT_TRUE(queue.Add(Search("large", one, 5000)).ok());
  EXPECT_EQ(queue.Begin().size(), 1U);  // whatever it takes
}

TEST(SearchQueue, WithoutRoomASearchIsRefused) {
  const auto one = std::make_shared<Collection>();
  SearchQueue queue(250);
  ASSERT_TRUE(queue.Add(Search("a", one, 1, 10, 1000)).ok());  // one is always taken
  EXPECT_EQ(queue.Add(Search("b", one, 1)).code(), StatusCode::kRefused);
  queue.Begin();
  EXPECT_EQ(queue.bytes(), 1000U) << "it has its room until it is answered";
  ASSERT_TRUE(queue.Add(Search("b", one, 1)).ok());
  EXPECT_EQ(queue.Add(Search("c", one, 1)).code(), StatusCode::kRefused);
  queue.TakeAll();
  queue.End(1, kMillisecond);
  ASSERT_TRUE(queue.Add(Search("c", one, 1)).ok());
  ASSERT_TRUE(queue.Add(Search("d", one, 1)).ok());
  const Status full = queue.Add(Search("e", one, 1));
  EXPECT_EQ(full.code(), StatusCode::kRefused);
  EXPECT_NE(full.message().find("2 searches wait, with those under way of 200 bytes"),
            std::string::npos);
  EXPECT_EQ(Peers(queue.TakeAll()), "cd");
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(SearchQueue, WhatIsOutForCopiesKeepsItsRoom) {
  const auto one = std::make_shared<Collection>();
  SearchQueue queue(250);
  ASSERT_TRUE(queue.AddForCopies(Search("a", one, 1)).ok());
  ASSERT_TRUE(queue.AddForCopies(Search("b", one, 1)).ok());
  std::vector<WaitingSearch> out = queue.BeginCopies();
  ASSERT_EQ(Peers(out), "ab");
  EXPECT_EQ(queue.bytes(), 200U);
  queue.LetGo(out[0]);
  queue.AddBack(std::move(out[1]));
  queue.EndCopies();
  EXPECT_EQ(queue.bytes(), 100U);
  EXPECT_EQ(Peers(queue.Begin()), "b");
  queue.End(1, kMillisecond);
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(SearchQueue, ABatchHasNoMoreAnswersThanThereIsRoomFor) {
  const auto one = std::make_shared<Collection>();
  SearchQueue queue(1000);
  for (const char* peer : {"a", "b", "c"}) {
    WaitingSearch search = Search(peer, one, 1);
    search.answer_bytes = 200;
    ASSERT_TRUE(queue.Add(std::move(search)).ok());
  }
  EXPECT_EQ(Peers(queue.Begin()), "ab");
  queue.End(2, kMillisecond);
  EXPECT_EQ(Peers(queue.Begin()), "c");
}

}  // namespace
}  // namespace strata
