#include "server/kubernetes/api/certificate_testing.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>

namespace canopy::kubernetes {
namespace {

void AddAddress(X509* certificate, const std::string& address) {
  const std::string name = "IP:" + address;
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void SetName(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate, name);
}

}  // namespace

TestCertificate::TestCertificate(const std::string& address)
    : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
  X509_set_version(certificate_, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate_), 3600);
  X509_set_pubkey(certificate_, key_);
  SetName(certificate_);
  AddAddress(certificate_, address);
  X509_sign(certificate_, key_, EVP_sha256());
}

TestCertificate::~TestCertificate() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

void TestCertificate::Write(const std::string& file) const {
  FILE* out = fopen(file.c_str(), "we");
  PEM_write_X509(out, certificate_);
  fclose(out);
}

SSL_CTX* TestCertificate::NewContext() const {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(context, certificate_);
  SSL_CTX_use_PrivateKey(context, key_);
  return context;
}

}  // namespace canopy::kubernetes
