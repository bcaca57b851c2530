#include "server/openpmix/text_logger.h"

#include <ctime>
#include <utility>

#include "server/log/log_plan.h"
#include "server/log/log_run.h"

namespace canopy::openpmix {

TextLogger::TextLogger(const OpenPmixOptions* options,
                       const Connections* connections, MessageWriter* writer)
    : options_(options),
      connections_(connections),
      writer_(writer),
      ignored_log_(options),
      self_(std::make_shared<TextLogger*>(this)) {}

TextLogger::~TextLogger() { *self_ = nullptr; }

void TextLogger::Serve(Connection& c, uint32_t tag, LogRequest& request) {
  log::LogPlan plan = log::PlanLog(request.data, request.directives,
                                   request.stamp, c.proc, time(nullptr));
  for (const std::string& key : plan.ignored) {
    ignored_log_.Note(c.proc, "PMIx_Log", key);
  }
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

}  // namespace canopy::openpmix
