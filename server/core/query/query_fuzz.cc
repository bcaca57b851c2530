// Fuzz target for the reader of queries: no input may cause a failure, and the
// result must be within its limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/query/query.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::core {
namespace {

std::string Seed(const std::vector<std::string>& keys,
                 const InfoList& qualifiers) {
  Encoder out;
  out.PutSize(1);
  out.PutInt32(static_cast<int32_t>(keys.size()));
  for (const std::string& key : keys) out.PutString(key);
  out.PutSize(qualifiers.size());
  for (const pmix_info_t& info : qualifiers) out.PutInfo(info);
  return out.Take();
}

}  // namespace
}  // namespace canopy::core

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace canopy::core;  // NOLINT
  std::vector<Query> queries;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  if (ParseQueries(in, &queries) != 0) return 0;
  size_t keys = 0;
  for (const Query& query : queries) {
    if (query.keys.empty()) abort();
    keys += query.keys.size();
    for (const std::string& key : query.keys) {
      if (key.empty() || key.size() > canopy::kMaxKeyLen) abort();
    }
  }
  if (keys > kMaxQueryKeys) abort();
  return 0;
}

namespace canopy::fuzz {

std::vector<std::string> Seeds() {
  using core::Seed;
  return {
      Seed({PMIX_QUERY_NAMESPACES}, {}),
      Seed({PMIX_QUERY_PROC_TABLE, PMIX_JOB_SIZE},
           {{PMIX_NSPACE, Value::String("job")},
            {PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)}}),
      Seed({PMIX_PROC_PID}, {{PMIX_PROCID, Value::Proc({"job", 3})},
                             {PMIX_TIMEOUT, Value::Int(2)}}),
      Seed({PMIX_DAEMON_MEMORY}, {{PMIX_HOSTNAME, Value::String("node")},
                                  {PMIX_NODEID, Value::Uint32(1)}}),
      Seed({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"},
           {{PMIX_HOST_ATTRIBUTES, Value::Bool(true)}}),
  };
}

}  // namespace canopy::fuzz
