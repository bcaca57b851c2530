#include "server/openpmix/handshake.h"

#include <arpa/inet.h>

#include <cstring>

namespace canopy::openpmix {
namespace {

constexpr size_t kNspaceField = 256;
constexpr size_t kMaxField = 1024;

uint32_t NetworkU32(std::string_view bytes) {
  uint32_t v;
  std::memcpy(&v, bytes.data(), sizeof v);
  return ntohl(v);
}

uint32_t HostU32(std::string_view bytes) {
  uint32_t v;
  std::memcpy(&v, bytes.data(), sizeof v);
  return v;
}

void PutU32(uint32_t v, std::string* out) {
  v = htonl(v);
  out->append(reinterpret_cast<const char*>(&v), sizeof v);
}

void PutIdentity(const ProcId& proc, std::string* out) {
  std::string nspace = proc.nspace.substr(0, kNspaceField - 1);
  nspace.resize(kNspaceField);
  out->append(nspace);
  PutU32(proc.rank, out);
}

// Reads fixed-width fields and terminated texts, in order. After the first
// failure all results are empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view Take(size_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view Text(size_t max) {
    const size_t end = left_.substr(0, max + 1).find('\0');
    if (end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    const std::string_view text = Take(end);
    Take(1);
    return text;
  }
  uint8_t U8() {
    const std::string_view byte = Take(1);
    return ok_ ? static_cast<uint8_t>(byte[0]) : 0;
  }
  uint32_t U32() {
    const std::string_view bytes = Take(4);
    return ok_ ? NetworkU32(bytes) : 0;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

bool BringsIdentity(PeerKind kind) {
  return kind != PeerKind::kNamelessTool && kind != PeerKind::kNamelessLauncher;
}

bool IsKnown(uint8_t kind) {
  return kind == static_cast<uint8_t>(PeerKind::kClient) ||
         (kind >= static_cast<uint8_t>(PeerKind::kNamelessTool) &&
          kind <= static_cast<uint8_t>(PeerKind::kScheduler));
}

}  // namespace

MessageHeader ParseHeader(std::string_view bytes) {
  return {NetworkU32(bytes.substr(4, 4)), NetworkU32(bytes.substr(8, 4))};
}

std::string MakeHeader(uint32_t tag, uint32_t length) {
  std::string header;
  PutU32(0, &header);
  PutU32(tag, &header);
  PutU32(length, &header);
  PutU32(0, &header);
  return header;
}

std::optional<uint32_t> ParseConnectHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || HostU32(bytes) != UINT32_MAX ||
      HostU32(bytes.substr(4)) != UINT32_MAX) {
    return std::nullopt;
  }
  return HostU32(bytes.substr(8));
}

Result<ConnectMessage> ParseConnect(std::string_view payload) {
  Fields fields(payload);
  ConnectMessage message;
  message.security = fields.Text(kMaxField);
  message.credential = fields.Take(fields.U32());
  const uint8_t kind = fields.U8();
  if (fields.ok() && !IsKnown(kind)) {
    return Status(kErrNotSupported,
                  "peers of kind " + std::to_string(kind) + " are not served");
  }
  message.kind = static_cast<PeerKind>(kind);
  if (message.kind != PeerKind::kClient) {
    message.uid = fields.U32();
    fields.U32();  // gid
  }
  if (BringsIdentity(message.kind)) {
    ProcId identity;
    identity.nspace = fields.Text(kMaxNspaceLen);
    identity.rank = fields.U32();
    message.identity = std::move(identity);
  }
  message.version = fields.Text(kMaxField);
  message.codec = fields.Text(kMaxField);
  const uint8_t buffer = fields.U8();
  message.described = buffer == 2;
  message.store = fields.Text(kMaxField);
  if (!fields.ok() || buffer < 1 || buffer > 2) {
    return Status(kErrUnpackFailure, "malformed greeting");
  }
  return message;
}

std::optional<uint32_t> CredentialUid(std::string_view credential) {
  if (credential.size() != 2 * sizeof(uint32_t)) return std::nullopt;
  return HostU32(credential);
}

bool IsTool(PeerKind kind) { return kind != PeerKind::kClient; }

std::string MakeClientWelcome(uint32_t index) {
  std::string welcome;
  PutU32(0, &welcome);
  PutU32(index, &welcome);
  return welcome;
}

std::string MakeToolWelcome(const ProcId* assigned, const ProcId& server) {
  std::string welcome;
  PutU32(0, &welcome);
  if (assigned != nullptr) PutIdentity(*assigned, &welcome);
  PutIdentity(server, &welcome);
  PutU32(0, &welcome);
  return welcome;
}

}  // namespace canopy::openpmix
