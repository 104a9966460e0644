#include "cluster/collective/memory_world.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

class MemoryWorld::End final : public Exchanger {
 public:
  End(MemoryWorld* world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int world() const override { return world_->world_; }
  Status Exchange(const ExchangeTag& tag, const SendPart& send,
                  const ReceivePart& receive) override {
    return world_->Exchange(rank_, tag, send, receive);
  }

 private:
  MemoryWorld* world_;
  int rank_;
};

MemoryWorld::MemoryWorld(int world) : world_(world) {
  for (int r = 0; r < world; ++r) ends_.push_back(std::make_unique<End>(this, r));
}

MemoryWorld::~MemoryWorld() = default;

Exchanger& MemoryWorld::rank(int r) { return *ends_[static_cast<size_t>(r)]; }

void MemoryWorld::Fail(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = why;
  changed_.notify_all();
}

Status MemoryWorld::Exchange(int self, const ExchangeTag& tag, const SendPart& send,
                             const ReceivePart& receive) {
  std::unique_lock lock(mutex_);
  if (send.peer >= 0) {
    Mail mail{.operation = tag.Operation(), .step = tag.step, .bytes = {}};
    for (const auto& piece : send.pieces) {
      mail.bytes.insert(mail.bytes.end(), piece.begin(), piece.end());
    }
    mail_[{self, send.peer}].push_back(std::move(mail));
    changed_.notify_all();
  }
  if (receive.peer < 0) return failure_;
  std::deque<Mail>& inbox = mail_[{receive.peer, self}];
  changed_.wait(lock, [&] { return !failure_.ok() || !inbox.empty(); });
  if (!failure_.ok()) return failure_;
  const Mail mail = std::move(inbox.front());
  inbox.pop_front();
  failure_ = Deliver(mail, tag, receive);
  if (!failure_.ok()) changed_.notify_all();
  return failure_;
}

Status MemoryWorld::Deliver(const Mail& mail, const ExchangeTag& tag,
                            const ReceivePart& receive) const {
  const size_t first = receive.pieces[0].size();
  const size_t expected = first + receive.pieces[1].size();
  if (mail.operation != tag.Operation() || mail.step != tag.step || mail.bytes.size() != expected) {
    return Failed(fmt::format(
        "rank {} sends {} bytes in {}, a peer expects {} in {}", receive.peer, mail.bytes.size(),
        ExchangeTag::FromWords(mail.operation, mail.step).Describe(), expected, tag.Describe()));
  }
  const std::span bytes(mail.bytes);
  std::ranges::copy(bytes.first(first), receive.pieces[0].begin());
  std::ranges::copy(bytes.subspan(first), receive.pieces[1].begin());
  return {};
}

}  // namespace strata
