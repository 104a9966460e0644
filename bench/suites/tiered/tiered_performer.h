// Carries out the suite "tiered"'s orders on one contender.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/suites/tiered/tiered_load.h"
#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata::bench {

// A contender: a table and what it stands on.
class TieredHolder {
 public:
  virtual ~TieredHolder() = default;
  virtual LocalTable& table() = 0;
  virtual std::string Describe() { return {}; }  // one line
};

struct TieredOrder {
  enum Kind : uint32_t { kFill, kWarmUp, kRun, kCheck } kind;
  bool hints = false;
  uint64_t first = 0;  // batch, behind those of the warm-up
};

struct TieredAnswer {
  bool ok = false;
  double seconds = 0;
  double pull_seconds = 0;  // of the batches of each kind
  double push_seconds = 0;
  uint64_t resident = 0;      // bytes of the whole process: now,
  uint64_t resident_max = 0;  // and at most, without the check's own
  uint64_t rows_lost = 0;     // check: rows that no page of a scan brought
  uint64_t rows_wrong = 0;  // ... that came twice, unasked for, or with other bytes than the model
  char text[480] = {};      // an error, or what Describe says
};

class TieredPerformer {
 public:
  TieredPerformer(const TieredShape& shape, const TieredFiles& files, TieredHolder& holder);
  Status Do(const TieredOrder& order, TieredAnswer& answer);

 private:
  Status Fill();
  Status WarmUp();
  Status Run(const TieredOrder& order, TieredAnswer& answer);
  Status Check(TieredAnswer& answer) const;
  Status Push(std::span<const Key> keys);

  const TieredShape shape_;
  const TieredFiles files_;
  TieredHolder& holder_;
  std::vector<float> out_;
  std::vector<float> gradients_;
  uint64_t step_ = 0;
};

// The most that the whole process had in memory so far, in bytes.
uint64_t ResidentMax();

}  // namespace strata::bench
