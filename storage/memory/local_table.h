// LocalTable: one table in this process, as plain single-threaded code. LocalStore makes a
// TableStore of several; a server's lane uses tables directly.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/memory/checkpointed_table.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// The gradients of one sender: gradients.size() == keys.size() x dim.
struct GradientPart {
  std::span<const Key> keys;
  std::span<const float> gradients;
};

// A place that a table keeps rows in, the fastest first.
enum class Tier : uint8_t { kHot, kWarm, kCold };
constexpr size_t kTiers = 3;
std::string_view TierName(Tier tier);  // "hot", "warm", "cold"

// What it holds now, and what has happened there since the table was made.
struct TierUse {
  bool exists = false;    // the table has that tier
  uint64_t rows = 0;      // a row may be in several
  uint64_t bytes = 0;     // of memory; 0 for the cold tier, whose server counts the disk's
  uint64_t hits = 0;      // keys found there; which ones count: docs/gpu.md, "Watching the tiers"
  uint64_t rows_in = 0;   // that came from another tier
  uint64_t bytes_in = 0;  // likewise

  TierUse& operator+=(const TierUse& other) {
    exists = exists || other.exists;
    rows += other.rows;
    bytes += other.bytes;
    hits += other.hits;
    rows_in += other.rows_in;
    bytes_in += other.bytes_in;
    return *this;
  }
};

// Not thread-safe. Callers check shapes (ValidateOperation, ValidatePart) and the step first.
//
// Updates, assigns and erases come in two halves, so that an operation over several tables is
// applied to all of them or to none, and one that is logged is applied: Prepare does all that can
// be refused and changes no row, Commit cannot fail. Between the halves nothing else is called on
// the table; the spans stay valid until Commit returns. A Prepare without Commit is fine: the next
// Prepare starts anew.
//
// A row that a slower tier has and cannot read back is kCorrupt (kFailed for I/O), naming key or
// file, in whatever asks for it, and for that call alone: the table goes on.
class LocalTable : public CheckpointedTable {
 public:
  // Rows out, out.size() == keys.size() x dim; after an error what `out` holds means nothing.
  // Changes nothing but the counts of Stats.
  virtual Status Lookup(std::span<const Key> keys, std::span<float> out) = 0;

  // A lookup or an update has a cost of its own, whatever it brings: one large lookup is faster
  // than many small ones, and so are updates that are prepared together.
  virtual bool PrefersLargeBatches() const { return false; }

  // Memory for rows that a Lookup is to fill, or that an update or assign brings, where that is
  // fastest: it holds anything at first, and may outlive the table.
  virtual std::shared_ptr<float[]> RoomForRows(size_t elements) const {
    return std::make_shared_for_overwrite<float[]>(elements);
  }

  // Whether an update or assign reads these rows where they lie as fast as from RoomForRows.
  virtual bool ReadsInPlace(std::span<const float> /*rows*/) const { return true; }

  // Gradients of equal keys are summed in the order of (part, position), then the rule runs once a
  // key at time `step`. kRefused when the rows to make do not fit the byte budget.
  virtual Status PrepareUpdate(std::span<const GradientPart> parts) = 0;
  virtual void CommitUpdate(uint64_t step) = 0;
  // Whether an update at this step makes sense. kInvalid, which names table and step: rows expire
  // (TierPolicy::ttl_steps), and those of the update, or all others, would have at once. `skipped`:
  // steps that may have passed without an update of this table.
  virtual Status CheckStep(uint64_t /*step*/, uint64_t /*skipped*/) const { return {}; }

  // At most kUpdatesMax updates together: what comes out is to the bit what it would be of one
  // after the other, updates[i] at time steps[i], and those behind the last step are left out.
  // kRefused also where this table, or these updates, are not for that: one by one they may come
  // all the same.
  static constexpr size_t kUpdatesMax = 64;
  virtual Status PrepareUpdates(std::span<const GradientPart> /*updates*/) {
    return Refused("updates of this table come one by one");
  }
  virtual void CommitUpdates(std::span<const uint64_t> /*steps*/) {}

  // Values in; of equal keys the last holds. Refused as above.
  virtual Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) = 0;
  virtual void CommitAssign() = 0;

  virtual Status PrepareErase(std::span<const Key> keys) = 0;
  // How many rows went: keys that had one, each once.
  virtual uint64_t CommitErase() = 0;

  // After an error the page means nothing, and its cursor is what it was.
  virtual Status Scan(ScanPage& page) const = 0;
  virtual TableStats Stats() const = 0;
  // By Tier; those that the table does not have hold zeros.
  virtual std::array<TierUse, kTiers> Tiers() const { return {}; }
  // A hint: these keys are looked up or updated soon. A table with slower tiers brings their rows
  // up, beside what it is asked for. False: it has none, and hints are of no use.
  virtual bool Prefetch(std::span<const Key> /*keys*/) { return false; }

  // kDiskFull, and why, while writes that make rows are refused for want of room on disk.
  virtual Status LookForRoom() { return {}; }
  // Gives back memory beyond the table's share of it, which gets smaller when tables are made: to
  // be called then, and now and then, for a table that nobody uses.
  virtual void KeepToShare() {}

  // One synchronous step: the parts in rank order. Nothing is applied unless OK.
  Status ApplyGradients(std::span<const GradientPart> parts, uint64_t step) {
    STRATA_TRY(PrepareUpdate(parts));
    CommitUpdate(step);
    return {};
  }
  Status Assign(std::span<const Key> keys, std::span<const float> values) {
    STRATA_TRY(PrepareAssign(keys, values));
    CommitAssign();
    return {};
  }
  Result<uint64_t> Erase(std::span<const Key> keys) {
    STRATA_TRY(PrepareErase(keys));
    return CommitErase();
  }
};

}  // namespace strata
