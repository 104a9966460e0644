#include "cluster/tls/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <vector>

#include "base/file/text_file.h"

namespace strata {
namespace {

constexpr uint64_t kPemBytesMax = 1ULL << 20;
// Of one read from the socket: a few records.
constexpr size_t kReadBufferBytes = 64ULL << 10;

// Makes a unique_ptr's deleter of a function.
template <auto Free>
struct By {
  template <typename T>
  void operator()(T* it) const {
    Free(it);
  }
};
using OwnedBio = std::unique_ptr<BIO, By<BIO_free>>;
using OwnedCertificate = std::unique_ptr<X509, By<X509_free>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, By<EVP_PKEY_free>>;
using OwnedVerification = std::unique_ptr<X509_STORE_CTX, By<X509_STORE_CTX_free>>;

// Why OpenSSL's last call on this thread failed.
std::string Reason() {
  const char* text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text == nullptr ? "unknown reason" : text;
}

Result<std::string> ReadPem(Disk& disk, const std::string& path, std::string_view what) {
  auto text = ReadTextFile(disk, path, kPemBytesMax);
  if (!text.ok()) {
    return Invalid(fmt::format("cannot read the {}: {}", what, text.status().message()));
  }
  return text;
}

OwnedBio BioOver(const std::string& text) {
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a password is an error: the library's own way would ask at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Result<std::vector<OwnedCertificate>> ReadCertificates(Disk& disk, const std::string& path,
                                                       std::string_view what) {
  STRATA_ASSIGN(const std::string text, ReadPem(disk, path, what));
  const OwnedBio bio = BioOver(text);
  std::vector<OwnedCertificate> certificates;
  for (;;) {
    OwnedCertificate next(PEM_read_bio_X509(bio.get(), nullptr, &NoPassword, nullptr));
    if (next == nullptr) break;
    certificates.push_back(std::move(next));
  }
  // The end of the text is an error, too.
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (certificates.empty() && at_end) {
    ERR_clear_error();
    return Invalid(
        fmt::format("{}: there is no certificate in it; expected PEM text, "
                    "-----BEGIN CERTIFICATE-----",
                    path));
  }
  if (!at_end) return Invalid(fmt::format("{}: a damaged certificate: {}", path, Reason()));
  ERR_clear_error();
  return certificates;
}

Status UseCertificates(SSL_CTX* context, const std::vector<OwnedCertificate>& certificates,
                       const std::string& path) {
  if (SSL_CTX_use_certificate(context, certificates[0].get()) != 1) {
    return Invalid(fmt::format("{}: {}", path, Reason()));
  }
  for (size_t i = 1; i < certificates.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, certificates[i].get()) != 1) {
      return Invalid(fmt::format("{}: {}", path, Reason()));
    }
  }
  return {};
}

Status UseKey(SSL_CTX* context, Disk& disk, const TlsFiles& files) {
  STRATA_ASSIGN(const std::string text, ReadPem(disk, files.key, "key"));
  const OwnedBio bio = BioOver(text);
  const OwnedKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr));
  if (key == nullptr) {
    return Invalid(
        fmt::format("{}: no private key could be read from it: {}; expected PEM text, -----BEGIN "
                    "PRIVATE KEY-----, without a password",
                    files.key, Reason()));
  }
  STRATA_TRY(CheckClosedToOthers(disk, files.key));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Invalid(fmt::format("{}: this key is not that of the certificate {}: {}", files.key,
                               files.certificate, Reason()));
  }
  return {};
}

// Whether peers will take this process's certificate, when it dials as when it is dialled.
Status CheckOwn(SSL_CTX* context, const TlsFiles& files) {
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  for (const int purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    const OwnedVerification verification(X509_STORE_CTX_new());
    if (verification == nullptr ||
        X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(context),
                            SSL_CTX_get0_certificate(context), chain) != 1 ||
        X509_STORE_CTX_set_purpose(verification.get(), purpose) != 1) {
      return Failed(fmt::format("{}: {}", files.certificate, Reason()));
    }
    if (X509_verify_cert(verification.get()) == 1) continue;
    const int error = X509_STORE_CTX_get_error(verification.get());
    const bool is_own = X509_STORE_CTX_get_error_depth(verification.get()) == 0;
    ERR_clear_error();
    return Invalid(fmt::format("{}: peers would not take {}: {} (checked against {})",
                               files.certificate,
                               is_own ? "this certificate" : "a certificate above this one",
                               X509_verify_cert_error_string(error), files.ca));
  }
  return {};
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsFiles& files, Disk& disk) {
  if (files.empty()) return std::shared_ptr<const TlsContext>();
  ERR_clear_error();
  Owned owned(SSL_CTX_new(TLS_method()));
  SSL_CTX* const context = owned.get();
  // One suite, the one that every TLS 1.3 has and that processors have instructions for.
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1) {
    return Failed("TLS 1.3 cannot be set up: " + Reason());
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // No connection is resumed.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  // Frames say themselves how long they are and when a peer is done: the end of the stream means
  // the same as without TLS.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);

  STRATA_ASSIGN(const auto certificates, ReadCertificates(disk, files.certificate, "certificate"));
  STRATA_TRY(UseCertificates(context, certificates, files.certificate));
  STRATA_TRY(UseKey(context, disk, files));
  STRATA_ASSIGN(const auto authorities, ReadCertificates(disk, files.ca, "CA's certificate"));
  for (const OwnedCertificate& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1) {
      return Invalid(fmt::format("{}: {}", files.ca, Reason()));
    }
  }
  STRATA_TRY(CheckOwn(context, files));
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(owned)));
}

}  // namespace strata
