#include "worker/gbdt/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 280;
constexpr double kLeft = 58;
constexpr double kRight = 14;
constexpr double kTop = 12;
constexpr double kBottom = 34;
constexpr size_t kPointsMax = 1000;  // of a line: more than it has pixels

struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double Share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

struct Plane {
  Bounds x;
  Bounds y;

  double X(double value) const { return kLeft + x.Share(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const {
    return kHeight - kBottom - y.Share(value) * (kHeight - kTop - kBottom);
  }
};

bool IsPoint(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

std::string GridSvg(const Plane& plane) {
  std::string svg;
  for (const double tick : ChartTicks(plane.y.low, plane.y.high, 5)) {
    const double y = plane.Y(tick);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.6g}</text>\n",
        kLeft, kWidth - kRight, y, kLeft - 8, y + 4, tick);
  }
  for (const double tick : ChartTicks(plane.x.low, plane.x.high, 8)) {
    if (tick != std::floor(tick)) continue;
    svg += fmt::format(
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n",
        plane.X(tick), kHeight - kBottom + 20, tick);
  }
  return svg;
}

std::string LineSvg(const Plane& plane, const ChartLine& line, size_t number) {
  std::string points;
  std::pair<double, double> last = {0, 0};
  const size_t step = line.points.size() / kPointsMax + 1;
  for (size_t i = 0; i < line.points.size(); ++i) {
    const bool is_last = i + 1 == line.points.size();
    if (!IsPoint(line.points[i]) || (i % step != 0 && !is_last)) continue;
    last = line.points[i];
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", plane.X(last.first),
                          plane.Y(last.second));
  }
  if (points.empty()) return "";
  return fmt::format(
      "<polyline class=\"line c{0}\" points=\"{1}\"/>\n"
      "<circle class=\"dot c{0}\" cx=\"{2:.1f}\" cy=\"{3:.1f}\" r=\"3.5\"><title>{4}: {5:.6g} "
      "after "
      "{6:.0f}</title></circle>\n",
      number, points, plane.X(last.first), plane.Y(last.second), EscapeHtml(line.name), last.second,
      last.first);
}

}  // namespace

std::vector<double> ChartTicks(double low, double high, int wanted) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= 0.75 * rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string LineChartSvg(const LineChart& chart) {
  Plane plane;
  for (const ChartLine& line : chart.lines) {
    for (const auto& point : line.points) {
      if (!IsPoint(point)) continue;
      plane.x.Add(point.first);
      plane.y.Add(point.second);
    }
  }
  if (plane.x.low > plane.x.high) return "";
  const double margin = (plane.y.high - plane.y.low) * 0.06;
  plane.y.low -= margin;
  plane.y.high += margin;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                                kWidth, kHeight, EscapeHtml(chart.label)) +
                    GridSvg(plane);
  if (chart.marked_x > 0) {
    svg += fmt::format(
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"><title>best "
        "round: "
        "{3:.0f}</title></line>\n",
        plane.X(chart.marked_x), kTop, kHeight - kBottom, chart.marked_x);
  }
  for (size_t i = 0; i < chart.lines.size(); ++i) svg += LineSvg(plane, chart.lines[i], i);
  return svg + "</svg>\n";
}

}  // namespace strata
