#include "cluster/link/exchange/shared_ring.h"

#include <algorithm>

namespace strata {
namespace {

// Where in the ring's memory a position lies. The size is a power of two.
size_t Place(uint64_t position, size_t ring_bytes) { return position & (ring_bytes - 1); }

// What lies between `position` and `end` before the ring's memory ends. A position may be past the
// end that is known: at the beginning of a line.
size_t Run(uint64_t position, uint64_t end, size_t ring_bytes) {
  if (position >= end) return 0;
  return std::min<uint64_t>(end - position, ring_bytes - Place(position, ring_bytes));
}

uint64_t AlignUp(uint64_t position) {
  return (position + kRingLineBytes - 1) / kRingLineBytes * kRingLineBytes;
}

uint64_t Mark(uint64_t position, uint64_t secret) { return (position + 1) ^ secret; }

// The words in front of a message.
std::atomic_ref<uint64_t> MarkAt(std::byte* place) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(place));
}
uint64_t& LengthAt(std::byte* place) { return *reinterpret_cast<uint64_t*>(place + 8); }

constexpr uint64_t kLengthMask = (1ULL << kRingLengthBits) - 1;
static_assert(kRingBytesMax < 1ULL << (64 - kRingLengthBits));

}  // namespace

std::span<std::byte> RingSender::Begin(uint64_t length) {
  position_ = AlignUp(position_);
  const std::span<std::byte> room = Room(kRingLineBytes);
  if (room.size() < kRingLineBytes) return {};
  mark_ = room.data();
  begin_ = position_;
  length_ = length;
  return room.first(kRingLineBytes);
}

std::span<std::byte> RingSender::Room(size_t wanted) {
  const size_t size = ring_.size();
  if (position_ + wanted > known_read_ + size) {
    const uint64_t read = indexes_->read.load(std::memory_order_seq_cst);
    broken_ = !CanHaveRead(read, known_read_, published_);
    if (broken_) return {};
    known_read_ = read;
  }
  return ring_.subspan(Place(position_, size), Run(position_, known_read_ + size, size));
}

void RingSender::Publish() {
  published_ = position_;
  if (mark_ != nullptr) {
    indexes_->written.store(position_, std::memory_order_release);
    LengthAt(mark_) = length_ | (position_ - begin_) << kRingLengthBits;
    MarkAt(mark_).store(Mark(begin_, secret_), std::memory_order_seq_cst);
    mark_ = nullptr;
  } else {
    indexes_->written.store(position_, std::memory_order_seq_cst);
  }
  bell_->RingIfListened();
}

std::optional<uint64_t> RingReceiver::Begin() {
  position_ = AlignUp(position_);
  std::byte* const line = ring_.data() + Place(position_, ring_.size());
  if (MarkAt(line).load(std::memory_order_seq_cst) != Mark(position_, secret_)) return {};
  const uint64_t length = LengthAt(line);
  const uint64_t written = position_ + (length >> kRingLengthBits);
  // More may be known, from looks at the index.
  if (written > known_written_ && !Believe(written)) return {};
  return length & kLengthMask;
}

bool RingReceiver::Believe(uint64_t written) {
  broken_ = !CanHaveWritten(written, known_written_, released_, ring_.size());
  if (!broken_) known_written_ = written;
  return !broken_;
}

std::span<const std::byte> RingReceiver::Filled(size_t wanted) {
  if (position_ + wanted > known_written_ &&
      !Believe(indexes_->written.load(std::memory_order_seq_cst))) {
    return {};
  }
  const size_t size = ring_.size();
  return ring_.subspan(Place(position_, size), Run(position_, known_written_, size));
}

void RingReceiver::Advance(size_t bytes) {
  position_ += bytes;
  if (position_ - released_ < ring_.size() / 4) return;
  released_ = position_;
  indexes_->read.store(position_, std::memory_order_seq_cst);
  bell_->RingIfListened();
}

}  // namespace strata
