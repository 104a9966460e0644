// What strata-bench reports: one Figure a case and peer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::bench {

// Better is more (rows a second) or less (microseconds); Ratio knows which from `more_is_better`.
struct Figure {
  std::string name;  // of the case: "pull batch=4096 dim=16 uniform clients=1"
  std::string unit;  // "M rows/s", "us", "ms", "x"
  bool more_is_better = true;
  double ours = 0;
  std::string peer = {};  // "redis 7.0.15 MGET"; empty: there is none to compare with
  std::optional<double> peer_value =
      {};                            // none: the peer is not installed, or has nothing of the kind
  bool recorded = false;             // peer_value is not of this run, but published or earlier
  std::optional<double> limit = {};  // what the machine allows, in the same unit
  std::optional<double> bytes = {};  // that one call or batch moves to and from memory
};

// How many times better ours is than the peer: above 1 is ahead, whatever the unit.
std::optional<double> Ratio(const Figure& figure);
// What share of the limit is reached: 1 is all of it.
std::optional<double> Share(const Figure& figure);

struct BenchOptions {
  bool all = false;                  // the whole grid instead of the short set
  std::string filter;                // only cases whose name contains it
  int rounds = 5;                    // of which the median is reported
  TimeNs round = kSecond * 3 / 10;   // about how long a contender runs in each
  std::string congestion = "cubic";  // TCP's congestion control of suite "collective"
};

// One measurement, which gives a figure for each peer.
struct Case {
  std::string name;
  std::function<Result<std::vector<Figure>>(const BenchOptions&)> run;
};

// What the suites are made of, cheap to ask for: nothing is measured or started yet.
struct Suite {
  std::string name;
  std::string about;  // one line for --help and --list
  std::function<std::vector<Case>(bool all)> cases;
  bool has_rounds = true;  // else each case has as many as it needs, and takes no other number
};
Suite TableSuite();
Suite GpuEmbeddingSuite();   // runs in a build with CUDA; the names are in each
Suite GpuCtrSuite();         // likewise
Suite GpuTreeBlocksSuite();  // likewise
Suite GpuTableSuite();       // likewise
Suite GpuServiceSuite(std::optional<int> ordinal);  // likewise
Suite GpuTieredSuite();                             // likewise
Suite GpuTreesSuite();                              // in a build with CUDA
Suite GpuSearchSuite();                             // likewise
Suite ServiceSuite();
Suite TieredSuite();
Suite CheckpointSuite();
Suite CollectiveSuite();
Suite TreesSuite();
Suite CtrSuite();
struct SearchData;
Suite SearchSuite(const SearchData& data);

}  // namespace strata::bench
