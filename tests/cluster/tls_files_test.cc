// What the files of TLS can be wrong in is said at start, by file and reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>

#include "cluster/tls/tls_context.h"
#include "tests/cluster/certificates.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TlsFilesTest : public ::testing::Test {
 protected:
  static std::string ErrorOf(const TlsFiles& files) {
    const auto loaded = TlsContext::Load(files);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().code(), StatusCode::kInvalid);
    return loaded.status().message();
  }

  TempFolder folder_;
  CertificateAuthority ca_{folder_, "ca"};
  TlsFiles good_ = ca_.Issue("good");
};

TEST_F(TlsFilesTest, GoodOnesLoad) {
  const auto loaded = TlsContext::Load(good_);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
}

TEST_F(TlsFilesTest, AByteOrderMarkIsNoPartOfAFile) {
  for (const std::string& file : {good_.certificate, good_.key, good_.ca}) {
    WriteWholeFile(file, "\xef\xbb\xbf" + ReadWholeFile(file));
  }
  const auto loaded = TlsContext::Load(good_);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
}

TEST_F(TlsFilesTest, EachIsNamedWhenItCannotBeRead) {
  for (std::string TlsFiles::*const which :
       {&TlsFiles::certificate, &TlsFiles::key, &TlsFiles::ca}) {
    TlsFiles files = good_;
    files.*which = folder_.File("absent");
    EXPECT_THAT(ErrorOf(files), AllOf(HasSubstr("cannot read the"), HasSubstr("/absent")));
    files.*which = folder_.File("no.pem");
    WriteWholeFile(files.*which, "hello\n");
    EXPECT_THAT(ErrorOf(files), AllOf(HasSubstr("/no.pem: "), HasSubstr("expected PEM text")));
  }
}

TEST_F(TlsFilesTest, AKeyThatOthersCanReadIsRefused) {
  std::filesystem::permissions(good_.key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const Status status = TlsContext::Load(good_).status();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("/good.key is open to other users"), HasSubstr("chmod 600")));
}

TEST_F(TlsFilesTest, DamagedCertificate) {
  std::string text = ReadWholeFile(good_.certificate);
  text[text.size() / 2] = '!';
  WriteWholeFile(good_.certificate, text);
  EXPECT_THAT(ErrorOf(good_), AllOf(HasSubstr("/good.pem: "), HasSubstr("damaged certificate")));
}

TEST_F(TlsFilesTest, KeyOfAnotherCertificate) {
  TlsFiles files = good_;
  files.key = ca_.Issue("other").key;
  EXPECT_THAT(ErrorOf(files),
              AllOf(HasSubstr("/other.key: this key is not that of"), HasSubstr("/good.pem")));
}

TEST_F(TlsFilesTest, KeyWithAPasswordAsksNobody) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(good_.key.c_str(), "w"),
                                                      &BIO_free);
  std::string password = "secret";
  ASSERT_EQ(PEM_write_bio_PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), nullptr, 0, nullptr,
                                     password.data()),
            1);
  BIO_flush(bio.get());
  EXPECT_THAT(ErrorOf(good_), AllOf(HasSubstr("/good.key: "), HasSubstr("without a password")));
}

TEST_F(TlsFilesTest, ExpiredCertificate) {
  EXPECT_THAT(ErrorOf(ca_.Issue("old", -60)),
              AllOf(HasSubstr("/old.pem: "), HasSubstr("certificate has expired")));
}

TEST_F(TlsFilesTest, CertificateOfAnotherCa) {
  TlsFiles files = CertificateAuthority(folder_, "foreign").Issue("stranger");
  files.ca = good_.ca;
  EXPECT_THAT(ErrorOf(files), AllOf(HasSubstr("/stranger.pem: peers would not take"),
                                    HasSubstr("checked against"), HasSubstr("/ca.pem")));
}

}  // namespace
}  // namespace strata
