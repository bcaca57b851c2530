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

void MonitorService::Call(const core::AskHost& request, const Answer& answer) {
  const Result<MonitorCall> call =
      ReadMonitorCall(request.source, request.call.view(), &directives_);
  if (!call.ok()) return answer(call.status(), {});
  if (call->kind != Kind::kUsage) return answer(Decide(request, *call), {});
  const Status status = StartUsage(request, *call, answer);
  if (!status.ok()) answer(status, {});
}

Status MonitorService::Decide(const core::AskHost& request,
                              const MonitorCall& call) {
  switch (call.kind) {
    case Kind::kBeat:
      Beat(request.source);
      return Status();
    case Kind::kCancel:
      return table_.Cancel(request.source, call.id);
    default:
      return Start(request, call);
  }
}

// Answers the call with the first sample, also for a periodic monitor.
Status MonitorService::StartUsage(const core::AskHost& request,
                                  const MonitorCall& call,
                                  const Answer& answer) {
  const auto count = std::ranges::count_if(pending_, [&](const auto& entry) {
    return entry.second.answer && entry.second.proc == request.source;
  });
  if (static_cast<size_t>(count) >= kMaxSamples) {
    return Status(kErrResourceBusy, "too many samples of one process");
  }
  Pending pending{request.source, 0, 0, answer};
  if (call.seconds != 0) {
    const auto monitor = table_.Start(options_.now_ns(), request.source, call);
    if (!monitor.ok()) return monitor.status();
    pending.monitor = *monitor;
    SetTimer();
  }
  Want(std::move(pending), call.usage);
  return Status();
}

void MonitorService::Want(Pending pending, UsageCall usage) {
  const uint64_t number = ++last_sample_;
  core::UsageWanted wanted{number, pending.proc, usage.fields,
                           std::move(usage.targets)};
  pending.began = options_.now_ns();
  pending_.emplace(number, std::move(pending));
  options_.sink->OnInput(std::move(wanted));
}

void MonitorService::OnUsage(const core::UsageTaken& taken) {
  auto entry = pending_.extract(taken.number);
  if (entry.empty()) return;
  const Pending& pending = entry.mapped();
  const auto update =
      table_.OnSampled(options_.now_ns(), pending.began, pending.monitor);
  SetTimer();
  if (pending.answer) {
    if (taken.status != kSuccess) table_.Drop(pending.monitor);
    return pending.answer(Status(taken.status, "no sample"), taken.results);
  }
  const bool has_news = taken.status == kSuccess && !taken.results.empty();
  if (update && has_news) RaiseUpdate(*update, taken.results);
}

Status MonitorService::Start(const core::AskHost& request,
                             const MonitorCall& call) {
  if (call.kind == Kind::kFile && request.uid != options_.uid) {
    return Status(kErrNotSupported, "a file for another user's job");
  }
  const auto monitor = table_.Start(options_.now_ns(), request.source, call);
  SetTimer();
  return monitor.status();
}

void MonitorService::OnTimer() {
  timer_ = 0;
  Due due = table_.TakeDue(options_.now_ns());
  for (const Alert& alert : due.alerts) Raise(alert);
  for (Probe& probe : due.probes) prober_.Look(std::move(probe));
  for (Sample& sample : due.samples) {
    Want({sample.proc, sample.monitor, 0, nullptr}, std::move(sample.usage));
  }
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

// Raises an event for the process that requested the monitor, with the results
// of a sample. The event is not kept, because the next one replaces it.
void MonitorService::RaiseUpdate(const Alert& update, const Bytes& results) {
  InfoList infos;
  if (!update.id.empty()) infos.Add(PMIX_MONITOR_ID, Value::String(update.id));
  infos.Add(PMIX_EVENT_DO_NOT_CACHE, Value::Bool(true));
  std::string encoded;
  if (!DecodeInfos(results.view(), &infos) ||
      EncodeInfos(infos.data(), infos.size(), &encoded) != kSuccess) {
    return;
  }
  core::EventRaised event;
  event.status = update.code;
  event.source = update.proc;
  event.range = PMIX_RANGE_PROC_LOCAL;
  event.info = Bytes(std::move(encoded));
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
