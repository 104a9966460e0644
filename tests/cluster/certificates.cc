#include "tests/cluster/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <functional>

#include "strata/status.h"

namespace strata {
namespace {

void WritePem(const std::string& path, const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  STRATA_CHECK(write(bio.get()) == 1);
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &text);
  WriteWholeFile(path, std::string(text, static_cast<size_t>(bytes)));
  STRATA_CHECK(chmod(path.c_str(), 0600) == 0);
}

}  // namespace

CertificateAuthority::CertificateAuthority(const TempFolder& folder, const std::string& name)
    : folder_(folder),
      path_(folder.File(name + ".pem")),
      key_(EVP_EC_gen("P-256"), &EVP_PKEY_free),
      certificate_(nullptr, &X509_free) {
  certificate_ = Sign(name, key_, 3600);
  WritePem(path_, [&](BIO* bio) { return PEM_write_bio_X509(bio, certificate_.get()); });
}

TlsFiles CertificateAuthority::Issue(const std::string& name, int64_t ends_in_s) const {
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Certificate certificate = Sign(name, key, ends_in_s);
  const TlsFiles files = {
      .certificate = folder_.File(name + ".pem"), .key = folder_.File(name + ".key"), .ca = path_};
  WritePem(files.certificate, [&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
  WritePem(files.key, [&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

// The CA's own certificate while there is none yet, else one that it signs.
CertificateAuthority::Certificate CertificateAuthority::Sign(const std::string& name,
                                                             const Key& key,
                                                             int64_t ends_in_s) const {
  Certificate made(X509_new(), &X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), certificate_ == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), ends_in_s);
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(
      made.get(), certificate_ == nullptr ? subject : X509_get_subject_name(certificate_.get()));
  X509_set_pubkey(made.get(), key.get());
  const char* const constraint = certificate_ == nullptr ? "critical,CA:TRUE" : "CA:FALSE";
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, constraint);
  X509_add_ext(made.get(), extension, -1);
  X509_EXTENSION_free(extension);
  STRATA_CHECK(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0);
  return made;
}

std::shared_ptr<const TlsContext> TestTls() {
  static const std::shared_ptr<const TlsContext> kContext = [] {
    const TempFolder folder;
    auto loaded = TlsContext::Load(CertificateAuthority(folder, "ca").Issue("member"));
    STRATA_CHECK_MSG(loaded.ok(), loaded.status().ToString());
    return std::move(loaded).value();
  }();
  return kContext;
}

}  // namespace strata
