#include "client/cli/run/run_documents.h"

#include <string>
#include <utility>

#include "client/cli/run/topology_text.h"
#include "client/include/pmix_tables.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

Json RankJson(const v1c::MapProc& proc) {
  Json out;
  out["rank"] = proc.rank();
  out["app"] = proc.app();
  out["cpus"] = TextOrNull(proc.cpuset());
  out["gpus"] = TextOrNull(proc.gpus());
  return out;
}

}  // namespace

Json MapNodesJson(
    const google::protobuf::RepeatedPtrField<v1c::MapNode>& nodes) {
  Json out = Json::array();
  for (const v1c::MapNode& node : nodes) {
    Json one;
    one["node"] = node.name();
    one["slots"] = node.slots();
    one["ranks"] = Json::array();
    for (const v1c::MapProc& proc : node.procs()) {
      one["ranks"].push_back(RankJson(proc));
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json MapJson(const v1c::JobMapped& mapped) {
  Json out;
  out["job"] = mapped.nspace();
  out["processes"] = mapped.num_procs();
  out["map_by"] = mapped.map_by();
  out["rank_by"] = mapped.rank_by();
  out["bind_to"] = TextOrNull(mapped.bind_to());
  out["unbound_reason"] = TextOrNull(mapped.unbound_reason());
  out["oversubscribed"] = mapped.oversubscribed();
  out["nodes"] = MapNodesJson(mapped.nodes());
  out["topologies"] = TopologiesJson(mapped);
  return out;
}

void AddEnd(const v1c::JobEnd& end, Json* to) {
  Json& out = *to;
  out["exit_code"] = end.exit_code();
  out["status"] = end.status();
  out["status_name"] = ConstantText("pmix_status_t", end.status(), "UNKNOWN");
  out["reason"] = TextOrNull(end.text());
  out["first_failed"] =
      end.has_first_failed() ? Json(end.first_failed()) : Json();
}

Json NotesJson(const v1c::ProgramNotes& notes) {
  Json out = Json::array();
  for (const v1c::ProgramNote& note : notes.notes()) {
    Json one;
    one["reason"] = TextOrNull(note.reason());
    one["details"] = Json::array();
    for (const std::string& line : note.detail()) {
      one["details"].push_back(line);
    }
    one["count"] = note.count();
    one["nodes"] = Json::array();
    for (const std::string& name : note.nodes()) one["nodes"].push_back(name);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace canopy::cli
