// Creates the entry of a launcher's job in the history.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_RECORD_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_RECORD_H_

#include <span>
#include <string>

#include "client/cli/history/history_store.h"
#include "client/cli/history/job_recorder.h"
#include "client/cli/options/run_options.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Returns an entry with the data of the request. `context` is the name of the
// overlay.
HistoryEntry EntryOf(const RunOptions& options, const std::string& context);

// Returns the words, quoted for a shell.
std::string CommandText(std::span<const std::string> words);

// Returns the number of the job's processes, and the nodes that have at least
// one.
JobPlace PlaceOf(const control::v1::JobMapped& mapped);

// Returns the description of a spawned job that its map contains.
SpawnedJob SpawnedJobOf(const control::v1::JobMapped& mapped);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_RECORD_H_
