#include "ps/shard/search_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace strata {
namespace {

bool AskTheSame(const WaitingSearch& a, const WaitingSearch& b) {
  return a.collection == b.collection && a.copies == b.copies &&
         std::ranges::equal(a.terms.bytes(), b.terms.bytes());
}

}  // namespace

Status SearchQueue::TakeRoom(const WaitingSearch& search) {
  if (size() > 0 && bytes_ + search.bytes > bytes_max_) {
    return Refused(
        fmt::format("{} searches wait, with those under way of {} bytes, as many as the lane holds "
                    "(server.queue_memory); search less often, or with more servers",
                    size(), bytes_));
  }
  bytes_ += search.bytes;
  return {};
}

Status SearchQueue::Add(WaitingSearch search) {
  STRATA_TRY(TakeRoom(search));
  waiting_.push_back(std::move(search));
  return {};
}

Status SearchQueue::AddForCopies(WaitingSearch search) {
  STRATA_TRY(TakeRoom(search));
  for_copies_.push_back(std::move(search));
  return {};
}

std::vector<WaitingSearch> SearchQueue::BeginCopies() {
  if (copies_are_out_ || for_copies_.empty()) return {};
  copies_are_out_ = true;
  return std::exchange(for_copies_, {});
}

std::vector<WaitingSearch> SearchQueue::Begin() {
  std::vector<WaitingSearch> batch;
  if (is_running_ || waiting_.empty()) return batch;
  size_t queries_max = kBatchQueries;
  if (query_ns_ > 0) {
    queries_max =
        std::max(queries_max, static_cast<size_t>(static_cast<double>(kBatchTime) / query_ns_));
    queries_max = std::min(queries_max, kQueriesAtOnce);
  }
  size_t queries = 0;
  size_t answer_bytes = 0;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const size_t its = at->to.request.count;
    const bool fits = batch.empty() || (queries + its <= queries_max &&
                                        answer_bytes + at->answer_bytes <= bytes_max_ / 2);
    if (!fits || (!batch.empty() && !AskTheSame(batch.front(), *at))) {
      ++at;
      continue;
    }
    queries += its;
    answer_bytes += at->answer_bytes;
    running_bytes_ += at->bytes;
    batch.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  is_running_ = true;
  return batch;
}

void SearchQueue::End(uint64_t queries, TimeNs took) {
  is_running_ = false;
  bytes_ -= std::exchange(running_bytes_, 0);
  if (queries == 0) return;
  const double ns = std::max(1.0, static_cast<double>(took) / static_cast<double>(queries));
  query_ns_ = query_ns_ == 0 ? ns : 0.75 * query_ns_ + 0.25 * ns;
}

std::vector<WaitingSearch> SearchQueue::TakeAll() {
  std::deque<WaitingSearch> taken = std::exchange(waiting_, {});
  std::ranges::move(std::exchange(for_copies_, {}), std::back_inserter(taken));
  for (const WaitingSearch& search : taken) bytes_ -= search.bytes;
  return {std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end())};
}

}  // namespace strata
