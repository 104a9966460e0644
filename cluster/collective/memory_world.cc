#include "cluster/collective/memory_world.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

class MemoryWorld::End final : public Exchanger {
 public:
  End(MemoryWorld* world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int world() const override { return world_->world_; }
  Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                  TimeNs deadline) override {
    return world_->Exchange(rank_, tag, send, receive, deadline);
  }
  void Cancel(const Status& why) override { world_->Cancel(rank_, why); }

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
  const MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = why;
  changed_.NotifyAll();
}

void MemoryWorld::Cancel(int rank, const Status& why) {
  const MutexLock lock(mutex_);
  if (!failure_.ok() || why.ok()) return;
  failure_ = Lost(fmt::format("rank {} has ended the job: {}", rank, why.ToString()));
  canceller_ = rank;
  reason_ = why;
  changed_.NotifyAll();
}

const Status& MemoryWorld::FailureOf(int rank) const {
  return rank == canceller_ ? reason_ : failure_;
}

Status MemoryWorld::Exchange(int self, const ExchangeTag& tag, const SendPart& send,
                             const ReceivePart& receive, TimeNs deadline) {
  const MutexLock lock(mutex_);
  if (send.peer >= 0) {
    Mail mail{.operation = tag.OperationWord(), .sequence = tag.SequenceWord(), .bytes = {}};
    for (const auto& piece : send.pieces) {
      mail.bytes.insert(mail.bytes.end(), piece.begin(), piece.end());
    }
    mail_[{self, send.peer}].push_back(std::move(mail));
    changed_.NotifyAll();
  }
  if (receive.peer < 0) return FailureOf(self);
  std::deque<Mail>& inbox = mail_[{receive.peer, self}];
  const bool arrived = changed_.WaitUntil(mutex_, deadline, [&] {
    mutex_.AssumeHeld();
    return !failure_.ok() || !inbox.empty();
  });
  if (failure_.ok() && !arrived) {
    failure_ =
        DeadlineExceeded(fmt::format("rank {} sent nothing in {}", receive.peer, tag.Describe()));
    changed_.NotifyAll();
  }
  if (!failure_.ok()) return FailureOf(self);
  const Mail mail = std::move(inbox.front());
  inbox.pop_front();
  failure_ = Deliver(mail, tag, receive);
  if (!failure_.ok()) changed_.NotifyAll();
  return failure_;
}

Status MemoryWorld::Deliver(const Mail& mail, const ExchangeTag& tag,
                            const ReceivePart& receive) const {
  size_t expected = 0;
  for (const auto& piece : receive.pieces) expected += piece.size();
  if (mail.operation != tag.OperationWord() || mail.sequence != tag.SequenceWord() ||
      mail.bytes.size() != expected) {
    return Failed(fmt::format("rank {} sends {} bytes in {}, a peer expects {} in {}", receive.peer,
                              mail.bytes.size(),
                              ExchangeTag::FromWords(mail.operation, mail.sequence).Describe(),
                              expected, tag.Describe()));
  }
  const std::byte* next = mail.bytes.data();
  for (const auto& piece : receive.pieces) {
    if (receive.reduction == nullptr) {
      std::copy_n(next, piece.size(), piece.begin());
    } else {
      receive.reduction->apply(piece.data(), next, piece.size() / receive.reduction->element_bytes,
                               receive.reduction->context);
    }
    next += piece.size();
  }
  return {};
}

}  // namespace strata
