// Boosted trees: trained from rows in memory, kept in a file, and read again.
#include <strata/boosted_trees.h>

#include <cstdio>
#include <vector>

namespace {

strata::Status Run(const char* path) {
  std::vector<float> values;  // two features a row
  std::vector<float> labels;
  for (int i = 0; i < 400; ++i) {
    const auto x = static_cast<float>(i % 20);
    const auto y = static_cast<float>(i / 20);
    values.insert(values.end(), {x, y});
    labels.push_back(x + y > 19 ? 1.0F : 0.0F);
  }
  const strata::TreeRows rows{
      .values = std::span<const float>(values), .features = 2, .labels = labels};
  STRATA_ASSIGN(const auto trained,
                strata::BoostedTrees::Train(
                    rows, {.parameters = {{"objective", "binary"}, {"num_iterations", "20"}}}));
  STRATA_TRY(trained.Write(path));
  STRATA_ASSIGN(const auto trees, strata::BoostedTrees::Read(path));

  const std::vector<float> points = {2, 3, 18, 17};
  STRATA_ASSIGN(const std::vector<double> predicted,
                trees.Predict({.values = std::span<const float>(points), .features = 2}));
  std::printf("%zu rounds; below the line: %.2f, above it: %.2f\n", trees.rounds(), predicted[0],
              predicted[1]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const strata::Status status = Run(argc > 1 ? argv[1] : "model.txt");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return strata::ExitCode(status);
}
