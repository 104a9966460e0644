#include "cluster/link/exchange/shared_exchange.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "cluster/link/exchange/exchange_parts.h"

namespace strata {
namespace {

constexpr int kLooksPerClock = 16;
// For so long a rank spins without letting others run: a small message's journey between two ranks
// that both have a core.
constexpr TimeNs kSpinAlone = 5 * kMicrosecond;

// Most bytes that are copied or reduced before the other side hears of it, and before sending and
// receiving take turns.
constexpr size_t kRunBytes = 32ULL << 10;

// Behind the ring's mark and in front of the payload, in the byte order of this host: the ring does
// not leave it.
struct MessageHeader {
  uint64_t operation = 0;
  uint64_t sequence = 0;
};
constexpr size_t kHeaderEnd = kRingMarkBytes + sizeof(MessageHeader);
static_assert(kHeaderEnd == 32);

// Where the payload begins. Elements lie aligned in the ring: the largest alignment that processors
// know of is 64, and of that are only elements of as many bytes, or a multiple.
size_t PayloadAt(size_t payload_bytes) {
  const bool may_need_a_line = payload_bytes > 0 && payload_bytes % kRingLineBytes == 0;
  return may_need_a_line ? kRingLineBytes : kHeaderEnd;
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Run final : public OtherHalf {
 public:
  Run(const SharedEnds& ends, const ExchangeTag& tag, const SendPart& send,
      const ReceivePart& receive)
      : ends_(ends),
        tag_(tag),
        reduction_(receive.reduction),
        send_bytes_(PartBytes(send.pieces)),
        receive_bytes_(PartBytes(receive.pieces)),
        out_(send.pieces),
        in_(receive.pieces),
        sending_(send.peer >= 0),
        receiving_(receive.peer >= 0) {}

  // Before all else.
  Status Prepare() {
    if (reduction_ != nullptr) STRATA_TRY(AlignScratch());
    if (send_bytes_ >> kRingLengthBits != 0) {
      return Invalid(fmt::format("{} bytes are too many for one exchange", send_bytes_));
    }
    return {};
  }

  Status ToTheEnd(TimeNs deadline) {
    STRATA_TRY(Prepare());
    for (;;) {
      bool moved = false;
      STRATA_TRY(Step(&moved));
      if (done()) return {};
      if (moved) {
        idle_looks_ = 0;
        idle_since_ = 0;
      } else if (!ends_.crowded && ++idle_looks_ % kLooksPerClock != 0) {
        Pause();
      } else {
        STRATA_TRY(WaitLonger(deadline));
      }
    }
  }

  bool done() const override { return !sending_ && !receiving_; }

  Status Step(bool* moved) override {
    if (sending_) {
      Send(moved);
      if (ends_.send->sender.broken()) return Broken(ends_.send_peer);
    }
    if (receiving_) {
      STRATA_TRY(Receive(moved));
      if (ends_.receive->receiver.broken()) return Broken(ends_.receive_peer);
    }
    return {};
  }

  Status StillHope(TimeNs now, TimeNs deadline) override {
    if (ends_.failed->load()) return Cancelled("the group has failed");
    if (now >= deadline) return Late();
    return LookForDepartures();
  }

 private:
  Status AlignScratch() {
    void* place = ends_.scratch.data();
    size_t space = ends_.scratch.size();
    const size_t size = reduction_->element_bytes;
    if (std::align(kRingLineBytes, size, place, space) == nullptr) {
      return Invalid(
          fmt::format("an element of {} bytes is larger than the {} that are kept to "
                      "put one together",
                      size, ends_.scratch.size()));
    }
    scratch_ = {static_cast<std::byte*>(place), size};
    return {};
  }

  void Send(bool* moved) {
    RingSender& ring = ends_.send->sender;
    bool wrote = false;
    if (!header_sent_) {
      const std::span<std::byte> line = ring.Begin(send_bytes_);
      if (line.empty()) return;
      const MessageHeader header{.operation = tag_.OperationWord(),
                                 .sequence = tag_.SequenceWord()};
      std::memcpy(line.data() + kRingMarkBytes, &header, sizeof(header));
      ring.Advance(PayloadAt(send_bytes_));
      header_sent_ = true;
      wrote = true;
    }
    const size_t until = std::min(send_bytes_, sent_ + kRunBytes);
    while (sent_ < until) {
      const std::span<std::byte> room = ring.Room(until - sent_);
      if (room.empty()) break;
      const std::span<const std::byte> piece = out_.Next();
      const size_t bytes = std::min({room.size(), piece.size(), until - sent_});
      std::memcpy(room.data(), piece.data(), bytes);
      ring.Advance(bytes);
      out_.Advance(bytes);
      sent_ += bytes;
      wrote = true;
    }
    if (!wrote) return;
    ring.Publish();
    sending_ = sent_ < send_bytes_;
    *moved = true;
  }

  Status Receive(bool* moved) {
    RingReceiver& ring = ends_.receive->receiver;
    if (!header_checked_) {
      const std::optional<uint64_t> length = ring.Begin();
      if (!length.has_value()) return {};
      const std::span<const std::byte> line = ring.Filled(kHeaderEnd);
      if (line.size() < kHeaderEnd) return {};
      MessageHeader header;
      std::memcpy(&header, line.data() + kRingMarkBytes, sizeof(header));
      STRATA_TRY(CheckMessage(ends_.receive_peer, tag_, header.operation, header.sequence, *length,
                              receive_bytes_));
      ring.Advance(PayloadAt(receive_bytes_));
      header_checked_ = true;
      *moved = true;
    }
    const size_t until = std::min(receive_bytes_, received_ + kRunBytes);
    while (received_ < until) {
      std::span<const std::byte> filled = ring.Filled(1);
      if (filled.empty()) break;
      filled = filled.first(std::min(filled.size(), until - received_));
      Take(filled);
      ring.Advance(filled.size());
      *moved = true;
    }
    receiving_ = received_ < receive_bytes_;
    return {};
  }

  void Take(std::span<const std::byte> arrived) {
    received_ += arrived.size();
    while (!arrived.empty()) {
      arrived = arrived.subspan(reduction_ == nullptr ? Copy(arrived) : Reduce(arrived));
    }
  }

  size_t Copy(std::span<const std::byte> arrived) {
    const std::span<std::byte> piece = in_.Next();
    const size_t bytes = std::min(arrived.size(), piece.size());
    std::memcpy(piece.data(), arrived.data(), bytes);
    in_.Advance(bytes);
    return bytes;
  }

  size_t Reduce(std::span<const std::byte> arrived) {
    const size_t size = reduction_->element_bytes;
    if (scratch_used_ == 0 && arrived.size() >= size) {
      return ReduceWhole(*reduction_, arrived, &in_);
    }
    const size_t bytes = std::min(arrived.size(), size - scratch_used_);
    std::memcpy(scratch_.data() + scratch_used_, arrived.data(), bytes);
    scratch_used_ += bytes;
    if (scratch_used_ == size) {
      ReduceWhole(*reduction_, scratch_, &in_);
      scratch_used_ = 0;
    }
    return bytes;
  }

  // Nothing has moved for a while.
  Status WaitLonger(TimeNs deadline) {
    const TimeNs now = RealClock().Now();
    STRATA_TRY(StillHope(now, deadline));
    if (idle_since_ == 0) idle_since_ = now;
    if (MaySpin(ends_.crowded, send_bytes_, receive_bytes_) && now - idle_since_ < kSpin) {
      // Other programs may be on the core that the peer needs.
      if (ends_.crowded || now - idle_since_ > kSpinAlone) sched_yield();
      return {};
    }
    return Sleep(deadline - now);
  }

  // A peer that has left has sent before all that it will ever send.
  Status LookForDepartures() {
    const bool sender_left = receiving_ && ends_.receive->peer_left->load() != 0;
    const bool receiver_left = sending_ && ends_.send->peer_left->load() != 0;
    if (!sender_left && !receiver_left) return {};
    bool moved = false;
    STRATA_TRY(Step(&moved));
    if (moved) return {};
    return ClosedError(sender_left ? ends_.receive_peer : ends_.send_peer, tag_);
  }

  Status Sleep(TimeNs timeout) {
    std::array<BellSeen, 2> bells;
    size_t count = 0;
    if (sending_) bells[count++].bell = ends_.send->bell;
    if (receiving_ && !(sending_ && ends_.receive == ends_.send)) {
      bells[count++].bell = ends_.receive->bell;
    }
    for (size_t i = 0; i < count; ++i) bells[i].rings = bells[i].bell->Listen();
    bool moved = false;
    const Status status = Step(&moved);
    if (moved) idle_since_ = 0;
    if (status.ok() && !moved && !ends_.failed->load()) {
      SleepAt(std::span(bells).first(count), timeout);
    }
    for (size_t i = 0; i < count; ++i) bells[i].bell->Wake();
    return status;
  }

  Status Late() const {
    if (receiving_) {
      return LateError(ends_.receive_peer, "sent", received_, receive_bytes_, tag_);
    }
    return LateError(ends_.send_peer, "took", sent_, send_bytes_, tag_);
  }

  Status Broken(std::string_view peer) const {
    return Corrupt(fmt::format("{} has written to the shared memory what cannot be, in {}", peer,
                               tag_.Describe()));
  }

  const SharedEnds& ends_;
  const ExchangeTag& tag_;
  const Reduction* const reduction_;
  const size_t send_bytes_;
  const size_t receive_bytes_;
  PieceCursor<const std::byte> out_;
  PieceCursor<std::byte> in_;
  bool sending_;
  bool receiving_;
  bool header_sent_ = false;
  bool header_checked_ = false;
  size_t sent_ = 0;  // of the payload
  size_t received_ = 0;
  std::span<std::byte> scratch_;  // for one element
  size_t scratch_used_ = 0;
  int idle_looks_ = 0;
  TimeNs idle_since_ = 0;  // 0: not for long
};

}  // namespace

Status ExchangeOverMemory(const SharedEnds& ends, const ExchangeTag& tag, const SendPart& send,
                          const ReceivePart& receive, TimeNs deadline) {
  return Run(ends, tag, send, receive).ToTheEnd(deadline);
}

Status ExchangeOverBoth(const SharedEnds& shared, const SocketEnds& sockets, const ExchangeTag& tag,
                        const SendPart& send, const ReceivePart& receive, TimeNs deadline) {
  const bool sends = shared.send != nullptr;
  Run half(shared, tag, sends ? send : SendPart{}, sends ? ReceivePart{} : receive);
  STRATA_TRY(half.Prepare());
  return ExchangeOverSockets(sockets, tag, sends ? SendPart{} : send,
                             sends ? receive : ReceivePart{}, deadline, &half);
}

}  // namespace strata
