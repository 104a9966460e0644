// Frames of the links between ranks: a 40-byte little-endian header, then `length` bytes.
//   0 magic u32 | 4 version u16 | 6 type u16 | 8 length u64 | 16 operation u64 | 24 sequence u64
//   32 CRC-32C of bytes 0..31 u32 | 36 zero u32
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "strata/status.h"

namespace strata {

constexpr uint32_t kLinkMagic = 0x4b4e4c53;  // "SLNK"
constexpr uint16_t kLinkVersion = 3;
constexpr size_t kLinkHeaderBytes = 40;
constexpr std::byte kLinkFirstByte{0x53};  // of the magic number
constexpr std::byte kTlsFirstByte{22};     // of a connection that begins with TLS (RFC 8446, 5.1)
// What to do when one side speaks TLS and the other does not.
constexpr std::string_view kTlsAdvice =
    "set tls.certificate, tls.key and tls.ca on all machines, or on none";

// Most bytes of a body, by what the sender may be: checked before anything is allocated.
constexpr uint64_t kHandshakeBytesMax = 1024;
constexpr uint64_t kNoticeBytesMax = 64ULL << 10;  // heartbeat, abort, goodbye
constexpr uint64_t kAdminBytesMax = 16ULL << 20;   // status and control, request and reply

// DO NOT CHANGE THESE VALUES: they travel.
enum class LinkFrameType : uint16_t {
  kHello = 1,      // dialer: who I am, whom I look for, nonce
  kChallenge = 2,  // acceptor: nonce
  kProof = 3,      // dialer: keyed hash of both
  kVerdict = 4,    // acceptor: accepted, with its own keyed hash, or refused, with the reason
  kConfirm = 5,    // dialer: I have read the verdict; the link counts from here on
  // operation, sequence: the exchange with the other rank that it has been in for long; or zero.
  // Body: how many bytes it has sent over the data connection, u64
  kHeartbeat = 6,
  kAbort = 7,    // the group has failed; operation = status code, body = message
  kGoodbye = 8,  // this rank is done; its end of the stream is no failure
  kData = 9,     // operation, sequence: the exchange's tag
  kStatus = 10,
  kControl = 11,
  kReply = 12,    // operation = status code, body = answer or message
  kOffer = 13,    // of shared memory: how to attach; an empty body: there is none
  kAnswer = 14,   // operation = status code: attached, or why not
  kJoin = 15,     // to the meeting place: the port where this rank listens
  kMembers = 16,  // from it: where all ranks but 0 listen
  kRegroup = 17,  // a question of ranks that rebuild their group (regroup_message.h)
  kWorkers = 18,  // admin: where all ranks listen; the reply is a machine list
};

struct LinkHeader {
  LinkFrameType type = LinkFrameType::kHeartbeat;
  uint64_t length = 0;
  uint64_t operation = 0;
  uint64_t sequence = 0;
};

using LinkHeaderBytes = std::array<std::byte, kLinkHeaderBytes>;

LinkHeaderBytes EncodeLinkHeader(const LinkHeader& header, uint16_t version = kLinkVersion);
// kCorrupt: not a link frame at all, or damaged. kRefused: another version of the protocol, or the
// beginning of TLS.
Result<LinkHeader> DecodeLinkHeader(std::span<const std::byte, kLinkHeaderBytes> bytes);

// A header and its body in one string, ready to be written.
std::string MakeLinkFrame(LinkHeader header, std::string_view body = {});

// Little-endian integers at the end of a string, and off the front of a view.
template <std::unsigned_integral T>
void PutLittle(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff));
  }
}
// The caller has checked that there are sizeof(T) bytes.
template <std::unsigned_integral T>
T TakeLittle(std::string_view* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>((*from)[i])) << (8 * i);
  }
  from->remove_prefix(sizeof(T));
  return static_cast<T>(value);
}

}  // namespace strata
