// A part of a checkpoint, read as a file: as it is, and with its digests made to fit, so that
// chance gets past them. Whatever comes out is a status, and what is handed out fits its table.
#include "proto/format/checkpoint_part.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/little_endian.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"

namespace strata::fuzz {
namespace {

constexpr format::PartName kName{
    .number = 2, .parent = 1, .server = 3, .lane = 1, .cluster = 0x55aa};

void ReadAll(std::span<const std::byte> bytes) {
  SimDisk disk;
  {
    const auto file = disk.Create("part");
    STRATA_CHECK(file.ok() && (*file)->Append(bytes).ok());
  }
  const auto reader = PartReader::Open(disk, "part", kName, nullptr);
  if (!reader.ok()) return;
  PartBlock block;
  while (true) {
    const auto more = (*reader)->Next(&block);
    if (!more.ok() || !*more) return;
    if (block.kind != format::BlockKind::kRows) continue;
    const RowSchema schema = SchemaOf((*reader)->tables().at(block.table).spec);
    const size_t width = size_t{schema.dim} + schema.state_width;
    STRATA_CHECK(block.page.rows.size() == block.page.keys.size() * width);
    STRATA_CHECK(block.page.counters.size() == block.page.keys.size());
  }
}

void PutDigest(const format::Digest& digest, std::byte* out) {
  StoreLittle(digest.high, out);
  StoreLittle(digest.low, out + 8);
}

// Follows the blocks for as long as their sizes lead somewhere.
void Reseal(Bytes& bytes) {
  if (bytes.size() < format::kPartHeaderBytes) return;
  const std::span<std::byte> all(bytes);
  const auto identity = all.first<format::kPartIdentityBytes>();
  PutDigest(format::DigestOf(identity), bytes.data() + format::kPartIdentityBytes);
  format::BlockDigester digester(identity);
  for (size_t at = format::kPartHeaderBytes; at + format::kBlockHeaderBytes <= bytes.size();) {
    const auto header = all.subspan(at).first<format::kBlockHeaderBytes>();
    const size_t body_bytes = LoadLittle<uint32_t>(header.data() + 20);
    if (body_bytes > bytes.size() - at - format::kBlockHeaderBytes) return;
    const std::span<const std::byte> body = all.subspan(at + format::kBlockHeaderBytes, body_bytes);
    PutDigest(digester.Of(header, {&body, 1}), header.data() + 24);
    at += format::kBlockHeaderBytes + body_bytes;
  }
}

}  // namespace

std::vector<Bytes> Seeds() {
  SimDisk disk;
  const auto writer = PartWriter::Create(disk, "c", kName);
  STRATA_CHECK(writer.ok());
  TableSpec spec;
  spec.name = "t";
  spec.dim = 2;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  ScanPage page;
  page.keys = {1, 2, 3};
  page.rows.resize(12);
  page.counters.resize(3);
  const std::array<Key, 2> erased = {8, 9};
  const std::array<std::byte, 5> image{};
  STRATA_CHECK((*writer)->AddTable(spec, 1).ok() && (*writer)->AddErased(spec.id(), erased).ok() &&
               (*writer)->AddRows(spec.id(), page).ok() && (*writer)->AddLaneImage(image).ok() &&
               (*writer)->Finish().ok());
  const auto text = ReadFile(disk, "c/0000000002/server-3-lane-1.part", 1 << 20);
  const auto bytes = std::as_bytes(std::span(*text));
  return {Bytes(bytes.begin(), bytes.end())};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  strata::fuzz::ReadAll(input);
  strata::fuzz::Bytes resealed(input.begin(), input.end());
  strata::fuzz::Reseal(resealed);
  strata::fuzz::ReadAll(resealed);
  return 0;
}
