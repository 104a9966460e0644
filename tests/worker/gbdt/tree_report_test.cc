#include "worker/gbdt/report/tree_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "worker/gbdt/report/line_chart.h"

namespace strata {
namespace {

TEST(TreeReport, ImportancesAreThoseOfAllTrees) {
  TreeModel model;
  model.feature_names = {"a", "b", "c"};
  for (const auto& [feature, gain] : {std::pair(1, 2.0), std::pair(2, 5.0), std::pair(1, 1.5)}) {
    model.trees.emplace_back().nodes.push_back({.feature = feature, .gain = gain});
  }
  const std::vector<FeatureImportance> all = Importances(model);
  ASSERT_EQ(all.size(), 2U) << "a never splits";
  EXPECT_EQ(all[0].feature, "c");
  EXPECT_EQ(all[0].gain, 5);
  EXPECT_EQ(all[1].feature, "b");
  EXPECT_EQ(all[1].gain, 3.5);
  EXPECT_EQ(all[1].splits, 2U);
}

TEST(TreeReport, NothingOfTheDataIsReadAsMarkup) {
  TreeReport report;
  report.title = "<script>alert(1)</script>";
  report.parameters = {{"data", "a\"b<c>.csv"}};
  report.data = {{"training", 1234567}};
  report.importances = {{.feature = "<b>", .splits = 1, .gain = 2}};
  report.phases = {{"load", 1}, {"bin", 3}};
  for (size_t round = 1; round <= 3; ++round) {
    report.history.emplace_back(
        round, std::vector<Evaluation>{
                   {.data = "valid_1",
                    .metrics = {{.name = "<auc>", .value = std::nan("")},
                                {.name = "l2", .value = 1.0 / static_cast<double>(round)}}}});
  }
  const std::string html = ReportHtml(report);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<auc>"), std::string::npos);
  EXPECT_EQ(html.find("<b>\""), std::string::npos);
  EXPECT_NE(html.find("1,234,567"), std::string::npos);
  EXPECT_NE(html.find("75.0 %"), std::string::npos);
  EXPECT_NE(html.find("<polyline"), std::string::npos);
  EXPECT_NE(ReportJson(report).find("null"), std::string::npos) << "JSON has no NaN";
}

TEST(LineChart, TicksAreRound) {
  EXPECT_EQ(ChartTicks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const std::vector<double> ticks = ChartTicks(0.9013, 0.9281, 5);
  ASSERT_GE(ticks.size(), 3U);
  EXPECT_NEAR(ticks[0], 0.905, 1e-12);
  EXPECT_EQ(ChartTicks(3, 3, 5), std::vector<double>{3});
}

TEST(LineChart, ALineGoesThroughItsPoints) {
  EXPECT_EQ(LineChartSvg({.label = "", .lines = {}}), "");
  EXPECT_EQ(LineChartSvg({.label = "", .lines = {{"a", {{1, std::nan("")}}}}}), "");
  const std::string svg =
      LineChartSvg({.label = "l2", .lines = {{"a", {{1, 5}, {2, std::nan("")}, {3, 1}}}}});
  const size_t begin = svg.find("points=\"") + 8;
  const std::string points = svg.substr(begin, svg.find('"', begin) - begin);
  EXPECT_EQ(std::count(points.begin(), points.end(), ','), 2) << points;
}

}  // namespace
}  // namespace strata
