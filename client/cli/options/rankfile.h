// Rankfiles, which name the node and the CPUs of each rank.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_

#include <map>
#include <string>

#include "common/ids.h"
#include "common/job_request.h"
#include "common/status.h"

namespace canopy::cli {

struct RankLine {
  std::string host;   // a name, or +nK for the K-th node, from 0
  std::string slots;  // as in common/request/slot_list.h
  size_t line = 0;    // in the file, from 1
};
using Rankfile = std::map<Rank, RankLine>;

// Parses lines of the form "rank N=HOST slot=SLOTS". Empty lines and lines that
// start with '#' are skipped. Returns kErrBadParam with `name` and the number
// of the line.
Result<Rankfile> ParseRankfile(const std::string& text,
                               const std::string& name);
// Reads and parses a file of at most 16 MiB.
Result<Rankfile> LoadRankfile(const std::string& path);

// Requests that each rank of the job run on the node and the CPUs of its line.
// A job without a number of processes gets one process for each rank of the
// file. If an application has hosts, the lines of its ranks may name only
// these, and +nK means the K-th of them. Returns kErrBadParam, with the name of
// the file, for a rank without a line, for a line that names another host, and
// for placement options that contradict the file.
Status ApplyRankfile(const Rankfile& file, const std::string& name,
                     JobRequest* job);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_
