#include "worker/gbdt/lightgbm/parameter_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

// In a job file, or what stands beside it.
struct ParameterPlace {
  std::string_view name;
  std::string_view place;
};
constexpr ParameterPlace kPlaces[] = {{"task", "--task"},
                                      {"data", "data.train (data.test to predict)"},
                                      {"valid", "data.test"},
                                      {"output_model", "output.model"},
                                      {"output_result", "output.predictions"},
                                      {"header", "data.header"},
                                      {"label_column", "data.label"},
                                      {"weight_column", "data.weight"},
                                      {"group_column", "data.query"},
                                      {"ignore_column", "data.ignore"},
                                      {"categorical_feature", "[[feature]] of kind categorical"},
                                      {"seed", "job.seed"},
                                      {"num_machines", "cluster.toml"},
                                      {"machines", "cluster.toml"},
                                      {"machine_list_filename", "cluster.toml"},
                                      {"local_listen_port", "cluster.toml"},
                                      {"time_out", "cluster.toml"},
                                      {"pre_partition", ""},
                                      {"save_binary", ""}};

}  // namespace

std::optional<std::string_view> PlaceElsewhere(std::string_view parameter) {
  const auto* const found = std::ranges::find(kPlaces, parameter, &ParameterPlace::name);
  if (found == std::end(kPlaces)) return std::nullopt;
  return found->place;
}

std::string KeyOf(const TreeParameters& given, std::string_view parameter) {
  if (!given.data.columns.has_value()) return std::string(parameter);
  if (parameter == "data" && given.task.name != "train" && given.task.name != "refit")
    return "data.test";
  if (parameter == "data") return "data.train";
  const std::optional<std::string_view> place = PlaceElsewhere(parameter);
  return place.has_value() ? std::string(*place)
                           : fmt::format("{}{}", kParameterSection, parameter);
}

}  // namespace strata
