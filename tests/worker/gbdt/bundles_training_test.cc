// Bundles of features change nothing but the memory: models are the same to the bit, on any number
// of ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/worker/gbdt/ranks_training.h"

namespace strata {
namespace {

// Two categories as columns of their own, a dense number, and one that is mostly 0.
std::string OneHotRows(uint64_t seed, size_t rows) {
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    const auto a = static_cast<size_t>(Uniform(seed + 1, row) * 12);
    const auto b = static_cast<size_t>(Uniform(seed + 2, row) * 8);
    const double number = Uniform(seed + 3, row);
    const double rare =
        Uniform(seed + 4, row) < 0.03 ? std::floor(Uniform(seed + 5, row) * 9) - 4 : 0;
    const double noise = Uniform(seed + 6, row);
    const double target = (a % 3 == 0 ? 1 : 0) + (b % 2 == 0 ? number : 0) + rare / 4 + noise;
    text += fmt::format("{} 0:{:.3f} {}:1 {}:1", target > 1.2 ? 1 : 0, number, 1 + a, 13 + b);
    if (rare != 0) text += fmt::format(" 21:{}", rare);
    text += "\n";
  }
  return text;
}

class BundlesTraining : public RanksTraining {
 protected:
  std::string ConfOf(const std::string& more) const {
    return fmt::format(
        "task = train\ndata = {0}/train.svm\nvalid = {0}/valid.svm\noutput_model = {0}/model.txt\n"
        "objective = binary\nnum_leaves = 12\nmin_data_in_leaf = 5\nnum_iterations = 6\n"
        "is_provide_training_metric = true\nverbosity = -1\n{1}\n",
        folder_.path(), more);
  }

  // The trees, without the parameters, which say whether there are bundles.
  static std::string TreesOf(const Trained& trained) {
    return trained.model.substr(0, trained.model.find("\nparameters:"));
  }

  void ExpectSameModels(const std::string& more) {
    SCOPED_TRACE(more);
    const Trained apart = Train(1, ConfOf(more + "\nnum_threads = 1\nenable_bundle = false"));
    ASSERT_TRUE(apart.status.ok()) << apart.status.ToString();
    ASSERT_NE(apart.model.find("Tree=2\n"), std::string::npos);
    for (const int threads : {1, 3}) {
      const Trained bundled = Train(1, ConfOf(more + fmt::format("\nnum_threads = {}", threads)));
      ASSERT_TRUE(bundled.status.ok()) << bundled.status.ToString();
      EXPECT_EQ(TreesOf(bundled), TreesOf(apart)) << threads;
      ExpectSame(bundled.evaluations, apart.evaluations);
    }
    for (const int world : {2, 3}) {
      for (const char* learner : {"data", "feature"}) {
        const Trained ranks = Train(
            world, ConfOf(more + fmt::format("\nnum_threads = 2\ntree_learner = {}", learner)));
        ASSERT_TRUE(ranks.status.ok()) << ranks.status.ToString();
        EXPECT_EQ(TreesOf(ranks), TreesOf(apart)) << world << " " << learner;
      }
    }
  }
};

TEST_F(BundlesTraining, ModelsOfOneHotColumnsAreThoseWithoutBundles) {
  WriteWholeFile(folder_.File("train.svm"), OneHotRows(1, 900));
  WriteWholeFile(folder_.File("valid.svm"), OneHotRows(50, 300));
  ExpectSameModels("gradient_bits = 32");
  ExpectSameModels(
      "gradient_bits = 16\nbagging_freq = 1\nbagging_fraction = 0.7\nfeature_fraction = 0.8");
  ExpectSameModels("zero_as_missing = true\nboosting = dart\nskip_drop = 0.2");
  // Bundles of a small sample, of which features are taken out again.
  ExpectSameModels("bin_construct_sample_cnt = 60\nfeature_pre_filter = false");
}

// Three features that no sampled row has two of share a column, before a feature of its own. Where
// other rows have two of them no column is shared any more, and each must still be found.
TEST_F(BundlesTraining, RowsWhereBundledFeaturesMeetCountAsTheyAre) {
  const auto rows = [](uint64_t seed, size_t count, double meeting) {
    std::string text;
    for (size_t row = 0; row < count; ++row) {
      const auto one = static_cast<size_t>(Uniform(seed, row) * 3);
      std::array<int, 3> values = {};
      values[one] = 1 + static_cast<int>(Uniform(seed + 1, row) * 3);
      if (Uniform(seed + 2, row) < meeting) values[(one + 1) % 3] = 2;
      if (Uniform(seed + 3, row) < meeting / 4) values = {1, 2, 3};
      text += fmt::format("{}\t{}\t{}\t{}\t{:.2f}\n", values[0] + 3 * values[1] > 4 ? 1 : 0,
                          values[0], values[1], values[2], Uniform(seed + 4, row));
    }
    return text;
  };
  for (const double meeting : {0.0, 0.1}) {
    WriteWholeFile(folder_.File("train.svm"), rows(1, 400, meeting));
    WriteWholeFile(folder_.File("valid.svm"), rows(9, 200, 0.3));
    ExpectSameModels("feature_pre_filter = false");
    if (meeting > 0) {
      ExpectSameModels(
          "feature_pre_filter = false\nbin_construct_sample_cnt = 12\nmin_data_in_bin = 1");
    }
  }
}

TEST_F(BundlesTraining, ModelsOfAgaricusAreThoseWithoutBundles) {
  const std::string shared = STRATA_SOURCE_DIR "/../shared/data/";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "there is no " << shared;
  for (const char* part : {"train", "valid"}) {
    const std::string name = part == std::string("train") ? "train" : "test";
    WriteWholeFile(folder_.File(std::string(part) + ".svm"),
                   ReadWholeFile(shared + "agaricus." + name + ".libsvm"));
  }
  ExpectSameModels("");
}

}  // namespace
}  // namespace strata
