#include "server/monitor/monitor_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/bytes.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/client_inputs.h"

namespace canopy::monitor {
namespace {

Bytes InfoAbout(const Alert& alert) {
  InfoList infos;
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(alert.proc));
  if (!alert.id.empty()) infos.Add(PMIX_MONITOR_ID, Value::String(alert.id));
  std::string encoded;
  if (EncodeInfos(infos.data(), infos.size(), &encoded) != kSuccess) return {};
  return Bytes(std::move(encoded));
}

}  // namespace

MonitorService::MonitorService(Options options)
    : options_(std::move(options)),
      directives_(MonitorDirectives(options_.log)),
      prober_(options_.loop, [this](uint64_t monitor, const FileState& state) {
        if (const auto alert = table_.OnProbed(monitor, state)) Raise(*alert);
      }) {}

MonitorService::~MonitorService() { options_.loop->CancelTimer(timer_); }

Status MonitorService::Call(const core::AskHost& request) {
  const Result<MonitorCall> call =
      ReadMonitorCall(request.source, request.call.view(), &directives_);
  if (!call.ok()) return call.status();
  switch (call->kind) {
    case Kind::kBeat:
      Beat(request.source);
      return Status();
    case Kind::kCancel:
      return table_.Cancel(request.source, call->id);
    case Kind::kHeartbeat:
    case Kind::kFile:
      break;
  }
  return Start(request, *call);
}

Status MonitorService::Start(const core::AskHost& request,
                             const MonitorCall& call) {
  if (call.kind == Kind::kFile && request.uid != options_.uid) {
    return Status(kErrNotSupported, "a file for another user's job");
  }
  Status status = table_.Start(options_.now_ns(), request.source, call);
  SetTimer();
  return status;
}

void MonitorService::OnTimer() {
  timer_ = 0;
  Due due = table_.TakeDue(options_.now_ns());
  for (const Alert& alert : due.alerts) Raise(alert);
  for (Probe& probe : due.probes) prober_.Look(std::move(probe));
  SetTimer();
}

void MonitorService::SetTimer() {
  options_.loop->CancelTimer(std::exchange(timer_, 0));
  const std::optional<int64_t> next = table_.NextDue();
  if (!next) return;
  const int64_t delay = std::max<int64_t>(0, *next - options_.now_ns());
  timer_ = options_.loop->AddTimer(delay, [this] { OnTimer(); });
}

void MonitorService::Raise(const Alert& alert) {
  core::EventRaised event;
  event.status = alert.code;
  event.source = alert.proc;
  event.range = PMIX_RANGE_NAMESPACE;
  event.info = InfoAbout(alert);
  options_.sink->OnInput(std::move(event));
}

void MonitorService::OnLocalExits(const core::LocalExits& exits) {
  for (const core::ProcExit& exit : exits.exits) {
    table_.DropProc({exits.nspace, exit.rank});
  }
}

void MonitorService::OnJobHeld(const core::JobHeld& change) {
  table_.OnHeld(options_.now_ns(), change.nspace, change.held);
  SetTimer();
}

}  // namespace canopy::monitor
