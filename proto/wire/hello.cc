#include <fmt/format.h>

#include "proto/wire/bytes.h"
#include "proto/wire/checkpoint_payload.h"
#include "proto/wire/commands.h"
#include "proto/wire/shard_map.h"

namespace strata::wire {
namespace {

constexpr size_t kNameBytesMax = 128;

// The text that ends a payload: it must fill what is left exactly.
Result<std::string> LastText(ByteReader& reader, uint16_t length, std::string_view what) {
  if (!reader.ok() || length > kNameBytesMax || reader.left() != length) {
    return Invalid(fmt::format("{}: {} bytes of text announced (at most {}), {} bytes are there",
                               what, length, kNameBytesMax, reader.left()));
  }
  return reader.GetText(length);
}

Status CheckVersions(uint16_t least, uint16_t most, std::string_view what) {
  if (least <= most) return {};
  return Invalid(fmt::format("{}: versions {} to {} are no range", what, least, most));
}

}  // namespace

Frame EncodeHelloRequest(const HelloRequest& request) {
  const auto name = std::string_view(request.client_name).substr(0, kNameBytesMax);
  ByteWriter writer;
  writer.Put(request.version_min);
  writer.Put(request.version_max);
  writer.Put(static_cast<uint16_t>(name.size()));
  writer.Put(uint16_t{0});
  writer.PutText(name);
  return writer.Take();
}

Result<HelloRequest> DecodeHelloRequest(std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "hello request";
  ByteReader reader(bytes);
  HelloRequest request;
  request.version_min = reader.Get<uint16_t>();
  request.version_max = reader.Get<uint16_t>();
  const auto length = reader.Get<uint16_t>();
  if (reader.Get<uint16_t>() != 0) return Invalid("hello request: reserved bytes must be 0");
  STRATA_ASSIGN(request.client_name, LastText(reader, length, kWhat));
  STRATA_TRY(CheckVersions(request.version_min, request.version_max, kWhat));
  return request;
}

Frame EncodeHelloReply(const HelloReply& reply) {
  const auto version = std::string_view(reply.server_version).substr(0, kNameBytesMax);
  STRATA_CHECK(reply.lane_ports.size() <= kShards);
  ByteWriter writer;
  writer.Put(reply.version_min);
  writer.Put(reply.version_max);
  writer.Put(reply.server);
  writer.Put(reply.servers);
  writer.Put(reply.incarnation);
  writer.Put(static_cast<uint16_t>(reply.lane_ports.size()));
  writer.Put(static_cast<uint16_t>(version.size()));
  writer.Put(uint32_t{0});
  for (const uint16_t port : reply.lane_ports) writer.Put(port);
  writer.PutText(version);
  return writer.Take();
}

Result<HelloReply> DecodeHelloReply(std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "hello reply";
  ByteReader reader(bytes);
  HelloReply reply;
  reply.version_min = reader.Get<uint16_t>();
  reply.version_max = reader.Get<uint16_t>();
  reply.server = reader.Get<uint16_t>();
  reply.servers = reader.Get<uint16_t>();
  reply.incarnation = reader.Get<uint64_t>();
  const auto lanes = reader.Get<uint16_t>();
  const auto length = reader.Get<uint16_t>();
  if (reader.Get<uint32_t>() != 0) return Invalid("hello reply: reserved bytes must be 0");
  if (!reader.ok() || lanes > kShards || size_t{lanes} * 2 > reader.left()) {
    return Invalid(fmt::format("hello reply: {} lane ports announced (at most {}), {} bytes follow",
                               lanes, kShards, reader.left()));
  }
  reply.lane_ports.resize(lanes);
  for (uint16_t& port : reply.lane_ports) port = reader.Get<uint16_t>();
  STRATA_ASSIGN(reply.server_version, LastText(reader, length, kWhat));
  STRATA_TRY(CheckVersions(reply.version_min, reply.version_max, kWhat));
  if (reply.server >= reply.servers) {
    return Invalid(
        fmt::format("hello reply: server {} of {} servers", reply.server, reply.servers));
  }
  return reply;
}

Frame EncodeLaneEndpoints(std::span<const std::string> endpoints) {
  std::vector<Frame> blocks;
  for (const std::string& endpoint : endpoints) {
    blocks.push_back(Frame::Copy(std::as_bytes(std::span(endpoint))));
  }
  return EncodeBlocks(blocks);
}

Result<std::vector<std::string>> DecodeLaneEndpoints(const Frame& frame, size_t lanes) {
  STRATA_ASSIGN(const std::vector<Frame> blocks, DecodeBlocks(frame));
  if (blocks.size() != lanes) {
    return Invalid(
        fmt::format("hello reply: endpoints of {} lanes, ports of {}", blocks.size(), lanes));
  }
  std::vector<std::string> endpoints;
  for (const Frame& block : blocks) {
    if (block.size() > kNameBytesMax) {
      return Invalid(fmt::format("hello reply: an endpoint of {} bytes, expected at most {}",
                                 block.size(), kNameBytesMax));
    }
    endpoints.emplace_back(reinterpret_cast<const char*>(block.bytes().data()), block.size());
  }
  return endpoints;
}

}  // namespace strata::wire
