#include "cluster/link/data_exchange.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cluster/link/frame.h"

namespace strata {
namespace {

// Small messages are there within microseconds; going to sleep and waking up takes ten times that.
// Yielding lets other processes of the same machine run meanwhile.
constexpr TimeNs kSpin = 50 * kMicrosecond;

// A header and two pieces of payload as one stream of which `done` bytes have passed.
class Stream {
 public:
  Stream(void* header, std::span<std::byte> first, std::span<std::byte> second)
      : parts_{iovec{header, kLinkHeaderBytes}, iovec{first.data(), first.size()},
               iovec{second.data(), second.size()}},
        total_(kLinkHeaderBytes + first.size() + second.size()) {}

  bool complete() const { return done_ == total_; }
  size_t done() const { return done_; }
  void Advance(size_t bytes) { done_ += bytes; }

  // What is left, for sendmsg and recvmsg; valid until the next call.
  msghdr Rest() {
    msghdr message = {};
    size_t skip = done_;
    size_t used = 0;
    for (const iovec& part : parts_) {
      const size_t cut = std::min(skip, part.iov_len);
      skip -= cut;
      if (cut == part.iov_len) continue;
      rest_[used++] = {static_cast<char*>(part.iov_base) + cut, part.iov_len - cut};
    }
    message.msg_iov = rest_.data();
    message.msg_iovlen = used;
    return message;
  }

 private:
  std::array<iovec, 3> parts_;
  std::array<iovec, 3> rest_{};
  size_t total_;
  size_t done_ = 0;
};

size_t Bytes(const auto& part) { return part.pieces[0].size() + part.pieces[1].size(); }

std::span<std::byte> Mutable(std::span<const std::byte> bytes) {
  // iovec knows no const; sendmsg only reads.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

class Run {
 public:
  Run(const SocketEnds& ends, const ExchangeTag& tag, const SendPart& send,
      const ReceivePart& receive)
      : ends_(ends),
        tag_(tag),
        send_bytes_(Bytes(send)),
        receive_bytes_(Bytes(receive)),
        sending_(send.peer >= 0),
        receiving_(receive.peer >= 0),
        out_header_(EncodeLinkHeader({.type = LinkFrameType::kData,
                                      .length = send_bytes_,
                                      .operation = tag.Operation(),
                                      .sequence = tag.step})),
        out_(out_header_.data(), Mutable(send.pieces[0]), Mutable(send.pieces[1])),
        in_(in_header_.data(), receive.pieces[0], receive.pieces[1]) {}

  Status ToTheEnd(TimeNs deadline) {
    TimeNs idle_since = 0;
    while (sending_ || receiving_) {
      bool moved = false;
      if (sending_) STRATA_TRY(Send(&moved));
      if (receiving_) STRATA_TRY(Receive(&moved));
      if (moved) {
        idle_since = 0;
        continue;
      }
      const TimeNs now = RealClock().Now();
      if (idle_since == 0) idle_since = now;
      if (now - idle_since < kSpin) {
        sched_yield();
        continue;
      }
      STRATA_TRY(Wait(now, deadline));
    }
    return {};
  }

 private:
  Status Send(bool* moved) {
    const msghdr message = out_.Rest();
    const ssize_t sent = sendmsg(ends_.send_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return Fault(ends_.send_peer, errno);
    *moved = true;
    out_.Advance(static_cast<size_t>(sent));
    sending_ = !out_.complete();
    return {};
  }

  Status Receive(bool* moved) {
    msghdr message = in_.Rest();
    const ssize_t got = recvmsg(ends_.receive_fd, &message, MSG_DONTWAIT);
    if (got < 0) return Fault(ends_.receive_peer, errno);
    if (got == 0) return Closed(ends_.receive_peer);
    *moved = true;
    in_.Advance(static_cast<size_t>(got));
    if (!header_checked_ && in_.done() >= kLinkHeaderBytes) STRATA_TRY(CheckHeader());
    receiving_ = !in_.complete();
    return {};
  }

  Status CheckHeader() {
    header_checked_ = true;
    const auto header = DecodeLinkHeader(in_header_);
    if (!header.ok()) return header.status().Prefixed(ends_.receive_peer);
    const ExchangeTag theirs = ExchangeTag::FromWords(header->operation, header->sequence);
    if (header->type != LinkFrameType::kData || header->operation != tag_.Operation() ||
        header->sequence != tag_.step) {
      return Failed(
          fmt::format("{} is in {}, this rank in {}; all ranks must call the same "
                      "collectives in the same order",
                      ends_.receive_peer, theirs.Describe(), tag_.Describe()));
    }
    if (header->length != receive_bytes_) {
      return Failed(
          fmt::format("{} sends {} bytes in {}, this rank expects {}; all ranks must pass "
                      "the same number of elements",
                      ends_.receive_peer, header->length, tag_.Describe(), receive_bytes_));
    }
    return {};
  }

  Status Wait(TimeNs now, TimeNs deadline) {
    if (now >= deadline) return Late();
    std::array<pollfd, 3> waits = {pollfd{sending_ ? ends_.send_fd : -1, POLLOUT, 0},
                                   pollfd{receiving_ ? ends_.receive_fd : -1, POLLIN, 0},
                                   pollfd{ends_.wake_fd, POLLIN, 0}};
    const TimeNs left = (std::min(deadline - now, 3600 * kSecond) + kMillisecond) / kMillisecond;
    poll(waits.data(), waits.size(), static_cast<int>(left));
    if (waits[2].revents != 0) return Cancelled("the group has failed");
    return {};
  }

  // What a failed system call means; OK when it only has to be tried again.
  Status Fault(std::string_view peer, int error) const {
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return {};
    if (error == EPIPE || error == ECONNRESET) return Closed(peer);
    return Lost(fmt::format("{} is lost: the connection broke: {}", peer, std::strerror(error)));
  }

  Status Closed(std::string_view peer) const {
    return Lost(fmt::format("{} is lost: it closed its connection in {}", peer, tag_.Describe()));
  }

  Status Late() const {
    const bool waits_to_receive = receiving_;
    const size_t header = kLinkHeaderBytes;
    return DeadlineExceeded(fmt::format(
        "{} is alive but {} {} of {} bytes in {} until the deadline",
        waits_to_receive ? ends_.receive_peer : ends_.send_peer, waits_to_receive ? "sent" : "took",
        waits_to_receive ? std::max(in_.done(), header) - header
                         : std::max(out_.done(), header) - header,
        waits_to_receive ? receive_bytes_ : send_bytes_, tag_.Describe()));
  }

  const SocketEnds& ends_;
  const ExchangeTag& tag_;
  const size_t send_bytes_;
  const size_t receive_bytes_;
  bool sending_;
  bool receiving_;
  bool header_checked_ = false;
  LinkHeaderBytes out_header_;
  LinkHeaderBytes in_header_{};
  Stream out_;
  Stream in_;
};

}  // namespace

Status ExchangeOverSockets(const SocketEnds& ends, const ExchangeTag& tag, const SendPart& send,
                           const ReceivePart& receive, TimeNs deadline) {
  return Run(ends, tag, send, receive).ToTheEnd(deadline);
}

}  // namespace strata
