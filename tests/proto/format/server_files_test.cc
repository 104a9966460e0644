// The small files of a server's data folder: `identity`, `base`, `definition`. Every flipped bit
// and every cut is noticed, and their bytes are pinned in tests/golden: what was written once is
// read for ever.
#include <gtest/gtest.h>

#include "proto/format/collection_file.h"
#include "proto/format/log_base.h"
#include "proto/format/server_identity.h"
#include "tests/support/golden.h"

namespace strata::format {
namespace {

template <typename Decode>
void ExpectDamageIsNoticed(const std::string& good, Decode decode) {
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode(good + "x").ok());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Status status = decode(flipped).status();
    EXPECT_FALSE(status.ok()) << bit;
    EXPECT_NE(status.message().find("the-file"), std::string::npos) << status.ToString();
  }
}

ServerIdentityFile SomeIdentity() {
  return {.cluster = ~uint64_t{0},
          .rank = 1,
          .lanes_per_server = {2, 3},
          .lineage = 0x123456789abc,
          .boot = 7,
          .lane_ports = {7600, 41000, 65535},
          .nonces = {},
          .lanes_made = true};
}

ServerIdentityFile IdentityWithNonces() {
  ServerIdentityFile identity = SomeIdentity();
  identity.nonces = {0x01020304, UINT32_MAX, 1};
  return identity;
}

LogBase SomeBase() {
  return {.lineage = 0xabcdef012345, .lane = 3, .checkpoint = 12, .cut_lsn = 1'234'567'890'123};
}

CollectionFile SomeCollection() {
  return {.definition = {"baskets", {"price", "shop"}},
          .lineage = 0xabcdef012345,
          .lane = 3,
          .instance = 12'345'678'901};
}

TEST(ServerFiles, TheirBytesArePinned) {
  ExpectGolden("collection_v1.txt", EncodeCollectionFile(SomeCollection()));
  ExpectGolden("server_identity_v1.txt", EncodeServerIdentity(SomeIdentity()));
  ExpectGolden("server_identity_v1_nonces.txt", EncodeServerIdentity(IdentityWithNonces()));
  ExpectGolden("log_base_v1.txt", EncodeLogBase(SomeBase()));
}

TEST(ServerFiles, VersionOneIsReadAsEver) {
  const std::string bytes = Golden("server_identity_v1.txt");
  EXPECT_EQ(*DecodeServerIdentity(bytes, "the-file"), SomeIdentity());
  // As it was written before lanes_made.
  ServerIdentityFile before = SomeIdentity();
  before.lanes_made = false;
  const auto read = DecodeServerIdentity(Golden("server_identity_v1_at_first.txt"), "the-file");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, before);
  EXPECT_EQ(*DecodeServerIdentity(Golden("server_identity_v1_nonces.txt"), "the-file"),
            IdentityWithNonces());
  EXPECT_EQ(*DecodeLogBase(Golden("log_base_v1.txt"), "the-file"), SomeBase());
  EXPECT_EQ(*DecodeCollectionFile(Golden("collection_v1.txt"), "the-file"), SomeCollection());
}

TEST(ServerFiles, Identity) {
  const ServerIdentityFile identity = SomeIdentity();
  EXPECT_EQ(identity.incarnation(), 0x123456789abc0007U);
  const auto decode = [](const std::string& bytes) {
    return DecodeServerIdentity(bytes, "the-file");
  };
  const std::string good = EncodeServerIdentity(identity);
  EXPECT_EQ(*decode(good), identity);
  ExpectDamageIsNoticed(good, decode);
  // As long as it is no other version of it, whatever is in its place is damage.
  for (const std::string& bytes : {std::string(), good.substr(0, 5), std::string(300, '\0')}) {
    const Status status = decode(bytes).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.ToString();
    EXPECT_NE(status.message().find("the-file: not a server's identity: bytes 0 to 14: expected "
                                    "\"strata-server \", found \""),
              std::string::npos)
        << status.ToString();
  }
  ServerIdentityFile too_many = identity;
  too_many.nonces.assign(kBootNoncesMax + 1, 7);
  EXPECT_EQ(decode(EncodeServerIdentity(too_many)).status().code(), StatusCode::kCorrupt);
  ServerIdentityFile none = identity;
  none.lineage = 0;
  EXPECT_EQ(decode(EncodeServerIdentity(none)).status().code(), StatusCode::kCorrupt);
}

TEST(ServerFiles, LogBase) {
  const LogBase base = SomeBase();
  const auto decode = [](const std::string& bytes) { return DecodeLogBase(bytes, "the-file"); };
  const std::string good = EncodeLogBase(base);
  EXPECT_EQ(*decode(good), base);
  ExpectDamageIsNoticed(good, decode);
  EXPECT_EQ(decode(EncodeLogBase({})).status().code(), StatusCode::kCorrupt);
}

TEST(ServerFiles, Collection) {
  const CollectionFile file = SomeCollection();
  const auto decode = [](const std::string& bytes) {
    return DecodeCollectionFile(bytes, "the-file");
  };
  const std::string good = EncodeCollectionFile(file);
  EXPECT_EQ(*decode(good), file);
  ExpectDamageIsNoticed(good, decode);
  EXPECT_EQ(decode(EncodeCollectionFile({})).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace strata::format
