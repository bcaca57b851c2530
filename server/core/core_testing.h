// Helpers for the tests of the core's engines.
#ifndef CANOPY_SERVER_CORE_CORE_TESTING_H_
#define CANOPY_SERVER_CORE_CORE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/action.h"
#include "server/core/step/core_event.h"

namespace canopy::core {

// Returns a job whose rank r runs on agent agents[r].
inline std::shared_ptr<const JobSpec> JobOn(const std::string& nspace,
                                            const std::vector<NodeId>& agents) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  job->apps.resize(1);
  for (const NodeId agent : agents) {
    uint32_t index = 0;
    while (index < job->nodes.size() && job->nodes[index].agent != agent) {
      ++index;
    }
    if (index == job->nodes.size()) job->nodes.push_back({"n", {}, agent, 1});
    job->procs.push_back({index, 0, ""});
  }
  return job;
}

// Returns the KVAL of a key with the value true, as clients commit it.
inline Bytes Kval(const std::string& key) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_BOOL);
  encoder.PutBool(true);
  return Bytes(encoder.Take());
}

// Returns the actions of one type, in order.
template <typename T>
std::vector<T> All(const Actions& actions) {
  std::vector<T> out;
  for (const Action& action : actions) {
    if (const T* a = std::get_if<T>(&action)) out.push_back(*a);
  }
  return out;
}

// Removes all events from the queue and returns those of one type, in order.
template <typename T>
std::vector<T> TakeAll(CoreEvents* events) {
  std::vector<T> out;
  while (!events->empty()) {
    const CoreEvent event = events->Take();
    if (const T* e = std::get_if<T>(&event)) out.push_back(*e);
  }
  return out;
}

// Returns the bodies of one type that are sent to other agents, with their
// destinations, in order.
template <typename T>
std::vector<std::pair<NodeId, T>> Sent(const Actions& actions) {
  std::vector<std::pair<NodeId, T>> out;
  for (const SendPeer& send : All<SendPeer>(actions)) {
    if (const T* body = std::get_if<T>(&send.message.body)) {
      out.emplace_back(send.message.dst, *body);
    }
  }
  return out;
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_CORE_TESTING_H_
