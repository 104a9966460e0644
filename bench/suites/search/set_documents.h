// Documents and queries for searches by set intersection, as an algorithm contest had them: up to
// 128 tokens from 0 to 50,000.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/large_array.h"
#include "base/random.h"
#include "kernels/setops/block_image.h"
#include "kernels/setops/set_block.h"
#include "strata/document.h"
#include "strata/set_list.h"
#include "strata/status.h"

namespace strata::bench {

enum class TokenSpread : uint8_t {
  kUniform,  // queries are drawn as documents are
  kZipf,     // s = 1, ranks given to tokens at random; queries are documents
  // The same, and three of ten documents keep 30 to 90 % of an earlier one's tokens.
  kNearDuplicates,
};

enum class SetLengths : uint8_t {
  kUniform,  // from 1 to 128
  // The histogram of the contest's 8,499,200 documents, by lines: from 2 tokens it rises by four
  // fifths until 56, from there to almost three times as much at 88, and falls to nothing at 128.
  kContest,
};

// How documents are drawn, as cases' names have it.
struct SetShape {
  TokenSpread spread = TokenSpread::kUniform;
  SetLengths lengths = SetLengths::kUniform;

  std::string Name() const;  // "tokens=Zipf", "tokens=uniform lengths=contest"
};

// Documents as one array of each kind; ids are numbers.
struct FlatDocuments {
  LargeArray<uint64_t> offsets;
  LargeArray<Token> tokens;

  FlatSets view() const { return {.offsets = offsets, .tokens = tokens}; }
};

class SetDocuments {
 public:
  static constexpr uint32_t kLongest = 128;
  static constexpr Token kVocabulary = 50'001;

  // The same for the same arguments, everywhere. Ids count from 0. Takes all cores.
  static Result<SetDocuments> Make(uint64_t seed, const SetShape& shape, size_t documents,
                                   size_t queries);
  // Documents that there are, in parts as below; so many of them, drawn, are the queries.
  static SetDocuments Of(uint64_t seed, std::vector<SetLists> parts, size_t queries);

  // Part by part: of the most documents that a block has, by id.
  std::span<const SetLists> parts() const { return parts_; }
  size_t size() const;
  // Above all tokens.
  Token vocabulary() const { return vocabulary_; }
  SetList queries() const { return queries_.view(); }
  // A block for each part. Takes all cores.
  Result<std::vector<SetBlock>> Blocks() const;
  // Takes all cores.
  Result<FlatDocuments> Flat() const;
  // As collections take them, without attributes.
  std::vector<Document> ForCollections() const;

 private:
  void DrawQueries(Random& random, size_t count);

  std::vector<SetLists> parts_;
  SetLists queries_;
  Token vocabulary_ = kVocabulary;
};

// Sets `first` to `first` + `count` - 1, as long as `sets` is there.
SetList Some(const SetList& sets, size_t first, size_t count);

}  // namespace strata::bench
