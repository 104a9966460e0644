// Documents and queries for searches by set intersection, as an algorithm contest had them: lengths
// uniform from 1 to 128, tokens from 0 to 50,000.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/setops/set_block.h"
#include "kernels/setops/set_list.h"

namespace strata::bench {

enum class TokenSpread : uint8_t {
  kUniform,  // queries are drawn as documents are
  kZipf,     // s = 1, ranks given to tokens at random; queries are documents
};

class SetDocuments {
 public:
  static constexpr uint32_t kLongest = 128;
  static constexpr Token kVocabulary = 50'001;

  // The same for the same arguments, everywhere. Ids count from 0.
  SetDocuments(uint64_t seed, TokenSpread spread, size_t documents, size_t queries);

  SetList documents() const { return documents_.view(); }
  SetList queries() const { return queries_.view(); }
  // In blocks of the most documents, by id.
  std::vector<SetBlock> Blocks() const;

 private:
  SetLists documents_;
  SetLists queries_;
};

}  // namespace strata::bench
