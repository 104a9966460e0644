// Exported tables, read back by a program that shares nothing with the exporter.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/checkpoint/export.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

// Prints a line "key element element ..." a row, in hexadecimal bits, values only.
constexpr const char* kReader = R"(
import ast, json, struct, sys
kind, files = sys.argv[1], sys.argv[2:]

def npy(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length:10 + length] == b"\n"
    return ast.literal_eval(data[10:10 + length].decode()), data[10 + length:]

if kind == "safetensors":
    data = open(files[0], "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert length % 8 == 0 and header.pop("__metadata__")
    body = data[8 + length:]
    end = 0
    for name in ("keys", "values", "state"):
        if name not in header: continue
        begin, stop = header[name]["data_offsets"]
        assert begin == end, (begin, end)
        end = stop
    assert end == len(body)
    part = lambda name: body[slice(*header[name]["data_offsets"])]
    assert header["keys"]["dtype"] == "U64" and header["values"]["dtype"] == "F32"
    (n,), dim = header["keys"]["shape"], header["values"]["shape"][1]
    assert header["values"]["shape"][0] == n
    if "state" in header: assert len(part("state")) == n * header["state"]["shape"][1] * 4
    keys, values = part("keys"), part("values")
elif kind == "npy":
    head, keys = npy(files[0])
    assert head["descr"] == "<u8" and head["fortran_order"] is False
    (n,) = head["shape"]
    head, values = npy(files[1])
    assert head["descr"] == "<f4" and head["shape"][0] == n
    dim = head["shape"][1]
else:
    assert files[0].endswith("_sparse.model/key") and files[1].endswith("_sparse.model/emb_vector")
    keys, values = open(files[0], "rb").read(), open(files[1], "rb").read()
    n = len(keys) // 8
    dim = len(values) // 4 // max(n, 1)
assert len(keys) == 8 * n and len(values) == 4 * n * dim
for i in range(n):
    bits = struct.unpack("<%dI" % dim, values[4 * dim * i:4 * dim * (i + 1)])
    print(struct.unpack("<Q", keys[8 * i:8 * i + 8])[0], *("%x" % b for b in bits))
)";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> TruthLines(const TableBits& bits, uint32_t dim) {
  std::vector<std::string> lines;
  for (const auto& [key, row] : bits) {
    std::string line = std::to_string(key);
    for (uint32_t i = 0; i < dim; ++i) line += fmt::format(" {:x}", row.elements[i]);
    lines.push_back(std::move(line));
  }
  return lines;
}

class CheckpointExportTest : public testing::Test {
 protected:
  CheckpointExportTest() : lanes_(RealDisk(), folder_.File("c"), 8) {
    for (const uint32_t number : {1U, 2U, 3U}) {
      lanes_.Write(25);
      EXPECT_TRUE(lanes_.Take(number, number == 1).ok());
    }
  }

  std::vector<std::string> ReadBack(const std::string& kind,
                                    const std::vector<std::string>& files) {
    std::vector<std::string> arguments = {"-c", kReader, kind};
    arguments.insert(arguments.end(), files.begin(), files.end());
    const ProcessResult python = RunProcess(STRATA_PYTHON, {.arguments = arguments});
    EXPECT_EQ(python.end.code, 0) << python.errors;
    return Lines(python.output);
  }

  TempFolder folder_;
  CheckpointedLanes lanes_;
};

TEST_F(CheckpointExportTest, EveryFormatHoldsEveryRowOfTheChain) {
  for (const std::string kind : {"safetensors", "npy", "hugectr"}) {
    for (const std::string table : {"a", "b"}) {
      const auto format = ParseExportFormat(kind);
      ASSERT_TRUE(format.ok());
      const auto report =
          ExportTable(RealDisk(), lanes_.root(), 3, table, *format, folder_.File("out"));
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      const TableBits& truth = lanes_.truth(3).at(table);
      EXPECT_EQ(report->rows, truth.size());
      EXPECT_THAT(ReadBack(kind, report->files),
                  testing::UnorderedElementsAreArray(TruthLines(truth, report->dim)))
          << kind << ", table " << table;
    }
  }
}

TEST_F(CheckpointExportTest, RefusalsNameWhatThereIs) {
  EXPECT_THAT(ParseExportFormat("csv").status().message(),
              testing::HasSubstr("expected safetensors, npy or hugectr"));
  const auto report =
      ExportTable(RealDisk(), lanes_.root(), 3, "c", ExportFormat::kNpy, folder_.File("out"));
  EXPECT_EQ(report.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(report.status().message(), testing::HasSubstr("no table 'c'; it has: a, b"));
}

}  // namespace
}  // namespace strata
