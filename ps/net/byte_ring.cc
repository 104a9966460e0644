#include "ps/net/byte_ring.h"

#include <algorithm>
#include <cstring>

namespace strata::net {
namespace {

// Whether the other side sleeps. Behind a sequentially consistent store of what it waits for: then
// either this sees that it sleeps, or it sees the change before it falls asleep.
bool TakeSleep(std::atomic<uint32_t>& sleeps) {
  return sleeps.load(std::memory_order_seq_cst) != 0 && sleeps.exchange(0) != 0;
}

}  // namespace

void RingWriter::LookForRoom() {
  const uint64_t read = state_->read.load(std::memory_order_seq_cst);
  broken_ = broken_ || !CanHaveRead(read, known_read_, published_);
  if (!broken_) known_read_ = read;
}

size_t RingWriter::Write(std::span<const std::byte> bytes) {
  const size_t size = ring_.size();
  if (position_ + bytes.size() > known_read_ + size) LookForRoom();
  if (broken_) return 0;
  const size_t count = std::min<uint64_t>(bytes.size(), known_read_ + size - position_);
  if (count == 0) return 0;  // of an empty span there is no address
  const size_t place = position_ & (size - 1);
  const size_t run = std::min(count, size - place);
  memcpy(ring_.data() + place, bytes.data(), run);
  if (run < count) memcpy(ring_.data(), bytes.data() + run, count - run);
  position_ += count;
  return count;
}

bool RingWriter::Publish() {
  if (published_ == position_) return false;
  published_ = position_;
  state_->written.store(position_, std::memory_order_seq_cst);
  return TakeSleep(state_->reader_sleeps);
}

bool RingWriter::BeginSleep() {
  state_->writer_sleeps.store(1, std::memory_order_seq_cst);
  LookForRoom();
  return !broken_ && position_ == known_read_ + ring_.size();
}

void RingReader::LookForBytes() {
  const uint64_t written = state_->written.load(std::memory_order_seq_cst);
  broken_ = broken_ || !CanHaveWritten(written, known_written_, released_, ring_.size());
  if (!broken_) known_written_ = written;
}

size_t RingReader::Read(std::span<std::byte> to) {
  if (known_written_ - position_ < to.size()) LookForBytes();
  if (broken_) return 0;
  const size_t count = std::min<uint64_t>(to.size(), known_written_ - position_);
  if (count == 0) return 0;
  const size_t place = position_ & (ring_.size() - 1);
  const size_t run = std::min(count, ring_.size() - place);
  memcpy(to.data(), ring_.data() + place, run);
  if (run < count) memcpy(to.data() + run, ring_.data(), count - run);
  position_ += count;
  return count;
}

bool RingReader::Release() {
  // By quarters: who waits for room is woken for enough of it. Its ring is full, so there is
  // something to read until then.
  if (position_ - released_ < ring_.size() / 4) return false;
  released_ = position_;
  state_->read.store(position_, std::memory_order_seq_cst);
  return TakeSleep(state_->writer_sleeps);
}

bool RingReader::BeginSleep() {
  state_->reader_sleeps.store(1, std::memory_order_seq_cst);
  LookForBytes();
  return !broken_ && position_ == known_written_;
}

}  // namespace strata::net
