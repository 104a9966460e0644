// Certificates of a CA of the test's own, as PEM files in the test's folder.
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>

#include "cluster/tls/tls_context.h"
#include "tests/support/temp_folder.h"

namespace strata {

class CertificateAuthority {
 public:
  // Writes NAME.pem.
  CertificateAuthority(const TempFolder& folder, const std::string& name);

  // Writes NAME.pem and NAME.key: an elliptic key, and a certificate that is valid from an hour ago
  // until `ends_in_s` seconds from now.
  TlsFiles Issue(const std::string& name, int64_t ends_in_s = 3600) const;

 private:
  using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  Certificate Sign(const std::string& name, const Key& key, int64_t ends_in_s) const;

  const TempFolder& folder_;
  std::string path_;
  Key key_;
  Certificate certificate_;
};

// Of a member of a CA of its own, the same one whenever this process asks.
std::shared_ptr<const TlsContext> TestTls();

}  // namespace strata
