// The JSON documents of `canopy run` and `canopy doctor PROGRAM`
// (docs/json.md).
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_DOCUMENTS_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_DOCUMENTS_H_

#include <google/protobuf/repeated_ptr_field.h>

#include "client/cli/base/json.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Returns the nodes of a job with their ranks.
Json MapNodesJson(
    const google::protobuf::RepeatedPtrField<control::v1::MapNode>& nodes);
Json MapJson(const control::v1::JobMapped& mapped);

// Adds the members exit_code, status, status_name, reason and first_failed.
void AddEnd(const control::v1::JobEnd& end, Json* to);

// Returns an element for each finding about the programs.
Json NotesJson(const control::v1::ProgramNotes& notes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_DOCUMENTS_H_
