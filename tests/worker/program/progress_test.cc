#include "worker/tasks/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "proto/control/control.pb.h"
#include "worker/tasks/trees/tree_progress_display.h"

namespace strata {
namespace {

// What was written to a stream.
class Captured {
 public:
  Captured() : file_(open_memstream(&text_, &size_)) {}
  ~Captured() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* file() { return file_; }
  std::string Text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

TEST(Progress, LineShowsWhatIsKnown) {
  EXPECT_EQ(ProgressLine("train", {0.456, 1234567, 98765.4, 75, 0.30124, 0.91236}),
            "train     46 %  1,234,567 samples  98,765/s  ETA 1 min 15 s  loss 0.3012  AUC 0.9124");
  EXPECT_EQ(ProgressLine("evaluate", {1, 999, 10, 0.4, kUnknown, kUnknown}),
            "evaluate 100 %  999 samples  10/s  ETA 0 s");
  EXPECT_EQ(ProgressLine("train", {0, 0, 0, kUnknown, kUnknown, kUnknown}),
            "train      0 %  0 samples  0/s");
  EXPECT_EQ(ProgressLine("train", {0.5, 1000, 1, 7260, kUnknown, kUnknown}),
            "train     50 %  1,000 samples  1/s  ETA 2 h 1 min");
}

TEST(Progress, ShowsTheNewestEvaluation) {
  ProgressState state{0.5, 1000, 1, kUnknown, kUnknown, kUnknown, {{300, 0.75, 0.5}}};
  EXPECT_EQ(ProgressLine("train", state),
            "train     50 %  1,000 samples  1/s  test AUC 0.7500 logloss 0.5000 (step 300)");
  EXPECT_EQ(nlohmann::json::parse(ProgressJson("train", state))["evaluation"],
            nlohmann::json::parse(R"({"step":300,"auc":0.75,"logloss":0.5})"));
  state.evaluation->best_steps = 200;
  EXPECT_THAT(ProgressLine("train", state), testing::HasSubstr("(step 300, best 200)"));
  EXPECT_EQ(nlohmann::json::parse(ProgressJson("train", state))["evaluation"]["best_step"], 200);
  state.evaluation->gauc = 0.625;
  EXPECT_THAT(ProgressLine("train", state),
              testing::HasSubstr("test AUC 0.7500 logloss 0.5000 GAUC 0.6250 (step 300"));
  EXPECT_EQ(nlohmann::json::parse(ProgressJson("train", state))["evaluation"]["gauc"], 0.625);
  state.evaluation->auc = kUnknown;
  EXPECT_THAT(ProgressLine("train", state), testing::HasSubstr("test AUC none logloss 0.5000"));
  state.evaluation->mse = 2.25;
  EXPECT_THAT(ProgressLine("train", state), testing::HasSubstr("test RMSE 1.5 (step 300"));
  const auto object = nlohmann::json::parse(ProgressJson("train", state));
  EXPECT_EQ(object["evaluation"]["mse"], 2.25);
  EXPECT_FALSE(object["evaluation"].contains("auc"));
}

TEST(Progress, PaceBeginsWithTheFirstAdvance) {
  Pace pace;
  EXPECT_TRUE(std::isnan(pace.SamplesPerSecond()));
  TimeNs now = 10 * kSecond;  // starting took long
  pace.Advance(now, 100, 0.1);
  EXPECT_TRUE(std::isnan(pace.SamplesPerSecond()));
  pace.Advance(now += kSecond / 2, 200, 0.2);
  EXPECT_TRUE(std::isnan(pace.EtaSeconds())) << "too early to say";
  pace.Advance(now += kSecond / 2, 300, 0.3);
  EXPECT_DOUBLE_EQ(pace.SamplesPerSecond(), 200);
  EXPECT_DOUBLE_EQ(pace.EtaSeconds(), 3.5);
  Pace quick;
  for (uint64_t i = 0; i <= 20; ++i) {
    EXPECT_TRUE(std::isnan(quick.SamplesPerSecond())) << i;
    quick.Advance(static_cast<TimeNs>(i) * kMillisecond, i, static_cast<double>(i) / 40);
  }
  EXPECT_DOUBLE_EQ(quick.SamplesPerSecond(), 1000);
  EXPECT_NEAR(quick.EtaSeconds(), 0.02, 1e-9);
  EXPECT_EQ(ProgressLine("train", {0, 5, kUnknown, kUnknown, kUnknown, kUnknown}),
            "train      0 %  5 samples");
}

TEST(Progress, PaceIsOfTheLastSeconds) {
  Pace pace;
  TimeNs now = 0;
  for (uint64_t second = 0; second < 100; ++second) {
    pace.Advance(now = static_cast<TimeNs>(second) * kSecond, second * 1000,
                 0.001 * static_cast<double>(second));
  }
  const uint64_t samples = 99'000;
  for (uint64_t second = 1; second <= 20; ++second) {
    pace.Advance(now += kSecond, samples + 10 * second,
                 0.099 + 0.0001 * static_cast<double>(second));
  }
  EXPECT_NEAR(pace.SamplesPerSecond(), 10, 1e-9);
  EXPECT_NEAR(pace.EtaSeconds(), (1 - 0.101) / 0.0001, 1);
}

TEST(Progress, PaceIsZeroOnceNothingGoesOn) {
  Pace pace;
  TimeNs now = 0;
  for (uint64_t step = 0; step <= 10; ++step) {
    pace.Advance(now = static_cast<TimeNs>(step) * kSecond, step, 0.1 * static_cast<double>(step));
  }
  EXPECT_DOUBLE_EQ(pace.SamplesPerSecond(now), 1);
  EXPECT_LT(pace.SamplesPerSecond(now + 5 * kSecond), 1);
  EXPECT_EQ(pace.SamplesPerSecond(now + 11 * kSecond), 0);
  EXPECT_TRUE(std::isnan(pace.EtaSeconds(now + 11 * kSecond)));
  Pace slow;  // a step takes 20 s
  for (uint64_t step = 0; step <= 10; ++step) {
    slow.Advance(now = static_cast<TimeNs>(step) * 20 * kSecond, step,
                 0.1 * static_cast<double>(step));
  }
  EXPECT_GT(slow.SamplesPerSecond(now + 15 * kSecond), 0);
}

TEST(Progress, NoSamplesASecondAreNeverAllOfThem) {
  EXPECT_EQ(ProgressLine("evaluate", {1, 9, 0, kUnknown, kUnknown, kUnknown}),
            "evaluate  99 %  9 samples  0/s");
  EXPECT_EQ(ProgressLine("train", {0.997, 9, 0.4, kUnknown, kUnknown, kUnknown}),
            "train     99 %  9 samples  0.4/s");
}

TEST(Progress, JsonHasNullForWhatIsUnknown) {
  const auto object =
      nlohmann::json::parse(ProgressJson("train", {0.5, 10, 20, 30, 0.25, kUnknown}));
  EXPECT_EQ(object["task"], "train");
  EXPECT_EQ(object["progress"], 0.5);
  EXPECT_EQ(object["samples"], 10);
  EXPECT_EQ(object["loss"], 0.25);
  EXPECT_TRUE(object["auc"].is_null());
}

TEST(Progress, PlainLinesComeNowAndThen) {
  SimClock clock;
  Captured lines;
  Captured objects;
  ProgressPrinter printer(clock, lines.file(), false, objects.file());
  EXPECT_FALSE(printer.Due());
  clock.Advance(2 * kSecond);
  ASSERT_TRUE(printer.Due());
  printer.Print("train", {0.5, 10, 5, 2, 0.5, 0.5});
  EXPECT_FALSE(printer.Due());
  clock.Advance(2 * kSecond - 1);
  EXPECT_FALSE(printer.Due());
  clock.Advance(1);
  EXPECT_TRUE(printer.Due());
  EXPECT_EQ(nlohmann::json::parse(objects.Text())["samples"], 10);
  printer.Print("train", {0.5, 10, 5, 2, 0.5, 0.5});
  printer.Finish();
  EXPECT_EQ(lines.Text(), "train     50 %  10 samples  5/s  ETA 2 s  loss 0.5000  AUC 0.5000\n")
      << "the same line comes once";
}

TEST(Progress, OnATerminalTheLineIsDrawnOver) {
  SimClock clock;
  Captured lines;
  ProgressPrinter printer(clock, lines.file(), true, nullptr);
  printer.Print("train", {0, 1, 5, kUnknown, kUnknown, kUnknown});
  printer.Print("train", {1, 2, 5, kUnknown, kUnknown, kUnknown});
  printer.Finish();
  printer.Finish();
  EXPECT_EQ(lines.Text(),
            "\rtrain      0 %  1 samples  5/s\x1b[K\rtrain    100 %  2 samples  5/s\x1b[K\n");
  clock.Advance(kSecond);
  EXPECT_TRUE(printer.Due());
  ProgressPrinter silent(clock, nullptr, true, nullptr);
  silent.Print("train", {});
}

TEST(Progress, TheBoardHearsOfTreesNowAndThenAndOfTheLastRound) {
  SimClock clock;
  StatusBoard board(clock);
  Captured objects;
  TreeProgressDisplay display(clock, board, {.objects = objects.file()});
  const auto shown = [&] {
    control::NodeStatus status;
    EXPECT_TRUE(status.ParseFromString(board.Serialized()));
    return status.worker().samples();
  };
  const auto advance = [&](size_t round, const std::vector<Evaluation>* evaluations = nullptr) {
    display.Advance({.round = round, .rounds = 100, .rows = 10, .evaluations = evaluations});
  };
  advance(1);
  EXPECT_EQ(shown(), 10);
  clock.Advance(200 * kMillisecond - 1);
  const std::vector<Evaluation> measured = {{.data = "valid_1", .metrics = {{"auc", 0.75}}}};
  advance(2, &measured);
  EXPECT_EQ(shown(), 10);
  EXPECT_EQ(nlohmann::json::parse(objects.Text())["metrics"]["auc"], 0.75);
  clock.Advance(1);
  advance(3);
  EXPECT_EQ(shown(), 30);
  advance(4);
  EXPECT_EQ(shown(), 30);
  display.Finish();
  EXPECT_EQ(shown(), 40);
}

TEST(TreeProgressDisplay, EachRoundMayHaveALineOfItsOwn) {
  SimClock clock;
  StatusBoard board(clock);
  Captured lines;
  Captured now_and_then;
  TreeProgressDisplay each(clock, board, {.lines = lines.file(), .has_line_each = true});
  TreeProgressDisplay other(clock, board, {.lines = now_and_then.file()});
  for (size_t round = 1; round <= 30; ++round) {
    clock.Advance(10 * kMillisecond);
    for (TreeProgressDisplay* const display : {&each, &other}) {
      display->Advance({.round = round, .rounds = 40, .rows = 10});
    }
  }
  EXPECT_EQ(now_and_then.Text(), "");
  const std::string text = lines.Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), 30);
  EXPECT_THAT(text, testing::StartsWith("train      2 %  round 1 of 40\n"));
  EXPECT_THAT(text, testing::EndsWith("round 30 of 40  1,000 rows x rounds/s  ETA 0.1s\n"));
}

TEST(RecentSamples, AucIsThatOfTheNewest) {
  std::mt19937_64 random(1);
  RecentSamples recent;
  EXPECT_TRUE(std::isnan(recent.Auc()));
  std::vector<ScoredSample> all;
  const auto add = [&](size_t samples, float sign) {
    Batch batch;
    std::vector<float> logits;
    batch.samples = samples;
    for (size_t i = 0; i < samples; ++i) {
      batch.labels.push_back(static_cast<float>(random() % 2));
      batch.weights.push_back(1);
      logits.push_back(sign * batch.labels.back() + static_cast<float>(random() % 100) / 50);
      all.push_back({logits.back(), batch.labels.back(), 1});
    }
    recent.Add(batch, logits);
  };
  for (int i = 0; i < 20; ++i) add(700, -1);
  std::vector<ScoredSample> so_far = all;
  EXPECT_EQ(recent.Auc(), ComputeMetrics(&so_far).auc);
  for (int i = 0; i < 40; ++i) add(701, 1);
  std::vector<ScoredSample> newest(all.end() - RecentSamples::kSamples, all.end());
  EXPECT_EQ(recent.Auc(), ComputeMetrics(&newest).auc);
  EXPECT_GT(recent.Auc(), 0.8);
}

}  // namespace
}  // namespace strata
