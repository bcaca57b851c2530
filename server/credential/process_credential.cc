#include "server/credential/process_credential.h"

#include "common/hex.h"
#include "common/wire.h"

namespace canopy::credential {
namespace {

// Version of the form; the authentication covers it.
constexpr uint64_t kForm = 1;

security::ClusterKey KeyFor(const security::ClusterKey& key,
                            std::string_view overlay) {
  const std::string purpose =
      "canopy process credential v1 " + std::string(overlay);
  // 64 digits are always a valid key.
  return *security::ClusterKey::FromHex(
      ToHex(key.Derive(purpose, security::kDigestBytes)));
}

std::string Statement(const Holder& holder) {
  WireWriter out;
  out.Uint(kForm);
  out.Proc(holder.proc);
  out.Uint(holder.uid);
  out.Uint(holder.gid);
  out.Uint(holder.node);
  out.Int(holder.issued_s);
  return out.Take();
}

std::optional<Holder> ReadStatement(std::string_view bytes) {
  WireReader in(bytes);
  if (in.Uint() != kForm) return std::nullopt;
  Holder holder;
  holder.proc = in.Proc();
  holder.uid = in.Uint32();
  holder.gid = in.Uint32();
  holder.node = in.Uint32();
  holder.issued_s = in.Int();
  if (!in.done()) return std::nullopt;
  return holder;
}

bool IsValidAt(const Holder& holder, int64_t now_s) {
  // The time was chosen by an agent, so this does not overflow.
  const int64_t age = now_s - holder.issued_s;
  return age >= -kClockSkewS && age <= kLifetimeS + kClockSkewS;
}

}  // namespace

CredentialKey::CredentialKey(const security::ClusterKey& key,
                             std::string_view overlay)
    : key_(KeyFor(key, overlay)) {}

std::string CredentialKey::Issue(const Holder& holder) const {
  const std::string statement = Statement(holder);
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
  std::optional<Holder> holder = ReadStatement(statement);
  if (holder && !IsValidAt(*holder, now_s)) holder.reset();
  return holder;
}

}  // namespace canopy::credential
