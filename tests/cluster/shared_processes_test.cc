// Shared memory between processes: random messages, a peer that is killed in the middle of one, and
// what is left behind then.
#include <dirent.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "cluster/link/exchange/shared_exchange.h"
#include "cluster/link/exchange/shared_segment.h"

namespace strata {
namespace {

constexpr SharedPair kPair = {.job = 7, .creator = 0, .attacher = 1};

// A process that does `body` and ends with what that returns.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ == 0) _exit(body());
  }
  ~Child() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }
  void Kill() {
    kill(pid_, SIGKILL);
    Wait();
  }
  // Its exit code, -1 when a signal has ended it.
  int Wait() {
    int state = 0;
    if (waitpid(pid_, &state, 0) != pid_) return -1;
    pid_ = 0;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }

 private:
  pid_t pid_;
};

struct Rank {
  explicit Rank(SharedSegment& segment)
      : ends{.send = &segment.side(),
             .receive = &segment.side(),
             .failed = &failed,
             .send_peer = "the other",
             .receive_peer = "the other",
             .scratch = scratch,
             .crowded = true} {}

  Status Exchange(std::span<const std::byte> out, std::span<std::byte> in,
                  const Reduction* reduction = nullptr) {
    ++tag.call;
    return ExchangeOverMemory(
        ends, tag, {.peer = out.empty() ? -1 : 0, .pieces = {&out, 1}},
        {.peer = in.empty() ? -1 : 0, .pieces = {&in, 1}, .reduction = reduction},
        RealClock().Now() + 60 * kSecond);
  }

  std::vector<std::byte> scratch = std::vector<std::byte>(4096);
  std::atomic<bool> failed = false;
  ExchangeTag tag;
  SharedEnds ends;
};

std::set<std::string> Names(const char* folder) {
  std::set<std::string> names;
  DIR* const open = opendir(folder);
  while (const dirent* entry = readdir(open)) names.insert(entry->d_name);
  closedir(open);
  return names;
}

std::unique_ptr<SharedSegment> Created() {
  auto segment = SharedSegment::Create(kPair);
  EXPECT_TRUE(segment.ok()) << segment.status().ToString();
  return std::move(*segment);
}

// Sums of 24-byte elements, which the end of the ring cuts, and of floats; both ranks know all
// messages.
bool PassesRandomMessages(SharedSegment& segment, uint64_t self) {
  Rank rank(segment);
  for (uint64_t call = 0; call < 60; ++call) {
    const auto message = [call](uint64_t from) {
      Random random(call * 2 + from);
      const uint64_t element = 3 * (call % 3 + 1);
      const uint64_t count = 3 + 3 * Random(call).Below(call % 8 == 7 ? 300'000 : 3'000);
      std::vector<uint64_t> words(element * count);
      for (uint64_t& word : words) word = random.Next();
      return words;
    };
    const std::vector<uint64_t> out = message(self);
    std::vector<uint64_t> in = out;
    const std::vector<uint64_t> theirs = message(1 - self);
    const auto add = [](void* into, const void* from, size_t count, const void*) {
      auto* const a = static_cast<uint64_t*>(into);
      const auto* const b = static_cast<const uint64_t*>(from);
      for (size_t i = 0; i < 3 * count; ++i) a[i] += b[i];
    };
    const Reduction sum = CustomReduction(24, add);
    const bool reduces = call % 2 == 0;
    const Status status =
        rank.Exchange(std::as_bytes(std::span(out)), std::as_writable_bytes(std::span(in)),
                      reduces ? &sum : nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] != theirs[i] + (reduces ? out[i] : 0)) return false;
    }
  }
  return true;
}

TEST(SharedProcesses, PassRandomMessages) {
  const auto segment = Created();
  Child child([offer = segment->Offer()] {
    const auto attached = SharedSegment::Attach(kPair, offer);
    return attached.ok() && PassesRandomMessages(**attached, 1) ? 0 : 1;
  });
  EXPECT_TRUE(PassesRandomMessages(*segment, 0));
  EXPECT_EQ(child.Wait(), 0);
}

// The peer dies with the ring full and most of its message not yet in it.
TEST(SharedProcesses, SurvivorOfAKilledPeerEndsWhenItIsWokenAndNothingIsLeft) {
  const std::set<std::string> before = Names("/dev/shm");
  const std::set<std::string> open_before = Names("/proc/self/fd");
  {
    const auto segment = Created();
    constexpr size_t kBytes = 64ULL << 20;
    Child child([offer = segment->Offer()] {
      const auto attached = SharedSegment::Attach(kPair, offer);
      if (!attached.ok()) return 1;
      Rank rank(**attached);
      const std::vector<std::byte> message(kBytes);
      return rank.Exchange(message, {}).ok() ? 0 : 1;
    });
    struct Context {
      Child& child;
      std::atomic<bool> killed = false;
    } context = {.child = child};
    const auto kill_sender = [](void*, const void*, size_t, const void* what) {
      auto* const to_do = static_cast<Context*>(const_cast<void*>(what));
      if (!to_do->killed) to_do->child.Kill();
      to_do->killed = true;
    };
    Rank rank(*segment);
    const Reduction reduction = CustomReduction(8, kill_sender, &context);
    std::vector<std::byte> into(kBytes);
    const std::jthread monitor([&](const std::stop_token& over) {
      while (!over.stop_requested() && !(context.killed && segment->side().bell->listened != 0)) {
        std::this_thread::yield();
      }
      rank.failed = true;
      segment->side().bell->Ring();
    });
    EXPECT_EQ(rank.Exchange({}, into, &reduction).code(), StatusCode::kCancelled);
    EXPECT_TRUE(context.killed);
  }
  EXPECT_EQ(Names("/dev/shm"), before);
  EXPECT_EQ(Names("/proc/self/fd"), open_before);
}

TEST(SharedProcesses, AnotherUserCannotAttach) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto segment = Created();
  Child child([offer = segment->Offer()] {
    constexpr uid_t kNobody = 65534;
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) return 2;
    return SharedSegment::Attach(kPair, offer).status().code() == StatusCode::kRefused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace strata
