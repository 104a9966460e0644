// SetBlock: up to 65,536 documents, indexed both ways, and never changed.
//
// Documents stand in the order of their length, equal ones in that of their ids; a document's place
// in that order fits 16 bits. Documents of one length are a run.
//
//   forward    for each run its tokens, document by document, 2 bytes each and some for a document
//              where the block has more than 65,536 different ones
//   inverted   for each token the places of the documents that have it, ascending: 2 bytes each,
//   or,
//              if at least a 16th of the block has it, one bit for each place, which is no longer
//
// Tokens below kDirectTokens find their list by a table, others by a search among the block's rare
// ones: whoever gives small numbers to tokens that are frequent has fast lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "kernels/setops/list_starts.h"
#include "strata/set_list.h"
#include "strata/status.h"

namespace strata {

// Whether a place's bit is set; no bits stand for all of them.
inline bool IsAllowed(std::span<const uint64_t> allowed, uint32_t place) {
  return allowed.empty() || (allowed[place / 64] >> place % 64 & 1) != 0;
}

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

  // What a block is made of, beside what follows from it.
  struct Parts {
    std::vector<DocumentId> ids;  // by place
    std::vector<Run> runs;
    Token direct = 0;
    std::vector<Token> rare;
    // As VisitForward hands it out: short_lists if there are at most kShortLists lists.
    LargeArray<uint16_t> short_lists;
    LargeArray<uint32_t> long_lists;
  };
  static constexpr size_t kShortLists = 65'536;

  // ids: one for each document, each once; at most kMostDocuments.
  static SetBlock Build(std::span<const DocumentId> ids, const SetList& documents);
  // The block of parts that came from elsewhere. kCorrupt, with what was expected and found: no
  // block has such parts. (That each id is there once is checked among documents of one length.)
  static Result<SetBlock> Restore(Parts parts);

  size_t size() const { return ids_.size(); }
  // 64-bit words that have a bit for each document; whole cache lines, so some are to spare.
  size_t words() const { return (size() + 511) / 512 * 8; }
  uint64_t tokens() const { return forward_.size(); }  // of all documents
  uint32_t longest() const { return runs_.empty() ? 0 : runs_.back().length; }
  std::span<const DocumentId> ids() const { return ids_; }  // by place
  std::span<const Run> runs() const { return runs_; }       // ascending
  // Numbers of lists are below lists(); one that no document has is lists().
  size_t lists() const { return direct_ + rare_.size(); }
  size_t ListOf(Token token) const;
  Token TokenOf(size_t list) const {
    return list < direct_ ? static_cast<Token>(list) : rare_[list - direct_];
  }
  // Whether 16 bits number all lists.
  bool is_short() const { return lists() <= kShortLists; }
  // The lists of all documents, one behind another: in order of their places, and of a document in
  // that of its tokens. `visit` is called with a const uint16_t* or, unless is_short(), with a
  // const uint32_t* to numbers that are put together for it: whoever needs some of them asks
  // ListsOf.
  template <typename Visit>
  void VisitForward(const Visit& visit) const {
    if (is_short()) {
      visit(forward_.data());
    } else {
      visit(WideForward().data());
    }
  }
  // What `visit` is called with, if is_short().
  std::span<const uint16_t> short_forward() const { return forward_; }
  // Where the lists of the run's documents from `place` on stand, or, unless is_short(), the lower
  // 16 bits of each.
  const uint16_t* ShortLists(const Run& run, uint32_t place) const {
    return forward_.data() + run.first_token + uint64_t{run.length} * (place - run.begin);
  }
  // The lists of `count` documents of a run, from `place` on: run.length each, to `lists`.
  void ListsOf(const Run& run, uint32_t place, uint32_t count, uint32_t* lists) const;
  Places With(Token token) const;
  // What it is made of, for copies elsewhere: list i is postings()[starts()[i] .. starts()[i + 1]),
  // or, if that is empty and frequent()[j] is i, the bits from bits()[j * words()] on.
  Token direct() const { return direct_; }
  std::span<const Token> rare() const { return rare_; }
  const ListStarts& starts() const { return starts_; }
  std::span<const uint16_t> postings() const { return postings_; }
  std::span<const uint32_t> frequent() const { return frequent_; }
  std::span<const uint64_t> bits() const { return bits_; }
  // Of everything above.
  size_t bytes() const;

 private:
  // Sets ids_ and runs_; returns for each place the number of its document.
  std::vector<uint32_t> OrderByLength(std::span<const DocumentId> ids, const SetList& documents);
  void NumberLists(const SetList& documents);
  template <typename Number>
  void Invert(std::span<const Number> forward);
  void SplitForward(std::span<const uint32_t> forward);
  LargeArray<uint32_t> WideForward() const;
  size_t pages() const { return (lists() + kShortLists - 1) / kShortLists; }

  std::vector<DocumentId> ids_;
  std::vector<Run> runs_;
  uint32_t direct_ = 0;      // tokens below it have list number `token`
  std::vector<Token> rare_;  // others that occur, ascending: list direct_ + i
  // Forward: of each list number the lower 16 bits. Where there are more lists, they have pages of
  // 65,536, and page_ends_ says for each document and page but the last how many of the document's
  // lists are in pages up to that, in page_end_bytes_ bytes each.
  LargeArray<uint16_t> forward_;
  LargeArray<uint8_t> page_ends_;
  uint32_t page_end_bytes_ = 0;
  ListStarts starts_;  // in postings_
  LargeArray<uint16_t> postings_;
  std::vector<uint32_t> frequent_;  // lists that are bits, ascending
  LargeArray<uint64_t> bits_;       // words() each
};

// Calls visit(run) for each of a block's runs, those of documents about as long first: there most
// of the best answers are, which raise the threshold for all others.
template <typename Visit>
void VisitFromLength(std::span<const SetBlock::Run> runs, uint32_t length, const Visit& visit) {
  const auto first = std::partition_point(
      runs.begin(), runs.end(), [&](const SetBlock::Run& run) { return run.length < length; });
  auto longer = runs.subspan(static_cast<size_t>(first - runs.begin()));
  auto shorter = runs.first(runs.size() - longer.size());
  while (!longer.empty() || !shorter.empty()) {
    const bool is_longer =
        shorter.empty() ||
        (!longer.empty() && longer.front().length - length <= length - shorter.back().length);
    if (is_longer) {
      visit(longer.front());
      longer = longer.subspan(1);
    } else {
      visit(shorter.back());
      shorter = shorter.first(shorter.size() - 1);
    }
  }
}

}  // namespace strata
