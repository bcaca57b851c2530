#include "server/credential/process_credential.h"

#include "common/describe_procs.h"
#include "common/hex.h"

namespace canopy::credential {
namespace {

// The content of a credential.
struct Statement {
  Holder holder;
};

template <typename V>
void Describe(V& v, wire::Is<Statement> auto& m) {
  v.Field(1, m.holder.proc);
  v.Field(2, m.holder.uid);
  v.Field(3, m.holder.gid);
  v.Field(4, m.holder.node);
  v.Field(5, m.holder.issued_s);
}

security::ClusterKey KeyFor(const security::ClusterKey& key,
                            std::string_view overlay) {
  const std::string purpose =
      "canopy process credential v1 " + std::string(overlay);
  // 64 digits are always a valid key.
  return *security::ClusterKey::FromHex(
      ToHex(key.Derive(purpose, security::kDigestBytes)));
}

bool IsValidAt(const Holder& holder, int64_t now_s) {
  // The difference does not overflow, because an agent has set `issued_s`.
  const int64_t age = now_s - holder.issued_s;
  return age >= -kClockSkewS && age <= kLifetimeS + kClockSkewS;
}

}  // namespace

CredentialKey::CredentialKey(const security::ClusterKey& key,
                             std::string_view overlay)
    : key_(KeyFor(key, overlay)) {}

std::string CredentialKey::Issue(const Holder& holder) const {
  const std::string statement = wire::Encode(Statement{holder});
  return statement + key_.Hmac(statement);
}

std::optional<Holder> CredentialKey::Check(std::string_view credential,
                                           int64_t now_s) const {
  if (credential.size() <= security::kDigestBytes ||
      credential.size() > kMaxCredentialBytes) {
    return std::nullopt;
  }
  const size_t size = credential.size() - security::kDigestBytes;
  const std::string_view statement = credential.substr(0, size);
  // The statement is parsed only after its origin has been verified.
  if (!security::EqualInConstantTime(key_.Hmac(statement),
                                     credential.substr(size))) {
    return std::nullopt;
  }
  Statement read;
  if (!wire::Decode(statement, &read) || !IsValidAt(read.holder, now_s)) {
    return std::nullopt;
  }
  return std::move(read.holder);
}

}  // namespace canopy::credential
