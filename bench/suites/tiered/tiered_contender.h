// A contender of the suite "tiered": a table in a process of its own, so that its resident memory
// is its own. The process is stopped while others have their turn, so that each pays for its own
// compactions.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "bench/suites/tiered/tiered_performer.h"

namespace strata::bench {

using MakeTieredHolder =
    std::function<Result<std::unique_ptr<TieredHolder>>(const std::string& folder)>;

// Rows in memory and in RocksDB; in RocksDB alone, with the same budget; all in memory.
MakeTieredHolder MakeTiered(uint64_t budget);
MakeTieredHolder MakeRocksAlone(uint64_t budget);
MakeTieredHolder MakeInMemory();

class TieredContender {
 public:
  explicit TieredContender(std::string name) : name_(std::move(name)) {}
  ~TieredContender();
  TieredContender(const TieredContender&) = delete;
  TieredContender& operator=(const TieredContender&) = delete;

  // `folder`: where its rows may lie. Call it before the process has anything of size in memory.
  Status Start(const TieredShape& shape, const TieredFiles& files, const std::string& folder,
               const MakeTieredHolder& make);
  Result<TieredAnswer> Do(const TieredOrder& order);

  const std::string& name() const { return name_; }

 private:
  static void Serve(const TieredShape& shape, const TieredFiles& files, const std::string& folder,
                    const MakeTieredHolder& make, int orders, int answers);

  const std::string name_;
  pid_t pid_ = -1;
  int orders_ = -1;
  int answers_ = -1;
};

}  // namespace strata::bench
