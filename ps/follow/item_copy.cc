#include "ps/follow/item_copy.h"

#include <fmt/format.h>

#include <utility>

#include "proto/format/item_change.h"

namespace strata {

wire::FollowRequest ItemCopy::Next() const {
  return {
      .incarnation = incarnation_, .instance = instance_, .position = position_, .cursor = cursor_};
}

Status ItemCopy::Take(const wire::Received& reply) {
  Status taken = TakePart(reply);
  if (!taken.ok()) {
    set_ = nullptr;
    has_all_ = false;
    incarnation_ = instance_ = 0;
  }
  return taken;
}

Status ItemCopy::TakePart(const wire::Received& reply) {
  STRATA_ASSIGN(const wire::FollowReply of, wire::DecodeFollowReply(reply.payload[0].bytes()));
  if (of.begin_anew) return Begin(reply.header, of);
  if (set_ == nullptr || reply.header.incarnation != incarnation_ || of.instance != instance_ ||
      of.position < position_) {
    return Invalid(fmt::format(
        "changes to follow: expected those behind {} of instance {} of incarnation {:016x}, found "
        "those up to {} of instance {} of {:016x}",
        position_, instance_, incarnation_, of.position, of.instance, reply.header.incarnation));
  }
  const bool with_documents = WantsDocuments() && reply.header.is(wire::kFlagFull);
  STRATA_TRY(Change(reply.payload[1], false));
  if (with_documents) STRATA_TRY(Change(reply.payload[2], true));
  position_ = of.position;
  newest_ = of.newest;
  if (!with_documents) return {};
  cursor_ = of.cursor;
  has_all_ = of.no_more;
  whole_at_ = of.newest;
  return {};
}

Status ItemCopy::Begin(const wire::Header& header, const wire::FollowReply& reply) {
  has_all_ = false;
  set_ = nullptr;  // its memory goes before the next one's comes
  STRATA_ASSIGN(set_, ItemSet::Make(options_));
  incarnation_ = header.incarnation;
  instance_ = reply.instance;
  position_ = newest_ = reply.position;
  cursor_ = 0;
  ++begun_;
  return {};
}

Status ItemCopy::Change(const Frame& changes, bool are_documents) {
  if (changes.size() == 0) return {};
  auto decoded = format::DecodeItemChanges(changes.bytes());
  if (!decoded.ok()) return Invalid("changes to follow: " + decoded.status().message());
  for (format::ItemChange& change : *decoded) {
    if (change.is_upsert) {
      STRATA_TRY(set_->Upsert({.id = change.id,
                               .tokens = std::move(change.tokens),
                               .attributes = std::move(change.attributes)}));
    } else if (are_documents) {
      return Invalid(fmt::format("documents to copy: {} is one that goes", change.id));
    } else {
      set_->Delete(change.id);
    }
  }
  return {};
}

}  // namespace strata
