// What the ranks of a group tell each other beside gradients.
#include "worker/ctr/agree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"
#include "tests/support/sim_disk.h"
#include "worker/ctr/predictions.h"
#include "worker/tasks/job_agreement.h"

namespace strata {
namespace {

using testing::HasSubstr;

// What `body` returns on each of `world` ranks.
std::vector<Status> OnRanks(int world, const std::function<Status(Group&)>& body) {
  MemoryWorld memory(world);
  std::vector<Status> statuses(static_cast<size_t>(world));
  std::vector<std::thread> ranks;
  for (int r = 0; r < world; ++r) {
    ranks.emplace_back([&, r] {
      Group group(memory.rank(r));
      statuses[static_cast<size_t>(r)] = body(group);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return statuses;
}

TEST(Agree, TheLowestRankThatFailedSpeaksForAll) {
  for (const Status& status : OnRanks(4, [](Group& g) { return AgreeOnStatus(g, {}); })) {
    EXPECT_TRUE(status.ok());
  }
  const auto statuses = OnRanks(4, [](Group& group) {
    const Status mine =
        group.rank() < 2 ? Status() : NotFound("no x" + std::to_string(group.rank()));
    return AgreeOnStatus(group, mine);
  });
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(statuses[rank].code(), StatusCode::kNotFound);
    EXPECT_EQ(statuses[rank].message(), rank == 2 ? "no x2" : "worker 2: no x2");
  }
}

TEST(Agree, EveryRankGetsTheNumberOfRank0) {
  for (const Status& status : OnRanks(3, [](Group& group) -> Status {
         const auto number = NumberOfRank0(group, 100 + static_cast<uint64_t>(group.rank()));
         STRATA_TRY(number.status());
         return *number == 100 ? Status() : Failed("another number");
       })) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST(Agree, EveryRankGetsTheBytesOfRank0OrItsError) {
  for (const bool good : {true, false}) {
    const auto statuses = OnRanks(3, [&](Group& group) -> Status {
      Result<std::string> mine = std::string("of another");
      if (group.rank() == 0)
        mine = good ? Result<std::string>(std::string("a\0b", 3)) : Failed("no");
      STRATA_ASSIGN(const std::string got, BytesOfRank0(group, mine));
      return got == std::string("a\0b", 3) ? Status() : Internal("other bytes");
    });
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(statuses[rank].ok(), good) << statuses[rank].ToString();
      EXPECT_EQ(statuses[rank].message(), good ? "" : rank == 0 ? "no" : "worker 0: no");
    }
  }
}

TEST(Agree, AFingerprintHoldsWhatDecidesTheBitsAndNoMore) {
  const auto fingerprint = [](const std::string& job_override, int workers, uint64_t hash) {
    const std::vector<std::string> overrides = {job_override};
    const auto job = ParseJob(R"([data]
columns = ["c", "y"]
label = "y"
[[feature]]
columns = ["c"]
)",
                              "job.toml", overrides);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return JobFingerprint(*job, workers, {.features = {}, .rows = 10, .content_hash = hash});
  };
  const std::string text = fingerprint("job.seed=1", 2, 77);
  for (const char* same :
       {"train.epochs=9", "output.model=m", "checkpoint.keep=7", "checkpoint.every_steps=3",
        "data.test=t.csv", "train.hint_batches=3", "model.cross_layers=3"}) {
    EXPECT_EQ(FirstDifference(text, fingerprint(same, 2, 77)), std::nullopt) << same;
  }
  for (const char* other :
       {"job.seed=2", "train.batch_size=7", "sparse.learning_rate=0.3", "dense.optimizer=sgd",
        "train.shuffle_rows=5", "model.dropout=0.5", "compute.device=cuda", "model.kind=dcn"}) {
    const auto difference = FirstDifference(text, fingerprint(other, 2, 77));
    ASSERT_TRUE(difference.has_value()) << other;
    EXPECT_NE(difference->first, difference->second);
  }
  // Those of builds that had three optimizers stay what they were.
  EXPECT_EQ(text.find("momentum"), std::string::npos);
  EXPECT_EQ(text.find("decay"), std::string::npos);
  EXPECT_EQ(text.find("compute."), std::string::npos);
  EXPECT_EQ(text.find("model.bottom"), std::string::npos);
  EXPECT_EQ(text.find("keys_of"), std::string::npos);
  EXPECT_NE(text.find("sparse.beta1 = 0.9\n"), std::string::npos);
  EXPECT_NE(text.find("sparse.learning_rate = 0.05\n"), std::string::npos);
  for (const char* set : {"sparse.weight_decay", "dense.warmup_steps"}) {
    const std::string line = std::string(set) + " = 3";
    EXPECT_EQ(FirstDifference(text, fingerprint(std::string(set) + "=3", 2, 77))->second, line);
  }
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(FirstDifference(text, fingerprint("job.seed=1", 3, 77)),
            (Pair{"workers = 2", "workers = 3"}));
  EXPECT_EQ(FirstDifference(text, fingerprint("job.seed=1", 2, 78))->first,
            "hash of data.train = 000000000000004d");
  EXPECT_EQ(FirstDifference("a\n", "a\nb\n"), (Pair{"nothing more", "b"}));
}

TEST(Agree, AFingerprintHoldsWhoseKeysAFeatureHas) {
  const auto job = ParseJob(R"([data]
columns = ["c", "d", "y"]
label = "y"
[[feature]]
columns = ["c"]
[[feature]]
columns = ["d"]
keys_of = "c"
)",
                            "job.toml", {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const std::string text = JobFingerprint(*job, 1, {.features = {}, .rows = 10});
  EXPECT_NE(text.find("feature[2].keys_of = \"c\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("feature[1].keys_of"), std::string::npos);
}

constexpr const char* kJob = R"([data]
train = "train.csv"
columns = ["c", "y"]
label = "y"
[[feature]]
columns = ["c"]
)";

// What three ranks say when rank 1 has other overrides than the others.
std::vector<Status> AgreeWith(std::vector<std::string> overrides, const std::string& added = "",
                              const std::string& train_of_rank_1 = "") {
  return OnRanks(3, [&](Group& group) -> Status {
    const bool other = group.rank() == 1;
    SimDisk disk;
    STRATA_TRY(WriteFileAtomically(disk, "train.csv", "a,1\n"));
    STRATA_TRY(WriteFileAtomically(disk, "moved.csv", other ? train_of_rank_1 : ""));
    STRATA_ASSIGN(const JobConfig job, ParseJob(kJob + (other ? added : ""), "job.toml",
                                                other ? overrides : std::vector<std::string>()));
    return AgreeOnJob(group, disk, job, "train");
  });
}

TEST(Agree, EachWorkerMayHaveADeviceOfItsOwn) {
  for (const Status& status : AgreeWith({"compute.device=cuda:1"})) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST(Agree, FilesMayLieElsewhereButAreTheSame) {
  for (const Status& status : AgreeWith({"data.train=moved.csv"}, "", "b,0\n")) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  for (const Status& status : AgreeWith({"data.train=moved.csv"}, "", "b,0\nc,1\n")) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr("worker 0 has 'bytes of data.train = 4', worker 1 has "
                                            "'bytes of data.train = 8'"));
  }
  const auto statuses = AgreeWith({"data.train=none.csv"});
  EXPECT_THAT(statuses[1].message(), HasSubstr("command line: data.train: "));
  EXPECT_THAT(statuses[0].message(), HasSubstr("worker 1: command line: data.train: "));
  EXPECT_EQ(statuses[0].code(), StatusCode::kInvalid);
}

// One setting of each kind of value, with another value on one rank.
TEST(Agree, AnySettingThatDiffersIsNamedOnEveryRank) {
  const std::pair<const char*, const char*> cases[] = {
      {"train.batch_size=256",
       "worker 0 has 'train.batch_size = 1024', worker 1 has "
       "'train.batch_size = 256'"},
      {"job.seed=2", "'job.seed = 2'"},
      {"data.missing=?", "worker 0 has 'data.missing = []', worker 1 has 'data.missing = [\"?\"]'"},
      {"data.delimiter=;", "'data.delimiter = \";\"'"},
      {"data.trim=false", "'data.trim = false'"},
      {"data.comment=#", "'data.comment = \"#\"'"},
      {"model.hidden=4", "'model.hidden = [4]'"},
      {"sparse.learning_rate=0.25", "'sparse.learning_rate = 0.25'"},
      {"output.model=m",
       "worker 0 has 'output.model = none', worker 1 has 'output.model = a path'"},
  };
  for (const auto& [change, message] : cases) {
    for (const Status& status : AgreeWith({change})) {
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << change;
      EXPECT_THAT(status.message(), HasSubstr(message));
    }
  }
  const std::string more = "[[feature]]\nkind = \"bucketised\"\ncolumns = [\"c\"]\n";
  for (const Status& status : AgreeWith({}, more)) {
    EXPECT_THAT(status.message(), HasSubstr("'feature[2].columns = [\"c\"]'"));
  }
}

TEST(Predictions, AreWrittenInInputOrderByRank0) {
  for (const int world : {1, 3}) {
    SimDisk disk;
    const std::vector<float> logits = {0.0F, 1.0F, -1.0F, 30.0F, -2000.0F};
    for (const Status& status : OnRanks(world, [&](Group& group) {
           const auto rank = static_cast<size_t>(group.rank());
           const auto ranks = static_cast<size_t>(world);
           const size_t begin = logits.size() * rank / ranks;
           const size_t end = logits.size() * (rank + 1) / ranks;
           return WritePredictions(disk, "out.csv", group,
                                   std::span(logits).subspan(begin, end - begin));
         })) {
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    const auto text = ReadFile(disk, "out.csv", 1 << 20);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, "0,0.5\n1,0.731058579\n2,0.268941421\n3,1\n4,0\n");
  }
}

TEST(Predictions, AFailedWriteIsEveryRanksError) {
  SimDisk disk({.bytes_max = 3});
  for (const Status& status : OnRanks(2, [&](Group& group) {
         return WritePredictions(disk, "out.csv", group, std::vector<float>(10));
       })) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("out.csv"));
  }
}

}  // namespace
}  // namespace strata
