#include "tests/soak/items/item_life.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/print.h"
#include "storage/itemset/logged_item_set.h"
#include "tests/storage/itemset/logged_changes.h"

namespace strata::soak {
namespace {

using test::ItemSetModel;

constexpr uint64_t kIds = 1'500;
constexpr int kWrong = 5;

class Life {
 public:
  Life(const std::string& folder, uint64_t seed, int news)
      : folder_(folder), seed_(seed), changes_(kIds, seed), news_(news) {}

  void Live() {
    auto pool = WorkPool::Start("search", 1);
    if (!pool.ok()) Die(pool.status().ToString());
    pool_ = *std::move(pool);
    Open();
    Compare();
    std::jthread searcher([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) SearchOnce();
    });
    Change();
  }

 private:
  void Open() {
    ItemSetOptions options;
    options.spec.attributes = {"price"};
    options.means = {SearchRates(), pool_.get(), 2, &RealClock(), nullptr};
    options.tail = 2;  // segments of the last level have up to 512 documents
    // Some collections are saved whole when their log grows, others by large segments alone.
    const ItemImages images{.open = RocksRecords(folder_ + "/images"),
                            .log_bytes_max = seed_ % 2 == 0 ? 256U << 10 : 512U << 20};
    auto opened = LoggedItemSet::Open({.disk = &RealDisk(),
                                       .folder = folder_ + "/log",
                                       .boot_id = "boot",
                                       .segment_bytes = 64 << 10},
                                      options, images);
    if (!opened.ok()) Die(opened.status().ToString());
    set_ = *std::move(opened);
    model_ = changes_.ModelOf(set_->log().appended());
  }

  void Compare() {
    LifeNews news{.kind = LifeNews::Kind::kOpened,
                  .lsn = set_->log().appended(),
                  .replayed = set_->replayed().records};
    news.images = set_->Stats().from > 1 ? 1 : 0;
    size_t present = 0;
    for (uint64_t i = 0; i < kIds; ++i) {
      const DocumentId id = changes_.IdOf(i);
      const auto found = set_->set().Get(id);
      const auto expected = model_.documents().find(id);
      const bool is_expected = expected != model_.documents().end();
      present += found ? 1 : 0;
      news.lost += is_expected && !found ? 1 : 0;
      news.resurrected += !is_expected && found ? 1 : 0;
      news.wrong += is_expected && found && *found != expected->second ? 1 : 0;
    }
    news.wrong += present != set_->set().Stats().documents ? 1 : 0;
    for (uint64_t i = 0; i < 5; ++i) news.wrong += IsRight(i) ? 0 : 1;
    Tell(news);
  }

  // Whether a search finds what the model has, while nothing changes.
  bool IsRight(uint64_t n) {
    Random random(Mix64(n));
    test::Tokens query;
    for (Token token = 0; token < 240; token += 1 + static_cast<Token>(random.Below(30))) {
      query.push_back(token);
    }
    const SearchGoal goal{.metric = static_cast<SetMetric>(n % kSetMetrics), .k = 20};
    const auto answers =
        set_->set().Search(test::Lists(std::vector<test::Tokens>{query}).view(), goal, {});
    ++searches_;
    return answers.ok() && (*answers)[0] == model_.Search(query, goal, {});
  }

  void SearchOnce() {
    const std::vector<test::Tokens> query{{5, 10, 20, 30, 40, 41, 42, 60}};
    if (!set_->set().Search(test::Lists(query).view(), {.k = 20}, {}).ok()) Die("a search failed");
    ++searches_;
  }

  [[noreturn]] void Change() {
    while (true) {
      const Lsn next = set_->log().appended() + 1;
      const auto changes = changes_.Of(next);
      if (const auto lsn = set_->Apply(changes); !lsn.ok()) Die(lsn.status().ToString());
      test::ApplyTo(model_, changes);
      if (next % 3 != 0) continue;
      Check(set_->Write());
      if (next % 600 == 0) Check(set_->Sync());
      if (next % 4'500 == 0) Check(set_->Save());
      if (next % 900 == 0 && !IsRight(next)) Die(fmt::format("a search behind record {}", next));
      const ImageStats stats = set_->Stats();
      if (!stats.error.empty()) Die(stats.error);
      Tell({.kind = LifeNews::Kind::kWritten,
            .lsn = next,
            .saves = stats.saves,
            .searches = searches_.load()});
    }
  }

  void Check(const Status& status) {
    if (!status.ok()) Die(status.ToString());
  }
  void Tell(const LifeNews& news) {
    if (write(news_, &news, sizeof(news)) != sizeof(news)) _exit(kWrong);
  }
  [[noreturn]] void Die(const std::string& what) {
    PrintStderr("{}\n", what);
    Tell({.kind = LifeNews::Kind::kWrong});
    _exit(kWrong);
  }

  const std::string folder_;
  const uint64_t seed_;
  const test::LoggedChanges changes_;
  const int news_;
  std::unique_ptr<WorkPool> pool_;
  std::unique_ptr<LoggedItemSet> set_;
  ItemSetModel model_;
  std::atomic<uint64_t> searches_{0};
};

}  // namespace

void LiveUntilKilled(const std::string& folder, uint64_t seed, int news) {
  Life(folder, seed, news).Live();
  abort();  // it does not end by itself
}

}  // namespace strata::soak
