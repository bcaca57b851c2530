#include "client/cli/run/run_record.h"

#include "common/string_util.h"
#include "common/text.h"

namespace canopy::cli {

std::string CommandText(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + ShellQuoted(word);
  }
  return text;
}

HistoryEntry EntryOf(const RunOptions& options, const std::string& context) {
  HistoryEntry entry;
  entry.context = context;
  entry.name = Printable(options.job.name);
  for (const JobApp& app : options.job.apps) {
    if (!entry.command.empty()) entry.command += " : ";
    entry.command += Printable(CommandText(app.argv));
  }
  return entry;
}

JobPlace PlaceOf(const control::v1::JobMapped& mapped) {
  JobPlace place;
  place.num_procs = mapped.num_procs();
  for (const control::v1::MapNode& node : mapped.nodes()) {
    if (node.procs_size() == 0) continue;
    ++place.num_nodes;
    if (!place.nodes.empty()) place.nodes += ',';
    place.nodes += node.name();
  }
  return place;
}

SpawnedJob SpawnedJobOf(const control::v1::JobMapped& mapped) {
  return {mapped.nspace(), mapped.parent(), mapped.command(), PlaceOf(mapped)};
}

}  // namespace canopy::cli
