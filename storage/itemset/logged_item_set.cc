#include "storage/itemset/logged_item_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace strata {
namespace {

Document DocumentOf(const format::ItemChange& change) {
  return {.id = change.id, .tokens = change.tokens, .attributes = change.attributes};
}

}  // namespace

LoggedItemSet::~LoggedItemSet() { WaitForSave(); }

Status LoggedItemSet::Make(ItemSet& set, const format::ItemChange& change, Lsn lsn) {
  if (change.is_upsert) return set.Upsert(DocumentOf(change), lsn);
  set.Delete(change.id);
  return {};
}

Result<std::unique_ptr<LoggedItemSet>> LoggedItemSet::Open(const LogOptions& log,
                                                           const ItemSetOptions& options,
                                                           const ItemImages& images) {
  auto made = std::make_unique<LoggedItemSet>();
  STRATA_ASSIGN(made->set_, ItemSet::Make(options));
  STRATA_TRY(made->Restore(log, options, images));
  STRATA_ASSIGN(made->log_, OpenLog(log, made->replayed_.last));
  return made;
}

// Records from the manifest's on are made again, all of them in order. What images and live bits
// have of them already does no harm: where a document stands in the end is for its last change to
// say, and that is either made again or in effect in the images.
Status LoggedItemSet::Restore(const LogOptions& log, const ItemSetOptions& options,
                              const ItemImages& images) {
  Lsn covered = 0;
  if (images.open != nullptr) {
    log_bytes_max_ = images.log_bytes_max;
    STRATA_ASSIGN(saver_, SideThread::Start("item-saver"));
    images_ = std::make_unique<ImageStore>(images.open, log.lineage, log.lane);
    STRATA_ASSIGN(ImageStore::Loaded loaded, images_->Load(*options.means.pool));
    STRATA_TRY(set_->RestoreState(std::move(loaded.segments)).Prefixed(log.folder));
    {
      const MutexLock lock(mutex_);
      stats_.from = loaded.manifest.from;
    }
    covered = loaded.manifest.covered;
  }
  const auto visit = [&](const LogRecord& record) -> Status {
    const std::string where = fmt::format("{}: record {}", log.folder, record.lsn);
    if (record.kind != RecordKind::kItems) {
      return Corrupt(fmt::format("{}: expected changes of a collection (kind {}), found kind {}",
                                 where, static_cast<int>(RecordKind::kItems),
                                 static_cast<int>(record.kind)));
    }
    auto changes = format::DecodeItemChanges(record.body);
    if (!changes.ok()) return changes.status().Prefixed(where);
    for (const format::ItemChange& change : *changes) {
      STRATA_TRY(Make(*set_, change, record.lsn).Prefixed(where));
    }
    return {};
  };
  STRATA_ASSIGN(replayed_, ReplayLog(log, saved_from(), visit));
  if (replayed_.last >= covered) return {};
  return Corrupt(fmt::format(
      "{}: expected all records up to LSN {}, which the images have something of, found the end "
      "of the log behind LSN {}: it was shortened; bring it back from a copy, or start the "
      "collection anew",
      log.folder, covered, replayed_.last));
}

Result<Lsn> LoggedItemSet::Apply(std::span<const format::ItemChange> changes) {
  if (changes.empty()) return Invalid("there is no change to make");
  std::vector<std::byte> body;
  for (const format::ItemChange& change : changes) {
    if (change.is_upsert) STRATA_TRY(set_->Check(DocumentOf(change)));
    format::AppendItemChange(change, &body);
  }
  const std::span<const std::byte> pieces[] = {body};
  const Result<Lsn> lsn = log_->Append(RecordKind::kItems, pieces);
  if (lsn.status().code() == StatusCode::kDiskFull) {
    is_full_ = true;
    STRATA_TRY(Write());
  }
  if (!lsn.ok()) return lsn;
  appended_bytes_ += body.size();
  for (const format::ItemChange& change : changes) STRATA_TRY(Make(*set_, change, *lsn));
  return lsn;
}

Status LoggedItemSet::Write() {
  STRATA_TRY(log_->Write());
  if (images_ == nullptr || is_saving_) return {};
  if (!IsDue()) {
    TrimSaved();
    return {};
  }
  const Lsn floor = is_full_ || IsLogLarge() ? kEverything : saved_from();
  if (const Status begun = BeginSave(floor); !begun.ok()) Note(begun);
  return {};
}

bool LoggedItemSet::IsLogLarge() const {
  return log_->bytes_on_disk() > log_bytes_max_ &&
         appended_bytes_ - emptied_at_bytes_ >= log_bytes_max_ / 4;
}

bool LoggedItemSet::IsDue() const {
  if (is_full_ || IsLogLarge()) return true;
  if (failed_to_save()) return appended_bytes_ - begun_at_bytes_ >= log_bytes_max_ / 64;
  return set_->large_made() != large_begun_;
}

// Between two records, all of which are written: what the images will have of changes is then in
// the log, and whole records.
Status LoggedItemSet::BeginSave(Lsn floor) {
  is_full_ = false;
  begun_at_bytes_ = appended_bytes_;
  if (floor == kEverything) emptied_at_bytes_ = appended_bytes_;
  const uint64_t large = set_->large_made();
  STRATA_ASSIGN(ItemSetState state, set_->CaptureState(floor));
  const Lsn covered = log_->written();
  const Lsn from = std::min(state.first_change, covered + 1);
  large_begun_ = large;
  Begin([this, remove = TakeSaved(), state = std::move(state), from, covered] {
    Remove(remove);
    SaveState(state, from, covered);
  });
  return {};
}

void LoggedItemSet::Begin(std::function<void()> task) {
  is_saving_ = true;
  saver_->Wait();
  saver_->Begin([this, task = std::move(task)] {
    task();
    is_saving_ = false;
  });
}

// The manifest must not know of records that a loss of power can still take.
void LoggedItemSet::SaveState(const ItemSetState& state, Lsn from, Lsn covered) {
  Status saved = log_->Sync();
  if (saved.ok()) saved = images_->Save(state, from, covered);
  Note(saved);
  const MutexLock lock(mutex_);
  stats_.images = images_->images_written();
  stats_.image_bytes = images_->bytes_written();
  if (!saved.ok()) return;
  ++stats_.saves;
  stats_.from = from;
}

void LoggedItemSet::Note(const Status& saved) {
  const MutexLock lock(mutex_);
  saved_ = saved;
  if (!saved.ok()) ++stats_.failures;
}

Lsn LoggedItemSet::saved_from() const {
  const MutexLock lock(mutex_);
  return stats_.from;
}

bool LoggedItemSet::failed_to_save() const {
  const MutexLock lock(mutex_);
  return !saved_.ok();
}

// What removes the files of the log that are not needed any more; null: there are none.
std::function<Status()> LoggedItemSet::TakeSaved() {
  const Lsn from = saved_from();
  if (from <= trimmed_) return nullptr;
  trimmed_ = from;
  return log_->TakeBelow(trimmed_);
}

// Not on the thread that makes changes.
void LoggedItemSet::Remove(const std::function<Status()>& remove) {
  if (remove == nullptr) return;
  if (const Status removed = remove(); !removed.ok()) Note(removed);
}

void LoggedItemSet::TrimSaved() {
  if (const auto remove = TakeSaved()) {
    Begin([this, remove] { Remove(remove); });
  }
}

Status LoggedItemSet::Save() {
  if (images_ == nullptr) return Invalid("the collection keeps no images; open it with a store");
  STRATA_TRY(log_->Write());
  WaitForSave();
  STRATA_TRY(BeginSave(kEverything));
  WaitForSave();
  {
    const MutexLock lock(mutex_);
    STRATA_TRY(saved_);
  }
  TrimSaved();
  WaitForSave();
  return {};
}

void LoggedItemSet::WaitForSave() {
  if (saver_ != nullptr) saver_->Wait();
}

ImageStats LoggedItemSet::Stats() const {
  const MutexLock lock(mutex_);
  ImageStats stats = stats_;
  if (!saved_.ok()) stats.error = saved_.ToString();
  return stats;
}

}  // namespace strata
