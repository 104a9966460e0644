#include "cluster/link/exchange/data_exchange.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cluster/link/connect/frame.h"
#include "cluster/link/exchange/exchange_parts.h"

namespace strata {
namespace {

// Nobody wakes this thread from a sleep at sockets when the other half of the exchange can go on.
constexpr TimeNs kSleepBesideOther = 100 * kMicrosecond;

// Most bytes of one system call: sending and receiving take turns. What is to be reduced comes in
// no larger runs than the scratch memory, so that it is still in the cache then.
constexpr size_t kBytesPerCall = 1ULL << 20;
constexpr size_t kPiecesPerCall = 16;

// What a sendmsg or recvmsg is to move: at most kBytesPerCall in kPiecesPerCall pieces.
class Message {
 public:
  bool full() const { return count_ == parts_.size() || room_ == 0; }
  void Add(void* data, size_t bytes) {
    if (bytes == 0 || full()) return;
    bytes = std::min(bytes, room_);
    room_ -= bytes;
    parts_[count_++] = {data, bytes};
  }
  msghdr* Header() {
    header_.msg_iov = parts_.data();
    header_.msg_iovlen = count_;
    return &header_;
  }
  std::span<const iovec> Parts() const { return std::span(parts_).first(count_); }

 private:
  std::array<iovec, kPiecesPerCall> parts_;
  size_t count_ = 0;
  size_t room_ = kBytesPerCall;
  msghdr header_ = {};
};

// A header, then pieces of payload, as one stream of which `done` bytes have passed.
template <typename Byte>
class Stream {
 public:
  Stream(std::span<std::byte> header, std::span<const std::span<Byte>> pieces, size_t payload)
      : header_(header), pieces_(pieces), total_(header.size() + payload) {}

  bool complete() const { return done_ == total_; }
  bool has_header() const { return done_ >= header_.size(); }
  size_t payload_done() const { return done_ - std::min(done_, header_.size()); }

  void AddHeader(Message* message) const {
    if (!has_header()) message->Add(header_.data() + done_, header_.size() - done_);
  }
  void AddPieces(Message* message) const {
    for (size_t i = 0; i < pieces_.left() && !message->full(); ++i) {
      const std::span<Byte> piece = pieces_.Piece(i);
      // iovec knows no const; sendmsg only reads.
      message->Add(const_cast<std::byte*>(piece.data()), piece.size());
    }
  }
  // Counts `bytes` that have passed; returns how many of them were payload.
  size_t Pass(size_t bytes) {
    const size_t of_header = std::min(bytes, header_.size() - std::min(done_, header_.size()));
    done_ += bytes;
    return bytes - of_header;
  }
  PieceCursor<Byte>* pieces() { return &pieces_; }

 private:
  std::span<std::byte> header_;
  PieceCursor<Byte> pieces_;
  size_t total_;
  size_t done_ = 0;
};

class Run {
 public:
  Run(const SocketEnds& ends, const ExchangeTag& tag, const SendPart& send,
      const ReceivePart& receive, OtherHalf* other)
      : ends_(ends),
        tag_(tag),
        other_(other),
        send_bytes_(PartBytes(send.pieces)),
        receive_bytes_(PartBytes(receive.pieces)),
        reduction_(receive.reduction),
        sending_(send.peer >= 0),
        receiving_(receive.peer >= 0),
        spin_(MaySpin(ends.crowded, send_bytes_, receive_bytes_) ? kSpin : 0),
        out_header_(EncodeLinkHeader({.type = LinkFrameType::kData,
                                      .length = send_bytes_,
                                      .operation = tag.OperationWord(),
                                      .sequence = tag.SequenceWord()})),
        out_(out_header_, send.pieces, send_bytes_),
        in_(in_header_, receive.pieces, receive_bytes_) {}

  Status ToTheEnd(TimeNs deadline) {
    TimeNs idle_since = 0;
    while (sending_ || receiving_ || WaitsForOther()) {
      bool moved = false;
      if (sending_) STRATA_TRY(Send(&moved));
      if (receiving_) STRATA_TRY(Receive(&moved));
      if (WaitsForOther()) STRATA_TRY(other_->Step(&moved));
      if (moved) {
        idle_since = 0;
        continue;
      }
      const TimeNs now = RealClock().Now();
      if (idle_since == 0) idle_since = now;
      if (now - idle_since < spin_) {
        sched_yield();  // other processes of this machine may be what is waited for
        continue;
      }
      STRATA_TRY(Wait(now, deadline));
    }
    return {};
  }

 private:
  bool WaitsForOther() const { return other_ != nullptr && !other_->done(); }

  Status Send(bool* moved) {
    Message message;
    out_.AddHeader(&message);
    out_.AddPieces(&message);
    const ssize_t sent = ends_.send_tls == nullptr
                             ? sendmsg(ends_.send_fd, message.Header(), MSG_NOSIGNAL | MSG_DONTWAIT)
                             : ends_.send_tls->Send(message.Parts(), &send_event_);
    if (sent < 0) return Fault(ends_.send_peer, ends_.send_tls, errno);
    *moved = true;
    if (ends_.send_progress != nullptr) ends_.send_progress->AddSent(static_cast<size_t>(sent));
    out_.pieces()->Advance(out_.Pass(static_cast<size_t>(sent)));
    sending_ = !out_.complete();
    return {};
  }

  Status Receive(bool* moved) {
    Message message;
    in_.AddHeader(&message);
    if (reduction_ == nullptr) {
      in_.AddPieces(&message);
    } else {
      // Not more than this exchange's: behind it lies the next one.
      const size_t payload_left = receive_bytes_ - in_.payload_done();
      message.Add(ends_.scratch.data() + waiting_,
                  std::min(payload_left, ends_.scratch.size() - waiting_));
    }
    const ssize_t got = ends_.receive_tls == nullptr
                            ? recvmsg(ends_.receive_fd, message.Header(), MSG_DONTWAIT)
                            : ends_.receive_tls->Receive(message.Parts(), &receive_event_);
    if (got < 0) return Fault(ends_.receive_peer, ends_.receive_tls, errno);
    if (got == 0) return ClosedError(ends_.receive_peer, tag_);
    *moved = true;
    if (ends_.receive_progress != nullptr) {
      ends_.receive_progress->AddReceived(static_cast<size_t>(got));
    }
    const size_t payload = in_.Pass(static_cast<size_t>(got));
    if (!header_checked_ && in_.has_header()) STRATA_TRY(CheckHeader());
    if (reduction_ == nullptr) {
      in_.pieces()->Advance(payload);
    } else {
      Reduce(payload);
    }
    receiving_ = !in_.complete();
    return {};
  }

  // The whole elements among what waits in the scratch memory.
  void Reduce(size_t arrived) {
    waiting_ += arrived;
    const size_t used = ReduceWhole(*reduction_, ends_.scratch.first(waiting_), in_.pieces());
    waiting_ -= used;
    if (used > 0 && waiting_ > 0) {
      std::memmove(ends_.scratch.data(), ends_.scratch.data() + used, waiting_);
    }
  }

  Status CheckHeader() {
    header_checked_ = true;
    const auto header = DecodeLinkHeader(in_header_);
    if (!header.ok()) return header.status().Prefixed(ends_.receive_peer);
    if (header->type != LinkFrameType::kData) {
      return Corrupt(fmt::format("{} sent a frame of type {} among data", ends_.receive_peer,
                                 static_cast<int>(header->type)));
    }
    return CheckMessage(ends_.receive_peer, tag_, header->operation, header->sequence,
                        header->length, receive_bytes_);
  }

  // Only behind a Send and a Receive that had to be tried again: what TLS holds shows at no socket.
  Status Wait(TimeNs now, TimeNs deadline) {
    if (WaitsForOther()) STRATA_TRY(other_->StillHope(now, deadline));
    if (now >= deadline) return Late();
    std::array<pollfd, 3> waits = {pollfd{sending_ ? ends_.send_fd : -1, send_event_, 0},
                                   pollfd{receiving_ ? ends_.receive_fd : -1, receive_event_, 0},
                                   pollfd{ends_.wake_fd, POLLIN, 0}};
    const TimeNs left =
        std::min(deadline - now, WaitsForOther() ? kSleepBesideOther : 3600 * kSecond);
    const timespec timeout = {.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
    ppoll(waits.data(), waits.size(), &timeout, nullptr);
    if (waits[2].revents != 0) return Cancelled("the group has failed");
    return {};
  }

  // What a failed system call means; OK when it only has to be tried again.
  Status Fault(std::string_view peer, const TlsStream* tls, int error) const {
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return {};
    if (error == EPROTO && tls != nullptr) return tls->fault().Prefixed(peer);
    if (error == EPIPE || error == ECONNRESET) return ClosedError(peer, tag_);
    return Lost(fmt::format("{} is lost: the connection broke: {}", peer, std::strerror(error)));
  }

  Status Late() const {
    if (receiving_) {
      return LateError(ends_.receive_peer, "sent", in_.payload_done(), receive_bytes_, tag_);
    }
    return LateError(ends_.send_peer, "took", out_.payload_done(), send_bytes_, tag_);
  }

  const SocketEnds& ends_;
  const ExchangeTag& tag_;
  OtherHalf* const other_;
  const size_t send_bytes_;
  const size_t receive_bytes_;
  const Reduction* const reduction_;
  bool sending_;
  bool receiving_;
  short send_event_ = POLLOUT;  // what they wait for when they cannot go on; TLS may want the other
  short receive_event_ = POLLIN;
  const TimeNs spin_;
  bool header_checked_ = false;
  size_t waiting_ = 0;  // bytes at the beginning of the scratch memory that are not reduced yet
  LinkHeaderBytes out_header_;
  LinkHeaderBytes in_header_{};
  Stream<const std::byte> out_;
  Stream<std::byte> in_;
};

}  // namespace

Status ExchangeOverSockets(const SocketEnds& ends, const ExchangeTag& tag, const SendPart& send,
                           const ReceivePart& receive, TimeNs deadline, OtherHalf* other) {
  return Run(ends, tag, send, receive, other).ToTheEnd(deadline);
}

}  // namespace strata
