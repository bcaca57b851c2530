#include "server/log/log_service.h"

#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/log_call.h"
#include "common/text.h"
#include "common/values/info_list.h"
#include "server/ports/client_port.h"

namespace canopy::log {
namespace {

// The limit for the remembered names of ignored directives. There is a limit
// because processes choose the names.
constexpr size_t kMaxIgnored = 64;

// Returns the identity by which shims recognise a repeated request: a client
// and a 32-bit number. The caller has chosen the number of the text. The local
// endpoint sends no texts to shims itself, so the rank can serve as the client.
LogRequestId IdOf(const core::AskHost& request, InfoList* directives) {
  LogRequestId id;
  id.proc = request.source;
  const auto number = directives->FindUint(kLogNumber);
  id.again = number.has_value();
  id.client =
      MakeClientId(ClientKind::kLocal,
                   (number.value_or(request.number) >> 32 & 0xffffff) << 32 |
                       request.source.rank);
  id.request = static_cast<uint32_t>(number.value_or(request.number));
  directives->Remove(kLogNumber);
  return id;
}

}  // namespace

void LogService::Log(const core::AskHost& request,
                     const host::EmbeddedHost::Answer& done) {
  host_call::Log call;
  InfoList data;
  InfoList directives;
  if (!wire::Decode(request.call, &call) || !DecodeInfos(call.data, &data) ||
      !DecodeInfos(call.infos, &directives)) {
    return done(Status(kErrUnpackFailure, "malformed call of PMIx_Log"), {});
  }
  const LogRequestId id = IdOf(request, &directives);
  const time_t now = options_.now ? options_.now() : time(nullptr);
  LogPlan plan = PlanLog(data, directives, 0, request.source, now);
  LogIgnored(request.source, plan.ignored);
  RunLog(options_.places, id, std::move(plan), [done](int status) {
    done(status == kSuccess ? Status() : Status(status, "not logged"), {});
  });
}

void LogService::LogIgnored(const ProcId& caller,
                            const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (ignored_.size() >= kMaxIgnored) return;
    if (!ignored_.insert(key).second || !options_.log) continue;
    options_.log({core::LogLine::Level::kInfo,
                  ToString(caller) + ": the directive " + Printable(key) +
                      " of PMIx_Log is ignored"});
  }
}

}  // namespace canopy::log
