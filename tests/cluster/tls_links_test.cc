// Who may join when links use TLS: each side says what it expected, and the group still forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <ctime>

#include "base/log.h"
#include "cluster/collective/group.h"
#include "cluster/link/connect/query.h"
#include "tests/cluster/certificates.h"
#include "tests/cluster/loopback.h"
#include "tests/cluster/raw_end.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Tls = std::shared_ptr<const TlsContext>;

Tls LoadTls(const TlsFiles& files) {
  auto loaded = TlsContext::Load(files);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

// Rank 0 of a job of two, which may come to see two ranks 1: first the wrong one, then its own.
class TlsLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(StartLogging(LogLevel::kWarning, "test", folder_.File("log")).ok());
  }

  void TearDown() override {
    links_.reset();
    EXPECT_TRUE(StartLogging(LogLevel::kInfo, "test", "").ok());
  }

  // Rank 0 begins to wait for rank 1, by TLS of its own.
  void Begin(const Tls& tls, TimeNs accept_timeout = 20 * kSecond) {
    LinkOptions options = net_.Options(0);
    options.tls = tls;
    options.accept_timeout = accept_timeout;
    links_ = net_.Listen(std::move(options));
    connecting_ = std::jthread([this] {
      const Status status = links_->Connect();
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }

  // What becomes of another process that says it is rank 1.
  Status ConnectAsRank1(const Tls& tls) const {
    auto listener = OpenListener("127.0.0.1", 0, kSecond);
    LinkOptions options = net_.Options(1);
    options.workers[1].port = listener->port;
    options.tls = tls;
    auto links = Links::Listen(options, std::move(listener).value());
    EXPECT_TRUE(links.ok());
    return (*links)->Connect();
  }

  // The true rank 1 comes, and both work.
  void End(const Tls& tls) {
    LinkOptions options = net_.Options(1);
    options.tls = tls;
    const auto other = net_.Listen(std::move(options));
    const Status status = other->Connect();
    ASSERT_TRUE(status.ok()) << status.ToString();
    connecting_.join();
    InThreads(2, [&](int r) {
      Links& mine = r == 0 ? *links_ : *other;
      EXPECT_TRUE(Group(mine).Barrier().ok());
      EXPECT_TRUE(mine.Leave(20 * kSecond).ok());
    });
  }

  // What rank 0 says of those whom it turned away.
  void ExpectLogged(const std::string& text) const {
    std::string log;
    WaitUntil(
        [&] {
          FlushLog();
          log = ReadWholeFile(folder_.File("log"));
          return log.find(text) != std::string::npos;
        },
        20 * kSecond);
    EXPECT_THAT(log, AllOf(HasSubstr("turned away a connection from 127.0.0.1"), HasSubstr(text)));
  }

  // Rank 0 has `mine`, who dials it `theirs`: both hear why that does not go together.
  void ExpectTurnedAway(const Tls& mine, const Tls& theirs, const std::string& why) {
    Begin(mine);
    const Status status = ConnectAsRank1(theirs);
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("no link with rank 0 ("), HasSubstr(why)));
    ExpectLogged(why);
    End(mine);
  }

  uint16_t port() const { return net_.machines[0].port; }

  TempFolder folder_;
  CertificateAuthority ca_{folder_, "ca"};
  CertificateAuthority foreign_{folder_, "foreign"};
  TlsFiles files_ = ca_.Issue("member");
  Tls ours_ = LoadTls(files_);
  Loopback net_{2};
  std::unique_ptr<Links> links_;
  std::jthread connecting_;
};

TEST_F(TlsLinks, OfAnotherCaAreRefusedByTheDialer) {
  Begin(ours_);
  const Status status = ConnectAsRank1(LoadTls(foreign_.Issue("stranger")));
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("no link with rank 0 ("), HasSubstr("its certificate is not taken"),
                    HasSubstr("expected one that the cluster's CA (tls.ca) has signed")));
  ExpectLogged("it turned the TLS handshake down");
  End(ours_);
}

// It takes this cluster's certificates, but has none of them.
TEST_F(TlsLinks, OfAnotherCaAreRefusedByTheAcceptor) {
  TlsFiles files = foreign_.Issue("stranger");
  const std::string all = folder_.File("all.pem");
  WriteWholeFile(all, ReadWholeFile(files.ca) + ReadWholeFile(files_.ca));
  files.ca = all;
  Begin(ours_);
  const Status status = ConnectAsRank1(LoadTls(files));
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("no link with rank 0 ("), HasSubstr("unknown ca"),
                    HasSubstr("it expects TLS 1.3 and a certificate that its CA")));
  ExpectLogged("its certificate is not taken here");
  End(ours_);
}

// Of the dialer's clock certificates are good still, of the acceptor's they are not.
TEST_F(TlsLinks, ExpiredCertificatesAreRefused) {
  const Tls later = LoadTls(ca_.Issue("later", 3 * 3600));
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(later->get()), std::time(nullptr) + 2 * 3600);
  Begin(later);
  const Status status = ConnectAsRank1(ours_);
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("certificate expired"));
  ExpectLogged("its certificate is not taken here: certificate has expired");
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(later->get()), std::time(nullptr));
  End(ours_);
}

TEST_F(TlsLinks, WithoutTlsAreTurnedAwayAndToldWhy) {
  ExpectTurnedAway(ours_, nullptr,
                   "the dialling side speaks no TLS, the one that it dialled expects TLS 1.3; set "
                   "tls.certificate, tls.key and tls.ca on all machines, or on none");
}

TEST_F(TlsLinks, AreTurnedAwayAndToldWhyWhereThereIsNoTls) {
  ExpectTurnedAway(nullptr, ours_,
                   "the dialling side speaks TLS, the one that it dialled does not; set "
                   "tls.certificate, tls.key and tls.ca on all machines, or on none");
}

TEST_F(TlsLinks, QueriesNeedTheSameAsRanks) {
  Begin(ours_);
  links_->SetStatusProvider([] { return std::string("fine"); });
  const auto ask = [this](const Tls& tls) {
    return QueryStatus("127.0.0.1", port(), "a secret", 20 * kSecond, tls);
  };
  EXPECT_EQ(ask(ours_).value(), "fine");
  EXPECT_EQ(ask(nullptr).status().code(), StatusCode::kRefused);
  EXPECT_THAT(ask(nullptr).status().message(), HasSubstr("speaks no TLS"));
  const auto other = ask(LoadTls(foreign_.Issue("stranger")));
  EXPECT_EQ(other.status().code(), StatusCode::kRefused);
  End(ours_);
}

// A client of another make; returns the alert that it got.
std::string AlertFor(uint16_t port, int version, const TlsFiles* files) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  if (files != nullptr) {
    SSL_CTX_use_certificate_file(context.get(), files->certificate.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context.get(), files->key.c_str(), SSL_FILETYPE_PEM);
  }
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_ssl_connect(context.get()),
                                                          &BIO_free_all);
  BIO_set_conn_hostname(bio.get(), ("127.0.0.1:" + std::to_string(port)).c_str());
  ERR_clear_error();
  char buffer[100];
  if (BIO_do_connect(bio.get()) == 1) {
    while (BIO_read(bio.get(), buffer, sizeof(buffer)) > 0) {
    }
  }
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "" : reason;
}

TEST_F(TlsLinks, TakeNoOlderVersionAndNobodyWithoutACertificate) {
  Begin(ours_);
  EXPECT_THAT(AlertFor(port(), TLS1_2_VERSION, &files_), HasSubstr("alert protocol version"));
  ExpectLogged("it speaks an older TLS; expected TLS 1.3");
  EXPECT_THAT(AlertFor(port(), TLS1_3_VERSION, nullptr), HasSubstr("alert certificate required"));
  ExpectLogged("it has no certificate; expected one that the cluster's CA (tls.ca) has signed");
  End(ours_);
}

TEST_F(TlsLinks, GarbageAndSilenceEndByTheDeadline) {
  Begin(ours_, kSecond);
  RawEnd cut(port());  // the beginning of a record, and no more
  cut.Send(std::string_view("\x16\x03\x01\x02\x00\x01", 6));
  RawEnd silent(port());
  RawEnd other(port());
  other.Send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(other.ReadToEnd(), "");
  ExpectLogged("neither TLS, which is expected, nor a link frame");
  RawEnd garbage(port());
  garbage.Send(std::string_view("\x16\x03\x01\x00\x10", 5));
  garbage.Send(std::string(16, 'x'));
  EXPECT_THAT(garbage.ReadToEnd(), testing::StartsWith("\x15\x03"));  // an alert
  EXPECT_EQ(cut.ReadToEnd(), "");
  EXPECT_EQ(silent.ReadToEnd(), "");
  ExpectLogged("no handshake within 1000 ms");
  End(ours_);
}

TEST_F(TlsLinks, BeyondLoopbackTheyNeedNoSecret) {
  Loopback net(1, "0.0.0.0", ours_);
  LinkOptions options = net.Options(0);
  options.secret = "";
  const auto links = Links::Listen(options, std::move(net.listeners[0]));
  EXPECT_TRUE(links.ok()) << links.status().ToString();
}

}  // namespace
}  // namespace strata
