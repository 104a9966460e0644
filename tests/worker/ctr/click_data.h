// Generated click data in memory.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "worker/data/batch/batch.h"
#include "worker/model/model_shape.h"

namespace strata {

struct ClickSample {
  std::vector<Key> keys;  // one a slot
  std::vector<float> dense;
  float label = 0;
};

// Three slots and two dense features; clicks follow a logistic model with interactions.
inline std::vector<ClickSample> ClickData(size_t samples, uint64_t seed) {
  Random random(seed);
  const auto effect = [](uint64_t a, uint64_t b) {
    return static_cast<double>(Mix64(a * 1000 + b) % 2001) / 1000 - 1;
  };
  std::vector<ClickSample> data(samples);
  for (ClickSample& sample : data) {
    double logit = -0.5;
    for (uint64_t slot = 0; slot < 3; ++slot) {
      sample.keys.push_back(slot << 32 | random.Below(20));
      logit += effect(sample.keys.back(), 1);
    }
    logit += 2 * effect(sample.keys[0], sample.keys[1]);
    for (int d = 0; d < 2; ++d) {
      sample.dense.push_back(static_cast<float>(random.Uniform() * 2 - 1));
      logit += sample.dense.back() * (d == 0 ? 1.5 : -0.5);
    }
    sample.label = random.Uniform() < 1 / (1 + std::exp(-logit)) ? 1.0F : 0.0F;
  }
  return data;
}

// A network for ClickData that normalises dense features and what a layer gives, by batches.
inline ModelShape NetworkWithBatchNorm() {
  ModelShape shape;
  shape.kind = ModelKind::kLayers;
  shape.embedding_dim = 4;
  shape.slots = 3;
  shape.dense_width = 2;
  shape.layers = {
      {.name = "features", .kind = LayerKind::kBatchNorm, .inputs = {"dense"}},
      {.name = "inputs", .kind = LayerKind::kConcat, .inputs = {"embeddings", "features"}},
      {.name = "hidden", .inputs = {"inputs"}, .width = 16},
      {.name = "normal", .kind = LayerKind::kBatchNorm, .inputs = {"hidden"}},
      {.name = "active",
       .kind = LayerKind::kActivation,
       .inputs = {"normal"},
       .activation = Activation::kRelu},
      {.name = "logit", .inputs = {"active"}, .width = 1}};
  return shape;
}

// The label is the XOR of two slots' parities.
inline std::vector<ClickSample> XorData(size_t samples, uint64_t seed) {
  Random random(seed);
  std::vector<ClickSample> data(samples);
  for (ClickSample& sample : data) {
    const uint64_t a = random.Below(20);
    const uint64_t b = random.Below(20);
    sample.keys = {a, uint64_t{1} << 32 | b};
    sample.label = static_cast<float>((a ^ b) & 1);
  }
  return data;
}

// Samples begin, begin + 1, ... end - 1 in order. The keys of a sample are those of as many slots,
// or of one each keys_a_slot of them.
class VectorSource final : public BatchSource {
 public:
  VectorSource(const std::vector<ClickSample>& data, size_t begin, size_t end,
               size_t keys_a_slot = 1)
      : data_(data), begin_(begin), end_(end), keys_a_slot_(keys_a_slot), next_(begin) {}

  Status Rewind(uint64_t /*epoch*/) override {
    next_ = begin_;
    return {};
  }

  Status Next(size_t samples_max, Batch* batch) override {
    *batch = {};
    batch->slots = data_[0].keys.size() / keys_a_slot_;
    batch->dense_width = data_[0].dense.size();
    batch->offsets = {0};
    for (; batch->samples < samples_max && next_ < end_; ++batch->samples, ++next_) {
      const ClickSample& sample = data_[next_];
      for (const Key key : sample.keys) {
        batch->keys.push_back(key);
        if (batch->keys.size() % keys_a_slot_ != 0) continue;
        batch->offsets.push_back(static_cast<uint32_t>(batch->keys.size()));
      }
      batch->dense.insert(batch->dense.end(), sample.dense.begin(), sample.dense.end());
      batch->labels.push_back(sample.label);
      batch->weights.push_back(1);
    }
    return {};
  }

  double Progress() const override {
    return end_ == begin_
               ? 1
               : static_cast<double>(next_ - begin_) / static_cast<double>(end_ - begin_);
  }

 private:
  const std::vector<ClickSample>& data_;
  size_t begin_;
  size_t end_;
  size_t keys_a_slot_;
  size_t next_;
};

}  // namespace strata
