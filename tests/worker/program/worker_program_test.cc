// What strata-worker shows of itself: status, metrics, results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/signals.h"
#include "proto/control/control.pb.h"
#include "tests/support/wait_until.h"
#include "worker/tasks/result.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/stop.h"

namespace strata {
namespace {

using testing::HasSubstr;

control::NodeStatus StatusOf(const StatusBoard& board) {
  control::NodeStatus status;
  EXPECT_TRUE(status.ParseFromString(board.Serialized()));
  return status;
}

// Of a task that goes on with `rate` samples a second, and has just done `share` of all.
Pace PaceOf(TimeNs now, uint64_t rate, double share) {
  Pace pace;
  pace.Advance(now - 2 * kSecond, 0, 0);
  pace.Advance(now, 2 * rate, share);
  return pace;
}

TEST(StatusBoard, AJobThatStandsStillLooksLikeIt) {
  SimClock clock(5 * kSecond);
  StatusBoard board(clock);
  board.SetState("training");
  board.SetProgress({1, 150, 75, 2, 0.4, kUnknown}, PaceOf(clock.Now(), 100, 1));
  EXPECT_EQ(StatusOf(board).worker().samples_per_second(), 100);
  EXPECT_EQ(StatusOf(board).worker().progress(), 1);
  clock.Advance(60 * kSecond);
  EXPECT_EQ(StatusOf(board).worker().samples_per_second(), 0);
  EXPECT_EQ(StatusOf(board).worker().eta_seconds(), 0);
  EXPECT_LT(StatusOf(board).worker().progress(), 1) << "0 samples/s is never 100 %";
  EXPECT_THAT(board.MetricsText(), HasSubstr("strata_worker_samples_per_second 0\n"));
}

TEST(StatusBoard, SaysForWhichServerItWaitsAndSinceWhen) {
  SimClock clock(50 * kSecond);
  StatusBoard board(clock);
  board.SetState("training");
  board.SetWaits({{.server = 0, .name = "server 0 (a:1)", .since = 45 * kSecond, .why = "why 0"},
                  {.server = 1, .name = "server 1 (b:1)", .since = 20 * kSecond, .why = "silent"}});
  clock.Advance(10 * kSecond);
  const std::string text = "waiting for server 1 (b:1) for 40s: silent, and for 1 other";
  EXPECT_EQ(board.WhyNotReady(), text);
  const control::NodeStatus status = StatusOf(board);
  EXPECT_EQ(status.state(), "waiting");
  EXPECT_EQ(status.worker().waits_for(), text);
  EXPECT_EQ(status.worker().wait_seconds(), 40);
  EXPECT_THAT(board.MetricsText(), HasSubstr("strata_worker_wait_seconds 40\n"));
  board.SetWaits({});
  EXPECT_EQ(StatusOf(board).state(), "training");
  EXPECT_EQ(board.WhyNotReady(), "");
}

TEST(StatusBoard, ShowsWhatTheWorkerDoes) {
  SimClock clock(5 * kSecond);
  StatusBoard board(clock);
  EXPECT_EQ(StatusOf(board).state(), "starting");
  EXPECT_EQ(board.WhyNotReady(), "starting");
  board.SetIdentity(
      {.job = "adult", .task = "train", .address = "10.0.0.1:77", .rank = 2, .world = 3});
  board.SetHttp("http://127.0.0.1:9");
  board.SetState("training");
  board.Advance(100, 1, 0);
  board.Advance(50, 2, 1);
  board.SetProgress({0.5, 150, 75, 2, 0.4, kUnknown}, PaceOf(5 * kSecond, 100, 0.5));
  clock.Advance(3 * kSecond);
  EXPECT_EQ(board.WhyNotReady(), "");
  const control::NodeStatus status = StatusOf(board);
  EXPECT_EQ(status.role(), "worker");
  EXPECT_EQ(status.rank(), 2U);
  EXPECT_EQ(status.address(), "10.0.0.1:77");
  EXPECT_EQ(status.state(), "training");
  EXPECT_EQ(status.uptime_seconds(), 3);
  EXPECT_GT(status.memory_bytes(), 1U << 20);
  EXPECT_EQ(status.http(), "http://127.0.0.1:9");
  EXPECT_EQ(status.worker().job(), "adult");
  EXPECT_EQ(status.worker().step(), 2U);
  EXPECT_EQ(status.worker().epoch(), 1U);
  EXPECT_EQ(status.worker().progress(), 0.5);
  EXPECT_EQ(status.worker().loss(), 0.4);
  EXPECT_EQ(status.worker().auc(), 0) << "what is not known is not shown";
  EXPECT_EQ(status.worker().world(), 3U);
  const std::string metrics = board.MetricsText();
  EXPECT_THAT(metrics, HasSubstr("strata_worker_samples_total 150"));
  EXPECT_THAT(metrics, HasSubstr("strata_worker_steps_total 2"));
}

TEST(StatusBoard, AnswersControlRequestsAndNonsense) {
  BlockShutdownSignals();
  SimClock clock;
  StatusBoard board(clock);
  board.SetState("training");
  control::ControlRequest request;
  request.mutable_status();
  for (const std::string& bytes :
       {request.SerializeAsString(), std::string("\xff\xff\xff nonsense")}) {
    control::ControlReply reply;
    ASSERT_TRUE(reply.ParseFromString(board.Control(bytes)));
    EXPECT_EQ(reply.status().state(), "training");
  }
  request.mutable_shutdown();
  control::ControlReply reply;
  ASSERT_TRUE(reply.ParseFromString(board.Control(request.SerializeAsString())));
  EXPECT_EQ(reply.status().state(), "draining");
  EXPECT_EQ(WaitForSignal(), SIGTERM);
}

// It remembers the last reason for which a stop request called it.
class Cancelling {
 public:
  std::function<void(const Status&)> callback() {
    return [this](const Status& why) { cancelled = why; };
  }
  Status cancelled;
};

TEST(StopRequest, ReachesWhoeverIsAtWorkWheneverItComes) {
  Cancelling before;
  StopRequest stop;
  stop.Attach(before.callback());
  EXPECT_TRUE(stop.reason().ok());
  stop.Stop(Cancelled("first"), 0);
  stop.Stop(Cancelled("second"), 0);
  EXPECT_EQ(before.cancelled.message(), "first");
  EXPECT_EQ(stop.reason().message(), "first");
  Cancelling after;
  stop.Attach(after.callback());
  EXPECT_EQ(after.cancelled.message(), "first");
  stop.Attach(nullptr);
  EXPECT_FALSE(stop.attached());
}

TEST(StopRequest, ATaskThatEndsByItselfIsAskedFirst) {
  Cancelling work;
  StopRequest stop;
  stop.Attach(work.callback());
  stop.SetEndsItself(true);
  stop.Stop(Cancelled("first"), 3600 * kSecond);
  EXPECT_EQ(stop.asked().message(), "first");
  EXPECT_TRUE(stop.reason().ok());
  EXPECT_TRUE(work.cancelled.ok());
  stop.EndsNow();
  stop.SetEndsItself(false);
  EXPECT_TRUE(work.cancelled.ok());
}

TEST(StopRequest, ATaskThatDoesNotEndInTimeIsCancelled) {
  StopRequest stop;
  stop.SetEndsItself(true);
  stop.Stop(Cancelled("first"), kMillisecond);
  EXPECT_TRUE(WaitUntil([&] { return !stop.reason().ok(); }));
}

TEST(StopRequest, ATaskThatNoLongerEndsByItselfIsCancelled) {
  Cancelling work;
  StopRequest stop;
  stop.Attach(work.callback());
  stop.SetEndsItself(true);
  stop.Stop(Cancelled("first"), 3600 * kSecond);
  stop.SetEndsItself(false);
  EXPECT_EQ(work.cancelled.message(), "first");
}

WorkerOptions ExampleOptions() {
  WorkerOptions options;
  options.job.name = "clicks";
  options.job.epochs = 4;
  return options;
}

TEST(TaskResult, JsonHasTheNamesThatScriptsRelyOn) {
  TaskResult result;
  result.model = ModelKind::kFm;
  result.samples = 1000;
  result.seconds = 4;
  result.steps = 10;

  result.metrics = Metrics{500, 0.75, 0.5, kUnknown};
  const auto object = nlohmann::json::parse(ResultJson(ExampleOptions(), result, 2, 3));
  EXPECT_EQ(object["task"], "train");
  EXPECT_EQ(object["job"], "clicks");
  EXPECT_EQ(object["model"], "fm");
  EXPECT_EQ(object["samples"], 1000);
  EXPECT_EQ(object["seconds"], 4.0);
  EXPECT_EQ(object["samples_per_second"], 250.0);
  EXPECT_EQ(object["evaluation_seconds"], 0.0);
  EXPECT_EQ(object["metrics"]["auc"], 0.75);
  EXPECT_EQ(object["metrics"]["logloss"], 0.5);
  EXPECT_TRUE(object["metrics"]["calibration"].is_null());
  EXPECT_EQ(object["workers"], 2);
  EXPECT_EQ(object["servers"], 3);
}

TEST(TaskResult, TellsWhichModelEarlyStoppingKept) {
  TaskResult result;
  result.steps = 450;
  result.early_stopping = {.ended = true, .best_by = "auc", .best_steps = 300, .since_best = 3};
  const auto object = nlohmann::json::parse(ResultJson(ExampleOptions(), result, 1, 0));
  EXPECT_EQ(object["early_stopping"],
            nlohmann::json::parse(
                R"({"ended":true,"best_by":"auc","best_step":300,"evaluations_since":3})"));
  EXPECT_THAT(ResultTable(ExampleOptions(), result, 1, 0),
              HasSubstr("best step     300 of 450 by auc; training ended 3 evaluations later\n"));
  result.early_stopping->ended = false;
  EXPECT_THAT(ResultTable(ExampleOptions(), result, 1, 0),
              HasSubstr("best step     300 of 450 by auc\n"));
}

TEST(TaskResult, TellsOfGroupsWhereTheJobHasThem) {
  TaskResult result;
  result.metrics = Metrics{.samples = 500, .gauc = 0.625, .groups = 1, .groups_left_out = 12};
  WorkerOptions options = ExampleOptions();
  EXPECT_FALSE(
      nlohmann::json::parse(ResultJson(options, result, 1, 0))["metrics"].contains("gauc"));
  options.job.data.group = "user";
  const auto metrics = nlohmann::json::parse(ResultJson(options, result, 1, 0))["metrics"];
  EXPECT_EQ(metrics["gauc"], 0.625);
  EXPECT_EQ(metrics["groups"], 1);
  EXPECT_EQ(metrics["groups_left_out"], 12);
  EXPECT_THAT(ResultTable(options, result, 1, 0),
              HasSubstr("GAUC          0.62500 over 1 group, 12 of one label left out\n"));
}

TEST(TaskResult, TellsWhatTheTimeWentInto) {
  TaskResult result;
  result.stages = StageReport{.total = {10, 10},
                              .stages = {{{1, 1}, {2, 2}, {5, 5}, {0, 0}, {1.5, 1.5}, {0.5, 0.5}}},
                              .reading = {4, 4},
                              .limit = Stage::kCompute};
  const auto stages = nlohmann::json::parse(ResultJson(ExampleOptions(), result, 1, 0))["stages"];
  EXPECT_EQ(stages["rows"]["max_seconds"], 2.0);
  EXPECT_EQ(stages["limit"], "compute");
  const std::string table = ResultTable(ExampleOptions(), result, 1, 0);
  EXPECT_THAT(table, HasSubstr("stages        data 10 %, rows 20 %, compute 50 %"));
  EXPECT_THAT(table, HasSubstr("limited by    compute\nreader        busy 40 % of the time\n"));
}

TEST(StatusBoard, MetricsSayWhatTheTimeWentInto) {
  SimClock clock;
  StatusBoard board(clock);
  StageTimes stages(&clock);
  stages.Start();
  clock.Advance(1500 * kMillisecond);
  stages.End(Stage::kRows);
  board.SetStages(stages);
  EXPECT_THAT(board.MetricsText(), HasSubstr("strata_worker_stage_seconds{stage=\"rows\"} 1.5"));
  EXPECT_THAT(board.MetricsText(), HasSubstr("strata_worker_stage_seconds{stage=\"data\"} 0"));
}

TEST(TaskResult, TellsWhatEvaluationsTook) {
  TaskResult result;
  result.samples = 1000;
  result.seconds = 4;
  result.evaluation_seconds = 1.25;
  const auto object = nlohmann::json::parse(ResultJson(ExampleOptions(), result, 1, 0));
  EXPECT_EQ(object["evaluation_seconds"], 1.25);
  EXPECT_EQ(object["samples_per_second"], 250.0) << "of the steps alone";
  EXPECT_THAT(ResultTable(ExampleOptions(), result, 1, 0),
              HasSubstr("seconds       4.00, and 1.25 for evaluations\n"));
}

TEST(TaskResult, SaysWhyThereIsNoAuc) {
  TaskResult result;
  result.metrics = Metrics{500, kUnknown, 0.5, kUnknown};
  EXPECT_THAT(ResultTable(ExampleOptions(), result, 1, 0),
              HasSubstr("AUC           none: all labels are 0, and an AUC compares rows of both\n"
                        "logloss       0.50000\ncalibration   none\n"));
}

TEST(TaskResult, TableIsForPeople) {
  TaskResult result;
  result.model = ModelKind::kDeepFm;
  result.samples = 1000;
  result.seconds = 4;

  result.metrics = Metrics{500, 0.75, 0.5, 1.01};
  result.model_path = "runs/model";
  const std::string table = ResultTable(ExampleOptions(), result, 1, 0);
  EXPECT_THAT(table, HasSubstr("job           clicks (deepfm)\n"));
  EXPECT_THAT(table, HasSubstr("servers       none (tables in this process)\n"));
  EXPECT_THAT(table, HasSubstr("seconds       4.00\n"));
  EXPECT_THAT(table, HasSubstr("AUC           0.75000\n"));
  EXPECT_THAT(table, HasSubstr("model         runs/model\n"));
}

}  // namespace
}  // namespace strata
