// The handshake by which two ends of a connection believe each other: pure messages and rules.
//   dialer   -> hello(purpose, job, world, from, to, process, nonce)
//   acceptor -> challenge(nonce)
//   dialer   -> proof    = HMAC("dialer" | hello | challenge)
//   acceptor -> verdict  = HMAC("acceptor" | hello | challenge), or a refusal with its reason
//   dialer   -> confirm
// The key of the HMAC (SHA-512-256, libsodium's crypto_auth) is a hash of the secret; the secret
// itself never travels. Nothing of this encrypts: that is TLS, which begins before the hello.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "strata/status.h"

namespace strata {

using LinkNonce = std::array<unsigned char, 32>;
using LinkMac = std::array<unsigned char, 32>;
using LinkKey = std::array<unsigned char, 32>;

// DO NOT CHANGE THESE VALUES: they travel.
enum class LinkPurpose : uint16_t {
  kControl = 1,     // heartbeats, abort, goodbye of two ranks
  kData = 2,        // collectives of two ranks
  kAdmin = 3,       // one status or control request; job, world and ranks are zero
  kRendezvous = 4,  // to be told where the others are
  kRegroup = 5,     // one question of ranks that rebuild their group; the job is generation 0's
};

struct LinkHello {
  LinkPurpose purpose = LinkPurpose::kControl;
  uint64_t job = 0;
  uint32_t world = 0;
  uint32_t from = 0;     // the dialer's rank
  uint32_t to = 0;       // the rank it expects to find here
  uint64_t process = 0;  // random for each process: tells two claimants of one rank apart
  LinkNonce nonce{};
};

// Names the group. Generations: regroup.h.
uint64_t MakeJobId(std::string_view cluster, std::string_view job, uint64_t generation = 0);
LinkKey MakeLinkKey(std::string_view secret);
LinkNonce MakeLinkNonce();
uint64_t MakeProcessId();  // never 0

std::string EncodeHello(const LinkHello& hello);
Result<LinkHello> DecodeHello(std::string_view body);

// The keyed hashes of both sides over the bodies as they travelled.
LinkMac DialerProof(const LinkKey& key, std::string_view hello, std::string_view challenge);
LinkMac AcceptorProof(const LinkKey& key, std::string_view hello, std::string_view challenge);
bool SameMac(std::string_view received, const LinkMac& expected);  // in constant time
std::string_view AsText(const std::array<unsigned char, 32>& bytes);

// Whether a rank's hello fits here: same job, same world, meant for this rank, from one that dials
// this rank (ranks dial those below them). kRefused says what differs.
struct LinkPlace {
  uint64_t job = 0;
  int world = 1;
  int rank = 0;
};
Status CheckHello(const LinkHello& hello, const LinkPlace& here);
// Its job alone.
Status CheckJob(const LinkHello& hello, uint64_t job, int rank);

}  // namespace strata
