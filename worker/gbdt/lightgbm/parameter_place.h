// Where a job file says what a parameter says in a train.conf.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// Of a job file's keys, those that have LightGBM's names.
inline constexpr std::string_view kParameterSection = "gbdt.";

// Where a parameter of a train.conf stands that is none of [gbdt]; "": nowhere in a job. Nothing:
// it is one of [gbdt].
std::optional<std::string_view> PlaceElsewhere(std::string_view parameter);

// A parameter's key as whoever gave these parameters writes it: "output_model" in a train.conf,
// "output.model" in a job file.
std::string KeyOf(const TreeParameters& given, std::string_view parameter);

}  // namespace strata
