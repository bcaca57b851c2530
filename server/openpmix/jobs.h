// Jobs with ranks on this node, for OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_JOBS_H_
#define CANOPY_SERVER_OPENPMIX_JOBS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "pmix_common.h"
#include "server/endpoint/local_processes.h"
#include "server/openpmix/connection_log.h"
#include "server/openpmix/connection_log_state.h"

namespace canopy::openpmix {

// The properties of a client that affect the encoding of job info.
using InfoForm = std::tuple<IntegerForm, bool, pmix_data_type_t, bool, bool>;

struct JobState {
  std::map<InfoForm, Bytes> infos;
  // Created with the first connection.
  std::shared_ptr<ConnectionLog> connection_log;
  std::map<ConnectionLogState::Collective, uint32_t> series;
  uint32_t last_series = 0;  // the highest number in `series`
};
struct RankState {
  uint32_t connections = 0;
};

using Jobs = endpoint::LocalProcesses<JobState, RankState>;

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_JOBS_H_
