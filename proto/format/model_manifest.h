// The manifest of a saved model. A model is a folder:
//   manifest        this: one header line, then JSON
//   features-G.bin  text: how columns become inputs, with the statistics of the training data
//   sparse-G.bin    table rows: `rows` keys, u64 ascending, then `rows` x row_dim values f32
//   sparse.N-G.bin  the same of the N-th table, from 2 on, of a model that has several
//   dense-G.bin     the dense part: dense_parameters values f32
// G counts the times that the folder was saved to: the manifest is replaced last and in one step,
// so that the files it names are always whole. All numbers in these files are little-endian. The
// header line is
//   strata-model VERSION BODY_BYTES CHECKSUM\n
// with decimal numbers and XXH3-64 of the body as 16 hexadecimal digits; the manifest holds a
// checksum of every block of every other file, so that no byte of a model is unguarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata::format {

// The newest that is read. A manifest is written as the oldest version that can say all of it, so
// that older builds read it. They refuse newer versions, of which they would leave something out.
constexpr uint32_t kModelVersion = 3;
constexpr size_t kModelBlockBytes = size_t{1} << 20;
constexpr size_t kModelManifestBytesMax = size_t{256} << 20;

struct ModelFile {
  std::string name;  // within the folder
  uint64_t bytes = 0;
  std::vector<uint64_t>
      checksums;  // XXH3-64 of each block of kModelBlockBytes; the last is shorter

  friend bool operator==(const ModelFile&, const ModelFile&) = default;
};

// A layer of a model of kind "layers" (worker/model/layer_graph.h).
struct ModelLayer {
  std::string name;
  std::string kind;
  std::vector<std::string> inputs = {};
  // The text leaves out these members where they are 0, "none" or false.
  uint32_t width = 0;
  uint32_t begin = 0;
  std::string activation = "none";
  bool hidden = false;

  friend bool operator==(const ModelLayer&, const ModelLayer&) = default;
};

// A table of a model that has several.
struct ModelTable {
  std::string name;
  uint32_t slots = 0;
  uint32_t dim = 0;              // elements of a slot's vector
  std::string combiner = "sum";  // or "mean", from version 3 on: of the rows of a slot
  uint64_t rows = 0;

  friend bool operator==(const ModelTable&, const ModelTable&) = default;
};

struct ModelManifest {
  std::string writer;  // "strata 0.1.0"
  // The job that trained it.
  std::string job;
  uint64_t seed = 0;
  uint64_t epochs = 0;
  uint64_t samples = 0;  // trained on, epochs added
  // Kind and shape.
  std::string model;  // "logistic", "fm", "deepfm", ... (strata/model_kind.h)
  uint32_t embedding_dim = 0;
  std::vector<uint32_t> hidden;
  std::vector<uint32_t> bottom = {};  // what follows is left out of the text where it is empty or 0
  uint32_t cross_layers = 0;
  uint32_t cross_rank = 0;
  std::string combiner = "sum";  // or "mean", from version 2 on: of the one table's rows of a slot
  std::string loss = "logloss";  // or "mse", from version 2 on: of labels that are numbers
  std::vector<ModelLayer> layers = {};
  std::vector<ModelTable> tables = {};
  uint32_t slots = 0;
  uint32_t dense_width = 0;
  uint64_t dense_parameters = 0;
  // The table, or the first one. Keys that it does not hold have initial values, which the model's
  // answers rely on.
  uint32_t row_dim = 0;
  uint64_t rows = 0;
  uint64_t table_seed = 0;
  std::string initializer;  // "zero", "uniform", "normal"
  float initializer_scale = 0;
  std::string value_type = "fp32";  // to which initial values are rounded: "fp32", "bf16", "fp16"

  std::vector<ModelFile> files;

  friend bool operator==(const ModelManifest&, const ModelManifest&) = default;
};

std::string EncodeModelManifest(const ModelManifest& manifest);

// `file` is the name for messages. kInvalid: not a manifest, or of a newer version; kCorrupt: bytes
// are missing, added or changed.
Result<ModelManifest> DecodeModelManifest(std::string_view bytes, const std::string& file);

// What the manifest says of a file with this content.
ModelFile DescribeModelFile(const std::string& name, std::span<const std::byte> content);

// kCorrupt with the path, the block's number and offset, and the checksums that were expected and
// found, or with both sizes.
Status CheckModelFile(const ModelFile& expected, std::span<const std::byte> content,
                      const std::string& path);

}  // namespace strata::format
