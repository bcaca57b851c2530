// The fuzz target for registrations of namespaces by hosts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/registration/registration.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::registration {
namespace {

std::string Encoded(const InfoList& infos) {
  std::string bytes;
  (void)EncodeInfos(infos.data(), infos.size(), &bytes);
  return bytes;
}

std::string FlatSeed() {
  InfoList proc;
  proc.Add(PMIX_RANK, Value::Rank(1));
  proc.Add(PMIX_APPNUM, Value::Int(0));
  proc.Add(PMIX_LOCAL_RANK, Value::Uint16(1));
  proc.Add(PMIX_HOSTNAME, Value::String("a"));
  proc.Add(PMIX_NODEID, Value::Uint32(0));
  InfoList infos;
  infos.Add(PMIX_NODE_MAP, Value::String("pmix[a,n[3:1-2]]"));
  infos.Add(PMIX_PROC_MAP, Value::String("raw:0,1;2;3-4"));
  infos.Add(PMIX_JOB_SIZE, Value::Uint32(5));
  infos.Add(PMIX_LOCAL_PEERS, Value::String("0,1"));
  infos.Add(PMIX_PROC_DATA, Value::InfoArray(proc));
  return Encoded(infos);
}

std::string ArraySeed() {
  InfoList node;
  node.Add(PMIX_HOSTNAME, Value::String("a"));
  node.Add(PMIX_NODEID, Value::Uint32(7));
  node.Add(PMIX_LOCAL_PEERS, Value::String("0-1"));
  InfoList app;
  app.Add(PMIX_APPNUM, Value::Uint32(0));
  app.Add(PMIX_APP_SIZE, Value::Uint32(2));
  app.Add(PMIX_APPLDR, Value::Rank(0));
  InfoList job;
  job.Add(PMIX_NODE_INFO_ARRAY, Value::InfoArray(node));
  job.Add(PMIX_APP_INFO_ARRAY, Value::InfoArray(app));
  InfoList session;
  session.Add(PMIX_SESSION_ID, Value::Uint32(1));
  session.Add(PMIX_JOB_INFO_ARRAY, Value::InfoArray(job));
  InfoList infos;
  infos.Add(PMIX_SESSION_INFO_ARRAY, Value::InfoArray(session));
  return Encoded(infos);
}

std::string VectorSeed() {
  InfoList infos;
  infos.Add(PMIX_NODE_MAP, Value::String("a,b"));
  infos.Add(PMIX_ANL_MAP, Value::String("(vector,(0,1,2),(1,1,3))"));
  infos.Add(PMIX_JOB_SIZE, Value::Uint32(10));
  return Encoded(infos);
}

std::string BlobSeed() {
  Encoder map;
  map.PackSize(1);
  map.PackKval("a", Value::String("0,1").raw());
  Encoder proc;
  proc.PackRank(1);
  proc.PackKval(PMIX_CPUSET, Value::String("0").raw());
  InfoList infos;
  infos.Add(PMIX_MAP_BLOB, Value::ByteObject(map.Take()));
  infos.Add(PMIX_PROC_BLOB, Value::ByteObject(proc.Take()));
  return Encoded(infos);
}

// Returns true if the registration has the properties on which its users rely.
bool IsConsistent(const Registration& r) {
  if (r.no_data) return r.job.procs.empty();
  const size_t apps = r.job.apps.size();
  const size_t nodes = r.job.nodes.size();
  if (r.apps.size() != apps || r.nodes.size() != nodes ||
      r.procs.size() != r.job.procs.size() ||
      (r.self_node != kNoNode && r.self_node >= nodes)) {
    return false;
  }
  for (const ProcPlacement& proc : r.job.procs) {
    if (proc.node >= nodes || proc.app >= apps) return false;
  }
  return true;
}

}  // namespace
}  // namespace canopy::registration

std::vector<std::string> canopy::fuzz::Seeds() {
  using namespace canopy::registration;  // NOLINT(google-build-using-namespace)
  return {FlatSeed(), ArraySeed(), VectorSeed(), BlobSeed()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::InfoList infos;
  if (!canopy::DecodeInfos({reinterpret_cast<const char*>(data), size},
                           &infos)) {
    return 0;
  }
  const auto read =
      canopy::registration::ReadRegistration({.nspace = "job",
                                              .num_local_procs = 2,
                                              .infos = infos.span(),
                                              .node_names = {"a"},
                                              .node_id = {}});
  if (read.ok() && !canopy::registration::IsConsistent(*read)) abort();
  return 0;
}
