#include "ps/shard/change_feed.h"

#include <utility>

#include "strata/status.h"

namespace strata {

void ChangeFeed::Add(Frame record) {
  bytes_ += record.size();
  records_.push_back(std::move(record));
  while (bytes_ > bytes_max_) {
    bytes_ -= records_.front().size();
    records_.pop_front();
    ++begin_;
  }
}

uint64_t ChangeFeed::Read(uint64_t position, size_t bytes, std::vector<std::byte>* out) const {
  STRATA_CHECK(Knows(position));
  const size_t before = out->size();
  while (position < newest() && (out->size() == before || out->size() - before < bytes)) {
    const std::span<const std::byte> record = records_[position - begin_].bytes();
    out->insert(out->end(), record.begin(), record.end());
    ++position;
  }
  return position;
}

}  // namespace strata
