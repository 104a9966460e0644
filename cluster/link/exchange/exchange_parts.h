// What the transports of an exchange have in common: the way through the pieces of a part, and the
// errors that name what two ranks disagree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "cluster/link/exchange/exchange.h"
#include "strata/status.h"

namespace strata {

// Most of what is awaited comes within microseconds, while this thread only looks again and again;
// from its sleep it takes tens of microseconds to come back.
constexpr TimeNs kSpin = 50 * kMicrosecond;
constexpr size_t kSpinBytesMax = 128ULL << 10;
// Long messages come in parts: where ranks share processors, whoever waits for the next one had
// better leave its own to the sender.
constexpr bool MaySpin(bool crowded, size_t send_bytes, size_t receive_bytes) {
  return !crowded || (send_bytes <= kSpinBytesMax && receive_bytes <= kSpinBytesMax);
}

template <typename Byte>
size_t PartBytes(std::span<const std::span<Byte>> pieces) {
  size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

// A place in the bytes of pieces that follow one another.
template <typename Byte>
class PieceCursor {
 public:
  explicit PieceCursor(std::span<const std::span<Byte>> pieces) : pieces_(pieces) { Advance(0); }

  // How many pieces are left, the one that is next counted even if a part of it has passed.
  size_t left() const { return pieces_.size() - piece_; }
  // What is left of the i-th of those.
  std::span<Byte> Piece(size_t i) const {
    return pieces_[piece_ + i].subspan(i == 0 ? offset_ : 0);
  }
  std::span<Byte> Next() const { return Piece(0); }
  void Advance(size_t bytes) {
    offset_ += bytes;
    while (piece_ < pieces_.size() && offset_ >= pieces_[piece_].size()) {
      offset_ -= pieces_[piece_++].size();
    }
  }

 private:
  std::span<const std::span<Byte>> pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;
};

// Combines the whole elements of `from` into the pieces, and returns how many bytes they are.
// `from` is aligned for elements and not longer than what the pieces still take.
size_t ReduceWhole(const Reduction& reduction, std::span<const std::byte> from,
                   PieceCursor<std::byte>* into);

// The half of an exchange that another transport carries at the same time.
class OtherHalf {
 public:
  virtual bool done() const = 0;
  // Moves what can be moved without waiting.
  virtual Status Step(bool* moved) = 0;
  // Nothing has moved for a while: an error if nothing ever will, or if it is past `deadline`.
  virtual Status StillHope(TimeNs now, TimeNs deadline) = 0;

 protected:
  ~OtherHalf() = default;
};

// The words and the length of a message's header against what this rank expects from `peer`.
// kFailed names what differs.
Status CheckMessage(std::string_view peer, const ExchangeTag& tag, uint64_t operation,
                    uint64_t sequence, uint64_t length, size_t bytes_expected);

// kDeadlineExceeded: `peer` has done (`verb`: "sent", "took") only a part of it.
Status LateError(std::string_view peer, std::string_view verb, size_t bytes_done, size_t bytes,
                 const ExchangeTag& tag);
// kLost: `peer` has left, or its process has ended.
Status ClosedError(std::string_view peer, const ExchangeTag& tag);

}  // namespace strata
