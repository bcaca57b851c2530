#include "server/kubernetes/join/join_message.h"

namespace canopy::kubernetes {

v1::JoinRequest ToMessage(const Arrival& arrival) {
  v1::JoinRequest request;
  request.set_nspace(arrival.nspace);
  request.set_job(arrival.job);
  request.set_job_uid(arrival.job_uid);
  request.set_index(arrival.index);
  request.set_ranks(arrival.ranks);
  request.set_pod(arrival.pod);
  request.set_pod_uid(arrival.pod_uid);
  request.set_node(arrival.node);
  for (const std::string& arg : arrival.argv) request.add_argv(arg);
  return request;
}

Arrival FromMessage(const v1::JoinRequest& request) {
  Arrival arrival;
  arrival.nspace = request.nspace();
  arrival.job = request.job();
  arrival.job_uid = request.job_uid();
  arrival.index = request.index();
  arrival.ranks = request.ranks();
  arrival.pod = request.pod();
  arrival.pod_uid = request.pod_uid();
  arrival.node = request.node();
  arrival.argv = {request.argv().begin(), request.argv().end()};
  return arrival;
}

}  // namespace canopy::kubernetes
