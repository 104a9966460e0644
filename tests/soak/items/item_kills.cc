#include "tests/soak/items/item_kills.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/print.h"
#include "base/random.h"
#include "tests/soak/items/item_life.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {
namespace {

// Of all lives.
struct Totals {
  uint64_t replayed = 0;
  uint64_t loaded = 0;  // lives that began with images
  uint64_t saves = 0;
  uint64_t searches = 0;
  uint64_t opened = 0;
};

// A life as its parent sees it.
class WatchedLife {
 public:
  WatchedLife(const std::string& folder, uint64_t seed) {
    int ends[2];
    STRATA_CHECK(pipe(ends) == 0);
    child_ = fork();
    STRATA_CHECK(child_ >= 0);
    if (child_ == 0) {
      close(ends[0]);
      LiveUntilKilled(folder, seed, ends[1]);
    }
    close(ends[1]);
    news_ = ends[0];
  }
  ~WatchedLife() { close(news_); }
  WatchedLife(const WatchedLife&) = delete;
  WatchedLife& operator=(const WatchedLife&) = delete;

  // Nothing: none came in time, or it is dead and has told all.
  std::optional<LifeNews> Next(TimeNs patience) {
    pollfd waits{.fd = news_, .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, static_cast<int>(patience / kMillisecond)) != 1) return std::nullopt;
    LifeNews news;
    if (read(news_, &news, sizeof(news)) != sizeof(news)) return std::nullopt;
    return news;
  }
  // Whether it had lived until then.
  bool Kill() {
    kill(child_, SIGKILL);
    int status = 0;
    STRATA_CHECK(waitpid(child_, &status, 0) == child_);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

 private:
  pid_t child_ = -1;
  int news_ = -1;
};

class Collection {
 public:
  Collection(const ItemKillsOptions& options, uint64_t seed, SoakReport* report, Totals* totals)
      : options_(options), seed_(seed), random_(seed), report_(*report), totals_(*totals) {}

  // False: it cannot go on.
  bool LiveAndDie() {
    WatchedLife life(folder_.path(), seed_);
    last_ = {};
    // One of eight dies at once, some of them while it opens; others behind some news.
    const bool at_once = random_.Below(8) == 0;
    const uint64_t enough = 1 + random_.Below(random_.Below(4) == 0 ? 3'000 : 300);
    const TimeNs patience =
        at_once ? static_cast<TimeNs>(random_.Below(60)) * kMillisecond : options_.patience;
    uint64_t heard = 0;
    for (; heard < enough; ++heard) {
      const auto news = life.Next(patience);
      if (!news) break;
      Hear(*news);
    }
    const bool lived = life.Kill();
    while (const auto news = life.Next(0)) Hear(*news);
    ++report_.restarts;
    ++report_.cycles;
    if (lived && heard < enough && !at_once) {
      PrintStderr("seed {}: nothing was heard for {} s\n", seed_, options_.patience / kSecond);
      ++report_.hangs;
    }
    if (!lived && !is_wrong_) ++report_.findings.wrong;
    totals_.saves += last_.saves;
    totals_.searches += last_.searches;
    if (options_.forget) std::filesystem::remove_all(folder_.File("images"));
    return lived;
  }

 private:
  void Hear(const LifeNews& news) {
    if (news.kind == LifeNews::Kind::kWrong) {
      ++report_.findings.wrong;
      is_wrong_ = true;
      return;
    }
    if (news.kind == LifeNews::Kind::kOpened) {
      ++totals_.opened;
      totals_.replayed += news.replayed;
      totals_.loaded += news.images;
      report_.findings.lost += news.lost;
      if (news.lsn < told_) report_.findings.lost += told_ - news.lsn;
      report_.findings.wrong += news.resurrected + news.wrong;
      if (news.lsn < told_ || news.lost + news.resurrected + news.wrong > 0) {
        PrintStderr("seed {}: {} records of {}; {} documents lost, {} resurrected, {} wrong\n",
                    seed_, news.lsn, told_, news.lost, news.resurrected, news.wrong);
      }
    } else {
      report_.acked += news.lsn - told_;
      last_ = news;
    }
    told_ = std::max(told_, news.lsn);
  }

  const ItemKillsOptions& options_;
  const uint64_t seed_;
  Random random_;
  SoakReport& report_;
  Totals& totals_;
  TempFolder folder_;
  Lsn told_ = 0;   // records up to here must be there
  LifeNews last_;  // of this life
  bool is_wrong_ = false;
};

}  // namespace

SoakReport RunItemKills(const ItemKillsOptions& options) {
  SoakReport report;
  report.soak = "images";
  Totals totals;
  const TimeNs began = RealClock().Now();
  for (uint64_t seed = options.seed; report.cycles < options.cycles; ++seed) {
    ++report.seeds;
    Collection collection(options, seed, &report, &totals);
    for (uint64_t i = 0; i < ItemKillsOptions::kCyclesOfASeed && report.cycles < options.cycles;
         ++i) {
      if (!collection.LiveAndDie()) break;
    }
  }
  report.operations = report.acked;
  report.checkpoints = totals.saves;
  report.elapsed = RealClock().Now() - began;
  report.more = ", " + CountsJson({{"opened", totals.opened},
                                   {"opened_with_images", totals.loaded},
                                   {"replayed", totals.replayed},
                                   {"searches", totals.searches}});
  return report;
}

}  // namespace strata::soak
