#include "server/control/launcher.h"

#include <algorithm>
#include <utility>

#include "server/control/launcher_events.h"
#include "server/core/step/control_inputs.h"

namespace canopy::control {

void Launcher::Refuse(const Status& status) {
  v1::RunEvent event;
  *event.mutable_end() = EndOf(status);
  Send(std::move(event));
  Finish();
}

void Launcher::End(std::vector<std::string> jobs, const v1::JobEnd& end) {
  v1::RunEvent event;
  *event.mutable_end() = end;
  family = 0;
  ended = std::move(jobs);
  Send(std::move(event));
  Finish();
}

void Launcher::Requeue(std::vector<std::string> jobs,
                       const v1::JobRequeued& requeued) {
  v1::RunEvent event;
  *event.mutable_requeued() = requeued;
  family = 0;
  ended = std::move(jobs);
  Send(std::move(event));
}

void Launcher::SendOutput(const core::DeliverOutput& output,
                          const std::string& nspace) {
  const uint64_t size = output.data.size() + output.redirected;
  if (size > 0) NoteUnconsumed(output, size);
  v1::RunEvent event;
  v1::Output* const out = event.mutable_output();
  out->set_rank(output.rank);
  out->set_channel(output.channel);
  out->set_data(output.data.view().data(), output.data.size());
  out->set_nspace(nspace);
  out->set_redirected(output.redirected);
  Send(std::move(event));
}

// Successive output of one rank is one entry, because each entry is credited by
// a message to the rank's agent.
void Launcher::NoteUnconsumed(const core::DeliverOutput& output,
                              uint64_t bytes) {
  if (!unconsumed_.empty() && unconsumed_.back().rank == output.rank &&
      unconsumed_.back().nspace == output.nspace) {
    unconsumed_.back().bytes += bytes;
  } else {
    unconsumed_.push_back({output.nspace, output.rank, bytes});
  }
}

void Launcher::Consume(uint64_t bytes, InputSink* sink) {
  while (bytes > 0 && !unconsumed_.empty()) {
    Unconsumed& next = unconsumed_.front();
    const uint64_t part = std::min(bytes, next.bytes);
    sink->OnInput(core::OutputConsumed{next.nspace, next.rank, part});
    bytes -= part;
    next.bytes -= part;
    if (next.bytes == 0) unconsumed_.pop_front();
  }
}

void Launcher::ConsumeAll(InputSink* sink) { Consume(UINT64_MAX, sink); }

}  // namespace canopy::control
