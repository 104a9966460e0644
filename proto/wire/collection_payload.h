// The payloads of the commands about collections of item sets (docs/search.md). Changes travel as
// the log holds them: proto/format/item_change.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/message_port.h"
#include "proto/wire/header.h"
#include "strata/status.h"

namespace strata::wire {

constexpr size_t kCollectionAttributesMax = 64;
constexpr size_t kCollectionsMax = 256;  // of a lane
// Of one CHANGE_ITEMS: a lane makes it in one go, and others wait meanwhile.
constexpr size_t kItemChangesMax = 32'768;
constexpr size_t kItemChangeBytesMax = size_t{8} << 20;
constexpr uint8_t kCollectionCopiesMax = 64;

// CREATE_COLLECTION and LIST_COLLECTIONS.
struct CollectionDefinition {
  std::string name;                     // 1 to 128 bytes
  std::vector<std::string> attributes;  // names of 1 to 128 bytes, in the order of the values
  uint8_t copies = 1;                   // servers that have each document
  friend bool operator==(const CollectionDefinition&, const CollectionDefinition&) = default;
};
// One after the other; names and attributes must be within their limits.
Frame EncodeCollections(std::span<const CollectionDefinition> collections);
Result<std::vector<CollectionDefinition>> DecodeCollections(std::span<const std::byte> bytes);
// A 64-bit hash of the name, for Header::SetName; its ShortId is never 0. Two collections with the
// same ShortId cannot both exist.
uint64_t CollectionIdOf(std::string_view name);
// Messages and servers name a collection by these 32 bits of its id.
inline uint32_t ShortCollectionId(std::string_view name) { return ShortId(CollectionIdOf(name)); }

// What a SEARCH looks for, for all of its queries.
struct SearchTerms {
  static constexpr uint32_t kAll = UINT32_MAX;
  struct Range {
    uint32_t attribute = 0;  // by its place in the definition
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
    friend bool operator==(const Range&, const Range&) = default;
  };

  uint8_t metric = 0;         // by its number in docs/protocol.md
  uint32_t k = 0;             // best documents of each query; kAll: all that are alike enough
  uint64_t least_num = 0;     // of the least similarity that is wanted, a fraction;
  uint64_t least_den = 1;     // not 0
  std::vector<Range> ranges;  // documents outside of one are not wanted
  bool has_ids = false;       // only documents of these ids: bit i stands for ids_first + i
  uint64_t ids_first = 0;
  std::vector<uint64_t> ids;
  // Servers whose documents the lane searches: its own, and those before it in the machine list of
  // whose documents it has copies.
  uint32_t servers = 1;
  friend bool operator==(const SearchTerms&, const SearchTerms&) = default;
};
Frame EncodeSearchTerms(const SearchTerms& terms);
Result<SearchTerms> DecodeSearchTerms(std::span<const std::byte> bytes);

// The queries of a SEARCH: query i has tokens[offsets[i] .. offsets[i + 1]).
struct SearchQueries {
  std::vector<uint64_t> offsets;  // one more than queries; the first is 0, the last tokens.size()
  std::vector<uint32_t> tokens;
  friend bool operator==(const SearchQueries&, const SearchQueries&) = default;
};
Frame EncodeOffsets(std::span<const uint64_t> offsets);
Frame EncodeTokens(std::span<const uint32_t> tokens);
// Of a request with `count` queries.
Result<SearchQueries> DecodeQueries(const Frame& offsets, const Frame& tokens, uint32_t count);

// The reply to a SEARCH: hits of query i are hits[offsets[i] .. offsets[i + 1]), best first.
struct SearchHit {
  uint64_t id = 0;
  uint32_t overlap = 0;  // tokens that it has in common with the query
  uint32_t length = 0;   // its tokens
  friend bool operator==(const SearchHit&, const SearchHit&) = default;
};
constexpr size_t kSearchHitBytes = 16;
struct SearchAnswer {
  std::vector<uint64_t> offsets;
  std::vector<SearchHit> hits;
};
Frame EncodeHits(std::span<const SearchHit> hits);
Result<SearchAnswer> DecodeAnswer(const Frame& offsets, const Frame& hits, uint32_t count);

// A reply to a SEARCH with the flag full has one more frame: what the lane's planner chose for the
// batch that the request was answered in, beside what happened. Nanoseconds.
struct SearchExplanation {
  static constexpr uint64_t kNone = UINT64_MAX;
  struct Engine {
    uint32_t engine = 0;  // by its number in docs/protocol.md
    uint32_t queries = 0;
    uint32_t groups = 0;               // that they were searched in
    uint64_t expected_ns = 0;          // of processors, summed, or of the GPU,
    uint64_t by_rates_ns = 0;          // without regard to what the engine took of late,
    uint64_t took_ns = 0;              // and in fact
    uint64_t expected_candidates = 0;  // documents that are looked at closely; 0 on a GPU,
    uint64_t candidates = 0;           // and in fact
    friend bool operator==(const Engine&, const Engine&) = default;
  };
  // Documents that are searched at once.
  struct Part {
    uint32_t blocks = 0;
    uint32_t threads = 0;
    uint64_t documents = 0;
    uint64_t expected_ns = 0;
    uint64_t took_ns = 0;
    uint64_t planning_ns = 0;  // of these
    // Of one engine alone, as expected.
    uint64_t counting_ns = 0, scanning_ns = 0;
    uint64_t gpu_ns = kNone;        // kNone: no GPU can answer them
    uint32_t load_pieces = 0;       // in which documents were brought to a GPU for this search
    bool is_gpu_refused = false;    // a GPU was chosen, and had no memory for it
    uint64_t load_expected_ns = 0;  // of the part's time, to bring them there,
    uint64_t load_ns = 0;           // and in fact
    std::vector<Engine> engines = {};
    friend bool operator==(const Part&, const Part&) = default;
  };

  uint32_t queries = 0;    // of the batch, those of the request among them
  uint64_t waited_ns = 0;  // the request, until the batch began
  uint64_t took_ns = 0;    // the batch
  std::vector<Part> parts = {};
  friend bool operator==(const SearchExplanation&, const SearchExplanation&) = default;
};
Frame EncodeExplanation(const SearchExplanation& explanation);
Result<SearchExplanation> DecodeExplanation(std::span<const std::byte> bytes);

// COLLECTION_STATS, of the lane's part.
struct CollectionStatsReply {
  uint64_t documents = 0, segments = 0, dead = 0, bytes = 0, merges = 0, log_bytes = 0;
  uint64_t upserts = 0, deletes = 0;  // asked for since the server's start
  uint64_t queries = 0, batches = 0;  // likewise: queries, and searches that answered them
  uint64_t search_ns = 0;             // likewise: that those searches took
  // Segments that are in a GPU's memory, that found no room there, and bytes that the former take.
  uint64_t gpu_segments = 0, gpu_lacking = 0, gpu_bytes = 0;
  // Since the collection was opened: queries that an engine worked on. One may be several engines'
  // and, over lanes, counts for each of them; streamed: documents passed through a GPU for it.
  uint64_t counted = 0, scanned = 0, gpu_counted = 0, gpu_scanned = 0, gpu_streamed = 0;
  // Copies of other lanes' documents that this one keeps: how many, how many of them can be
  // searched, documents and bytes that they have, records that they lack as far as is known, how
  // long ago the one that is farthest behind was known to lack none, how often one was begun, and
  // of the queries those for which copies were searched.
  uint64_t copies = 0, copies_ready = 0, copy_documents = 0, copy_bytes = 0, copy_lacking = 0;
  uint64_t copy_behind_ns = 0, copies_begun = 0, copy_queries = 0;
  // A lane more; the most queries, and who is farthest behind.
  CollectionStatsReply& operator+=(const CollectionStatsReply& more);
  friend bool operator==(const CollectionStatsReply&, const CollectionStatsReply&) = default;
};
// FOLLOW_ITEMS, to the lane that holds the documents: the records of changes behind the
// `position`-th since the collection was opened there, and with kFlagFull documents from the cursor
// on. The reply is this, item changes of records, and item changes that put documents in.
struct FollowRequest {
  uint64_t incarnation = 0;  // of the server and
  uint64_t instance = 0;     // of the collection that the position is of; 0: none is known
  uint64_t position = 0;
  uint64_t cursor = 0;  // where documents begin: 0, or what the last reply said
  friend bool operator==(const FollowRequest&, const FollowRequest&) = default;
};
Frame EncodeFollowRequest(const FollowRequest& request);
Result<FollowRequest> DecodeFollowRequest(std::span<const std::byte> bytes);

struct FollowReply {
  uint64_t instance = 0;
  uint64_t position = 0;    // behind the records that the reply has
  uint64_t newest = 0;      // behind the last record that there is; documents are as of then
  uint64_t cursor = 0;      // where the next documents begin
  bool no_more = false;     // of them: these were the last
  bool begin_anew = false;  // the position is not known here: all documents are to be copied
  friend bool operator==(const FollowReply&, const FollowReply&) = default;
};
Frame EncodeFollowReply(const FollowReply& reply);
Result<FollowReply> DecodeFollowReply(std::span<const std::byte> bytes);

Frame EncodeCollectionStats(const CollectionStatsReply& stats);
Result<CollectionStatsReply> DecodeCollectionStats(std::span<const std::byte> bytes);

}  // namespace strata::wire
