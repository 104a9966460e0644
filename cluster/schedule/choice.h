// Which algorithm a collective takes, by operation, number of ranks and bytes: as measured on the
// machine at hand (strata-bench collective --tune), or as somebody says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule/algorithms.h"
#include "strata/status.h"

namespace strata {

// One line of the table: for at most so many ranks and bytes.
struct ChoiceRule {
  Collective operation;
  int ranks_max;
  uint64_t bytes_max;
  Algorithm algorithm;
  bool operator==(const ChoiceRule&) const = default;
};

struct ChosenAlgorithm {
  Algorithm algorithm;
  std::string reason;  // "machine.tune:3: up to 8 ranks, up to 65536 bytes"
};

// The first rule that fits decides; where none does, the collective's last algorithm does
// (AlgorithmsOf). Immutable; all ranks of a group must have the same.
class ChoiceTable {
 public:
  // The built-in one: from measurements over sockets on one machine (docs/collectives.md).
  ChoiceTable();
  ChoiceTable(std::vector<ChoiceRule> rules, std::string source);

  // A text of lines `operation ranks bytes algorithm`, `*` for any number; # begins a comment.
  // Errors name file, line, what was expected and found; all of them together, at most ten.
  static Result<ChoiceTable> Parse(std::string_view text, const std::string& file);
  // As Parse reads it.
  std::string Text() const;

  // The same table behind these choices, "allreduce=ring,broadcast=binomial", which hold for any
  // number of ranks and bytes. kInvalid names what is wrong behind `origin` ("--algorithms").
  Result<ChoiceTable> Preferring(std::string_view choices, const std::string& origin) const;

  // `bytes`: of the whole vector, all blocks together; the same on all ranks.
  Algorithm Choose(Collective operation, int world, uint64_t bytes) const;
  // The same with its reason in words, for the log.
  ChosenAlgorithm Explain(Collective operation, int world, uint64_t bytes) const;

  const std::vector<ChoiceRule>& rules() const { return rules_; }

 private:
  const ChoiceRule* Find(Collective operation, int world, uint64_t bytes) const;

  std::vector<ChoiceRule> rules_;
  std::string source_;
  // The first of the rules come from here.
  size_t preferred_ = 0;
  std::string preferred_source_;
};

}  // namespace strata
