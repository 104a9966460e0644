// A click model: trained from rows in memory, kept in a folder, and read again.
#include <strata/click_model.h>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

strata::Status Run(const char* folder) {
  // Everybody clicks on what is about their own city.
  std::vector<std::string_view> users;
  std::vector<int64_t> pages;
  std::vector<float> clicks;
  constexpr std::string_view kUsers[] = {"Ada", "Ben", "Cem", "Dea"};
  for (int64_t i = 0; i < 4000; ++i) {
    const int64_t user = i % 4;
    const int64_t page = i / 4 % 20;
    users.push_back(kUsers[user]);
    pages.push_back(page);
    clicks.push_back(page % 4 == user ? 1.0F : 0.0F);
  }
  const std::vector<strata::ClickColumn> columns = {
      {"user", std::span<const std::string_view>(users)},
      {"page", std::span<const int64_t>(pages)}};
  strata::ClickTraining training;
  training.kind = strata::ModelKind::kFm;
  training.features = {{.column = "user", .kind = strata::FeatureKind::kCategorical},
                       {.column = "page", .kind = strata::FeatureKind::kCategorical}};
  training.rows_optimizer.learning_rate = 0.2F;
  training.batch_size = 100;
  training.epochs = 5;
  STRATA_ASSIGN(const auto trained,
                strata::ClickModel::Train({.columns = columns, .labels = clicks}, training));
  STRATA_TRY(trained.Write(folder));
  STRATA_ASSIGN(const auto model, strata::ClickModel::Read(folder));

  const std::vector<std::string_view> who = {"Ben", "Ben"};
  const std::vector<int64_t> what = {5, 6};
  const std::vector<strata::ClickColumn> rows = {{"user", std::span<const std::string_view>(who)},
                                                 {"page", std::span<const int64_t>(what)}};
  STRATA_ASSIGN(const std::vector<float> predicted, model.Predict({.columns = rows}));
  std::printf("Ben on a page about his city: %.2f, about another: %.2f\n", predicted[0],
              predicted[1]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const strata::Status status = Run(argc > 1 ? argv[1] : "model");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return strata::ExitCode(status);
}
