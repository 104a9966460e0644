// LocalTable: one table in this process, as plain single-threaded code. LocalStore makes a
// TableStore of several; a server's lane uses tables directly.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "storage/table.h"

namespace strata {

// The gradients of one sender: gradients.size() == keys.size() x dim.
struct GradientPart {
  std::span<const Key> keys;
  std::span<const float> gradients;
};

// Not thread-safe. Callers check shapes (ValidateOperation, ValidatePart) and the step first.
//
// Updates and assigns come in two halves, so that an operation over several tables is applied to
// all of them or to none: Prepare does all that can be refused and changes no row, Commit cannot
// fail. Between the halves nothing else is called on the table; the spans stay valid until Commit
// returns. A Prepare without Commit is fine: the next Prepare starts anew.
class LocalTable {
 public:
  virtual ~LocalTable() = default;
  virtual const TableSpec& spec() const = 0;

  // Rows out, out.size() == keys.size() x dim. Changes nothing but the counts of Stats.
  virtual void Lookup(std::span<const Key> keys, std::span<float> out) = 0;

  // Gradients of equal keys are summed in the order of (part, position), then the rule runs once a
  // key at time `step`. kRefused when the rows to make do not fit the byte budget.
  virtual Status PrepareUpdate(std::span<const GradientPart> parts) = 0;
  virtual void CommitUpdate(uint64_t step) = 0;

  // Values in; of equal keys the last holds. Refused as above.
  virtual Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) = 0;
  virtual void CommitAssign() = 0;

  virtual void Erase(std::span<const Key> keys) = 0;
  virtual void Scan(ScanPage& page) const = 0;
  virtual TableStats Stats() const = 0;

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
};

}  // namespace strata
