#include "tests/soak/links/rank_process.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "cluster/collective/group.h"
#include "cluster/link/regroup/regroup.h"
#include "tests/soak/links/load.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

// Far beyond all bounds: a call that is ended by its deadline has hung.
constexpr TimeNs kCallTimeout = 60 * kSecond;
// For a rank that is stopped; those that work come at once.
constexpr TimeNs kRebuildPatience = 2 * kSecond;
constexpr TimeNs kLeaveTimeout = 20 * kSecond;
constexpr uint64_t kCallsBetweenQuestions = 8;
// A thread that was joined is seen for a moment still.
constexpr TimeNs kTraceOfThreads = 2 * kSecond;

struct Belongings {
  int files = 0;
  int threads = 0;
  int mappings = 0;  // of shared memory of links

  static int Entries(const char* folder) {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  static Belongings Now() {
    Belongings now{.files = Entries("/proc/self/fd"), .threads = Entries("/proc/self/task")};
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("strata-link") != std::string::npos) ++now.mappings;
    }
    return now;
  }
};

RankCall OutOfLine(RankCall call, Misstep misstep, uint64_t seed, uint64_t number, int world) {
  if (misstep == Misstep::kOtherSize) {
    // One more for every rank, so that all blocks differ.
    call.count += static_cast<size_t>(world);
    return call;
  }
  const Collective due = call.operation;
  while (call.operation == due) call = PlanRankCall(++seed, number, world);
  return call;
}

// Until the group fails, or all have been told to leave and do so.
Status Work(Links* links, uint64_t seed, RankBoard* board, RankWords* mine,
            std::atomic<uint64_t>* calls) {
  Group group(*links, {.timeout = kCallTimeout});
  RankLoad load(&group);
  for (uint64_t number = 0;; ++number) {
    if (number % kCallsBetweenQuestions == 0) {
      bool stop = false;
      STRATA_TRY(load.AnySaysSo(board->stop, &stop));
      if (stop) return links->Leave(kLeaveTimeout);
    }
    RankCall call = PlanRankCall(seed, number, group.world());
    const Misstep misstep = mine->misstep.exchange(Misstep::kNone);
    // A size does not matter to all operations.
    const bool has_size = call.operation != Collective::kBarrier;
    if (misstep == Misstep::kOtherSize && !has_size) {
      mine->misstep = misstep;
    } else if (misstep != Misstep::kNone) {
      call = OutOfLine(call, misstep, seed, number, group.world());
      board->fault_at = RealClock().Now();
    }
    bool right = true;
    STRATA_TRY(load.Do(call, &right));
    if (!right) ++mine->wrong_results;
    ++*calls;
  }
}

// With those that are left.
Status WorkOn(std::unique_ptr<Links> failed, uint64_t seed, RankBoard* board, RankWords* mine) {
  STRATA_ASSIGN(const auto links,
                Regroup(std::move(failed), {.replacements = false, .patience = kRebuildPatience}));
  mine->rebuilt_at = RealClock().Now();
  mine->rebuilt_world = links->world();
  return Work(links.get(), seed, board, mine, &mine->calls_rebuilt);
}

}  // namespace

void RunRankProcess(LinkOptions options, Listener listener, uint64_t seed, RankBoard* board) {
  RankWords& mine = board->ranks[static_cast<size_t>(options.rank)];
  const Belongings before = Belongings::Now();
  Status status;
  {
    auto links = Links::Listen(std::move(options), std::move(listener));
    status = links.ok() ? (*links)->Connect() : links.status();
    if (status.ok()) {
      mine.linked = true;
      status = Work(links->get(), seed, board, &mine, &mine.calls);
    }
    mine.ended_at = RealClock().Now();
    if (board->rebuilds && mine.linked && !status.ok()) {
      const Status rebuilt = WorkOn(std::move(*links), seed, board, &mine);
      mine.rebuilt_code = rebuilt.code();
      mine.SetRebuiltMessage(rebuilt.message());
    }
  }
  Belongings after;
  WaitUntil(
      [&] {
        after = Belongings::Now();
        return after.threads == before.threads;
      },
      kTraceOfThreads);
  mine.files_left = after.files - (before.files - 1);  // the listener was among them
  mine.threads_left = after.threads - before.threads;
  mine.mappings_left = after.mappings;
  mine.code = status.code();
  mine.SetMessage(status.message());
  mine.ended = true;
  _exit(0);
}

}  // namespace strata::soak
