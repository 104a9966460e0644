#include "proto/wire/checkpoint_payload.h"

#include <fmt/format.h>

#include "proto/wire/bytes.h"

namespace strata::wire {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kNameBytesMax = 64;  // of an attachment
constexpr size_t kEntryBytes = 36;    // of one checkpoint, before its attachments' names

std::string TextOf(const Frame& frame) {
  const auto bytes = frame.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Frame FrameOf(const std::string& text) { return Frame::Copy(std::as_bytes(std::span(text))); }

Result<std::string> ReadName(ByteReader& reader) {
  const auto length = reader.Get<uint8_t>();
  if (!reader.ok() || length > kNameBytesMax || length > reader.left()) {
    return Invalid(
        fmt::format("checkpoint list: an attachment's name of {} bytes announced (at "
                    "most {}), {} bytes follow",
                    length, kNameBytesMax, reader.left()));
  }
  return reader.GetText(length);
}

Result<CheckpointEntry> ReadEntry(ByteReader& reader) {
  if (reader.left() < kEntryBytes) {
    return Invalid(fmt::format("checkpoint list: an entry has at least {} bytes, found {}",
                               kEntryBytes, reader.left()));
  }
  CheckpointEntry entry;
  entry.number = reader.Get<uint32_t>();
  entry.parent = reader.Get<uint32_t>();
  entry.rows = reader.Get<uint64_t>();
  entry.bytes = reader.Get<uint64_t>();
  entry.wall_unix_ns = reader.Get<uint64_t>();
  const auto attachments = reader.Get<uint32_t>();
  for (uint32_t i = 0; i < attachments; ++i) {
    STRATA_ASSIGN(std::string name, ReadName(reader));
    entry.attachments.push_back(std::move(name));
  }
  return entry;
}

}  // namespace

Frame EncodeBlocks(std::span<const Frame> blocks) {
  std::vector<std::byte> bytes;
  for (const Frame& block : blocks) {
    const size_t at = bytes.size();
    bytes.resize(at + kLengthBytes);
    StoreLittle(static_cast<uint32_t>(block.size()), bytes.data() + at);
    bytes.insert(bytes.end(), block.bytes().begin(), block.bytes().end());
  }
  return Frame::Own(std::move(bytes));
}

Result<std::vector<Frame>> DecodeBlocks(const Frame& frame) {
  const auto owner = std::make_shared<const Frame>(frame);
  std::vector<Frame> blocks;
  std::span<const std::byte> left = owner->bytes();
  while (!left.empty()) {
    if (blocks.size() == kBlocksMax) {
      return Invalid(fmt::format("more than {} blocks in a frame", kBlocksMax));
    }
    if (left.size() < kLengthBytes) {
      return Invalid(fmt::format("block {}: expected a length of {} bytes, found {}", blocks.size(),
                                 kLengthBytes, left.size()));
    }
    const size_t length = LoadLittle<uint32_t>(left.data());
    left = left.subspan(kLengthBytes);
    if (length > left.size()) {
      return Invalid(fmt::format("block {}: {} bytes announced, {} bytes follow", blocks.size(),
                                 length, left.size()));
    }
    blocks.emplace_back(owner, left.first(length));
    left = left.subspan(length);
  }
  return blocks;
}

Frame EncodeNamedBlocks(std::span<const NamedBlock> blocks) {
  std::vector<Frame> frames;
  for (const NamedBlock& block : blocks) {
    frames.push_back(FrameOf(block.name));
    frames.push_back(block.bytes);
  }
  return EncodeBlocks(frames);
}

Result<std::vector<NamedBlock>> DecodeNamedBlocks(const Frame& frame) {
  STRATA_ASSIGN(const std::vector<Frame> frames, DecodeBlocks(frame));
  if (frames.size() % 2 != 0) {
    return Invalid(fmt::format("named blocks: names and bytes in turn, found {} blocks in all",
                               frames.size()));
  }
  std::vector<NamedBlock> blocks;
  for (size_t i = 0; i < frames.size(); i += 2) {
    if (frames[i].size() > kNameBytesMax) {
      return Invalid(fmt::format("named blocks: a name of {} bytes, at most {} are allowed",
                                 frames[i].size(), kNameBytesMax));
    }
    blocks.push_back({TextOf(frames[i]), frames[i + 1]});
  }
  return blocks;
}

Frame EncodeCheckpointList(std::span<const CheckpointEntry> entries) {
  ByteWriter writer;
  for (const CheckpointEntry& entry : entries) {
    writer.Put(entry.number);
    writer.Put(entry.parent);
    writer.Put(entry.rows);
    writer.Put(entry.bytes);
    writer.Put(entry.wall_unix_ns);
    writer.Put(static_cast<uint32_t>(entry.attachments.size()));
    for (const std::string& name : entry.attachments) {
      STRATA_CHECK(name.size() <= kNameBytesMax);
      writer.Put(static_cast<uint8_t>(name.size()));
      writer.PutText(name);
    }
  }
  return writer.Take();
}

Result<std::vector<CheckpointEntry>> DecodeCheckpointList(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<CheckpointEntry> entries;
  while (reader.left() > 0) {
    STRATA_ASSIGN(CheckpointEntry entry, ReadEntry(reader));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace strata::wire
