#include "server/security/identity.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <vector>

#include "common/hex.h"

namespace canopy::security {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;

using Bignum = Owned<BIGNUM, BN_clear_free>;
using Pkey = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;

constexpr char kCurve[] = "P-256";
constexpr char kSchedulerTokenPurpose[] = "canopy scheduler token v1";
constexpr size_t kTokenBytes = 32;
// The longest validity that every TLS library accepts.
constexpr char kNotBefore[] = "20000101000000Z";
constexpr char kNotAfter[] = "99991231235959Z";

// Returns a private key of the curve: 1 + (384 bits mod (order - 1)), so that
// the bias is negligible.
Bignum PrivateScalar(const EC_GROUP* group, const ClusterKey& key) {
  const std::string seed = key.Derive("canopy overlay authority v1", 48);
  Owned<BN_CTX, BN_CTX_free> ctx(BN_CTX_new());
  Bignum value(BN_bin2bn(reinterpret_cast<const unsigned char*>(seed.data()),
                         static_cast<int>(seed.size()), nullptr));
  Bignum bound(BN_dup(EC_GROUP_get0_order(group)));
  Bignum scalar(BN_new());
  if (ctx == nullptr || value == nullptr || bound == nullptr ||
      scalar == nullptr || BN_sub_word(bound.get(), 1) != 1 ||
      BN_mod(scalar.get(), value.get(), bound.get(), ctx.get()) != 1 ||
      BN_add_word(scalar.get(), 1) != 1) {
    return nullptr;
  }
  return scalar;
}

std::vector<unsigned char> PublicPoint(const EC_GROUP* group,
                                       const BIGNUM* scalar) {
  Owned<EC_POINT, EC_POINT_free> point(EC_POINT_new(group));
  if (point == nullptr || EC_POINT_mul(group, point.get(), scalar, nullptr,
                                       nullptr, nullptr) != 1) {
    return {};
  }
  std::vector<unsigned char> octets(65);
  octets.resize(EC_POINT_point2oct(group, point.get(),
                                   POINT_CONVERSION_UNCOMPRESSED, octets.data(),
                                   octets.size(), nullptr));
  return octets;
}

Pkey KeyFromParts(const BIGNUM* scalar,
                  const std::vector<unsigned char>& point) {
  Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build(OSSL_PARAM_BLD_new());
  Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> ctx(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  if (build == nullptr || ctx == nullptr || point.empty() ||
      OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                      kCurve, 0) != 1 ||
      OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                       point.data(), point.size()) != 1) {
    return nullptr;
  }
  Owned<OSSL_PARAM, OSSL_PARAM_free> params(
      OSSL_PARAM_BLD_to_param(build.get()));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || EVP_PKEY_fromdata_init(ctx.get()) != 1 ||
      EVP_PKEY_fromdata(ctx.get(), &key, EVP_PKEY_KEYPAIR, params.get()) != 1) {
    return nullptr;
  }
  return Pkey(key);
}

Pkey AuthorityKey(const ClusterKey& key) {
  Owned<EC_GROUP, EC_GROUP_free> group(
      EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  if (group == nullptr) return nullptr;
  const Bignum scalar = PrivateScalar(group.get(), key);
  if (scalar == nullptr) return nullptr;
  return KeyFromParts(scalar.get(), PublicPoint(group.get(), scalar.get()));
}

bool AddName(X509_NAME* name, const std::string& text) {
  return X509_NAME_add_entry_by_txt(
             name, "CN", MBSTRING_ASC,
             reinterpret_cast<const unsigned char*>(text.data()),
             static_cast<int>(text.size()), -1, 0) == 1;
}

bool AddExtension(X509* cert, int nid, const std::string& value) {
  Owned<X509_EXTENSION, X509_EXTENSION_free> ext(
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
  return ext != nullptr && X509_add_ext(cert, ext.get(), -1) == 1;
}

struct Extension {
  int nid;
  std::string value;
};

Certificate Sign(const std::string& subject, EVP_PKEY* subject_key,
                 const std::string& issuer, EVP_PKEY* issuer_key,
                 long serial,  // NOLINT: what OpenSSL takes
                 const std::vector<Extension>& extensions) {
  Certificate cert(X509_new());
  if (cert == nullptr || X509_set_version(cert.get(), 2) != 1 ||
      ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), serial) != 1 ||
      ASN1_TIME_set_string(X509_getm_notBefore(cert.get()), kNotBefore) != 1 ||
      ASN1_TIME_set_string(X509_getm_notAfter(cert.get()), kNotAfter) != 1 ||
      !AddName(X509_get_subject_name(cert.get()), subject) ||
      !AddName(X509_get_issuer_name(cert.get()), issuer) ||
      X509_set_pubkey(cert.get(), subject_key) != 1) {
    return nullptr;
  }
  for (const Extension& e : extensions) {
    if (!AddExtension(cert.get(), e.nid, e.value)) return nullptr;
  }
  if (X509_sign(cert.get(), issuer_key, EVP_sha256()) == 0) return nullptr;
  return cert;
}

template <typename Write>
std::string Pem(Write write) {
  Owned<BIO, BIO_free> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return {};
  char* data = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &data);  // NOLINT
  return std::string(data, static_cast<size_t>(n));
}

std::string CertificatePem(X509* cert) {
  return Pem([cert](BIO* bio) { return PEM_write_bio_X509(bio, cert); });
}

std::string PrivateKeyPem(EVP_PKEY* key) {
  return Pem([key](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr,
                                    nullptr);
  });
}

// The subject of a certificate.
struct Subject {
  std::string name;
  std::string usage;  // extended key usage
  std::string host;
  long serial;  // NOLINT: what OpenSSL takes
};

Result<TlsIdentity> Derive(const ClusterKey& key, const Subject& subject) {
  Status failed(kError, "could not derive a TLS identity from the key");
  const Pkey authority = AuthorityKey(key);
  const Pkey own(EVP_EC_gen(kCurve));
  if (authority == nullptr || own == nullptr) return failed;
  const std::string issuer = "canopy overlay authority";
  const Certificate root =
      Sign(issuer, authority.get(), issuer, authority.get(), 1,
           {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
            {NID_key_usage, "critical,keyCertSign"}});
  const Certificate leaf =
      Sign(subject.name, own.get(), issuer, authority.get(), subject.serial,
           {{NID_basic_constraints, "critical,CA:FALSE"},
            {NID_key_usage, "critical,digitalSignature"},
            {NID_ext_key_usage, subject.usage},
            {NID_subject_alt_name, "DNS:" + subject.host}});
  if (root == nullptr || leaf == nullptr) return failed;
  TlsIdentity identity{CertificatePem(root.get()), CertificatePem(leaf.get()),
                       PrivateKeyPem(own.get())};
  if (identity.root_pem.empty() || identity.certificate_pem.empty() ||
      identity.private_key_pem.empty()) {
    return failed;
  }
  return identity;
}

}  // namespace

Result<TlsIdentity> DeriveIdentity(const ClusterKey& key) {
  return Derive(
      key, {"canopy agent", "serverAuth,clientAuth", kDerivedServerName, 2});
}

Result<TlsIdentity> DeriveSchedulerIdentity(const ClusterKey& key) {
  return Derive(key,
                {"canopy scheduler", "serverAuth", kSchedulerServerName, 3});
}

std::string DeriveSchedulerToken(const ClusterKey& key) {
  return ToHex(key.Derive(kSchedulerTokenPurpose, kTokenBytes));
}

}  // namespace canopy::security
