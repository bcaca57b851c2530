#include "server/endpoint/listener.h"

#include <sys/epoll.h>

#include <cstdint>
#include <utility>

namespace canopy::endpoint {

Listener::Listener(EventLoop* loop, UniqueFd listener,
                   std::function<void(UniqueFd)> on_connection,
                   std::function<void()> on_exhausted,
                   const AcceptElsewhere& elsewhere)
    : loop_(loop), acceptor_(std::move(listener)) {
  const bool here =
      elsewhere == nullptr || !elsewhere(acceptor_.fd(), on_connection);
  loop_->Watch(acceptor_.fd(), here ? uint32_t{EPOLLIN} : 0,
               [this, on_connection = std::move(on_connection),
                on_exhausted = std::move(on_exhausted)](uint32_t) {
                 if (acceptor_.Accept(on_connection)) on_exhausted();
               });
}

Listener::~Listener() { loop_->Unwatch(acceptor_.fd()); }

void Listener::Pause() { loop_->Rewatch(acceptor_.fd(), 0); }

}  // namespace canopy::endpoint
