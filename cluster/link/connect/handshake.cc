#include "cluster/link/connect/handshake.h"

#include <fmt/format.h>
#include <sodium.h>

#include "base/hash.h"
#include "cluster/link/connect/frame.h"

namespace strata {
namespace {

constexpr size_t kHelloBytes = 2 + 8 + 4 + 4 + 4 + 8 + std::tuple_size_v<LinkNonce>;
static_assert(std::tuple_size_v<LinkKey> == crypto_auth_KEYBYTES);
static_assert(std::tuple_size_v<LinkMac> == crypto_auth_BYTES);

LinkMac Mac(const LinkKey& key, std::string_view label, std::string_view hello,
            std::string_view challenge) {
  std::string text(label);
  text += hello;
  text += challenge;
  LinkMac mac;
  crypto_auth(mac.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
              key.data());
  return mac;
}

}  // namespace

LinkKey MakeLinkKey(std::string_view secret) {
  STRATA_CHECK(sodium_init() >= 0);
  constexpr std::string_view kContext = "strata link 1";
  LinkKey key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(secret.data()),
                     secret.size(), reinterpret_cast<const unsigned char*>(kContext.data()),
                     kContext.size());
  return key;
}

uint64_t MakeJobId(std::string_view cluster, std::string_view job, uint64_t generation) {
  const uint64_t id = Hash64(job, Hash64(cluster));
  return generation == 0 ? id : Mix64(id ^ generation);
}

LinkNonce MakeLinkNonce() {
  LinkNonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

uint64_t MakeProcessId() {
  uint64_t id = 0;
  while (id == 0) randombytes_buf(&id, sizeof(id));
  return id;
}

std::string EncodeHello(const LinkHello& hello) {
  std::string body;
  PutLittle(&body, static_cast<uint16_t>(hello.purpose));
  PutLittle(&body, hello.job);
  PutLittle(&body, hello.world);
  PutLittle(&body, hello.from);
  PutLittle(&body, hello.to);
  PutLittle(&body, hello.process);
  body += AsText(hello.nonce);
  return body;
}

Result<LinkHello> DecodeHello(std::string_view body) {
  if (body.size() != kHelloBytes) {
    return Corrupt(fmt::format("a hello of {} bytes; expected {}", body.size(), kHelloBytes));
  }
  LinkHello hello;
  const auto purpose = TakeLittle<uint16_t>(&body);
  if (purpose < static_cast<uint16_t>(LinkPurpose::kControl) ||
      purpose > static_cast<uint16_t>(LinkPurpose::kRegroup)) {
    return Corrupt(fmt::format("unknown purpose {} of a link", purpose));
  }
  hello.purpose = static_cast<LinkPurpose>(purpose);
  hello.job = TakeLittle<uint64_t>(&body);
  hello.world = TakeLittle<uint32_t>(&body);
  hello.from = TakeLittle<uint32_t>(&body);
  hello.to = TakeLittle<uint32_t>(&body);
  hello.process = TakeLittle<uint64_t>(&body);
  for (unsigned char& c : hello.nonce) c = TakeLittle<unsigned char>(&body);
  return hello;
}

LinkMac DialerProof(const LinkKey& key, std::string_view hello, std::string_view challenge) {
  return Mac(key, "dialer", hello, challenge);
}

LinkMac AcceptorProof(const LinkKey& key, std::string_view hello, std::string_view challenge) {
  return Mac(key, "acceptor", hello, challenge);
}

bool SameMac(std::string_view received, const LinkMac& expected) {
  return received.size() == expected.size() &&
         sodium_memcmp(received.data(), expected.data(), expected.size()) == 0;
}

std::string_view AsText(const std::array<unsigned char, 32>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status CheckJob(const LinkHello& hello, uint64_t job, int rank) {
  if (hello.job == job) return {};
  return Refused(fmt::format(
      "another job, or another cluster: cluster.name and job.name make the id {:016x} on "
      "rank {}, {:016x} on rank {}; use the same on all workers, and other ports for "
      "jobs that run at once",
      hello.job, hello.from, job, rank));
}

Status CheckHello(const LinkHello& hello, const LinkPlace& here) {
  STRATA_TRY(CheckJob(hello, here.job, here.rank));
  const auto world = static_cast<uint32_t>(here.world);
  if (hello.world != world) {
    return Refused(
        fmt::format("rank {} was started as one of {} workers, rank {} as one of {}; use the same "
                    "machine list, or --world, on all machines",
                    hello.from, hello.world, here.rank, here.world));
  }
  if (hello.to != static_cast<uint32_t>(here.rank)) {
    return Refused(
        fmt::format("it looks for rank {} here, but this is rank {}; use the same list "
                    "on all machines",
                    hello.to, here.rank));
  }
  if (hello.from >= world || hello.from <= hello.to) {
    return Refused(
        fmt::format("it says that it is rank {}, which does not dial rank {}; expected "
                    "a rank from {} to {}",
                    hello.from, here.rank, here.rank + 1, here.world - 1));
  }
  return {};
}

}  // namespace strata
