#include "tests/soak/items/item_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/file/disk.h"
#include "base/hash.h"
#include "base/print.h"
#include "base/random.h"
#include "base/resident_memory.h"
#include "storage/itemset/logged_item_set.h"
#include "tests/soak/items/watched_queries.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {
namespace {

constexpr size_t kRecord = 64;               // changes
constexpr uint64_t kReplaceEach = 50;        // upserts
constexpr uint64_t kLikeEach = 2'000;        // upserts: one is like a watched query
constexpr size_t kLookedAtFrom = 1'000'000;  // documents: from there on bytes of each are
constexpr size_t kLongest = 129;             // 65 tokens on the average

double Seconds(TimeNs since) { return static_cast<double>(RealClock().Now() - since) / kSecond; }

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code none;  // nothing was saved
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

class Scale {
 public:
  explicit Scale(const ItemScaleOptions& options)
      : options_(options),
        random_(options.seed),
        watched_(options.seed, options.vocabulary),
        changed_(options.documents) {
    report_.soak = "item-scale";
    report_.cycles = 1;
    report_.seeds = 1;
  }

  Result<SoakReport> Run() {
    const TimeNs began = RealClock().Now();
    STRATA_ASSIGN(pool_, WorkPool::Start("search", 1));
    STRATA_TRY(Open());
    STRATA_TRY(ChangeAndSearch());
    const double changing = Seconds(began);
    const ItemSetStats grown = set_->set().Stats();
    set_.reset();
    const uint64_t image_bytes = BytesIn(folder_.File("images"));
    const TimeNs closed = RealClock().Now();
    STRATA_TRY(Open());
    const double opening = Seconds(closed);
    const uint64_t resident = ResidentBytes();
    Compare();
    const auto documents = static_cast<double>(grown.documents);
    std::ranges::sort(took_);
    const auto search_ms = [&](double share) {
      const auto at = static_cast<size_t>(share * static_cast<double>(took_.size() - 1));
      return static_cast<double>(took_[at]) / kMillisecond;
    };
    report_.elapsed = RealClock().Now() - began;
    report_.more =
        fmt::format(R"(, "documents": {}, "dead": {}, "segments": {}, "bytes_a_document": {:.1f}, )"
                    R"("most_bytes_a_document": {}, "resident_a_document": {:.1f}, )"
                    R"("changes_a_second": {:.0f}, )"
                    R"("searches": {}, "search_ms_median": {:.1f}, "search_ms_p99": {:.1f}, )"
                    R"("log_bytes_most": {}, "image_bytes": {}, "saves": {}, )"
                    R"("opening_seconds": {:.2f}, "replayed": {}, "compared": {})",
                    grown.documents, grown.dead, grown.segments, BytesEach(grown), MostBytes(),
                    static_cast<double>(resident) / documents,
                    static_cast<double>(options_.documents + options_.deletes) / changing,
                    took_.size(), search_ms(0.5), search_ms(0.99), log_bytes_most_, image_bytes,
                    saves_, opening, set_->replayed().records, compared_);
    return report_;
  }

 private:
  Status Open() {
    ItemSetOptions options;
    options.means = {SearchRates(), pool_.get(), 2, &RealClock(), nullptr};
    options.tail = options_.tail;
    const LogOptions log{.disk = &RealDisk(), .folder = folder_.File("log"), .boot_id = "boot"};
    STRATA_ASSIGN(
        set_, LoggedItemSet::Open(log, options, {.open = RocksRecords(folder_.File("images"))}));
    return {};
  }

  DocumentId IdOf(uint64_t index) const { return Mix64(options_.seed + index); }

  // What change n puts in.
  Document Draw(uint64_t index, uint64_t n) const {
    Random random(Mix64(options_.seed) ^ n);
    Document document{.id = IdOf(index), .tokens = {}, .attributes = {}};
    if (n % kLikeEach == 7) {
      const size_t goal = random.Below(WatchedQueries::kGoals);
      for (const Token token :
           watched_.QueriesOf(goal)[random.Below(WatchedQueries::kQueriesEach)]) {
        if (random.Below(2) == 0) document.tokens.push_back(token);
      }
      return document;
    }
    const size_t length = 1 + random.Below(kLongest);
    const auto step = static_cast<Token>(options_.vocabulary / length);
    for (size_t i = 0; i < length; ++i) {
      document.tokens.push_back(static_cast<Token>(i) * step +
                                static_cast<Token>(random.Below(step)));
    }
    return document;
  }

  uint64_t DrawLive() {
    while (true) {
      const uint64_t index = random_.Below(made_);
      if (changed_[index] != 0) return index;
    }
  }

  format::ItemChange NextChange(uint64_t n) {
    const uint64_t all = options_.documents + options_.deletes;
    const bool is_delete = n * options_.deletes / all > (n - 1) * options_.deletes / all;
    if (is_delete && made_ > 0) {
      const uint64_t index = DrawLive();
      changed_[index] = 0;
      watched_.Delete(n, IdOf(index));
      return {.is_upsert = false, .id = IdOf(index), .tokens = {}, .attributes = {}};
    }
    const bool is_new = made_ == 0 || n % kReplaceEach != 0;
    const uint64_t index = is_new ? made_++ : DrawLive();
    changed_[index] = static_cast<uint32_t>(n);
    Document document = Draw(index, n);
    watched_.Upsert(n, document);
    return {.is_upsert = true,
            .id = document.id,
            .tokens = std::move(document.tokens),
            .attributes = {}};
  }

  Status ChangeAndSearch() {
    std::jthread searcher([this](const std::stop_token& stop) {
      for (size_t goal = 0; !stop.stop_requested(); goal = (goal + 1) % WatchedQueries::kGoals) {
        const TimeNs began = RealClock().Now();
        Search(goal);
        took_.push_back(RealClock().Now() - began);
      }
    });
    const uint64_t all = options_.documents + options_.deletes;
    const uint64_t tell_each = std::max<uint64_t>(all / 20 / kRecord * kRecord, kRecord);
    const TimeNs began = RealClock().Now();
    for (uint64_t n = 0; n < all;) {
      const uint64_t end = std::min(all, n + kRecord);
      begun_ = end;
      std::vector<format::ItemChange> changes;
      while (n < end) changes.push_back(NextChange(++n));
      STRATA_TRY(set_->Apply(changes).status());
      STRATA_TRY(set_->Write());
      done_ = end;
      report_.acked = end;
      log_bytes_most_ = std::max(log_bytes_most_, set_->log().bytes_on_disk());
      if (n % (64 * kRecord) == 0) LookAtBytes();
      if (n % tell_each == 0) Tell(n, began);
    }
    set_->WaitForSave();
    const ImageStats stats = set_->Stats();
    saves_ = stats.saves;
    return stats.error.empty() ? Status() : Failed(stats.error);
  }

  void Search(size_t goal) {
    const uint64_t first = done_;
    const auto answers =
        set_->set().Search(watched_.QueriesOf(goal), watched_.GoalOf(goal), ItemFilter());
    const uint64_t last = begun_;
    for (size_t i = 0; i < WatchedQueries::kQueriesEach; ++i) {
      ++report_.operations;
      if (answers.ok() && watched_.WasRight(goal, i, (*answers)[i], first, last)) continue;
      ++report_.findings.wrong;
      PrintStderr("query {} of goal {}, changes {} to {}: wrong\n", i, goal, first, last);
    }
  }

  void LookAtBytes() {
    const ItemSetStats stats = set_->set().Stats();
    if (stats.documents < kLookedAtFrom) return;
    most_bytes_ = std::max(most_bytes_, BytesEach(stats));
  }

  // Nobody has looked while there were fewer.
  std::string MostBytes() const {
    return most_bytes_ > 0 ? fmt::format("{:.1f}", most_bytes_) : "null";
  }

  static double BytesEach(const ItemSetStats& stats) {
    return static_cast<double>(stats.bytes) /
           static_cast<double>(std::max<size_t>(stats.documents, 1));
  }

  void Tell(uint64_t n, TimeNs began) {
    const ItemSetStats stats = set_->set().Stats();
    PrintStderr(
        "{} changes in {:.1f} s: {} documents, {} dead, {} segments, {:.1f} bytes a "
        "document, {} MB resident, log {} MB, {} saves\n",
        n, Seconds(began), stats.documents, stats.dead, stats.segments, BytesEach(stats),
        ResidentBytes() >> 20, set_->log().bytes_on_disk() >> 20, set_->Stats().saves);
  }

  // The collection that was opened again.
  void Compare() {
    const uint64_t live = static_cast<uint64_t>(
        std::ranges::count_if(changed_, [](uint32_t change) { return change != 0; }));
    if (set_->set().Stats().documents != live) {
      PrintStderr("{} documents came back of {}\n", set_->set().Stats().documents, live);
      ++report_.findings.wrong;
    }
    constexpr uint64_t kStep = 7;
    for (uint64_t index = 0; index < made_; index += kStep, ++compared_) {
      const auto found = set_->set().Get(IdOf(index));
      const bool is_live = changed_[index] != 0;
      report_.findings.lost += is_live && !found ? 1 : 0;
      report_.findings.wrong += !is_live && found ? 1 : 0;
      if (is_live && found && *found != Draw(index, changed_[index])) ++report_.findings.wrong;
    }
    for (size_t goal = 0; goal < WatchedQueries::kGoals; ++goal) Search(goal);
  }

  const ItemScaleOptions options_;
  Random random_;
  WatchedQueries watched_;
  std::vector<uint32_t> changed_;  // by index: the change that put it in; 0: not there
  uint64_t made_ = 0;              // indices
  TempFolder folder_;
  std::unique_ptr<WorkPool> pool_;
  std::unique_ptr<LoggedItemSet> set_;
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> done_{0};
  std::vector<TimeNs> took_;  // by search of one goal's queries
  uint64_t log_bytes_most_ = 0;
  uint64_t saves_ = 0;
  uint64_t compared_ = 0;
  double most_bytes_ = 0;
  SoakReport report_;
};

}  // namespace

Result<SoakReport> RunItemScale(const ItemScaleOptions& options) { return Scale(options).Run(); }

}  // namespace strata::soak
