#include "server/overlay/translate.h"

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/describe.h"
#include "common/host_op.h"
#include "server/overlay/body_wire.h"

namespace canopy::overlay {
namespace {

// Bulk messages with more data than this get a lower priority, so that they do
// not delay small messages.
constexpr size_t kSmallBody = 16 * 1024;

using Reader = bool (*)(wire::ReadContext*, std::string_view,
                        core::MessageBody*);

template <typename T>
bool ReadAs(wire::ReadContext* context, std::string_view data,
            core::MessageBody* body) {
  return wire::ReadMessage(context, data, &body->emplace<T>());
}

template <typename Variant>
struct Readers;
template <typename... T>
struct Readers<std::variant<T...>> {
  static Reader For(uint32_t field) {
    Reader reader = nullptr;
    ((kBodyField<T> == field ? void(reader = &ReadAs<T>) : void()), ...);
    return reader;
  }
};

bool KnownOp(core::CollectiveOp op) {
  return op >= core::CollectiveOp::kFence &&
         op <= core::CollectiveOp::kGroupDestruct;
}

// Returns true if the operation is known. Only group operations have a name.
bool IsKnown(const core::CollectiveId& id) {
  return KnownOp(id.op) && id.name.empty() != core::IsGroupOp(id.op);
}

struct Valid {
  bool operator()(const core::CollectiveUp& m) const { return IsKnown(m.id); }
  bool operator()(const core::CollectiveDown& m) const { return IsKnown(m.id); }
  bool operator()(const core::JobQueryReply& m) const {
    return m.verdict == core::JobVerdict::kEnded ||
           m.verdict == core::JobVerdict::kNoRecord;
  }
  bool operator()(const core::DirectoryClaim& m) const {
    return m.kind >= core::ClaimKind::kTake &&
           m.kind <= core::ClaimKind::kReturn;
  }
  bool operator()(const core::HostRequest& m) const { return IsHostOp(m.op); }
  template <typename T>
  bool operator()(const T&) const {
    return true;
  }
};

Status Malformed() {
  return Status(kErrUnpackFailure, "malformed message from a peer");
}

// Returns the length of the prefix of `data` that consists of complete fields.
size_t WholeFields(std::string_view data) {
  wire::Input in(data);
  size_t whole = 0;
  while (!in.done()) {
    in.Skip(in.Tag() & 7);
    if (in.ok()) whole = in.position();
  }
  return whole;
}

}  // namespace

std::string EncodeBody(const core::MessageBody& body) {
  return std::visit(
      [](const auto& m) {
        return EncodeAs(kBodyField<std::decay_t<decltype(m)>>, m);
      },
      body);
}

Result<core::MessageBody> DecodeBody(const Bytes& data) {
  wire::ReadContext context{&data, 0};
  wire::Input in(data.view());
  Result<core::MessageBody> result = core::MessageBody();
  bool found = false;
  while (!in.done()) {
    const uint32_t tag = in.Tag();
    const Reader reader = Readers<core::MessageBody::Variant>::For(tag >> 3);
    if (reader == nullptr) {
      in.Skip(tag & 7);
      continue;
    }
    if (found || (tag & 7) != wire::kLength) return Malformed();
    found = true;
    const std::string_view chunk = in.Chunk();
    if (!in.ok() || !reader(&context, chunk, &*result)) return Malformed();
  }
  if (!in.ok() || !found || !std::visit(Valid(), *result)) return Malformed();
  return result;
}

uint32_t PriorityOf(const core::MessageBody& body, size_t size) {
  if (std::holds_alternative<core::OutputData>(body) ||
      std::holds_alternative<core::InputData>(body)) {
    return 2;
  }
  // Participants of a collective that is released at the sender may exit, and
  // their exits have priority 0. They must not overtake this message.
  const auto* up = std::get_if<core::CollectiveUp>(&body);
  const bool over = up != nullptr && up->status == core::kAlreadyReleased;
  const bool bulk = (up != nullptr && !over) ||
                    std::holds_alternative<core::CollectiveDown>(body) ||
                    std::holds_alternative<core::DmodexReply>(body) ||
                    std::holds_alternative<core::JobMapReply>(body) ||
                    std::holds_alternative<core::DirectoryStore>(body) ||
                    std::holds_alternative<core::DirectoryFound>(body) ||
                    std::holds_alternative<core::FactsReply>(body) ||
                    std::holds_alternative<core::HostReply>(body) ||
                    std::holds_alternative<core::StateReply>(body);
  return bulk && size > kSmallBody ? 1 : 0;
}

bool WithoutData(core::MessageBody* body) {
  if (auto* up = std::get_if<core::CollectiveUp>(body)) {
    up->status = kErrOutOfResource;
    for (auto& c : up->contributions) c.data = Bytes();
    up->result = Bytes();
    return true;
  }
  if (auto* down = std::get_if<core::CollectiveDown>(body)) {
    down->status = kErrOutOfResource;
    for (auto& c : down->contributions) c.data = Bytes();
    down->result = Bytes();
    return true;
  }
  if (auto* reply = std::get_if<core::DmodexReply>(body)) {
    reply->status = kErrOutOfResource;
    reply->data = Bytes();
    return true;
  }
  if (auto* reply = std::get_if<core::JobMapReply>(body)) {
    reply->status = kErrOutOfResource;
    reply->spec = Bytes();
    return true;
  }
  if (auto* reply = std::get_if<core::SpawnReply>(body)) {
    reply->spec = Bytes();
    return true;
  }
  if (auto* facts = std::get_if<core::FactsReply>(body)) {
    facts->status = kErrOutOfResource;
    facts->processes.clear();
    facts->jobs.clear();
    facts->usage = Bytes();
    return true;
  }
  if (auto* reply = std::get_if<core::HostReply>(body)) {
    reply->status = kErrOutOfResource;
    reply->results = Bytes();
    return true;
  }
  if (auto* found = std::get_if<core::DirectoryFound>(body)) {
    for (const core::Publication& p : found->found) {
      found->missing.push_back({p.key, kErrOutOfResource});
    }
    found->found.clear();
    return true;
  }
  return false;
}

// In each kind with data, the fields that identify the operation precede the
// data.
std::optional<core::MessageBody> DecodeWithoutData(const Bytes& head) {
  wire::Input in(head.view());
  const uint32_t tag = in.Tag();
  if ((tag & 7) != wire::kLength) return std::nullopt;
  in.Varint();  // the length of all fields
  if (!in.ok()) return std::nullopt;
  const std::string_view fields = head.view().substr(in.position());
  const size_t whole = WholeFields(fields);
  if (whole == 0) return std::nullopt;
  std::string body(wire::Writer::HeadSize(tag >> 3, whole), '\0');
  wire::Writer(body.data()).Head(tag >> 3, whole);
  body += fields.substr(0, whole);
  auto decoded = DecodeBody(Bytes(std::move(body)));
  if (!decoded.ok() || !WithoutData(&*decoded)) return std::nullopt;
  return std::move(*decoded);
}

}  // namespace canopy::overlay
