#include "server/endpoint/gate.h"

#include <unistd.h>

#include <utility>

#include "server/net/descriptors.h"

namespace canopy::endpoint {
namespace {

using net::SilenceWatch;
using State = net::SilentConnections::State;

}  // namespace

Gate::Gate(EventLoop* loop, Parts parts)
    : parts_(std::move(parts)),
      watch_(loop, {{parts_.limits,
                     [this](const net::Source& source) {
                       return source.uid && parts_.has_job(*source.uid);
                     },
                     [this](core::ClientId id) {
                       return parts_.has_unread(id) ? State::kUnread
                                                    : State::kSilent;
                     }},
                    [this](core::ClientId id, SilenceWatch::Reason reason) {
                      parts_.close(id, reason == SilenceWatch::Reason::kTimeout
                                           ? "did not identify itself in time"
                                           : "has sent nothing; it is closed "
                                             "to make room for others");
                    }}) {}

bool Gate::Admits(int fd, const net::Source& source) {
  if (!parts_.serves_all_users && source.uid && *source.uid != geteuid() &&
      !parts_.has_job(*source.uid)) {
    Warn(source,
         "refusing a connection of " + source.name + ", which has no job here");
    return false;
  }
  if (watch_.MakeRoom(source, net::SupplyAt(fd))) return true;
  Warn(source, "refusing a connection of " + source.name +
                   ": too many others wait to be admitted");
  return false;
}

void Gate::Add(core::ClientId id, const net::Source& source) {
  watch_.Add(id, source);
}

void Gate::Warn(const net::Source& source, std::string text) {
  if (!parts_.log) return;
  const auto line =
      lines_.Admit(source.name, std::move(text), EventLoop::Now());
  if (line) parts_.log({core::LogLine::Level::kWarning, *line, source.uid});
}

}  // namespace canopy::endpoint
