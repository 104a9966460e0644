// Round trips and bad bytes of the payloads about collections. Each refusal says what was expected
// and what was found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/proto/wire_samples.h"

namespace strata::wire {
namespace {

using Bytes = std::vector<std::byte>;
using ::testing::HasSubstr;

Bytes BytesOf(const Frame& frame) { return Bytes(frame.bytes().begin(), frame.bytes().end()); }

Frame Cut(const Frame& frame, size_t bytes) { return frame.Part(0, frame.size() - bytes); }

template <typename Number>
Bytes With(Bytes bytes, size_t at, Number value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

TEST(WireCollections, Definitions) {
  const auto samples = SampleCollections();
  const Bytes good = BytesOf(EncodeCollections(samples));
  EXPECT_EQ(DecodeCollections(good).value(), samples);
  EXPECT_TRUE(DecodeCollections({})->empty());
  // The second begins at 20, and the last two bytes say how many copies it has; all other cuts are
  // within one.
  for (size_t length = 1; length < good.size(); ++length) {
    const auto cut = DecodeCollections(std::span(good).first(length));
    if (length == 20) {
      EXPECT_EQ(cut->size(), 1U);
    } else if (length == good.size() - 2) {
      EXPECT_EQ(cut->back().copies, 1);
    } else {
      EXPECT_EQ(cut.status().code(), StatusCode::kInvalid) << length;
    }
  }
  EXPECT_THAT(DecodeCollections(With(good, 0, uint8_t{65})).status().message(),
              HasSubstr("expected at most 64 attributes, found 65"));
  EXPECT_THAT(DecodeCollections(With(good, 1, uint8_t{0})).status().message(),
              HasSubstr("expected a name of 1 to 128 bytes, found one of 0 bytes"));
  EXPECT_THAT(DecodeCollections(With(good, 1, uint8_t{129})).status().message(),
              HasSubstr("found one of 129 bytes with 23 bytes left"));
  EXPECT_THAT(DecodeCollections(With(good, 9, uint8_t{100})).status().message(),
              HasSubstr("an attribute's name of 1 to 128 bytes, found one of 100 bytes"));
  for (const uint8_t copies : {uint8_t{0}, uint8_t{1}, uint8_t{65}}) {
    EXPECT_THAT(DecodeCollections(With(good, good.size() - 1, copies)).status().message(),
                HasSubstr(fmt::format("expected 2 to 64 copies, found {}", copies)));
  }
  EXPECT_EQ(DecodeCollections(std::span(good).last(2)).status().code(), StatusCode::kInvalid);
}

TEST(WireCollections, IdsAreFrozen) {
  EXPECT_EQ(CollectionIdOf("baskets"), CollectionIdOf("baskets"));
  EXPECT_NE(CollectionIdOf("baskets"), CollectionIdOf("basket"));
  EXPECT_EQ(ShortCollectionId("baskets"), 0x85851a28U);
}

TEST(WireCollections, SearchTerms) {
  const SearchTerms terms = SampleSearchTerms();
  const Bytes good = BytesOf(EncodeSearchTerms(terms));
  EXPECT_EQ(DecodeSearchTerms(good).value(), terms);
  EXPECT_EQ(DecodeSearchTerms(BytesOf(EncodeSearchTerms({}))).value(), SearchTerms{});
  const auto refusal = [](const Bytes& bytes) {
    const Status status = DecodeSearchTerms(bytes).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    return status.message();
  };
  EXPECT_THAT(refusal(Bytes(good.begin(), good.begin() + 39)),
              HasSubstr("expected 40 bytes or more, found 39"));
  EXPECT_THAT(refusal(Bytes(good.begin(), good.begin() + 63)),
              HasSubstr("1 ranges announced (at most 64, of 24 bytes each), 23 bytes follow"));
  EXPECT_THAT(refusal(Bytes(good.begin(), good.end() - 1)), HasSubstr("15 bytes of ids from 64"));
  EXPECT_THAT(refusal(With(good, 0, uint32_t{256})), HasSubstr("no metric 256"));
  EXPECT_THAT(refusal(With(good, 4, uint32_t{4})), HasSubstr("expected flags up to 3, found 4"));
  EXPECT_THAT(refusal(With(good, 4, uint32_t{0})), HasSubstr("where none are announced"));
  EXPECT_THAT(refusal(With(good, 12, uint32_t{65})), HasSubstr("65 ranges announced"));
  EXPECT_THAT(refusal(With(good, 24, uint64_t{0})), HasSubstr("x / 0"));
  EXPECT_THAT(refusal(With(good, 44, uint32_t{9})),
              HasSubstr("expected 0 behind attribute 1 of range 0, found 9"));
}

TEST(WireCollections, SearchTermsOfSeveralServers) {
  SearchTerms terms = SampleSearchTerms();
  terms.servers = 64;
  const Bytes good = BytesOf(EncodeSearchTerms(terms));
  EXPECT_EQ(good.size(), BytesOf(EncodeSearchTerms(SampleSearchTerms())).size() + 8);
  EXPECT_EQ(DecodeSearchTerms(good).value(), terms);
  for (const uint64_t servers : {uint64_t{0}, uint64_t{1}, uint64_t{65}, ~uint64_t{0}}) {
    EXPECT_THAT(DecodeSearchTerms(With(good, 40, servers)).status().message(),
                HasSubstr(fmt::format("the documents of 2 to 64 servers, found {}", servers)));
  }
}

TEST(WireCollections, ChangesToFollow) {
  const Bytes request = BytesOf(EncodeFollowRequest(SampleFollowRequest()));
  EXPECT_EQ(DecodeFollowRequest(request).value(), SampleFollowRequest());
  EXPECT_THAT(DecodeFollowRequest(std::span(request).first(31)).status().message(),
              HasSubstr("expected 32 bytes, found 31"));
  const Bytes reply = BytesOf(EncodeFollowReply(SampleFollowReply()));
  EXPECT_EQ(DecodeFollowReply(reply).value(), SampleFollowReply());
  EXPECT_THAT(DecodeFollowReply(std::span(reply).first(39)).status().message(),
              HasSubstr("expected 40 bytes before them, found 39"));
  EXPECT_THAT(DecodeFollowReply(With(reply, 32, uint32_t{4})).status().message(),
              HasSubstr("expected flags up to 3"));
  EXPECT_THAT(DecodeFollowReply(With(reply, 36, uint32_t{1})).status().message(),
              HasSubstr("expected flags up to 3, 0 behind them"));
  EXPECT_THAT(DecodeFollowReply(With(reply, 8, uint64_t{73})).status().message(),
              HasSubstr("a position up to the newest, found 1, 0, and 73 of 72"));
}

TEST(WireCollections, Queries) {
  const SearchQueries queries = SampleQueries();
  const Frame offsets = EncodeOffsets(queries.offsets);
  const Frame tokens = EncodeTokens(queries.tokens);
  EXPECT_EQ(DecodeQueries(offsets, tokens, 2).value(), queries);
  EXPECT_TRUE(DecodeQueries(EncodeOffsets(std::vector<uint64_t>{0}), {}, 0)->tokens.empty());
  const auto refusal = [](const Frame& of, const Frame& to, uint32_t count) {
    const Status status = DecodeQueries(of, to, count).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    return status.message();
  };
  EXPECT_THAT(refusal(offsets, tokens, 3), HasSubstr("3 queries have 32 bytes of them, found 24"));
  EXPECT_THAT(refusal(offsets, tokens, UINT32_MAX), HasSubstr("4294967295 queries"));
  EXPECT_THAT(refusal(offsets, Cut(tokens, 1), 2), HasSubstr("words of 4 bytes, found 15 bytes"));
  EXPECT_THAT(refusal(offsets, Cut(tokens, 4), 2), HasSubstr("expected 0 to 3, found 0 to 4"));
  EXPECT_THAT(refusal(EncodeOffsets(std::vector<uint64_t>{1, 3, 4}), tokens, 2),
              HasSubstr("expected 0 to 4, found 1 to 4"));
  EXPECT_THAT(refusal(EncodeOffsets(std::vector<uint64_t>{0, 5, 4}), tokens, 2),
              HasSubstr("that of query 2 is 4, behind 5"));
}

TEST(WireCollections, Answers) {
  const SearchAnswer answer = SampleAnswer();
  const Frame offsets = EncodeOffsets(answer.offsets);
  const Frame hits = EncodeHits(answer.hits);
  const auto decoded = DecodeAnswer(offsets, hits, 2);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(decoded->offsets, answer.offsets);
  EXPECT_EQ(decoded->hits, answer.hits);
  EXPECT_THAT(DecodeAnswer(offsets, Cut(hits, 8), 2).status().message(),
              HasSubstr("expected 16 bytes each, found 24 bytes"));
  EXPECT_THAT(DecodeAnswer(offsets, Cut(hits, 16), 2).status().message(),
              HasSubstr("offsets of hits: expected 0 to 1, found 0 to 2"));
}

TEST(WireCollections, Explanations) {
  const SearchExplanation explanation = SampleExplanation();
  const Bytes good = BytesOf(EncodeExplanation(explanation));
  ASSERT_EQ(good.size(), 24U + 2 * 96 + 3 * 56);
  EXPECT_EQ(DecodeExplanation(good).value(), explanation);
  EXPECT_EQ(DecodeExplanation(BytesOf(EncodeExplanation({}))).value(), SearchExplanation{});
  const auto refusal = [](const Bytes& bytes) {
    const Status status = DecodeExplanation(bytes).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    return status.message();
  };
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(refusal(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(length))),
                HasSubstr("search explanation: "));
  }
  Bytes longer = good;
  longer.push_back({});
  EXPECT_THAT(refusal(longer), HasSubstr("385 bytes are not those of 2 parts"));
  EXPECT_THAT(refusal(With(good, 4, UINT32_MAX)),
              HasSubstr("4294967295 parts announced, of 96 bytes or more each, 360 bytes follow"));
  EXPECT_THAT(refusal(With(good, 24 + 88, UINT32_MAX)), HasSubstr("4294967295 engines announced"));
  EXPECT_THAT(refusal(With(good, 24 + 68, uint32_t{2})), HasSubstr("found 2 and 0"));
  EXPECT_THAT(refusal(With(good, 24 + 92, uint32_t{7})), HasSubstr("found 0 and 7"));
  EXPECT_THAT(refusal(With(good, 24 + 96 + 12, uint32_t{9})),
              HasSubstr("expected 0 behind engine 0 of part 0, found 9"));
}

TEST(WireCollections, Stats) {
  const Bytes good = BytesOf(EncodeCollectionStats(SampleCollectionStats()));
  EXPECT_EQ(DecodeCollectionStats(good).value(), SampleCollectionStats());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(DecodeCollectionStats(std::span(good).first(length)).status().message(),
                HasSubstr("expected 216 bytes"));
  }
  CollectionStatsReply sum = {.documents = 1, .queries = 7, .batches = 2};
  sum += {.documents = 2, .queries = 5, .batches = 3, .copy_behind_ns = 4};
  EXPECT_EQ(
      sum, (CollectionStatsReply{.documents = 3, .queries = 7, .batches = 5, .copy_behind_ns = 4}));
}

}  // namespace
}  // namespace strata::wire
