#include "storage/memory/local_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
LocalStore::LocalStore(std::string name, TableFactory factory, const Clock& clock)
    : name_(std::move(name)), factory_(std::move(factory)), clock_(clock) {}

// In the order of addresses.
LocalStore::Locks::Locks(const Entries& entries) {
  mutexes_.reserve(entries.size());
  for (const auto& entry : entries) mutexes_.push_back(&entry->mutex);
  std::sort(mutexes_.begin(), mutexes_.end(), std::less<>());
  for (Mutex* const mutex : mutexes_) mutex->Lock();
}

LocalStore::Locks::~Locks() {
  for (Mutex* const mutex : mutexes_) mutex->Unlock();
}

LocalStore::Locks& LocalStore::Locks::operator=(Locks&& other) noexcept {
  std::swap(mutexes_, other.mutexes_);  // those it had are given back by the other
  return *this;
}

Result<LocalStore::Entries> LocalStore::Find(std::span<const std::string> names) const {
  Entries entries;
  const ReaderLock lock(mutex_);
  for (const std::string& name : names) {
    const auto found = tables_.find(TableIdOf(name));
    if (found == tables_.end() || found->second->table->spec().name != name) {
      return NotFound(fmt::format("table '{}' does not exist in {}", name, name_));
    }
    entries.push_back(found->second);
  }
  return entries;
}

Status LocalStore::CheckLevel(AckLevel level) const {
  if (level == AckLevel::kApplied || level == AckLevel::kDefault) return {};
  return Refused(fmt::format(
      "{} does not offer ack level {}; use applied, which lasts as long as the process lives",
      name_, AckLevelName(level)));
}

Status LocalStore::CreateTable(const TableSpec& spec) {
  STRATA_TRY(ValidateTableSpec(spec));
  STRATA_TRY(CheckLevel(spec.ack).Prefixed("table '" + spec.name + "'"));
  const WriterLock lock(mutex_);
  const auto found = tables_.find(spec.id());
  if (found == tables_.end()) {
    auto entry = std::make_shared<Entry>();
    entry->table = factory_(spec);
    entry->table->SetEpoch(epoch_);
    tables_.emplace(spec.id(), std::move(entry));
    return {};
  }
  const TableSpec& ours = found->second->table->spec();
  if (ours == spec) return {};
  if (ours.name != spec.name) {
    return AlreadyExists(
        fmt::format("table '{}' has the same id {:#x} as table '{}'; choose another name",
                    spec.name, static_cast<uint64_t>(spec.id()), ours.name));
  }
  return AlreadyExists(fmt::format("table '{}' exists with another definition: {}", spec.name,
                                   DifferenceOf(ours, spec)));
}

Status LocalStore::DropTable(const std::string& name) {
  const WriterLock lock(mutex_);
  const auto found = tables_.find(TableIdOf(name));
  if (found == tables_.end() || found->second->table->spec().name != name) {
    return NotFound(fmt::format("table '{}' does not exist in {}", name, name_));
  }
  tables_.erase(found);  // an operation under way keeps its entry until it ends
  return {};
}

Result<std::vector<TableSpec>> LocalStore::ListTables() {
  std::vector<TableSpec> specs;
  const ReaderLock lock(mutex_);
  for (const auto& [id, entry] : tables_) specs.push_back(entry->table->spec());
  std::sort(specs.begin(), specs.end(),
            [](const TableSpec& a, const TableSpec& b) { return a.name < b.name; });
  return specs;
}

LocalStore::Entries LocalStore::Cut(uint32_t epoch, const std::function<void(LocalTable&)>& visit) {
  const WriterLock lock(mutex_);
  Entries entries;
  for (const auto& [id, entry] : tables_) entries.push_back(entry);
  const Locks locks(entries);
  for (const auto& entry : entries) {
    visit(*entry->table);
    entry->table->SetEpoch(epoch);
  }
  epoch_ = epoch;
  return entries;
}

uint32_t LocalStore::epoch() const {
  const ReaderLock lock(mutex_);
  return epoch_;
}

void LocalStore::ReplaceTables(std::vector<std::unique_ptr<LocalTable>> tables, uint32_t epoch) {
  const WriterLock lock(mutex_);
  tables_.clear();  // an operation under way keeps its entry until it ends
  for (auto& table : tables) {
    auto entry = std::make_shared<Entry>();
    entry->table = std::move(table);
    const TableId id = entry->table->spec().id();
    tables_.emplace(id, std::move(entry));
  }
  epoch_ = epoch;
}

void LocalStore::ReplaceTable(std::unique_ptr<LocalTable> table, uint32_t epoch) {
  auto entry = std::make_shared<Entry>();
  const TableId id = table->spec().id();
  entry->table = std::move(table);
  const WriterLock lock(mutex_);
  tables_[id] = std::move(entry);
  epoch_ = epoch;
}

void LocalStore::Submit(Operation operation, Completion done) {
  Outcome outcome;
  outcome.status = Run(operation, &outcome.erased);
  outcome.lanes.push_back({0, outcome.status});
  done(std::move(outcome));
}

Status LocalStore::CheckOffered(const Operation& operation) const {
  STRATA_TRY(ValidateOperation(operation));
  STRATA_TRY(CheckLevel(operation.ack));
  if (operation.space != MemorySpace::kHost) {
    return Refused(
        fmt::format("{} takes host memory only; the operation's spans lie on a device", name_));
  }
  if (operation.sync && operation.sync->world != 1) {
    return Refused(fmt::format(
        "{} belongs to one process and cannot take synchronous steps of {} ranks; a cluster is "
        "needed (start strata-server and name the servers)",
        name_, operation.sync->world));
  }
  if (operation.deadline != kNever && operation.deadline <= clock_.Now()) {
    return DeadlineExceeded(fmt::format("{}: the deadline passed before {} began; nothing was done",
                                        OpKindName(operation.kind), name_));
  }
  return {};
}

Result<LocalStore::Entries> LocalStore::FindTables(const Operation& operation) const {
  Entries entries;
  entries.reserve(operation.parts.size());
  const ReaderLock lock(mutex_);
  for (const TablePart& part : operation.parts) {
    const auto found = tables_.find(part.table);
    if (found == tables_.end()) {
      return NotFound(fmt::format("{}: no table has the id {:#018x}; create it first",
                                  OpKindName(operation.kind), static_cast<uint64_t>(part.table)));
    }
    STRATA_TRY(ValidatePart(operation.kind, part, found->second->table->spec()));
    entries.push_back(found->second);
  }
  return entries;
}

Status LocalStore::Run(const Operation& operation, std::optional<uint64_t>* erased) {
  STRATA_TRY(CheckOffered(operation));
  STRATA_ASSIGN(const Entries entries, FindTables(operation));
  const Locks locks(entries);
  if (operation.kind == OpKind::kUpdate) return ApplyUpdate(operation, entries);
  if (operation.kind == OpKind::kUpdateLookup) {
    STRATA_TRY(ApplyUpdate(operation, entries));
    for (size_t i = 0; i < entries.size(); ++i) {
      STRATA_TRY(entries[i]
                     ->table->Lookup(operation.parts[i].then, operation.parts[i].out)
                     .Prefixed("the update was applied; its rows"));
    }
    return {};
  }
  if (operation.kind == OpKind::kAssign) return ApplyAssign(operation, entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    LocalTable& table = *entries[i]->table;
    const TablePart& part = operation.parts[i];
    switch (operation.kind) {
      case OpKind::kLookup:
        STRATA_TRY(table.Lookup(part.keys, part.out));
        break;
      case OpKind::kErase: {
        STRATA_ASSIGN(const uint64_t rows, table.Erase(part.keys));
        *erased = erased->value_or(0) + rows;
        break;
      }
      case OpKind::kScan:
        STRATA_TRY(table.Scan(*part.page));
        break;
      case OpKind::kStats:
        *part.stats = table.Stats();
        break;
      case OpKind::kPrefetch:
        table.Prefetch(part.keys);
        break;
      default:  // flush: whatever was submitted has taken effect
        break;
    }
  }
  return {};
}

Status LocalStore::ApplyUpdate(const Operation& operation, const Entries& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const GradientPart part{operation.parts[i].keys, operation.parts[i].in};
    STRATA_TRY(entries[i]->table->PrepareUpdate({&part, 1}));
  }
  for (const auto& entry : entries) entry->table->CommitUpdate(operation.step);
  return {};
}

Status LocalStore::ApplyAssign(const Operation& operation, const Entries& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    STRATA_TRY(entries[i]->table->PrepareAssign(operation.parts[i].keys, operation.parts[i].in));
  }
  for (const auto& entry : entries) entry->table->CommitAssign();
  return {};
}

}  // namespace strata
