#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/hash.h"
#include "proto/wire/bytes.h"
#include "proto/wire/command_table.h"
#include "tests/proto/wire_samples.h"

namespace strata::wire {
namespace {

using Bytes = std::vector<std::byte>;
using ::testing::HasSubstr;

Bytes HeaderBytes(const Header& header = {}) {
  const auto bytes = EncodeHeader(header);
  return Bytes(bytes.begin(), bytes.end());
}

// Changes a field by hand and makes the CRC right again.
template <typename T>
Bytes WithField(size_t at, T value, uint16_t version = kVersion) {
  Header header;
  header.version = version;
  Bytes bytes = HeaderBytes(header);
  StoreLittle(value, bytes.data() + at);
  StoreLittle(Crc32c(std::span(bytes).first(156)), bytes.data() + 156);
  return bytes;
}

Message Replaced(const Message& message, size_t frame, Bytes bytes) {
  Message copy = message;
  copy[frame] = Frame::Own(std::move(bytes));
  return copy;
}

TEST(WireHeader, RandomHeadersComeBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto commands = CommandTable();
    Header h;
    h.command = commands[random() % commands.size()].command;
    h.flags = static_cast<uint32_t>(random()) & kFlagsKnown;
    h.status = h.is(kFlagReply) ? static_cast<uint16_t>(random()) : uint16_t{0};
    for (uint64_t* field :
         {&h.request_id, &h.cluster_id, &h.client_hi, &h.client_lo, &h.incarnation, &h.sequence,
          &h.settled_below, &h.step, &h.first_step, &h.cursor, &h.body_checksum}) {
      *field = random();
    }
    for (uint32_t* field :
         {&h.epoch, &h.table, &h.count, &h.width, &h.timeout_ms, &h.group, &h.body_bytes, &h.cut}) {
      *field = static_cast<uint32_t>(random());
    }
    if (h.is(kFlagReply)) h.credit = static_cast<uint32_t>(random());
    h.version = static_cast<uint16_t>(kVersionMin + random() % (kVersion - kVersionMin + 1));
    if (h.version >= 2) {
      const bool names = InfoOf(h.command).has(kNames);
      (names && !h.is(kFlagReply) ? h.name_check : h.boot_nonce) = static_cast<uint32_t>(random());
      h.trace = static_cast<uint32_t>(random());
    }
    h.rank = static_cast<uint16_t>(random());
    h.world = static_cast<uint16_t>(random());
    h.ack = static_cast<uint8_t>(random());
    h.frames = static_cast<uint8_t>(random() % (kFramesMax + 1));
    const Result<Header> back = DecodeHeader(EncodeHeader(h));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, h);
  }
}

TEST(WireHeader, EveryFlippedBitIsSeen) {
  const Bytes good = HeaderBytes(Samples().front().header);
  ASSERT_TRUE(DecodeHeader(good).ok());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const StatusCode code = DecodeHeader(bad).status().code();
    EXPECT_EQ(code, bit < 32 ? StatusCode::kInvalid : StatusCode::kCorrupt) << "bit " << bit;
  }
}

TEST(WireHeader, WrongFieldsAreNamed) {
  const struct {
    Bytes bytes;
    StatusCode code;
    const char* text;
  } cases[] = {
      {{}, StatusCode::kInvalid, "expected 160 bytes, found 0"},
      {Bytes(159), StatusCode::kInvalid, "found 159"},
      {Bytes(161), StatusCode::kInvalid, "found 161"},
      {Bytes(160), StatusCode::kInvalid, "magic"},
      {WithField<uint16_t>(4, 0), StatusCode::kRefused, "version 0"},
      {WithField<uint16_t>(4, 3), StatusCode::kRefused, "speaks 1 to 2"},
      {WithField<uint16_t>(6, 0), StatusCode::kInvalid, "command 0"},
      {WithField<uint16_t>(6, 999), StatusCode::kInvalid, "command 999"},
      {WithField<uint32_t>(8, 1U << 5), StatusCode::kInvalid, "unknown flags 0x20"},
      {WithField<uint16_t>(12, 3), StatusCode::kInvalid, "status must be 0"},
      {WithField<uint8_t>(14, 1), StatusCode::kInvalid, "reserved byte 14"},
      {WithField<uint8_t>(15, 1), StatusCode::kInvalid, "reserved byte 15"},
      {WithField<uint8_t>(125, 9), StatusCode::kInvalid, "at most 8"},
      {WithField<uint8_t>(127, 1), StatusCode::kInvalid, "reserved byte 127"},
      {WithField<uint32_t>(144, 7), StatusCode::kInvalid, "credit must be 0, found 7"},
      {WithField<uint8_t>(148, 1, 1), StatusCode::kInvalid, "reserved byte 148"},
      {WithField<uint8_t>(155, 1, 1), StatusCode::kInvalid, "reserved byte 155"},
  };
  for (const auto& c : cases) {
    const Status status = DecodeHeader(c.bytes).status();
    EXPECT_EQ(status.code(), c.code) << c.text;
    EXPECT_THAT(status.message(), HasSubstr(c.text));
  }
}

TEST(WireHeader, AnUnknownVersionCanStillBeAnswered) {
  Bytes bytes = WithField<uint16_t>(4, 7);
  const std::optional<Header> peeked = PeekHeader(bytes);
  ASSERT_TRUE(peeked.has_value());
  EXPECT_EQ(peeked->command, Command::kPing);
  EXPECT_EQ(peeked->version, kVersion);  // the nearest
  EXPECT_EQ(PeekHeader(WithField<uint16_t>(4, 0))->version, kVersionMin);
  bytes[40] ^= std::byte{1};
  EXPECT_FALSE(PeekHeader(bytes).has_value());
  EXPECT_FALSE(PeekHeader({}).has_value());
}

TEST(WireMessage, FlippedCutAndPaddedPayloadsAreSeen) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.name);
    for (size_t f = 1; f < sample.message.size(); ++f) {
      const auto view = sample.message[f].bytes();
      const Bytes good(view.begin(), view.end());
      Bytes longer = good;
      longer.push_back(std::byte{0});
      EXPECT_EQ(Open(Replaced(sample.message, f, longer)).status().code(), StatusCode::kInvalid);
      if (good.empty()) continue;
      EXPECT_EQ(
          Open(Replaced(sample.message, f, Bytes(good.begin(), good.end() - 1))).status().code(),
          StatusCode::kInvalid);
      for (size_t i = 0; i < good.size(); ++i) {
        Bytes bad = good;
        bad[i] ^= std::byte{0x10};
        EXPECT_EQ(Open(Replaced(sample.message, f, bad)).status().code(), StatusCode::kCorrupt);
      }
    }
    Message more = sample.message;
    more.emplace_back();
    EXPECT_EQ(Open(more).status().code(), StatusCode::kInvalid);
    more.resize(sample.message.size() - 1);
    EXPECT_EQ(Open(more).status().code(), StatusCode::kInvalid);
  }
}

TEST(WireMessage, TheCommandSaysHowManyFrames) {
  for (const CommandInfo& info : CommandTable()) {
    for (uint8_t frames = 0; frames <= kFramesMax; ++frames) {
      Header header;
      header.command = info.command;
      EXPECT_EQ(Open(Seal(header, Message(frames))).ok(),
                frames >= info.request_frames_min && frames <= info.request_frames_max)
          << info.name << " with " << int{frames};
      header.flags = kFlagReply;
      EXPECT_EQ(Open(Seal(header, Message(frames))).ok(),
                frames >= info.reply_frames_min && frames <= info.reply_frames_max);
      header.status = 2;
      EXPECT_EQ(Open(Seal(header, Message(frames))).ok(), frames == 1);
    }
  }
}

TEST(WireMessage, TheChecksumRunsOverTheFramesAsOneText) {
  const std::string text = "the payload, cut into frames";
  const auto bytes = std::as_bytes(std::span(text));
  Header header;
  header.command = Command::kPush;
  const Message message =
      Seal(header, {Frame::Copy(bytes.first(5)), Frame::Copy(bytes.subspan(5))});
  EXPECT_EQ(DecodeHeader(message[0].bytes())->body_checksum, Hash64(text));
}

}  // namespace
}  // namespace strata::wire
