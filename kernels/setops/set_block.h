// SetBlock: up to 65,536 documents, indexed both ways, and never changed.
//
// Documents stand in the order of their length, equal ones in that of their ids; a document's place
// in that order fits 16 bits. Documents of one length are a run.
//
//   forward    for each run its tokens, document by document
//   inverted   for each token the places of the documents that have it, ascending: 2 bytes each,
//   or,
//              if at least a 16th of the block has it, one bit for each place, which is no longer
//
// Tokens below kDirectTokens find their list by a table, others by a search among the block's rare
// ones: whoever gives small numbers to tokens that are frequent has fast lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "kernels/setops/set_list.h"

namespace strata {

class SetBlock {
 public:
  static constexpr size_t kMostDocuments = 65'536;
  static constexpr Token kDirectTokens = 65'536;

  // Documents of one length, at places begin to end - 1.
  struct Run {
    uint32_t length = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    uint64_t first_token = 0;  // in forward order
  };
  // One of the two is empty, or both.
  struct Places {
    std::span<const uint16_t> list;
    std::span<const uint64_t> bits;  // words() of them
  };

  // ids: one for each document, each once; at most kMostDocuments.
  static SetBlock Build(std::span<const DocumentId> ids, const SetList& documents);

  size_t size() const { return ids_.size(); }
  // 64-bit words that have a bit for each document; whole cache lines, so some are to spare.
  size_t words() const { return (size() + 511) / 512 * 8; }
  uint32_t longest() const { return runs_.empty() ? 0 : runs_.back().length; }
  std::span<const DocumentId> ids() const { return ids_; }  // by place
  std::span<const Run> runs() const { return runs_; }       // ascending
  std::span<const Token> TokensAt(const Run& run, uint32_t place) const {
    return std::span(forward_).subspan(run.first_token + uint64_t{run.length} * (place - run.begin),
                                       run.length);
  }
  Places With(Token token) const;
  // Of everything above.
  size_t bytes() const;

 private:
  // The number of a token's list, or lists() if no document has it.
  size_t ListOf(Token token) const;
  size_t lists() const { return starts_.size() - 1; }
  void OrderByLength(std::span<const DocumentId> ids, const SetList& documents);
  void Invert();

  std::vector<DocumentId> ids_;
  std::vector<Run> runs_;
  LargeArray<Token> forward_;
  uint32_t direct_ = 0;              // tokens below it have list number `token`
  std::vector<Token> rare_;          // others that occur, ascending: list direct_ + i
  std::vector<uint32_t> starts_{0};  // in postings_, of each list and one more
  LargeArray<uint16_t> postings_;
  std::vector<uint32_t> frequent_;  // lists that are bits, ascending
  LargeArray<uint64_t> bits_;       // words() each
};

}  // namespace strata
