// Trainers of a simulation: the ranks of one synchronous group, and whether what they pull is bit
// for bit what one process computes that sums the gradients in rank order and runs the rule once a
// key. A step that is closed twice, without one of its pushes or with one twice has other bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/sim_cluster.h"

namespace strata::sim {

struct TrainersOptions {
  uint64_t seed = 1;
  size_t first_client = 0;  // ranks are the clients from here on
  uint16_t world = 4;
  uint64_t first_step = 3;
  uint64_t steps = 12;
  Key keys = 150;
  size_t keys_of_push = 40;           // at most
  AckLevel ack = AckLevel::kDefault;  // of the tables
  bool fused = false;                 // a push and the next pull are one operation
};

class Trainers {
 public:
  Trainers(Cluster& cluster, const TrainersOptions& options);
  ~Trainers();

  Status CreateTables();
  // Every rank pulls all rows, compares them, pushes its gradients and at once pulls for the next
  // step, until all steps are done.
  void Begin();
  bool done() const;
  // What went wrong first; "": nothing.
  std::string error() const;
  uint64_t operations() const { return operations_; }  // ended

  // ---- checkpoints
  // Of steps, counted from the first: how many must be in a cut that is begun now, and how many may
  // be in one that has just been made.
  uint64_t Acked() const { return acked_; }
  uint64_t Begun() const { return begun_; }
  const std::vector<TableSpec>& specs() const { return specs_; }
  std::vector<Key> AllKeys() const;
  // `rows` are all rows of a table in a restored checkpoint: every one is as it was after one of
  // the steps from `least` to `most`. What is wrong with them; "": nothing.
  std::string CheckCut(size_t table, const std::vector<float>& rows, uint64_t least,
                       uint64_t most) const;

 private:
  class Rank;
  struct Batch {
    std::vector<Key> keys;
    std::vector<float> rows;
  };

  Batch Gradients(uint16_t rank, uint64_t step, const TableSpec& spec) const;
  std::vector<std::vector<float>> Reference(const TableSpec& spec) const;

  Cluster& cluster_;
  const TrainersOptions options_;
  const std::vector<TableSpec> specs_;
  // By table: the rows of every key before each step, and behind the last.
  std::vector<std::vector<std::vector<float>>> expected_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  uint64_t operations_ = 0;
  uint64_t acked_ = 0;
  uint64_t begun_ = 0;
};

}  // namespace strata::sim
