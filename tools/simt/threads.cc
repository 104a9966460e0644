// How a kernel runs: README.md. A launch runs on the thread that asked for it, one at a time.
#include <sys/mman.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "base/thread/mutex.h"
#include "tools/simt/device_memory.h"
#include "tools/simt/include/cuda_runtime.h"

// NOLINTNEXTLINE(readability-identifier-naming)
dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace simt {
namespace {

namespace context = boost::context::detail;

constexpr size_t kThreadsMax = 1024;
constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kLanes = 32;
constexpr uint64_t kFromNowhere = 0xdeadbeefdeadbeef;  // a shuffle from a lane that is not there

struct Thread {
  enum class State : uint8_t { kRuns, kAtWarp, kAtBlock, kDone };
  context::fcontext_t stack = nullptr;
  State state = State::kDone;
  // What it brings to the others of its warp, and gets.
  WarpOp op = WarpOp::kSync;
  uint32_t mask = 0;
  uint64_t value = 0;
  int lane = 0;
  int width = 0;
  uint64_t result = 0;
};
using State = Thread::State;

struct Block {
  strata::Mutex mutex;  // held by a launch
  std::vector<Thread> threads = std::vector<Thread>(kThreadsMax);
  char* stacks = nullptr;
  size_t count = 0;
  size_t done = 0;
  size_t current = 0;
  bool fault = false;
  context::fcontext_t scheduler = nullptr;
  const std::function<void()>* body = nullptr;
  std::vector<std::byte> shared;
  std::optional<std::mt19937_64> random;

  Block() {
    stacks = static_cast<char*>(mmap(nullptr, kStackBytes * kThreadsMax, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (const char* seed = std::getenv("STRATA_SIMT_SEED")) {
      random.emplace(std::strtoull(seed, nullptr, 10));
    }
  }
};
Block& TheBlock() {
  static Block block;
  return block;
}

[[noreturn]] void Die(const Block& block, const char* why) {
  std::fprintf(stderr, "simt: %s, in block %u, %u, %u\n", why, blockIdx.x, blockIdx.y, blockIdx.z);
  for (size_t i = 0; i < block.count; ++i) {
    const Thread& thread = block.threads[i];
    if (thread.state == State::kAtWarp) {
      std::fprintf(stderr, "  thread %zu waits for lanes %08x, operation %d\n", i, thread.mask,
                   static_cast<int>(thread.op));
    } else if (thread.state == State::kAtBlock) {
      std::fprintf(stderr, "  thread %zu waits for its block\n", i);
    }
  }
  std::abort();
}

void Pause(Block& block) {
  block.scheduler = context::jump_fcontext(block.scheduler, nullptr).fctx;
}

uint64_t ResultFor(const Thread* warp, size_t lane, uint32_t here, uint32_t ballot) {
  const Thread& thread = warp[lane];
  size_t from = lane;
  switch (thread.op) {
    case WarpOp::kSync:
      return 0;
    case WarpOp::kBallot:
      return ballot;
    case WarpOp::kAll:
      return ballot == here ? 1 : 0;
    case WarpOp::kShuffle:
      from = (lane & ~static_cast<size_t>(thread.width - 1)) |
             static_cast<size_t>(thread.lane & (thread.width - 1));
      break;
    case WarpOp::kShuffleXor:
      from = lane ^ static_cast<size_t>(thread.lane);
      break;
  }
  return (here >> from & 1) != 0 ? warp[from].value : kFromNowhere;
}

// If all lanes that the thread waits for have come (threads that have returned need not), gives
// them their results and lets them go on.
bool Completes(Block& block, size_t number) {
  Thread* const warp = &block.threads[number / kLanes * kLanes];
  const Thread& first = block.threads[number];
  const size_t lanes = std::min(kLanes, block.count - number / kLanes * kLanes);
  uint32_t here = 0;
  uint32_t ballot = 0;
  for (size_t lane = 0; lane < lanes; ++lane) {
    const Thread& thread = warp[lane];
    if ((first.mask >> lane & 1) == 0 || thread.state == State::kDone) continue;
    if (thread.state != State::kAtWarp || thread.mask != first.mask || thread.op != first.op) {
      return false;
    }
    here |= 1U << lane;
    if (thread.value != 0) ballot |= 1U << lane;
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    if ((here >> lane & 1) != 0) warp[lane].result = ResultFor(warp, lane, here, ballot);
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    if ((here >> lane & 1) != 0) warp[lane].state = State::kRuns;
  }
  return true;
}

void ReleaseBlock(Block& block) {
  const std::span<Thread> threads(block.threads.data(), block.count);
  const bool all = std::ranges::all_of(threads, [](const Thread& thread) {
    return thread.state == State::kAtBlock || thread.state == State::kDone;
  });
  if (!all) return;
  for (Thread& thread : threads) {
    if (thread.state == State::kAtBlock) thread.state = State::kRuns;
  }
}

void Begin(context::transfer_t from) {
  Block& block = TheBlock();
  block.scheduler = from.fctx;
  (*block.body)();
  block.threads[block.current].state = State::kDone;
  ++block.done;
  const size_t first = block.current / kLanes * kLanes;
  for (size_t i = first; i < std::min(first + kLanes, block.count); ++i) {
    if (block.threads[i].state == State::kAtWarp) static_cast<void>(Completes(block, i));
  }
  ReleaseBlock(block);
  Pause(block);
}

void RunBlock(Block& block, std::vector<size_t>& order) {
  for (size_t i = 0; i < block.count; ++i) {
    Thread& thread = block.threads[i];
    thread.stack = context::make_fcontext(block.stacks + (i + 1) * kStackBytes, kStackBytes, Begin);
    thread.state = State::kRuns;
  }
  block.done = 0;
  while (block.done < block.count && !block.fault) {
    if (block.random.has_value()) std::ranges::shuffle(order, *block.random);
    bool any = false;
    for (const size_t i : order) {
      Thread& thread = block.threads[i];
      if (thread.state != State::kRuns || block.fault) continue;
      any = true;
      block.current = i;
      threadIdx = dim3(static_cast<unsigned>(i));
      thread.stack = context::jump_fcontext(thread.stack, nullptr).fctx;
    }
    if (!any) Die(block, "no thread can go on");
  }
}

}  // namespace

uint64_t Meet(WarpOp op, uint32_t mask, uint64_t value, int lane, int width) {
  Block& block = TheBlock();
  const size_t number = block.current;
  if ((mask >> (number % kLanes) & 1) == 0) Die(block, "a lane is not in its own mask");
  Thread& thread = block.threads[number];
  thread.op = op;
  thread.mask = mask;
  thread.value = value;
  thread.lane = lane;
  thread.width = width;
  thread.state = State::kAtWarp;
  if (!Completes(block, number)) Pause(block);
  return thread.result;
}

void MeetBlock() {
  Block& block = TheBlock();
  Thread& thread = block.threads[block.current];
  thread.state = State::kAtBlock;
  ReleaseBlock(block);
  if (thread.state == State::kAtBlock) Pause(block);
}

std::byte* Shared() { return TheBlock().shared.data(); }

void Run(dim3 grid, dim3 threads, size_t shared_bytes, const std::function<void()>& thread) {
  Block& block = TheBlock();
  const strata::MutexLock lock(block.mutex);
  gridDim = grid;
  blockDim = threads;
  block.count = threads.x;
  if (block.count > kThreadsMax) Die(block, "too many threads");
  block.body = &thread;
  std::vector<size_t> order(block.count);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  for (uint64_t number = 0; number < blocks && !block.fault; ++number) {
    const uint64_t row = number / grid.x;
    blockIdx = dim3(static_cast<unsigned>(number % grid.x), static_cast<unsigned>(row % grid.y),
                    static_cast<unsigned>(row / grid.y));
    block.shared.assign(shared_bytes, std::byte{0xcd});
    RunBlock(block, order);
  }
}

}  // namespace simt

// NOLINTNEXTLINE(readability-identifier-naming)
void __trap() {
  simt::SetFault();
  simt::TheBlock().fault = true;
  for (;;) simt::Pause(simt::TheBlock());
}
