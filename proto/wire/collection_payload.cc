#include "proto/wire/collection_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "proto/wire/bytes.h"
#include "proto/wire/header.h"

namespace strata::wire {
namespace {

static_assert(std::endian::native == std::endian::little,
              "offsets, tokens and hits are copied as they lie; a big-endian host must swap them");
static_assert(sizeof(SearchHit) == kSearchHitBytes);

constexpr size_t kNameBytesMax = 128;
constexpr uint64_t kIdSeed = 0x636f6c6c656374;  // "collect"
constexpr size_t kTermsBytes = 40;              // before the ranges
constexpr size_t kRangeBytes = 24;
constexpr uint32_t kHasIds = 1;
constexpr uint32_t kHasServers = 2;
constexpr uint8_t kCopiesFollow = 255;  // in the place of the number of attributes
constexpr size_t kFollowRequestBytes = 32;
constexpr size_t kFollowReplyBytes = 40;
constexpr uint32_t kNoMore = 1;
constexpr uint32_t kBeginAnew = 2;
constexpr size_t kPartBytes = 96;  // of an explanation, before the engines
constexpr size_t kEngineBytes = 56;
constexpr uint32_t kGpuRefused = 1;

// As they lie in the payload.
constexpr uint64_t CollectionStatsReply::*kCounts[] = {
    &CollectionStatsReply::documents,      &CollectionStatsReply::segments,
    &CollectionStatsReply::dead,           &CollectionStatsReply::bytes,
    &CollectionStatsReply::merges,         &CollectionStatsReply::log_bytes,
    &CollectionStatsReply::upserts,        &CollectionStatsReply::deletes,
    &CollectionStatsReply::queries,        &CollectionStatsReply::batches,
    &CollectionStatsReply::search_ns,      &CollectionStatsReply::gpu_segments,
    &CollectionStatsReply::gpu_lacking,    &CollectionStatsReply::gpu_bytes,
    &CollectionStatsReply::counted,        &CollectionStatsReply::scanned,
    &CollectionStatsReply::gpu_counted,    &CollectionStatsReply::gpu_scanned,
    &CollectionStatsReply::gpu_streamed,   &CollectionStatsReply::copies,
    &CollectionStatsReply::copies_ready,   &CollectionStatsReply::copy_documents,
    &CollectionStatsReply::copy_bytes,     &CollectionStatsReply::copy_lacking,
    &CollectionStatsReply::copy_behind_ns, &CollectionStatsReply::copies_begun,
    &CollectionStatsReply::copy_queries};

template <typename T>
Frame CopyIn(std::span<const T> values) {
  return Frame::Copy(std::as_bytes(values));
}

template <typename T>
std::vector<T> CopyOut(const Frame& frame) {
  std::vector<T> values(frame.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), frame.bytes().data(), frame.size());
  return values;
}

Status CheckName(std::string_view what, size_t length, size_t left) {
  if (length > 0 && length <= kNameBytesMax && length <= left) return {};
  return Invalid(
      fmt::format("collection definition: expected {} of 1 to {} bytes, found one of {} bytes with "
                  "{} bytes left",
                  what, kNameBytesMax, length, left));
}

Result<std::string> ReadName(std::string_view what, ByteReader& reader) {
  const auto length = reader.Get<uint8_t>();
  STRATA_TRY(CheckName(what, length, reader.left()));
  return reader.GetText(length);
}

// Offsets of `count` pieces into what `end` elements are.
Result<std::vector<uint64_t>> ReadOffsets(const Frame& frame, uint32_t count, uint64_t end,
                                          std::string_view of) {
  const size_t bytes = (size_t{count} + 1) * sizeof(uint64_t);
  if (frame.size() != bytes) {
    return Invalid(fmt::format("offsets of {}: {} queries have {} bytes of them, found {}", of,
                               count, bytes, frame.size()));
  }
  std::vector<uint64_t> offsets = CopyOut<uint64_t>(frame);
  if (offsets.front() != 0 || offsets.back() != end) {
    return Invalid(fmt::format("offsets of {}: expected 0 to {}, found {} to {}", of, end,
                               offsets.front(), offsets.back()));
  }
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i - 1] <= offsets[i]) continue;
    return Invalid(
        fmt::format("offsets of {}: that of query {} is {}, behind {}: they must not "
                    "fall",
                    of, i, offsets[i], offsets[i - 1]));
  }
  return offsets;
}

// That so many elements of a search explanation can follow.
Status CheckRoom(std::string_view what, uint32_t count, size_t bytes_each,
                 const ByteReader& reader) {
  if (count <= reader.left() / bytes_each) return {};
  return Invalid(
      fmt::format("search explanation: {} {} announced, of {} bytes or more each, {} bytes follow",
                  count, what, bytes_each, reader.left()));
}

}  // namespace

uint64_t CollectionIdOf(std::string_view name) {
  const uint64_t hash = Hash64(name, kIdSeed);
  return ShortId(hash) == 0 ? hash | 1U : hash;
}

Frame EncodeCollections(std::span<const CollectionDefinition> collections) {
  ByteWriter writer;
  for (const CollectionDefinition& collection : collections) {
    STRATA_CHECK(collection.attributes.size() <= kCollectionAttributesMax);
    writer.Put(static_cast<uint8_t>(collection.attributes.size()));
    writer.Put(static_cast<uint8_t>(collection.name.size()));
    writer.PutText(collection.name);
    for (const std::string& name : collection.attributes) {
      writer.Put(static_cast<uint8_t>(name.size()));
      writer.PutText(name);
    }
    if (collection.copies == 1) continue;
    writer.Put(kCopiesFollow);
    writer.Put(collection.copies);
  }
  return writer.Take();
}

Result<std::vector<CollectionDefinition>> DecodeCollections(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<CollectionDefinition> collections;
  while (reader.left() > 0) {
    CollectionDefinition collection;
    const auto attributes = reader.Get<uint8_t>();
    if (attributes == kCopiesFollow && !collections.empty() && collections.back().copies == 1) {
      const auto copies = reader.Get<uint8_t>();
      if (copies < 2 || copies > kCollectionCopiesMax) {
        return Invalid(fmt::format("collection definition: expected 2 to {} copies, found {}",
                                   kCollectionCopiesMax, copies));
      }
      collections.back().copies = copies;
      continue;
    }
    if (attributes > kCollectionAttributesMax) {
      return Invalid(fmt::format("collection definition: expected at most {} attributes, found {}",
                                 kCollectionAttributesMax, attributes));
    }
    STRATA_ASSIGN(collection.name, ReadName("a name", reader));
    for (uint8_t i = 0; i < attributes; ++i) {
      STRATA_ASSIGN(std::string name, ReadName("an attribute's name", reader));
      collection.attributes.push_back(std::move(name));
    }
    collections.push_back(std::move(collection));
  }
  return collections;
}

Frame EncodeSearchTerms(const SearchTerms& terms) {
  ByteWriter writer;
  writer.Put(uint32_t{terms.metric});
  writer.Put((terms.has_ids ? kHasIds : 0) | (terms.servers > 1 ? kHasServers : 0));
  writer.Put(terms.k);
  writer.Put(static_cast<uint32_t>(terms.ranges.size()));
  writer.Put(terms.least_num);
  writer.Put(terms.least_den);
  writer.Put(terms.ids_first);
  if (terms.servers > 1) writer.Put(uint64_t{terms.servers});
  for (const SearchTerms::Range& range : terms.ranges) {
    writer.Put(range.attribute);
    writer.Put(uint32_t{0});
    writer.Put(static_cast<uint64_t>(range.low));
    writer.Put(static_cast<uint64_t>(range.high));
  }
  for (const uint64_t word : terms.ids) writer.Put(word);
  return writer.Take();
}

Result<SearchTerms> DecodeSearchTerms(std::span<const std::byte> bytes) {
  if (bytes.size() < kTermsBytes) {
    return Invalid(fmt::format("search terms: expected {} bytes or more, found {}", kTermsBytes,
                               bytes.size()));
  }
  ByteReader reader(bytes);
  SearchTerms terms;
  const auto metric = reader.Get<uint32_t>();
  const auto flags = reader.Get<uint32_t>();
  terms.k = reader.Get<uint32_t>();
  const auto ranges = reader.Get<uint32_t>();
  terms.least_num = reader.Get<uint64_t>();
  terms.least_den = reader.Get<uint64_t>();
  terms.ids_first = reader.Get<uint64_t>();
  if (metric > UINT8_MAX) return Invalid(fmt::format("search terms: no metric {}", metric));
  if ((flags & ~(kHasIds | kHasServers)) != 0) {
    return Invalid(fmt::format("search terms: expected flags up to {}, found {}",
                               kHasIds | kHasServers, flags));
  }
  if (terms.least_den == 0) return Invalid("search terms: a least similarity of x / 0");
  if ((flags & kHasServers) != 0) {
    const auto servers = reader.Get<uint64_t>();
    if (servers < 2 || servers > kCollectionCopiesMax) {
      return Invalid(
          fmt::format("search terms: expected the documents of 2 to {} servers, found {}",
                      kCollectionCopiesMax, servers));
    }
    terms.servers = static_cast<uint32_t>(servers);
  }
  if (ranges > kCollectionAttributesMax || ranges * kRangeBytes > reader.left()) {
    return Invalid(
        fmt::format("search terms: {} ranges announced (at most {}, of {} bytes each), "
                    "{} bytes follow",
                    ranges, kCollectionAttributesMax, kRangeBytes, reader.left()));
  }
  terms.metric = static_cast<uint8_t>(metric);
  terms.has_ids = (flags & kHasIds) != 0;
  for (uint32_t i = 0; i < ranges; ++i) {
    SearchTerms::Range range;
    range.attribute = reader.Get<uint32_t>();
    if (const auto zero = reader.Get<uint32_t>(); zero != 0) {
      return Invalid(
          fmt::format("search terms: expected 0 behind attribute {} of range {}, found "
                      "{}",
                      range.attribute, i, zero));
    }
    range.low = static_cast<int64_t>(reader.Get<uint64_t>());
    range.high = static_cast<int64_t>(reader.Get<uint64_t>());
    terms.ranges.push_back(range);
  }
  const bool is_nothing = reader.left() == 0 && terms.ids_first == 0;
  if (reader.left() % sizeof(uint64_t) != 0 || (!terms.has_ids && !is_nothing)) {
    return Invalid(fmt::format("search terms: {} bytes of ids from {} on, where {} are announced",
                               reader.left(), terms.ids_first,
                               terms.has_ids ? "words of 8 bytes" : "none"));
  }
  while (reader.left() > 0) terms.ids.push_back(reader.Get<uint64_t>());
  return terms;
}

Frame EncodeOffsets(std::span<const uint64_t> offsets) { return CopyIn(offsets); }
Frame EncodeTokens(std::span<const uint32_t> tokens) { return CopyIn(tokens); }
Frame EncodeHits(std::span<const SearchHit> hits) { return CopyIn(hits); }

Result<SearchQueries> DecodeQueries(const Frame& offsets, const Frame& tokens, uint32_t count) {
  if (tokens.size() % sizeof(uint32_t) != 0) {
    return Invalid(fmt::format("tokens of queries: expected words of {} bytes, found {} bytes",
                               sizeof(uint32_t), tokens.size()));
  }
  SearchQueries queries;
  STRATA_ASSIGN(queries.offsets,
                ReadOffsets(offsets, count, tokens.size() / sizeof(uint32_t), "queries"));
  queries.tokens = CopyOut<uint32_t>(tokens);
  return queries;
}

Result<SearchAnswer> DecodeAnswer(const Frame& offsets, const Frame& hits, uint32_t count) {
  if (hits.size() % kSearchHitBytes != 0) {
    return Invalid(
        fmt::format("hits: expected {} bytes each, found {} bytes", kSearchHitBytes, hits.size()));
  }
  SearchAnswer answer;
  STRATA_ASSIGN(answer.offsets, ReadOffsets(offsets, count, hits.size() / kSearchHitBytes, "hits"));
  answer.hits = CopyOut<SearchHit>(hits);
  return answer;
}

Frame EncodeExplanation(const SearchExplanation& explanation) {
  ByteWriter writer;
  writer.Put(explanation.queries);
  writer.Put(static_cast<uint32_t>(explanation.parts.size()));
  writer.Put(explanation.waited_ns);
  writer.Put(explanation.took_ns);
  for (const SearchExplanation::Part& part : explanation.parts) {
    writer.Put(part.blocks);
    writer.Put(part.threads);
    for (const uint64_t value : {part.documents, part.expected_ns, part.took_ns, part.planning_ns,
                                 part.counting_ns, part.scanning_ns, part.gpu_ns}) {
      writer.Put(value);
    }
    writer.Put(part.load_pieces);
    writer.Put(part.is_gpu_refused ? kGpuRefused : 0);
    writer.Put(part.load_expected_ns);
    writer.Put(part.load_ns);
    writer.Put(static_cast<uint32_t>(part.engines.size()));
    writer.Put(uint32_t{0});
    for (const SearchExplanation::Engine& engine : part.engines) {
      writer.Put(engine.engine);
      writer.Put(engine.queries);
      writer.Put(engine.groups);
      writer.Put(uint32_t{0});
      for (const uint64_t value : {engine.expected_ns, engine.by_rates_ns, engine.took_ns,
                                   engine.expected_candidates, engine.candidates}) {
        writer.Put(value);
      }
    }
  }
  return writer.Take();
}

Result<SearchExplanation> DecodeExplanation(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  SearchExplanation explanation;
  explanation.queries = reader.Get<uint32_t>();
  const auto parts = reader.Get<uint32_t>();
  explanation.waited_ns = reader.Get<uint64_t>();
  explanation.took_ns = reader.Get<uint64_t>();
  STRATA_TRY(CheckRoom("parts", parts, kPartBytes, reader));
  for (uint32_t i = 0; i < parts; ++i) {
    SearchExplanation::Part& part = explanation.parts.emplace_back();
    part.blocks = reader.Get<uint32_t>();
    part.threads = reader.Get<uint32_t>();
    for (uint64_t* const value :
         {&part.documents, &part.expected_ns, &part.took_ns, &part.planning_ns, &part.counting_ns,
          &part.scanning_ns, &part.gpu_ns}) {
      *value = reader.Get<uint64_t>();
    }
    part.load_pieces = reader.Get<uint32_t>();
    const auto flags = reader.Get<uint32_t>();
    part.load_expected_ns = reader.Get<uint64_t>();
    part.load_ns = reader.Get<uint64_t>();
    const auto engines = reader.Get<uint32_t>();
    const auto zero = reader.Get<uint32_t>();
    if ((flags & ~kGpuRefused) != 0 || zero != 0) {
      return Invalid(
          fmt::format("search explanation: expected flags 0 or {} and 0 behind the "
                      "number of engines of part {}, found {} and {}",
                      kGpuRefused, i, flags, zero));
    }
    part.is_gpu_refused = flags != 0;
    STRATA_TRY(CheckRoom("engines", engines, kEngineBytes, reader));
    for (uint32_t j = 0; j < engines; ++j) {
      SearchExplanation::Engine& engine = part.engines.emplace_back();
      engine.engine = reader.Get<uint32_t>();
      engine.queries = reader.Get<uint32_t>();
      engine.groups = reader.Get<uint32_t>();
      if (const auto unused = reader.Get<uint32_t>(); unused != 0) {
        return Invalid(fmt::format(
            "search explanation: expected 0 behind engine {} of part {}, found {}", j, i, unused));
      }
      for (uint64_t* const value : {&engine.expected_ns, &engine.by_rates_ns, &engine.took_ns,
                                    &engine.expected_candidates, &engine.candidates}) {
        *value = reader.Get<uint64_t>();
      }
    }
  }
  if (reader.ok() && reader.left() == 0) return explanation;
  return Invalid(
      fmt::format("search explanation: {} bytes are not those of {} parts", bytes.size(), parts));
}

Frame EncodeFollowRequest(const FollowRequest& request) {
  ByteWriter writer;
  for (const uint64_t value :
       {request.incarnation, request.instance, request.position, request.cursor}) {
    writer.Put(value);
  }
  return writer.Take();
}

Result<FollowRequest> DecodeFollowRequest(std::span<const std::byte> bytes) {
  if (bytes.size() != kFollowRequestBytes) {
    return Invalid(fmt::format("request for changes to follow: expected {} bytes, found {}",
                               kFollowRequestBytes, bytes.size()));
  }
  ByteReader reader(bytes);
  FollowRequest request;
  for (uint64_t* const value :
       {&request.incarnation, &request.instance, &request.position, &request.cursor}) {
    *value = reader.Get<uint64_t>();
  }
  return request;
}

Frame EncodeFollowReply(const FollowReply& reply) {
  ByteWriter writer;
  for (const uint64_t value : {reply.instance, reply.position, reply.newest, reply.cursor}) {
    writer.Put(value);
  }
  writer.Put((reply.no_more ? kNoMore : 0) | (reply.begin_anew ? kBeginAnew : 0));
  writer.Put(uint32_t{0});
  return writer.Take();
}

Result<FollowReply> DecodeFollowReply(std::span<const std::byte> bytes) {
  if (bytes.size() != kFollowReplyBytes) {
    return Invalid(fmt::format("changes to follow: expected {} bytes before them, found {}",
                               kFollowReplyBytes, bytes.size()));
  }
  ByteReader reader(bytes);
  FollowReply reply;
  for (uint64_t* const value : {&reply.instance, &reply.position, &reply.newest, &reply.cursor}) {
    *value = reader.Get<uint64_t>();
  }
  const auto flags = reader.Get<uint32_t>();
  const auto zero = reader.Get<uint32_t>();
  if ((flags & ~(kNoMore | kBeginAnew)) != 0 || zero != 0 || reply.position > reply.newest) {
    return Invalid(
        fmt::format("changes to follow: expected flags up to {}, 0 behind them and a position "
                    "up to the newest, found {}, {}, and {} of {}",
                    kNoMore | kBeginAnew, flags, zero, reply.position, reply.newest));
  }
  reply.no_more = (flags & kNoMore) != 0;
  reply.begin_anew = (flags & kBeginAnew) != 0;
  return reply;
}

// A search asks all lanes: its queries count once, as the lane has them that was asked most.
CollectionStatsReply& CollectionStatsReply::operator+=(const CollectionStatsReply& more) {
  const uint64_t most_queries = std::max(queries, more.queries);
  const uint64_t farthest_behind = std::max(copy_behind_ns, more.copy_behind_ns);
  for (const auto member : kCounts) this->*member += more.*member;
  queries = most_queries;
  copy_behind_ns = farthest_behind;
  return *this;
}

Frame EncodeCollectionStats(const CollectionStatsReply& stats) {
  ByteWriter writer;
  for (const auto member : kCounts) writer.Put(stats.*member);
  return writer.Take();
}

Result<CollectionStatsReply> DecodeCollectionStats(std::span<const std::byte> bytes) {
  constexpr size_t kBytes = sizeof(CollectionStatsReply);
  if (bytes.size() != kBytes) {
    return Invalid(
        fmt::format("collection stats: expected {} bytes, found {}", kBytes, bytes.size()));
  }
  ByteReader reader(bytes);
  CollectionStatsReply stats;
  for (const auto member : kCounts) stats.*member = reader.Get<uint64_t>();
  return stats;
}

}  // namespace strata::wire
