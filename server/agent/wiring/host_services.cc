#include "server/agent/wiring/host_services.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "common/event_loop.h"
#include "server/agent/bring_up/log.h"

namespace canopy::agent {
namespace {

credential::CredentialOptions CredentialsOf(
    const bootstrap::v1::Config& config,
    const std::optional<security::ClusterKey>& key) {
  credential::CredentialOptions options;
  options.cluster_key = key;
  options.overlay = config.overlay_id();
  options.self = config.self();
  options.log = Log;
  return options;
}

// Jobs run as this agent's user, so this is their user in the syslog.
log::Syslog::Options SyslogOptions() {
  log::Syslog::Options options;
  options.uid_of = [](const std::string&) { return geteuid(); };
  options.now_ns = EventLoop::Now;
  return options;
}

log::LogServiceOptions LogOptions(PutText put_text, log::Syslog* syslog) {
  log::LogServiceOptions options;
  options.places.put_text = std::move(put_text);
  options.places.put_syslog = [syslog](const log::SyslogText& text) {
    return syslog->Put(text);
  };
  options.log = Log;
  return options;
}

monitor::MonitorService::Options MonitorOptions(EventLoop* loop,
                                                InputSink* sink) {
  monitor::MonitorService::Options options;
  options.loop = loop;
  options.sink = sink;
  options.uid = geteuid();
  options.now_ns = EventLoop::Now;
  options.log = Log;
  return options;
}

}  // namespace

HostServices::HostServices(const Parts& parts)
    : credentials_(CredentialsOf(*parts.config, parts.key)),
      syslog_(SyslogOptions()),
      log_(LogOptions(parts.put_text, &syslog_)),
      monitors_(MonitorOptions(parts.loop, parts.sink)) {}

void HostServices::AddTo(host::EmbeddedHost* host) {
  AddCredentials(host);
  host->Decide(HostOp::kLog, [this](const core::AskHost& request,
                                    const host::EmbeddedHost::Answer& answer) {
    log_.Log(request, answer);
  });
  host->Decide(HostOp::kMonitor,
               [this](const core::AskHost& request,
                      const host::EmbeddedHost::Answer& answer) {
                 monitors_.Call(request, answer);
               });
  // Only a scheduler can answer these queries.
  host->Decide(HostOp::kQuery,
               [](const core::AskHost&, const host::EmbeddedHost::Answer& to) {
                 to(Status(kErrNotFound, "there is no scheduler"), {});
               });
  host->OnDrop([this](const std::string& nspace) {
    syslog_.DropJob(nspace);
    monitors_.DropJob(nspace);
  });
}

void HostServices::AddCredentials(host::EmbeddedHost* host) {
  using Answer = host::EmbeddedHost::Answer;
  host->Decide(HostOp::kGetCredential,
               [this](const core::AskHost& request, const Answer& answer) {
                 Bytes results;
                 const Status status = credentials_.Issue(request, &results);
                 answer(status, std::move(results));
               });
  host->Decide(HostOp::kValidateCredential,
               [this](const core::AskHost& request, const Answer& answer) {
                 Bytes results;
                 const Status status = credentials_.Validate(request, &results);
                 answer(status, std::move(results));
               });
}

}  // namespace canopy::agent
