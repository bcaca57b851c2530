#include "server/security/peer_proof.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/support/status.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "common/hex.h"
#include "common/mutex.h"
#include "common/string_util.h"
#include "common/text.h"
#include "common/thread_annotations.h"

namespace canopy::security {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr char kPurpose[] = "canopy caller\n";
// Services that neither reveal secrets nor change anything.
constexpr std::string_view kOpenToAll[] = {"/grpc.health.",
                                           "/grpc.reflection."};
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxReported = 256;

std::string_view View(const grpc::string_ref& text) {
  return {text.data(), text.size()};
}

// Returns the first value with this name; an empty text if there is none.
std::string_view Find(
    const grpc::AuthMetadataProcessor::InputMetadata& metadata,
    const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? std::string_view() : View(found->second);
}

// Returns the names in the certificate of a peer.
std::vector<std::string> NamesOf(const grpc::AuthContext& peer) {
  std::vector<std::string> names;
  for (const char* property :
       {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer.FindPropertyValues(property)) {
      names.emplace_back(View(name));
    }
  }
  return names;
}

std::string FirstOf(const grpc::AuthContext& peer, const char* property) {
  const auto values = peer.FindPropertyValues(property);
  return values.empty() ? "" : std::string(View(values.front()));
}

std::string TextOf(std::vector<std::string> names) {
  if (names.empty()) return "a certificate without a name";
  std::string text = Join(names, ", ");
  const bool longer = text.size() > kMaxNameBytes;
  text.resize(std::min(text.size(), kMaxNameBytes));
  return "the certificate of " + Printable(text) + (longer ? "..." : "");
}

class PeerCheck : public grpc::AuthMetadataProcessor {
 public:
  explicit PeerCheck(PeerRule rule) : rule_(std::move(rule)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata,
                       grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const std::string_view token = Find(metadata, "authorization");
    if (!token.empty()) consumed->emplace("authorization", token);
    if (Accepts(Find(metadata, ":path"), token, *context)) {
      return grpc::Status::OK;
    }
    const std::string reason =
        TextOf(NamesOf(*context)) +
        " does not entitle its owner to use these agents: the caller has to "
        "prove that it knows the cluster key, or to have a name of --tls-names";
    if (rule_.refused && IsNew(reason)) rule_.refused(reason);
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, reason);
  }

 private:
  bool Accepts(std::string_view path, std::string_view token,
               const grpc::AuthContext& peer) const {
    for (const std::string_view open : kOpenToAll) {
      if (path.starts_with(open)) return true;
    }
    return HasName(peer) || Proves(token, peer);
  }

  bool HasName(const grpc::AuthContext& peer) const {
    return std::ranges::any_of(NamesOf(peer), [this](const std::string& name) {
      return std::ranges::count(rule_.names, name) > 0;
    });
  }

  bool Proves(std::string_view token, const grpc::AuthContext& peer) const {
    if (!token.starts_with(kBearer)) return false;
    const auto proof = CertificateProof(
        rule_.key, FirstOf(peer, GRPC_X509_PEM_CERT_PROPERTY_NAME));
    return proof.ok() &&
           EqualInConstantTime(token.substr(kBearer.size()), *proof);
  }

  bool IsNew(const std::string& reason) {
    const MutexLock lock(mutex_);
    return reported_.size() < kMaxReported && reported_.insert(reason).second;
  }

  const PeerRule rule_;
  Mutex mutex_;
  std::set<std::string> reported_ CANOPY_GUARDED_BY(mutex_);
};

// Returns the SHA-256 of the first certificate's DER form.
std::optional<std::string> DigestOf(std::string_view certificate_pem) {
  BIO* const bio = BIO_new_mem_buf(certificate_pem.data(),
                                   static_cast<int>(certificate_pem.size()));
  X509* const certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  if (certificate == nullptr) return std::nullopt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const bool made =
      X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1;
  X509_free(certificate);
  if (!made) return std::nullopt;
  return std::string(digest.begin(), digest.begin() + size);
}

}  // namespace

Result<std::string> CertificateProof(const ClusterKey& key,
                                     std::string_view certificate_pem) {
  const auto digest = DigestOf(certificate_pem);
  if (!digest) return Status(kErrBadParam, "this is not a certificate in PEM");
  return ToHex(key.Hmac(kPurpose + *digest));
}

std::shared_ptr<grpc::AuthMetadataProcessor> MakePeerCheck(PeerRule rule) {
  return std::make_shared<PeerCheck>(std::move(rule));
}

}  // namespace canopy::security
