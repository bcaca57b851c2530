// A certificate of a server, for tests.
#ifndef CANOPY_SERVER_KUBERNETES_API_CERTIFICATE_TESTING_H_
#define CANOPY_SERVER_KUBERNETES_API_CERTIFICATE_TESTING_H_

#include <openssl/ssl.h>

#include <string>

namespace canopy::kubernetes {

// A certificate for one address, signed by itself, and its key.
class TestCertificate {
 public:
  explicit TestCertificate(const std::string& address);
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  // Writes the certificate in PEM.
  void Write(const std::string& file) const;
  // Returns the settings of a server with this certificate, which the caller
  // frees.
  SSL_CTX* NewContext() const;

 private:
  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_CERTIFICATE_TESTING_H_
