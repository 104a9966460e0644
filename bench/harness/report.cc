#include "bench/harness/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace strata::bench {
namespace {

using Json = nlohmann::ordered_json;

// Four significant digits: more would be noise.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

Json Number(const std::optional<double>& value) {
  return value ? Json(Rounded(*value)) : Json(nullptr);
}

std::string Cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.7g}", Rounded(*value)) : "-";
}

constexpr const char* kRowFormat = "{:<54} {:>9} {:>9}  {:<26} {:>9} {:>7} {:>9} {:>7} {:>9}\n";

// "113.2 MB"
std::string Megabytes(const std::optional<double>& bytes) {
  return bytes ? fmt::format("{:.1f} MB", *bytes * 1e-6) : "-";
}

}  // namespace

std::optional<double> Ratio(const Figure& figure) {
  if (!figure.peer_value || *figure.peer_value <= 0 || figure.ours <= 0) return std::nullopt;
  return figure.more_is_better ? figure.ours / *figure.peer_value
                               : *figure.peer_value / figure.ours;
}

std::optional<double> Share(const Figure& figure) {
  if (!figure.limit || *figure.limit <= 0 || figure.ours <= 0) return std::nullopt;
  return figure.more_is_better ? figure.ours / *figure.limit : *figure.limit / figure.ours;
}

std::string JsonLine(std::string_view suite, const Figure& figure, std::string_view device) {
  const char* source = figure.recorded ? "recorded" : "run";
  const Json line = {{"suite", suite},
                     {"case", figure.name},
                     {"unit", figure.unit},
                     {"ours", Rounded(figure.ours)},
                     {"peer", figure.peer.empty() ? Json(nullptr) : Json(figure.peer)},
                     {"peer_value", Number(figure.peer_value)},
                     {"source", figure.peer_value ? Json(source) : Json(nullptr)},
                     {"limit", Number(figure.limit)},
                     {"ratio", Number(Ratio(figure))},
                     {"share", Number(Share(figure))},
                     {"bytes", figure.bytes ? Json(std::llround(*figure.bytes)) : Json(nullptr)},
                     {"device", device}};
  return line.dump() + "\n";
}

std::string TableHead() {
  return fmt::format(kRowFormat, "case", "unit", "ours", "peer", "its value", "ratio", "limit",
                     "share", "moved");
}

std::string TableRow(const Figure& figure) {
  return fmt::format(kRowFormat, figure.name, figure.unit, Cell(figure.ours),
                     figure.peer.empty() ? "-" : figure.peer, Cell(figure.peer_value),
                     Cell(Ratio(figure)), Cell(figure.limit), Cell(Share(figure)),
                     Megabytes(figure.bytes));
}

}  // namespace strata::bench
