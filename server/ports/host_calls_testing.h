// Well-formed calls to a host, and access to the answers, for tests.
#ifndef CANOPY_SERVER_PORTS_HOST_CALLS_TESTING_H_
#define CANOPY_SERVER_PORTS_HOST_CALLS_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/host.h"

namespace canopy {

// Returns all host operations.
inline std::vector<HostOp> AllHostOps() {
  std::vector<HostOp> out;
  for (int op = 1; op <= static_cast<int>(kLastHostOp); ++op) {
    out.push_back(static_cast<HostOp>(op));
  }
  return out;
}

inline std::string ContractInfos(uint32_t timeout) {
  InfoList infos;
  infos.Add(PMIX_ALLOC_NUM_NODES, Value::Uint64(3), PMIX_INFO_REQD);
  if (timeout != 0) infos.Add(PMIX_TIMEOUT, Value::Uint32(timeout));
  std::string bytes;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &bytes), kSuccess);
  return bytes;
}

// Returns a well-formed call of common/host_call.h. `timeout` is in seconds and
// is used by operations that have one; 0: no timeout.
inline Bytes ContractCall(HostOp op, uint32_t timeout = 0) {
  const std::string infos = ContractInfos(timeout);
  switch (op) {
    case HostOp::kAllocate:
      return Bytes(wire::Encode(host_call::Allocate{1, infos}));
    case HostOp::kControlSession:
      return Bytes(wire::Encode(host_call::ControlSession{1, infos}));
    case HostOp::kBlockResources:
      return Bytes(
          wire::Encode(host_call::BlockResources{1, "block", {}, infos}));
    case HostOp::kLog:
      return Bytes(wire::Encode(host_call::Log{infos, infos}));
    case HostOp::kMonitor: {
      InfoList monitor;
      monitor.Add(PMIX_MONITOR_HEARTBEAT, Value::Bool(true));
      std::string what;
      EXPECT_EQ(EncodeInfos(monitor.data(), monitor.size(), &what), kSuccess);
      return Bytes(wire::Encode(host_call::Monitor{what, 0, infos}));
    }
    case HostOp::kValidateCredential:
      return Bytes(
          wire::Encode(host_call::ValidateCredential{"credential", infos}));
    default:
      return Bytes(infos);
  }
}

inline core::AskHost ContractAsk(uint64_t number, HostOp op,
                                 const std::string& nspace = "job") {
  core::AskHost ask;
  ask.number = number;
  ask.op = op;
  ask.source = {nspace, static_cast<Rank>(number)};
  ask.request = 100 + number;
  ask.uid = 10;
  ask.gid = 20;
  ask.call = ContractCall(op);
  return ask;
}

// Returns the value of "test.result" in the answer's results; "none" without
// results or without this value, and "malformed" if they cannot be decoded.
inline std::string ResultOf(const core::HostAnswered& answered) {
  InfoList results;
  if (answered.results.empty()) return "none";
  if (!DecodeInfos(answered.results.view(), &results)) return "malformed";
  return std::string(results.FindString("test.result").value_or("none"));
}

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_CALLS_TESTING_H_
