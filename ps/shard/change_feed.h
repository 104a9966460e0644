// ChangeFeed: the last changes of a collection's documents on a lane, for the servers that keep
// copies of them. It is in memory, and its positions count records from when the collection was
// opened: who knows a position that is not here copies all documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/message_port.h"

namespace strata {

// Not thread-safe.
class ChangeFeed {
 public:
  // Older records go when there are more bytes.
  explicit ChangeFeed(size_t bytes_max) : bytes_max_(bytes_max) {}

  // The body of one more record: item changes.
  void Add(Frame record);
  // Behind the last record.
  uint64_t newest() const { return begin_ + records_.size(); }
  // All records behind the position are here.
  bool Knows(uint64_t position) const { return position >= begin_ && position <= newest(); }
  // Appends records behind a position that it knows, until they have so many bytes, at least one if
  // there is one. Returns the position behind them.
  uint64_t Read(uint64_t position, size_t bytes, std::vector<std::byte>* out) const;

 private:
  const size_t bytes_max_;
  uint64_t begin_ = 0;  // position before the first record that is here
  size_t bytes_ = 0;
  std::deque<Frame> records_;
};

}  // namespace strata
