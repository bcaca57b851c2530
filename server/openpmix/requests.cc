#include "server/openpmix/requests.h"

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "common/codec/decoder.h"
#include "server/openpmix/data_requests.h"
#include "server/openpmix/host_requests.h"
#include "server/openpmix/message_parts.h"
#include "server/openpmix/process_requests.h"
#include "server/openpmix/reading.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kDecodedBytes = size_t{256} << 20;
// The largest payloads. A job publishes at most 64 MiB, and lists name at most
// a million processes.
constexpr uint32_t kMaxCommit = uint32_t{256} << 20;
constexpr uint32_t kMaxPublication = uint32_t{66} << 20;
constexpr uint32_t kMaxLists = uint32_t{32} << 20;

struct CommandRow {
  std::string_view name;  // empty: there is no such command
  Request (*read)(Reading&) = nullptr;
  Parts parts = {};  // parts of commands without `read`
};

using enum Part;

// Indexed by command.
constexpr CommandRow kCommands[] = {
    {"job info", ReadJobInfo},
    {"abort", ReadAbort},
    {"commit", ReadCommit},
    {"fence", ReadFence},
    {"get", ReadGet},
    {"finalize", ReadFinalize},
    {"publish", ReadPublish},
    {"lookup", ReadLookup},
    {"unpublish", ReadUnpublish},
    {"spawn", ReadSpawn},
    {"connect", ReadConnect},
    {"disconnect", ReadDisconnect},
    {"notify", ReadNotify},
    {"register events", ReadEventsWanted},
    {"deregister events", ReadEventsUnwanted},
    {"query", ReadQuery},
    {"log", ReadLog},
    {"allocate", ReadAllocate},
    {"job control", ReadJobControl},
    {"monitor", ReadMonitor},
    {"get credential", ReadGetCredential},
    {"validate credential", ReadValidateCredential},
    {"pull output", ReadPull},
    {"push input", ReadPush},
    {"group construct", ReadGroupConstruct},
    {"", nullptr},
    {"", nullptr},
    {"group leave", ReadGroupLeave},
    {"group destruct", ReadGroupDestruct},
    {"stop output", ReadStopPull},
    {"fabric register", ReadFabricRegister},
    {"fabric update", ReadFabricUpdate},
    // The topology in this request has the client's own memory layout, so it
    // cannot be read.
    {"device distances", nullptr},
    {"refresh cache", ReadRefresh},
    {"resource block", ReadResourceBlock},
    {"session control", ReadSessionControl},
    {"system info", nullptr},
    {"resolve peers", ReadResolvePeers},
    {"resolve nodes", ReadResolveNodes},
    // This command requests job info in the form that every client can read,
    // which is the only form here.
    {"store fallback", ReadJobInfo},
};

Request ReadRow(Reading& r, const CommandRow& row) {
  if (row.read != nullptr) return row.read(r);
  SkipParts(r.in, r.requester.traits, row.parts);
  return RefusedRequest{kErrNotSupported};
}

// Returns true for failures that are not protocol violations.
bool IsOurLimit(int code) {
  return code == kErrNotSupported || code == kErrUnknownDataType ||
         code == kErrOutOfResource || code == kErrNomem;
}

}  // namespace

Result<Request> ParseRequest(const Requester& requester, uint32_t tag,
                             std::string_view payload,
                             std::vector<IgnoredDirective>* ignored) {
  Reading reading{requester, tag, Decoder(payload, requester.traits.form)};
  reading.in.set_memory_limit(kDecodedBytes);
  uint8_t command = 0;
  if (!reading.in.UnpackCommand(&command)) {
    return Status(kErrUnpackFailure, "sent an unknown command");
  }
  if (CommandName(command) == "?") return Request(RefusedRequest{});
  Request request = ReadRow(reading, kCommands[command]);
  if (ignored != nullptr) *ignored = std::move(reading.ignored);
  if (reading.in.ok()) return request;
  if (IsOurLimit(reading.in.code())) {
    return Request(RefusedRequest{reading.in.code()});
  }
  return Status(kErrUnpackFailure,
                "malformed request: " + std::string(CommandName(command)));
}

uint32_t MaxPayloadOf(const PeerTraits& traits, std::string_view begin) {
  Decoder in(begin, traits.form);
  uint8_t command = 0;
  if (!in.UnpackCommand(&command)) return kMaxCommit;
  const std::string_view name = CommandName(command);
  if (name == "commit") return kMaxCommit;
  return name == "publish" ? kMaxPublication : kMaxLists;
}

std::string_view CommandName(uint8_t command) {
  if (command >= std::size(kCommands) || kCommands[command].name.empty()) {
    return "?";
  }
  return kCommands[command].name;
}

}  // namespace canopy::openpmix
