#include "server/openpmix/text_logger.h"

#include <ctime>
#include <utility>

#include "common/text.h"
#include "server/log/log_plan.h"
#include "server/log/log_run.h"

namespace canopy::openpmix {
namespace {

// Limits the remembered names of ignored directives, because peers choose them.
constexpr size_t kMaxIgnored = 64;

}  // namespace

TextLogger::TextLogger(const OpenPmixOptions* options,
                       const Connections* connections, MessageWriter* writer)
    : options_(options),
      connections_(connections),
      writer_(writer),
      self_(std::make_shared<TextLogger*>(this)) {}

TextLogger::~TextLogger() { *self_ = nullptr; }

void TextLogger::Serve(Connection& c, uint32_t tag, LogRequest& request) {
  log::LogPlan plan = log::PlanLog(request.data, request.directives,
                                   request.stamp, c.proc, time(nullptr));
  LogIgnored(c, plan.ignored);
  if (plan.entries.empty()) return writer_->SendStatus(c, tag, plan.status);
  if (c.is_tool) {
    return writer_->SendStatus(c, tag, kErrNotSupported);
  }
  if (c.pending.size() >= options_->max_pending_requests) {
    return writer_->SendStatus(c, tag, kErrOutOfResource);
  }
  c.pending.emplace(tag, PendingRequest{});
  log::RunLog({options_->put_text, options_->put_syslog},
              {c.proc, c.id, tag, replaying_}, std::move(plan),
              [self = self_, id = c.id, tag](int status) {
                if (*self != nullptr) (*self)->OnDone(id, tag, status);
              });
}

void TextLogger::OnDone(core::ClientId client, uint32_t tag, int status) {
  Connection* c = connections_->Find(client);
  if (c == nullptr || !c->serving()) return;
  if (c->pending.erase(tag) > 0) writer_->SendStatus(*c, tag, status);
}

void TextLogger::LogIgnored(const Connection& c,
                            const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (ignored_directives_.size() >= kMaxIgnored) return;
    if (!ignored_directives_.insert(key).second) continue;
    if (!options_->log) continue;
    options_->log({core::LogLine::Level::kInfo,
                   ToString(c.proc) + ": the directive " + Printable(key) +
                       " of PMIx_Log is ignored"});
  }
}

}  // namespace canopy::openpmix
