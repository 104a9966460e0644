// ItemCopy: the documents of one lane of a collection, kept on another. What there is to be asked,
// and what the answers change; who asks is Follower.
//
//   begin   the home says from which position of its changes on it is to be followed
//   copy    page after page of its documents, and meanwhile the changes behind that position
//   follow  changes alone
//
// A page's documents are newer than the changes that are known by then, or as new, and changes come
// in order; so once the changes up to the last page are made the copy is what the home was at that
// moment. A home that knows the position no more, another process of it, or another collection of
// that name is begun with anew.
#pragma once

#include <cstdint>
#include <memory>

#include "proto/wire/collection_payload.h"
#include "proto/wire/commands.h"
#include "storage/itemset/item_set.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe, but for the set, which any thread may search.
class ItemCopy {
 public:
  explicit ItemCopy(ItemSetOptions options) : options_(std::move(options)) {}

  wire::FollowRequest Next() const;
  // The request is to be sent with kFlagFull.
  bool WantsDocuments() const { return set_ != nullptr && !has_all_; }
  // The answer to that. After an error (the answer makes no sense, or documents find no room) the
  // next one is to begin anew.
  Status Take(const wire::Received& reply);

  // The set is what the home was at one moment.
  bool IsWhole() const { return has_all_ && position_ >= whole_at_; }
  std::shared_ptr<const ItemSet> set() const { return set_; }  // null before the first answer
  uint64_t position() const { return position_; }
  uint64_t newest() const { return newest_; }  // of the home's changes, when it answered last
  uint64_t begun() const { return begun_; }    // how often all was copied, or is

 private:
  Status Begin(const wire::Header& header, const wire::FollowReply& reply);
  Status Change(const Frame& changes, bool are_documents);
  Status TakePart(const wire::Received& reply);

  const ItemSetOptions options_;
  std::shared_ptr<ItemSet> set_;
  uint64_t incarnation_ = 0;
  uint64_t instance_ = 0;
  uint64_t position_ = 0;
  uint64_t newest_ = 0;
  uint64_t cursor_ = 0;  // of the documents that are still to come
  bool has_all_ = false;
  uint64_t whole_at_ = 0;
  uint64_t begun_ = 0;
};

}  // namespace strata
