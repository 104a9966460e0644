// ParameterMember: the member of the parameters that a name stands for, whoever's name it is.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// Where a member is, in the parameters that it was asked for.
using ParameterPointer =
    std::variant<std::string*, std::vector<std::string>*, bool*, int64_t*, int32_t*, uint32_t*,
                 double*, std::vector<int64_t>*, std::vector<double>*>;
using ParameterMember = ParameterPointer (*)(TreeParameters&);

// The part of this type.
template <typename Part>
Part& PartOf(TreeParameters& all) {
  if constexpr (std::is_same_v<Part, TaskParameters>) return all.task;
  if constexpr (std::is_same_v<Part, DataParameters>) return all.data;
  if constexpr (std::is_same_v<Part, BinningRules>) return all.data.binning;
  if constexpr (std::is_same_v<Part, ObjectiveParameters>) return all.objective;
  if constexpr (std::is_same_v<Part, MetricParameters>) return all.metric;
  if constexpr (std::is_same_v<Part, BoostingParameters>) return all.boosting;
  if constexpr (std::is_same_v<Part, GrowthParameters>) return all.growth;
  if constexpr (std::is_same_v<Part, SplitRules>) return all.growth.rules;
  if constexpr (std::is_same_v<Part, MachineParameters>) return all.machine;
  if constexpr (std::is_same_v<Part, PredictParameters>) return all.predict;
  if constexpr (std::is_same_v<Part, TreeParameters>) return all;
}

template <typename Part, typename T>
ParameterPointer MemberOf(TreeParameters& all, T Part::*member) {
  return &(PartOf<Part>(all).*member);
}

// Member<&GrowthParameters::num_leaves>.
template <auto kMember>
ParameterPointer Member(TreeParameters& all) {
  return MemberOf(all, kMember);
}

}  // namespace strata
