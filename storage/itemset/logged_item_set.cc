#include "storage/itemset/logged_item_set.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace strata {
namespace {

Document DocumentOf(const format::ItemChange& change) {
  return {.id = change.id, .tokens = change.tokens, .attributes = change.attributes};
}

}  // namespace

Status LoggedItemSet::Make(ItemSet& set, const format::ItemChange& change) {
  if (change.is_upsert) return set.Upsert(DocumentOf(change));
  set.Delete(change.id);
  return {};
}

Result<std::unique_ptr<LoggedItemSet>> LoggedItemSet::Open(const LogOptions& log,
                                                           const ItemSetOptions& options) {
  auto made = std::make_unique<LoggedItemSet>();
  STRATA_ASSIGN(made->set_, ItemSet::Make(options));
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
      STRATA_TRY(Make(*made->set_, change).Prefixed(where));
    }
    return {};
  };
  STRATA_ASSIGN(made->replayed_, ReplayLog(log, 1, visit));
  STRATA_ASSIGN(made->log_, OpenLog(log, made->replayed_.last));
  return made;
}

Result<Lsn> LoggedItemSet::Apply(std::span<const format::ItemChange> changes) {
  if (changes.empty()) return Invalid("there is no change to make");
  std::vector<std::byte> body;
  for (const format::ItemChange& change : changes) {
    if (change.is_upsert) STRATA_TRY(set_->Check(DocumentOf(change)));
    format::AppendItemChange(change, &body);
  }
  const std::span<const std::byte> pieces[] = {body};
  STRATA_ASSIGN(const Lsn lsn, log_->Append(RecordKind::kItems, pieces));
  for (const format::ItemChange& change : changes) STRATA_TRY(Make(*set_, change));
  return lsn;
}

}  // namespace strata
