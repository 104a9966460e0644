// LocalStore: a TableStore over tables in this process. Every operation runs inside Submit, on the
// calling thread; its completion runs before Submit returns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "storage/memory/local_table.h"
#include "storage/table.h"

namespace strata {

// Thread-safe: one mutex a table; an operation over several tables holds all of theirs, so that it
// applies to all or to none.
//
// Synchronous training needs nothing more with one rank (its update closes the step at once); a
// larger world is refused: it needs a cluster, whose servers collect the ranks' updates.
class LocalStore : public TableStore {
 public:
  // Makes an empty table. Called under the store's lock.
  using TableFactory = std::function<std::unique_ptr<LocalTable>(const TableSpec&)>;

  // `name` is what errors call the store. `clock` outlives it.
  LocalStore(std::string name, TableFactory factory, const Clock& clock);

  Status CreateTable(const TableSpec& spec) override;
  Status DropTable(const std::string& name) override;
  Result<std::vector<TableSpec>> ListTables() override;
  void Submit(Operation operation, Completion done) override;

  // For checkpoints (storage/checkpoint/local_checkpointer.h). A table belongs to whoever holds its
  // mutex; an entry outlives a drop of its table for as long as somebody holds it.
  struct Entry {
    Mutex mutex;
    std::unique_ptr<LocalTable> table;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  // Holds the mutexes of different entries. It takes them in an order in which nobody waits for
  // another. clang cannot follow it: that tables are touched with their mutexes held is not
  // checked.
  class Locks {
   public:
    Locks() = default;  // of none
    explicit Locks(const Entries& entries);
    ~Locks();
    Locks& operator=(Locks&& other) noexcept;

   private:
    std::vector<Mutex*> mutexes_;
  };
  // For who works on tables themselves (storage/gpu/embedding_group.h): the entries of tables, all
  // different, in this order. kNotFound when the store has not one of them.
  Result<Entries> Find(std::span<const std::string> names) const;
  // Visits all tables at one moment, at which no operation runs on any, and lets them begin
  // `epoch`; tables made later begin in it. Their entries.
  Entries Cut(uint32_t epoch, const std::function<void(LocalTable&)>& visit);
  uint32_t epoch() const;
  // An empty table as CreateTable would make, which is not the store's.
  std::unique_ptr<LocalTable> MakeTable(const TableSpec& spec) const { return factory_(spec); }
  // The store's tables are these from now on, and `epoch` is in force.
  void ReplaceTables(std::vector<std::unique_ptr<LocalTable>> tables, uint32_t epoch);
  // This one takes the place of the store's of its name, or is added; `epoch` is in force.
  void ReplaceTable(std::unique_ptr<LocalTable> table, uint32_t epoch);

 private:
  Status Run(const Operation& operation, std::optional<uint64_t>* erased);
  Status CheckLevel(AckLevel level) const;
  Status CheckOffered(const Operation& operation) const;
  Result<Entries> FindTables(const Operation& operation) const;
  Status ApplyUpdate(const Operation& operation, const Entries& entries);
  Status ApplyAssign(const Operation& operation, const Entries& entries);

  const std::string name_;
  const TableFactory factory_;
  const Clock& clock_;
  mutable SharedMutex mutex_;
  uint32_t epoch_ STRATA_GUARDED_BY(mutex_) = 0;
  // The map, not the tables.
  std::map<TableId, std::shared_ptr<Entry>> tables_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
