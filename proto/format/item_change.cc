#include "proto/format/item_change.h"

#include <fmt/format.h>

#include "base/little_endian.h"

namespace strata::format {
namespace {

constexpr uint32_t kUpsert = 1;
constexpr uint32_t kDelete = 2;

}  // namespace

void AppendItemChange(const ItemChange& change, std::vector<std::byte>* out) {
  const size_t begin = out->size();
  const size_t tokens = change.is_upsert ? change.tokens.size() : 0;
  const size_t attributes = change.is_upsert ? change.attributes.size() : 0;
  out->resize(begin + kItemChangeHeaderBytes + 8 * attributes + 4 * tokens);
  std::byte* at = out->data() + begin;
  StoreLittle(change.is_upsert ? kUpsert : kDelete, at);
  StoreLittle(static_cast<uint32_t>(tokens), at + 4);
  StoreLittle(static_cast<uint32_t>(attributes), at + 8);
  StoreLittle(uint32_t{0}, at + 12);
  StoreLittle(change.id, at + 16);
  at += kItemChangeHeaderBytes;
  for (size_t i = 0; i < attributes; ++i, at += 8) {
    StoreLittle(static_cast<uint64_t>(change.attributes[i]), at);
  }
  for (size_t i = 0; i < tokens; ++i, at += 4) StoreLittle(change.tokens[i], at);
}

Result<std::vector<ItemChange>> DecodeItemChanges(std::span<const std::byte> bytes) {
  std::vector<ItemChange> changes;
  size_t offset = 0;
  const auto corrupt = [&](const std::string& what) {
    return Corrupt(fmt::format("byte {} of {}: {}", offset, bytes.size(), what));
  };
  if (bytes.empty()) return corrupt("expected a change of a collection, found nothing");
  while (offset < bytes.size()) {
    const size_t left = bytes.size() - offset;
    if (left < kItemChangeHeaderBytes) {
      return corrupt(fmt::format("expected the {} bytes that begin a change, found {}",
                                 kItemChangeHeaderBytes, left));
    }
    const std::byte* at = bytes.data() + offset;
    const auto kind = LoadLittle<uint32_t>(at);
    const uint64_t tokens = LoadLittle<uint32_t>(at + 4);
    const uint64_t attributes = LoadLittle<uint32_t>(at + 8);
    if (kind != kUpsert && kind != kDelete) {
      return corrupt(
          fmt::format("expected a change of kind {} or {}, found {}", kUpsert, kDelete, kind));
    }
    if (LoadLittle<uint32_t>(at + 12) != 0) return corrupt("expected zeros at 12 to 15 behind it");
    if (kind == kDelete && (tokens != 0 || attributes != 0)) {
      return corrupt("a document that goes has tokens or attributes");
    }
    const uint64_t body = 8 * attributes + 4 * tokens;
    if (left - kItemChangeHeaderBytes < body) {
      return corrupt(fmt::format("expected {} bytes of attributes and tokens, found {}", body,
                                 left - kItemChangeHeaderBytes));
    }
    ItemChange change{.is_upsert = kind == kUpsert,
                      .id = LoadLittle<uint64_t>(at + 16),
                      .tokens = {},
                      .attributes = {}};
    at += kItemChangeHeaderBytes;
    for (uint64_t i = 0; i < attributes; ++i, at += 8) {
      change.attributes.push_back(static_cast<int64_t>(LoadLittle<uint64_t>(at)));
    }
    for (uint64_t i = 0; i < tokens; ++i, at += 4) {
      change.tokens.push_back(LoadLittle<uint32_t>(at));
    }
    changes.push_back(std::move(change));
    offset += kItemChangeHeaderBytes + body;
  }
  return changes;
}

}  // namespace strata::format
