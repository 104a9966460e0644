// A chart of lines over whole numbers as an SVG element, for pages that have no scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace strata {

struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascends; what is not finite is left out
};

struct LineChart {
  std::string label;  // for those who cannot see it
  std::vector<ChartLine> lines;
  double marked_x = 0;  // a vertical line here; 0: none
};

// The elements have the classes grid, tick, mark, line and c0, c1, ... by the line's number;
// colours are the page's. "" when there is nothing to draw.
std::string LineChartSvg(const LineChart& chart);

// "a & b" as the text of an element or an attribute.
std::string EscapeHtml(std::string_view text);

// Round values that cover [low, high]: about `wanted` of them.
std::vector<double> ChartTicks(double low, double high, int wanted);

}  // namespace strata
