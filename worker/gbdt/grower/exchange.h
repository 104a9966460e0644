// Exchange: what the ranks that grow one tree together tell each other. A grower knows nothing of
// ranks besides: it asks the exchange which features to search, and hands it sums to complete.
//
// Histograms are integers, so what comes out is the same to the bit however many ranks there are
// (voting excepted, which looks at fewer features).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cluster/collective/group.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/split/split_search.h"
#include "strata/status.h"

namespace strata {

// LightGBM's tree_learner.
enum class TreeLearner : uint8_t { kSerial, kData, kFeature, kVoting };

// A leaf's histogram about to be summed.
struct SummedLeaf {
  int64_t rows = 0;                   // over all ranks
  std::span<GradientSums> histogram;  // of all features
};

// A leaf about to be searched.
struct SearchedLeaf {
  const SplitLeaf* leaf = nullptr;    // over all ranks
  std::span<GradientSums> histogram;  // of all features; what is searched
  std::span<uint8_t> searched;        // of each feature: whether this rank does
};

// All ranks make the same calls in the same order; what they pass is the same but for rows,
// histograms and splits, which are of the rank's own rows and features. Calls do not fail: once a
// rank is lost, no split is found any more, and status() says so. One thread at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // A tree of these features (of each: whether it has it) begins.
  virtual void StartTree(std::span<const uint8_t> /*used*/, const GradientUnits& /*units*/) {}
  // Whether this rank needs a feature's histogram in this tree.
  virtual bool Needs(size_t /*feature*/) const { return true; }
  // Numbers of rows, or sums of gradients, of this rank's rows become those of all.
  virtual void Sum(std::span<int64_t> /*numbers*/) {}
  // How many leaves are worth splitting at a time, so that calls, which take all of them, are
  // fewer.
  virtual size_t leaves_at_a_time() const { return 1; }
  // Whether leaves' histograms are summed over ranks as soon as they are built, by SumHistograms.
  virtual bool sums_histograms() const { return false; }
  // The features that this rank needs become those of all ranks' rows; the others are used up.
  virtual void SumHistograms(std::span<const SummedLeaf> /*leaves*/) {}
  // Whether SelectFeatures is to be called before leaves are searched.
  virtual bool selects_features() const { return false; }
  // Replaces histograms, of this rank's rows, by those of all ranks', and clears `searched` of
  // features that are not worth it or another rank's.
  virtual void SelectFeatures(std::span<SearchedLeaf> /*leaves*/) {}
  // Each becomes the best of all ranks'.
  virtual void FindBest(std::span<Split* const> /*splits*/) {}

  virtual Status status() const { return {}; }
};

struct ExchangeOptions {
  TreeLearner learner = TreeLearner::kSerial;
  int64_t levels = 0;     // no gradient or hessian of a row is stored as a larger integer
  size_t top_k = 20;      // voting: features that each rank votes for
  SplitRules rules = {};  // voting: of its own search
};

// For one group and one data set, which both outlive it, as do the shapes; without a group, or
// alone in it, nothing is exchanged.
std::unique_ptr<Exchange> MakeExchange(Group* group, const BinMatrix& bins,
                                       std::span<const FeatureShape> shapes,
                                       const ExchangeOptions& options);

}  // namespace strata
