#include <algorithm>
#include <utility>

#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/keys_down.h"

namespace strata {
namespace {

// Keys that come before all others: hardly more time on the link than one of them.
constexpr size_t kFirstKeys = 65536;

}  // namespace

KeysDown::~KeysDown() {
  for (void* event : {first_here_, all_here_}) {
    if (event != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
  }
}

Status KeysDown::Bring(const Exec& exec, PinnedPool& host, std::span<const Key> keys) {
  for (void** event : {&first_here_, &all_here_}) {
    if (*event != nullptr) continue;
    STRATA_ASSIGN(*event, MakeEvent());
  }
  if (most_ < keys.size()) {
    memory_ = host.Take(keys.size() * sizeof(Key) / sizeof(float));
    most_ = keys.size();
  }
  const size_t first = std::min(kFirstKeys, keys.size());
  BringPart(exec, keys.first(first), 0, first_here_);
  if (first < keys.size()) BringPart(exec, keys.subspan(first), first, all_here_);
  return {};
}

void KeysDown::BringPart(const Exec& exec, std::span<const Key> keys, size_t at, void* here) {
  CopyDown<Key>(exec, keys.data(), {this->keys() + at, keys.size()});
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(here), StreamOf(exec)), "the GPU"));
}

void KeysDown::Await(size_t count) const {
  auto* const here = static_cast<cudaEvent_t>(count <= kFirstKeys ? first_here_ : all_here_);
  Must(FromCuda(cudaEventSynchronize(here), "the GPU"));
}

void KeysDown::Swap(KeysDown& other) {
  std::swap(memory_, other.memory_);
  std::swap(most_, other.most_);
  std::swap(first_here_, other.first_here_);
  std::swap(all_here_, other.all_here_);
}

}  // namespace strata
